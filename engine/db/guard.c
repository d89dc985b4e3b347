/* guard.c - see guard.h. */
#include "engine/db/guard.h"
#include "engine/base/counters.h"
#include "engine/db/statement.h"

void guard_begin(struct text *sql)
{
	statement_add(sql, GUARD_BEGIN, NULL);
}

void guard_expect(struct text *sql, int64_t count, int verdict)
{
	statement_add(sql, GUARD_EXPECT, &(struct fill){.count = count, .verdict = verdict});
}

static void verdict_read(void *arg, const struct db_row *row)
{
	*(int *)arg = (int)db_int(row, 0);
}

enum db_result guard_run(struct db *db, struct text *sql, int *verdict)
{
	enum db_result result;

	*verdict = -1;
	statement_add(sql, GUARD_END, NULL);
	result = db_run(db, sql, verdict_read, verdict);
	assert(result != DB_OK || *verdict >= 0);
	if (result == DB_RETRY || result == DB_LOCKED || (result == DB_OK && *verdict != GUARD_DONE))
		counter_add(COUNT_RETRIES, 1);
	return result;
}
