/* census.c - see census.h. */
#include "engine/read/census.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/db/db.h"

#include <string.h>

static void count_read(void *arg, const struct db_row *row)
{
	struct census *counts = arg;
	int64_t        state = db_int(row, 0);

	if (state <= 0 || state >= STATES)
		return; /* the audit names it */
	counts->by_state[state] += db_int(row, 2);
	if (db_int(row, 1)) {
		counts->claimed[state] = db_int(row, 2);
	} else {
		counts->ready[state] = db_int(row, 3);
		counts->oldest_ready_ms[state] = db_int(row, 3) ? db_int(row, 4) : 0;
	}
}

static void webhooks_read(void *arg, const struct db_row *row)
{
	struct census         *counts = arg;
	struct webhook_behind *to = &counts->webhooks[counts->webhooks_count++];

	assert(counts->webhooks_count <= WEBHOOKS_TOLD && row->len[0] < sizeof(to->webhook_id));
	memcpy(to->webhook_id, row->col[0], row->len[0] + 1);
	to->undelivered_ms = db_int(row, 1);
}

/* Figures of one row stand in struct census as the row has them. */
bool census_read(struct db *db, struct census *out)
{
	*out = (struct census){.counted_ms = clock_boot_ms()};
	return db_ask(db, RESERVATION_COUNTS, NULL, count_read, out) == DB_OK &&
	       db_ask(db, TASK_FIGURES, NULL, db_ints, &out->tasks_open) == DB_OK &&
	       db_ask(db, WEBHOOK_FIGURES, &(struct fill){.limit = WEBHOOKS_TOLD}, webhooks_read, out) == DB_OK &&
	       db_ask(db, EVENT_FIGURES, NULL, db_ints, &out->event_rows) == DB_OK &&
	       db_ask(db, LEVELS_BEHIND, NULL, db_ints, &out->levels_behind_ms) == DB_OK;
}

/* ---- counters of processes without /metrics */

void census_leave(struct db *db)
{
	struct values  rows = {0};
	int64_t        left[COUNTERS];
	enum db_result result = DB_OK;

	for (int c = 0; c < COUNTERS; c++) {
		const char *name = counter_name((enum counter)c);

		left[c] = counter_take((enum counter)c);
		if (left[c] == 0)
			continue;
		values_row(&rows, V_TEXT(name), V_INT(left[c]));
	}
	if (rows.count > 0)
		result = db_ask(db, COUNTERS_LEAVE, &(struct fill){.rows = &rows}, NULL, NULL);
	/* An unknown outcome counts as done: rather too little than twice. */
	for (int c = 0; c < COUNTERS && result != DB_OK && result != DB_UNKNOWN; c++)
		counter_add((enum counter)c, left[c]);
	values_fini(&rows);
}

static void left_read(void *arg, const struct db_row *row)
{
	int64_t *taken = arg;

	for (int c = 0; c < COUNTERS; c++)
		if (strcmp(counter_name((enum counter)c), row->col[0]) == 0)
			taken[c] += db_int(row, 1);
}

/* Takes over counters of other processes. Where the database does not answer, they wait for the next time. */
static void counters_take_over(struct db *db)
{
	int64_t taken[COUNTERS] = {0};

	if (db_ask(db, COUNTERS_TAKE, NULL, left_read, taken) == DB_OK)
		for (int c = 0; c < COUNTERS; c++)
			counter_add((enum counter)c, taken[c]);
}

/* ---- the answer */

enum db_result census_answer(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	(void)c;
	if (!census_read(db, ops[0]->census))
		return DB_AWAY;
	counters_take_over(db);
	for (size_t i = 0; i < count; i++) {
		*ops[i]->census = *ops[0]->census;
		ops[i]->outcome = OUTCOME_OK;
	}
	return DB_OK;
}
