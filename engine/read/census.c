/* census.c - see census.h. */
#include "engine/read/census.h"
#include "engine/base/clock.h"
#include "engine/counters.h"
#include "engine/db/statement.h"

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
