/* counters.c - see counters.h. Where nobody knows whether the database did it, it counts as done: rather too little
 * than twice. */
#include "engine/counters.h"
#include "engine/db/txn.h"

#include <string.h>

static const char *const names[COUNTERS] = {
#define X(name, word) word,
#include "engine/counters.def"
#undef X
};

static _Atomic int64_t here[COUNTERS];

void counter_add(enum counter c, int64_t n)
{
	atomic_fetch_add_explicit(&here[c], n, memory_order_relaxed);
}

/* What the database's rooms count for themselves, which know no counters. */
static void counted_take(void)
{
	counter_add(COUNT_DEADLOCKS, db_deadlocks());
	counter_add(COUNT_RETRIES, txn_undone());
}

int64_t counter_here(enum counter c)
{
	counted_take();
	return atomic_load_explicit(&here[c], memory_order_relaxed);
}

void counters_leave(struct db *db)
{
	struct values  rows = {.columns = 2};
	int64_t        left[COUNTERS];
	enum db_result result = DB_OK;

	counted_take();
	for (int c = 0; c < COUNTERS; c++) {
		left[c] = atomic_exchange(&here[c], 0);
		if (left[c] == 0)
			continue;
		values_text(&rows, names[c]);
		values_int(&rows, left[c]);
	}
	if (rows.count > 0)
		result = txn_ask(db, COUNTERS_LEAVE, &(struct fill){.rows = &rows}, NULL, NULL);
	for (int c = 0; c < COUNTERS && result != DB_OK && result != DB_UNKNOWN; c++)
		counter_add((enum counter)c, left[c]);
	values_fini(&rows);
}

static void left_read(void *arg, const struct db_row *row)
{
	int64_t *taken = arg;

	for (int c = 0; c < COUNTERS; c++)
		if (strcmp(names[c], row->col[0]) == 0)
			taken[c] += db_int(row, 1);
}

void counters_take(struct db *db)
{
	int64_t taken[COUNTERS] = {0};

	if (txn_ask(db, COUNTERS_TAKE, NULL, left_read, taken) == DB_OK)
		for (int c = 0; c < COUNTERS; c++)
			counter_add((enum counter)c, taken[c]);
}
