/* test_feed_merge.c - the rows of all writers in one snapshot: each comes once, whatever commits late, however it is
 * read, and wherever a statement or a connection breaks off. */
#include "engine/base/memory.h"
#include "engine/log/feed_merge.h"
#include "engine/log/touched.h"
#include "schema/migrate.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITERS_MAX = 600, HIDDEN_MAX = 50 };

static struct scratch s;
static struct db     *reader;

static void run(const char *format, ...) PRINTF(1, 2);
static void run(const char *format, ...)
{
	char    sql[600];
	va_list ap;

	va_start(ap, format);
	cr_assert_lt(vsnprintf(sql, sizeof(sql), format, ap), (int)sizeof(sql));
	va_end(ap);
	cr_assert_eq(db_text(s.db, sql, NULL, NULL), DB_OK, "%s: %s", sql, db_error(s.db));
}

static void setup(void)
{
	char why[300];

	scratch_open(&s);
	cr_assert(schema_migrate(s.db, why, sizeof(why)), "%s", why);
	reader = scratch_connection(&s);
}

static void teardown(void)
{
	db_free(reader);
	scratch_close(&s);
}

TestSuite(feed_merge, .init = setup, .fini = teardown);

/* ---- writing and reading */

static void writers_make(unsigned count)
{
	run("INSERT INTO log_writer (writer_id, slot, epoch, batch_no, batch_at, started_at)"
	    " SELECT seq, 0, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM seq_1_to_%u",
	    count);
	run("UPDATE event_log SET writer_last = %u", count);
}

static void row_write(unsigned writer_id, int64_t stamp)
{
	run("UPDATE log_writer SET event_no = event_no + 1, stamp = GREATEST(stamp + 1, %lld) WHERE writer_id = %u",
	    (long long)stamp, writer_id);
	run("INSERT INTO event SELECT writer_id, event_no, stamp, UTC_TIMESTAMP(3), x'00' FROM log_writer"
	    " WHERE writer_id = %u",
	    writer_id);
}

/* The rows that were read so far. */
struct walk {
	char            *cursor;
	uint64_t         seen[WRITERS_MAX + 1]; /* the last row of each writer */
	struct feed_rows kept;
	unsigned         rows;
};

static void walk_fini(struct walk *w)
{
	free(w->cursor);
	feed_rows_fini(&w->kept);
}

/* Reads up to `most` rows. Each is the next one of its writer, and their stamps grow within the page. */
static enum db_result page_read(struct walk *w, unsigned most, size_t batch)
{
	uint64_t                seen[WRITERS_MAX + 1];
	struct feed_start       start;
	struct feed_merge       m;
	struct feed_place       place = {0};
	const struct event_row *r;
	int64_t                 last = 0;
	unsigned                took = 0;

	memcpy(seen, w->seen, sizeof(seen));
	cr_assert(feed_start_read(w->cursor, &start));
	feed_merge_begin(&m, reader, &start, &w->kept, batch);
	cr_assert(m.result != DB_OK || m.outcome == OUTCOME_OK, "%s", outcome_code(m.outcome));
	feed_place_copy(&place, &m.place);
	while (m.result == DB_OK && took < most && (r = feed_merge_take(&m))) {
		cr_assert_eq(r->event_no, ++seen[r->writer_id], "writer %u", r->writer_id);
		cr_assert_geq(r->stamp, last);
		last = r->stamp;
		feed_place_pass(&place, r->writer, r->event_no, r->stamp, 0);
		took++;
	}
	feed_merge_end(&m);
	if (m.result == DB_OK) {
		free(w->cursor);
		w->cursor = feed_place_write(&place);
		memcpy(w->seen, seen, sizeof(seen));
		w->rows += took;
	}
	feed_merge_fini(&m, 0);
	feed_place_fini(&place);
	feed_place_fini(&start.place);
	return m.result;
}

/* ---- by chance */

struct log {
	unsigned seed, writers;
	int64_t  stamp;
	uint64_t wrote[WRITERS_MAX + 1];
	bool     ended[WRITERS_MAX + 1];
	struct {
		uint32_t writer_id;
		uint64_t event_no;
	} hidden[HIDDEN_MAX]; /* rows that commit late, one of a writer */
	size_t hidden_count;
};

static unsigned dice(struct log *l, unsigned sides)
{
	return (unsigned)rand_r(&l->seed) % sides;
}

static bool hides(const struct log *l, uint32_t writer_id)
{
	for (size_t i = 0; i < l->hidden_count; i++)
		if (l->hidden[i].writer_id == writer_id)
			return true;
	return false;
}

/* A few writers write most rows. One row in twelve is not there yet, although later ones of its writer are. */
static void log_write(struct log *l)
{
	uint32_t writer_id = 1 + dice(l, dice(l, 2) && l->writers > 4 ? 4 : l->writers);

	if (l->ended[writer_id])
		return;
	l->stamp += dice(l, 3);
	row_write(writer_id, l->stamp);
	l->wrote[writer_id]++;
	if (l->hidden_count == HIDDEN_MAX || dice(l, 12) > 0 || hides(l, writer_id))
		return;
	run("UPDATE event SET event_no = event_no + 1000000 WHERE writer_id = %u AND event_no = %llu", writer_id,
	    (unsigned long long)l->wrote[writer_id]);
	l->hidden[l->hidden_count].writer_id = writer_id;
	l->hidden[l->hidden_count++].event_no = l->wrote[writer_id];
}

static void log_commit(struct log *l)
{
	l->hidden_count--;
	run("UPDATE event SET event_no = event_no - 1000000 WHERE writer_id = %u AND event_no = %llu",
	    l->hidden[l->hidden_count].writer_id, (unsigned long long)l->hidden[l->hidden_count].event_no + 1000000);
}

static void log_end_one(struct log *l)
{
	uint32_t writer_id = 3 + dice(l, l->writers);

	if (writer_id > l->writers || hides(l, writer_id))
		return;
	l->ended[writer_id] = true;
	run("UPDATE log_writer SET ended = 1 WHERE writer_id = %u", writer_id);
}

static void walk_by_chance(unsigned seed, unsigned writers, int steps)
{
	struct log  l = {.seed = seed, .writers = writers, .stamp = 1000};
	struct walk w = {0};

	writers_make(writers);
	for (int step = 0; step < steps; step++) {
		for (unsigned n = dice(&l, 30); n > 0; n--)
			log_write(&l);
		if (l.hidden_count > 0 && dice(&l, 4) == 0)
			log_commit(&l);
		if (dice(&l, 6) == 0)
			log_end_one(&l);
		for (unsigned n = dice(&l, 3); n > 0; n--)
			cr_assert_eq(page_read(&w, dice(&l, 3) ? dice(&l, 12) : dice(&l, 900), dice(&l, 2) * 32),
			             DB_OK);
	}
	while (l.hidden_count > 0)
		log_commit(&l);
	do
		steps = (int)w.rows;
	while (page_read(&w, 200, 0) == DB_OK && (int)w.rows > steps);
	cr_assert_gt(w.rows, 100);
	for (unsigned i = 1; i <= writers; i++)
		cr_expect_eq(w.seen[i], l.wrote[i], "writer %u", i);
	walk_fini(&w);
}

Test(feed_merge, each_row_once_of_three_writers)
{
	walk_by_chance(1, 3, 60);
}

Test(feed_merge, each_row_once_of_seventy_writers)
{
	walk_by_chance(2, 70, 60);
}

/* More than may be asked for ahead. */
Test(feed_merge, each_row_once_of_six_hundred_writers)
{
	walk_by_chance(3, 600, 40);
}

/* ---- what breaks off */

static void number_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

/* True: the reader's connection lives, and a transaction of it is open. */
static bool transaction_stays(void)
{
	int64_t open = 0;

	while (db_connected(reader) && db_text(reader, "SELECT @@in_transaction", number_read, &open) != DB_OK)
		continue;
	return db_connected(reader) && open;
}

static atomic_bool  over;
static atomic_llong victim;

static void *killer_main(void *db)
{
	unsigned seed = 7;

	while (!atomic_load(&over)) {
		char sql[80];

		usleep((useconds_t)rand_r(&seed) % 1500);
		snprintf(sql, sizeof(sql), "KILL %s %lld", rand_r(&seed) % 4 ? "QUERY" : "CONNECTION",
		         (long long)atomic_load(&victim));
		if (db_text(db, sql, NULL, NULL) != DB_OK && !db_connected(db))
			abort(); /* no assertion of Criterion outside of the main thread */
	}
	return NULL;
}

Test(feed_merge, killed_at_any_time)
{
	struct walk w = {0};
	struct db  *killer = scratch_connection(&s);
	pthread_t   thread;
	int         failed = 0;

	writers_make(3);
	for (int i = 0; i < 300; i++)
		row_write(1 + (unsigned)i % 3, 1000 + i);
	run("UPDATE log_writer SET ended = 1 WHERE writer_id = 3");
	atomic_store(&victim, scratch_number(reader, "SELECT CONNECTION_ID()"));
	cr_assert_eq(pthread_create(&thread, NULL, killer_main, killer), 0);
	for (int round = 0; round < 1000; round++) {
		int64_t id = -1;

		while (!db_connected(reader) || db_text(reader, "SELECT CONNECTION_ID()", number_read, &id) != DB_OK)
			if (!db_connected(reader))
				(void)!db_connect(reader);
		atomic_store(&victim, id);
		failed += page_read(&w, 1 + (unsigned)round % 17, (size_t)(round % 2) * 8) != DB_OK;
		cr_assert(!transaction_stays());
		if (w.rows == 300) {
			walk_fini(&w);
			w = (struct walk){0};
		}
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	cr_expect_gt(failed, 100);
	cr_expect_lt(failed, 1000);
	walk_fini(&w);
	db_free(killer);
}

/* A statement that fails on a connection that lives, at each place of the trips. */
Test(feed_merge, refused_at_any_place)
{
	static const char *const refused[][2] = {
		{"event RENAME COLUMN changes TO x", "event RENAME COLUMN x TO changes"},
		{"event RENAME COLUMN stamp TO x", "event RENAME COLUMN x TO stamp"},
		{"log_writer RENAME COLUMN ended TO x", "log_writer RENAME COLUMN x TO ended"},
		{"event_log RENAME COLUMN era TO x", "event_log RENAME COLUMN x TO era"},
	};
	struct walk w = {0};
	unsigned    rows;

	writers_make(2);
	row_write(1, 100);
	for (size_t i = 0; i < LENGTH(refused); i++) {
		cr_assert_eq(page_read(&w, 9, 0), DB_OK);
		row_write(1, 0);
		row_write(2, 0);
		rows = w.rows;
		run("ALTER TABLE %s", refused[i][0]);
		cr_expect_eq(page_read(&w, 9, i % 2 * 32), DB_ERROR, "%s", refused[i][0]);
		cr_expect(!transaction_stays());
		run("ALTER TABLE %s", refused[i][1]);
		cr_assert_eq(page_read(&w, 9, 0), DB_OK);
		cr_expect_eq(w.rows, rows + 2);
	}
	walk_fini(&w);
}

/* A cursor names the row at which it stands, and its writer is gone. */
Test(feed_merge, row_of_nobody)
{
	struct walk w = {0};

	writers_make(3);
	row_write(1, 100);
	row_write(2, 105);
	row_write(3, 110);
	run("UPDATE log_writer SET ended = 1 WHERE writer_id = 3");
	cr_assert_eq(page_read(&w, 9, 0), DB_OK);
	run("DELETE FROM log_writer WHERE writer_id = 3");
	cr_assert_eq(page_read(&w, 9, 0), DB_OK);
	cr_expect_eq(w.rows, 3);
	walk_fini(&w);
}

/* ---- what it costs */

static int64_t counted(const char *name)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
	         "SELECT variable_value FROM information_schema.session_status WHERE variable_name = '%s'", name);
	return scratch_number(reader, sql);
}

static int64_t selects_of_page(struct walk *w)
{
	int64_t before = counted("Com_select");

	row_write(1, 0);
	cr_assert_eq(page_read(w, 9, 0), DB_OK);
	return counted("Com_select") - before - 1;
}

/* Two looks at the log, the writers, stamps, rows. */
Test(feed_merge, ended_writers_cost_nothing)
{
	struct walk w = {0};

	writers_make(3);
	row_write(1, 100);
	row_write(3, 100);
	cr_assert_eq(page_read(&w, 9, 0), DB_OK);
	cr_expect_eq(selects_of_page(&w), 5);
	run("UPDATE log_writer SET ended = 1 WHERE writer_id = 3");
	cr_assert_eq(page_read(&w, 9, 0), DB_OK);
	cr_expect_eq(selects_of_page(&w), 5);
	walk_fini(&w);
}

static void ear(void *arg, const struct event_touch *t)
{
	(void)arg, (void)t;
}

/* Large rows: after the first batch of all, no look reads more than what it tells, and a batch. */
Test(feed_merge, large_rows_are_not_read_in_vain)
{
	const struct touched_ear none = {ear, NULL};
	struct touched           t = {0};
	enum outcome             outcome;
	struct text              changes = {0}, sql = {0};
	int64_t                  before;
	char                    *cursor;

	while (changes.len < 150000)
		event_level(&changes, EVENT_OUT, 1, 1, 0, -1);
	text_add(&sql, "INSERT INTO event SELECT 1, seq, 1000 + seq, UTC_TIMESTAMP(3), x'");
	text_hex(&sql, changes.data, changes.len);
	text_add(&sql, "' FROM seq_2_to_300");
	writers_make(1);
	row_write(1, 1000);
	cr_assert_eq(touched_read(reader, "now", &none, &t, &outcome), DB_OK);
	cr_assert_eq(db_text(s.db, sql.data, NULL, NULL), DB_OK, "%s", db_error(s.db));
	run("UPDATE log_writer SET event_no = 300, stamp = 1300 WHERE writer_id = 1");
	for (int look = 0; look < 3; look++) {
		cursor = t.cursor;
		before = counted("Bytes_sent");
		cr_assert_eq(touched_read(reader, cursor, &none, &t, &outcome), DB_OK);
		cr_expect(t.more);
		cr_expect_lt(counted("Bytes_sent") - before, look == 0 ? 12 << 20 : 6 << 20);
		free(cursor);
	}
	free(t.cursor);
	text_fini(&changes);
	text_fini(&sql);
}
