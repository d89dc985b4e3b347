/* counters.c - see counters.h. Where nobody knows whether the database did it, it counts as done: rather too little
 * than twice. */
#include "engine/counters.h"
#include "engine/db/db.h"
#include "engine/db/statement.h"

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

int64_t counter_here(enum counter c)
{
	return atomic_load_explicit(&here[c], memory_order_relaxed);
}

void counters_leave(struct db *db)
{
	struct text    rows = {0}, sql = {0};
	int64_t        left[COUNTERS];
	enum db_result result = DB_OK;

	for (int c = 0; c < COUNTERS; c++) {
		left[c] = atomic_exchange(&here[c], 0);
		if (left[c] == 0)
			continue;
		row_begin(&rows);
		row_hex(&rows, names[c], strlen(names[c]));
		row_int(&rows, left[c]);
		row_end(&rows);
	}
	if (rows.len > 0) {
		statement_add(&sql, COUNTERS_LEAVE, &(struct fill){.rows = &rows});
		result = db_run(db, &sql, NULL, NULL);
	}
	for (int c = 0; c < COUNTERS && result != DB_OK && result != DB_UNKNOWN; c++)
		counter_add((enum counter)c, left[c]);
	text_fini(&rows);
	text_fini(&sql);
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
	struct text sql = {0};
	int64_t     taken[COUNTERS] = {0};

	statement_add(&sql, COUNTERS_TAKE, NULL);
	if (db_run(db, &sql, left_read, taken) == DB_OK)
		for (int c = 0; c < COUNTERS; c++)
			counter_add((enum counter)c, taken[c]);
	text_fini(&sql);
}
