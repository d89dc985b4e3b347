/* counters.c - see counters.h. */
#include "counters.h"
#include "db.h"
#include "statement.h"

#include <pthread.h>
#include <string.h>

static const char *const names[COUNTERS] = {
#define X(name, word, member) word,
#include "counters.def"
#undef X
};
static const char *const members[COUNTERS] = {
#define X(name, word, member) member,
#include "counters.def"
#undef X
};

static _Atomic int64_t here[COUNTERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for what follows, and while it is being written */
static int64_t         written[COUNTERS];                /* of `here` */

const char *counter_member(enum counter c)
{
	return members[c];
}

void counter_add(enum counter c, int64_t n)
{
	atomic_fetch_add_explicit(&here[c], n, memory_order_relaxed);
}

int64_t counter_here(enum counter c)
{
	return atomic_load_explicit(&here[c], memory_order_relaxed);
}

/* Where nobody knows whether it was written, it counts as written: rather too little than twice. */
static void delta_write(struct db *db)
{
	struct text    rows = {0}, sql = {0};
	int64_t        now[COUNTERS];
	enum db_result result = DB_OK;

	for (int c = 0; c < COUNTERS; c++) {
		now[c] = counter_here((enum counter)c);
		if (now[c] == written[c])
			continue;
		row_begin(&rows);
		row_hex(&rows, names[c], strlen(names[c]));
		row_int(&rows, now[c] - written[c]);
		row_end(&rows);
	}
	if (rows.len > 0) {
		statement_add(&sql, COUNTERS_ADD, &(struct fill){.rows = &rows});
		result = db_run(db, &sql, NULL, NULL);
	}
	if (result == DB_OK || result == DB_UNKNOWN)
		memcpy(written, now, sizeof(written));
	text_fini(&rows);
	text_fini(&sql);
}

void counters_write(struct db *db)
{
	pthread_mutex_lock(&lock);
	delta_write(db);
	pthread_mutex_unlock(&lock);
}

static void total_read(void *arg, const struct db_row *row)
{
	int64_t *totals = arg;

	for (int c = 0; c < COUNTERS; c++)
		if (strcmp(names[c], row->col[0]) == 0)
			totals[c] += db_int(row, 1);
}

bool counters_read(struct db *db, int64_t elsewhere[COUNTERS])
{
	struct text sql = {0};
	bool        ok;

	statement_add(&sql, COUNTERS_ALL, NULL);
	pthread_mutex_lock(&lock);
	for (int c = 0; c < COUNTERS; c++)
		elsewhere[c] = -written[c];
	ok = db_run(db, &sql, total_read, elsewhere) == DB_OK;
	pthread_mutex_unlock(&lock);
	text_fini(&sql);
	return ok;
}
