/* census.c - see census.h. */
#include "engine/read/census.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/db/statement.h"

#include <string.h>

static void count_read(void *arg, const struct db_row *row)
{
	struct census *counts = arg;
	int64_t        state = db_int(row, 0);

	assert(state > 0 && state < STATES);
	counts->by_state[state] += db_int(row, 2);
	if (db_int(row, 1)) {
		counts->claimed[state] = db_int(row, 2);
	} else {
		counts->ready[state] = db_int(row, 3);
		counts->oldest_ready_ms[state] = db_int(row, 3) ? db_int(row, 4) : 0;
	}
}

static void tasks_count_read(void *arg, const struct db_row *row)
{
	struct census *counts = arg;

	counts->tasks_open = db_int(row, 0);
	counts->oldest_lease_ms = db_int(row, 1) > 0 ? db_int(row, 1) : 0; /* made by a clock that was ahead */
}

bool census_read(struct db *db, struct census *out)
{
	struct text sql = {0};
	bool        ok;

	*out = (struct census){.counted_ms = clock_boot_ms()};
	statement_add(&sql, RESERVATION_COUNTS, NULL);
	ok = db_run(db, &sql, count_read, out) == DB_OK;
	text_reset(&sql);
	statement_add(&sql, TASK_FIGURES, NULL);
	ok = ok && db_run(db, &sql, tasks_count_read, out) == DB_OK;
	text_fini(&sql);
	return ok;
}

/* ---- counters of processes without /metrics */

void census_leave(struct db *db)
{
	struct text    rows = {0}, sql = {0};
	int64_t        left[COUNTERS];
	enum db_result result = DB_OK;

	for (int c = 0; c < COUNTERS; c++) {
		const char *name = counter_name((enum counter)c);

		left[c] = counter_take((enum counter)c);
		if (left[c] == 0)
			continue;
		row_begin(&rows);
		row_hex(&rows, name, strlen(name));
		row_int(&rows, left[c]);
		row_end(&rows);
	}
	if (rows.len > 0) {
		statement_add(&sql, COUNTERS_LEAVE, &(struct fill){.rows = &rows});
		result = db_run(db, &sql, NULL, NULL);
	}
	/* An unknown outcome counts as done: rather too little than twice. */
	for (int c = 0; c < COUNTERS && result != DB_OK && result != DB_UNKNOWN; c++)
		counter_add((enum counter)c, left[c]);
	text_fini(&rows);
	text_fini(&sql);
}

static void left_read(void *arg, const struct db_row *row)
{
	int64_t *taken = arg;

	for (int c = 0; c < COUNTERS; c++)
		if (strcmp(counter_name((enum counter)c), row->col[0]) == 0)
			taken[c] += db_int(row, 1);
}

/* Where the database does not answer, they wait for the next time. */
static void counters_take_over(struct db *db)
{
	struct text sql = {0};
	int64_t     taken[COUNTERS] = {0};

	statement_add(&sql, COUNTERS_TAKE, NULL);
	if (db_run(db, &sql, left_read, taken) == DB_OK)
		for (int c = 0; c < COUNTERS; c++)
			counter_add((enum counter)c, taken[c]);
	text_fini(&sql);
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
