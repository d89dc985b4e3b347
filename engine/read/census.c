/* census.c - see census.h. */
#include "engine/read/census.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"

#include <stdio.h>

/* YOUNG_MS: the shortest time between counts. CENSUS_SHARE: also, so many times what the last one took. AHEAD_PAGE:
 * rows of a clock that was ahead are counted up to here. */
enum { YOUNG_MS = 1000, CENSUS_SHARE = 20, AHEAD_PAGE = 1000 };

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
		counts->ready[state] += db_int(row, 3);
		if (db_int(row, 3) && db_int(row, 4) > counts->oldest_ready_ms[state])
			counts->oldest_ready_ms[state] = db_int(row, 4);
	}
}

static void webhooks_read(void *arg, const struct db_row *row)
{
	struct census         *counts = arg;
	struct webhook_behind *to;

	if (counts->webhooks_count == WEBHOOKS_TOLD) {
		db_other(row);
		return;
	}
	to = &counts->webhooks[counts->webhooks_count++];
	db_copy(row, 0, to->webhook_id, sizeof(to->webhook_id));
	to->undelivered_ms = db_int(row, 1);
}

static const struct {
	const char    *word;
	enum statement find;
} aheads[AHEAD_KINDS] = {
#define X(name, word, find, change, walks) [name] = {word "_ahead", find},
#include "engine/read/ahead.def"
#undef X
};

/* How many rows there are of each kind, up to a page of them. */
static enum db_result ahead_read(struct db *db, int64_t counts[AHEAD_KINDS])
{
	struct values  found = {0};
	enum db_result result = DB_OK;

	for (int k = 0; k < AHEAD_KINDS && result == DB_OK; k++) {
		values_reset(&found);
		result = db_ask(db, aheads[k].find, &(struct fill){.limit = AHEAD_PAGE}, db_numbers, &found);
		counts[k] = (int64_t)found.rows;
	}
	values_fini(&found);
	return result;
}

/* Figures of one row stand in struct census as the row has them. */
bool census_read(struct db *db, bool brief, struct census *out)
{
	int64_t began_ms = clock_boot_ms();

	*out = (struct census){.counted_ms = began_ms, .brief = brief};
	if (db_ask(db, CENSUS_CLOCK, NULL, db_time, &out->counted_at) != DB_OK ||
	    db_ask(db, brief ? BRIEF_COUNTS : RESERVATION_COUNTS, NULL, count_read, out) != DB_OK ||
	    db_ask(db, TASK_FIGURES, NULL, db_ints, &out->tasks_open) != DB_OK ||
	    db_ask(db, WEBHOOK_FIGURES, &(struct fill){.limit = WEBHOOKS_TOLD}, webhooks_read, out) != DB_OK)
		return false;
	if (!brief && (db_ask(db, STOCK_STATS, NULL, db_ints, &out->stock) != DB_OK ||
	               db_ask(db, EVENT_FIGURES, NULL, db_ints, &out->event_rows) != DB_OK ||
	               db_ask(db, LEVELS_BEHIND, NULL, db_ints, &out->levels_behind_ms) != DB_OK ||
	               db_ask(db, QUEUE_FIGURES, NULL, db_ints, &out->low) != DB_OK ||
	               db_ask(db, UPKEEP_FIGURES, NULL, db_ints, &out->backed_up_s) != DB_OK ||
	               ahead_read(db, out->ahead) != DB_OK))
		return false;
	out->took_ms = clock_boot_ms() - began_ms;
	return true;
}

void census_tell(const struct census *c, void (*tell)(void *arg, const char *name, int64_t n), void *arg)
{
	char name[48];

	tell(arg, "skus", c->stock.skus);
	tell(arg, "locations", c->stock.locations);
	tell(arg, "slots", c->stock.slots);
	tell(arg, "slot_rows", c->stock.slot_rows);
	tell(arg, "available", c->stock.available);
	tell(arg, "reserved", c->stock.reserved);
	tell(arg, "aside", c->stock.aside);
	tell(arg, "on_hand", c->stock.available + c->stock.reserved + c->stock.aside);
	tell(arg, "incoming", c->stock.incoming);
	tell(arg, "incoming_reserved", c->stock.incoming_reserved);
	for (enum reservation_state s = HELD; s < STATES; s++) {
		tell(arg, reservation_state_name(s), c->by_state[s]);
		snprintf(name, sizeof(name), "%s_claimed", reservation_state_name(s));
		if (s == HELD || s == CONFIRMED)
			tell(arg, name, c->claimed[s]);
	}
	tell(arg, "oldest_expired_ms", c->oldest_ready_ms[HELD]);
	tell(arg, "oldest_confirmed_ms", c->oldest_ready_ms[CONFIRMED]);
	tell(arg, "ready", c->ready[CONFIRMED]);
	tell(arg, "ready_to_expire", c->ready[HELD]);
	tell(arg, "tasks_open", c->tasks_open);
	tell(arg, "oldest_lease_ms", c->oldest_lease_ms);
	tell(arg, "event_rows", c->event_rows);
	tell(arg, "event_bytes", c->event_bytes);
	tell(arg, "oldest_event_ms", c->oldest_event_ms);
	for (int k = 0; k < AHEAD_KINDS; k++)
		tell(arg, aheads[k].word, c->ahead[k]);
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
		if (strcmp(counter_name((enum counter)c), db_word(row, 0)) == 0)
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

/* The last count is the answer while it is younger than CENSUS_SHARE times what it took, and a second at least:
 * questions that come meanwhile, or wait for it, get the same answer. */
static bool is_young(int64_t counted_ms, int64_t took_ms, int64_t age_max_ms)
{
	int64_t age_ms = clock_boot_ms() - counted_ms, young_ms = CENSUS_SHARE * took_ms;

	if (young_ms < YOUNG_MS)
		young_ms = YOUNG_MS;
	return counted_ms && age_ms < (age_max_ms && age_max_ms < young_ms ? age_max_ms : young_ms);
}

enum db_result census_answer(struct db *db, struct op *op)
{
	static struct census counts[2]; /* whole and brief; the census thread's, of a process there is one */
	bool                 brief = op->census->brief;
	struct census       *last = &counts[brief];

	assert(op->kind == OP_COUNTS && last->counted_ms <= clock_boot_ms());
	if (!is_young(last->counted_ms, last->took_ms, op->census->age_max_ms)) {
		last->counted_ms = 0;
		if (!census_read(db, brief, last)) {
			last->counted_ms = 0;
			return db_has_answered_other(db) ? DB_ERROR : DB_AWAY;
		}
		if (!brief)
			counters_take_over(db);
	}
	*op->census = *last;
	op->outcome = OUTCOME_OK;
	return DB_OK;
}

/* ---- by location */

/* The last count, which is the census thread's. */
static struct {
	struct location_sum *list; /* in the order of location_id */
	size_t               count, max;
	int64_t              counted_ms, counted_at, took_ms; /* as in struct census */
} sums;

static void sum_read(void *arg, const struct db_row *row)
{
	struct location_sum *to;

	(void)arg;
	sums.list = mem_reach(sums.list, sums.count, &sums.max, sizeof(*sums.list));
	to = &sums.list[sums.count++];
	*to = (struct location_sum){(uint32_t)db_int(row, 0), db_int(row, 1), qty_read(row, 2), qty_read(row, 3),
	                            qty_read(row, 4)};
}

enum db_result location_sums_read(struct db *db, int64_t *counted_at)
{
	int64_t        began_ms = clock_boot_ms();
	enum db_result result = DB_OK;

	if (!is_young(sums.counted_ms, sums.took_ms, 0)) {
		sums.counted_ms = 0;
		sums.count = 0;
		result = db_ask(db, CENSUS_CLOCK, NULL, db_time, &sums.counted_at);
		if (result == DB_OK)
			result = db_ask(db, LOCATION_SUMS, NULL, sum_read, NULL);
		if (result != DB_OK)
			return result;
		sums.counted_ms = began_ms;
		sums.took_ms = clock_boot_ms() - began_ms;
	}
	*counted_at = sums.counted_at;
	return result;
}

struct location_sum location_sum(uint32_t location_id)
{
	size_t                     found;
	const struct location_sum *sum = mem_range(sums.list, sums.count, sizeof(*sums.list), location_id, &found);

	return sum ? *sum : (struct location_sum){.location_id = location_id};
}

void location_sums_forget(void)
{
	free(sums.list);
	memset(&sums, 0, sizeof(sums));
}
