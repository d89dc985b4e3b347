/* census.c - see census.h. */
#include "engine/read/census.h"
#include "engine/base/clock.h"
#include "engine/counters.h"
#include "engine/db/txn.h"

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
	*out = (struct census){.counted_ms = clock_boot_ms()};
	return txn_ask(db, RESERVATION_COUNTS, NULL, count_read, out) == DB_OK &&
	       txn_ask(db, TASK_FIGURES, NULL, tasks_count_read, out) == DB_OK;
}

enum db_result census_answer(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	(void)c;
	if (!census_read(db, ops[0]->census))
		return DB_AWAY;
	counters_take(db);
	for (size_t i = 0; i < count; i++) {
		*ops[i]->census = *ops[0]->census;
		ops[i]->outcome = OUTCOME_OK;
	}
	return DB_OK;
}
