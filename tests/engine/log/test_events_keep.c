/* test_events_keep.c - how long events are kept: the setting, the removal of older ones, writers that end. */
#include "engine/base/clock.h"
#include "engine/db/db.h"
#include "engine/db/writer.h"
#include "engine/log/keeping.h"
#include "schema/migrate.h"
#include "tests/lang/flow.h"
#include "tests/kit/patience.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOCKED_MS = PATIENCE_MS / 3 }; /* a pass waits 2 s for a lock */

#define LOG  "sql SELECT keep_days, era FROM event_log -> "
#define ROWS "sql SELECT COUNT(*) FROM event -> "
#define ODD  "sql SELECT COUNT(*) FROM log_writer JOIN log_floor USING (writer_id) WHERE floor_no > event_no -> 0"

/* ---- the setting */

Test(events_keep, is_a_setting_of_the_database)
{
	flow("serve --lanes 2",
	     LOG "7,1",
	     "receipt A +10             -> 201",
	     "serve --lanes 2 --events-keep 3",
	     LOG "3,1",
	     "reserve R1 A=1            -> 201",
	     ROWS "2",
	     "serve --lanes 2",
	     LOG "3,1",
	     "serve --lanes 2 --events-keep 0",
	     LOG "0,2",
	     ROWS "0",
	     "reserve R2 A=1            -> 201",
	     "confirm R2                -> 200",
	     "work settle               -> 0",
	     ROWS "0",
	     ODD,
	     "serve --lanes 2 --events-keep 0",
	     LOG "0,2",
	     "serve --lanes 2 --events-keep 3650",
	     LOG "3650,3",
	     "reserve R3 A=1            -> 201",
	     ROWS "1",
	     "alone serve --events-keep 3651 -> 78",
	     "alone serve --events-keep -1   -> 64");
}

/* Processes that run follow at once. */
Test(events_keep, is_followed_by_all)
{
	flow("serve  --lanes 2 --jobs=expire",
	     "receipt A +10             -> 201",
	     "reserve R1 A=1            -> 201",
	     "second --lanes 1 --events-keep 0",
	     "reserve R2 A=1            -> 201",
	     "release R1                -> 200",
	     "reserve R3 A=1 ttl=60     -> 201",
	     "tick 61",
	     "wait get R3               -> expired",
	     "wait sql SELECT COUNT(*) FROM reservation WHERE state = 5 -> 1",
	     ROWS "0",
	     "@2 reserve R4 A=1         -> 201",
	     ROWS "0",
	     "second --lanes 1 --events-keep 1",
	     "reserve R5 A=1            -> 201",
	     "@2 confirm R5             -> 200",
	     ROWS "2");
}

/* Lanes lose their writers under way, and go on: no order is lost, none is told wrongly, and the log has what was done
 * while it was on. */
Test(events_keep, is_switched_under_load)
{
	struct race *race;
	struct db   *db;

	flow_begin();
	flow_steps("serve --lanes 4",
	           "receipt A +100000 -> 201",
	           "start W work settle --every 1 --batch 50 --workers 2");
	db = flow_scratch()->db;
	race = flow_race("16*250", "reserve R# A=1 confirm=true -> *x 201");
	for (int i = 0; i < 20; i++) {
		cr_expect_eq(keeping_set(db, i % 2 ? 7 : 0), DB_OK, "%s", db_error(db));
		usleep(50000);
	}
	race_finish(race, NULL);
	race_free(race);
	flow_steps("sql SELECT COUNT(*), COUNT(DISTINCT order_id) FROM reservation -> 4000,4000",
	           LOG "7,21",
	           "wait:16 sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> 4000",
	           "signal W TERM",
	           "end W     -> 0",
	           "sku A     -> available=96000 reserved=0",
	           "run audit -> 0");
	flow_end();
}

/* ---- what is older goes */

static struct scratch s;

static void tables_open(void)
{
	char why[300];

	scratch_open(&s);
	cr_assert(schema_migrate(s.db, why, sizeof(why)), "%s", why);
}

static void sql(const char *text)
{
	cr_assert_eq(db_text(s.db, text, NULL, NULL), DB_OK, "%s: %s", text, db_error(s.db));
}

/* A writer with `count` rows, one each second, the last of them `young_s` seconds ago. */
static void writer_make(int writer_id, int count, int64_t young_s)
{
	char text[700];

	snprintf(text, sizeof(text),
	         "INSERT INTO event SELECT %d, seq, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', a), a, 'x' FROM (SELECT "
	         "seq,"
	         " UTC_TIMESTAMP(3) - INTERVAL %lld + %d - seq SECOND AS a FROM seq_1_to_%d) aged",
	         writer_id, (long long)young_s, count, count);
	sql(text);
	snprintf(
		text, sizeof(text),
		"INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at, stamp, event_no)"
		" SELECT %d, 0, %d, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), MAX(stamp), %d FROM event WHERE writer_id"
		" = %d",
		writer_id, writer_id, count, writer_id);
	sql(text);
}

static int64_t number(const char *text)
{
	return scratch_number(s.db, text);
}

static int64_t pass(int64_t budget_ms)
{
	int64_t removed = 0;

	cr_expect_eq(keeping_pass(s.db, budget_ms, &removed), DB_OK, "%s", db_error(s.db));
	return removed;
}

#define NO_ROW_LIES_WRONG                                                                                            \
	"SELECT COUNT(*) FROM (SELECT w.writer_id, event_no, COALESCE(floor_no, 0) AS floor_no FROM log_writer w"    \
	" LEFT JOIN log_floor USING (writer_id)) w WHERE event_no - floor_no <> (SELECT COUNT(*) FROM event e WHERE" \
	" e.writer_id = w.writer_id AND e.event_no > w.floor_no) OR EXISTS (SELECT 1 FROM event e WHERE"             \
	" e.writer_id = w.writer_id AND e.event_no <= w.floor_no)"

enum { DAY_S = 86400, WEEK_S = 7 * DAY_S };

Test(events_keep, what_is_older_goes)
{
	tables_open();
	writer_make(1, 3500, WEEK_S - 1200); /* 2,300 are older, give or take those of a second or two */
	writer_make(2, 500, WEEK_S + 60);    /* all are */
	writer_make(3, 500, WEEK_S - 500);   /* none is */
	writer_make(4, 1, WEEK_S + 60);
	cr_expect(pass(60000) - 2300 - 500 - 1 <= 3);
	cr_expect_eq(number(NO_ROW_LIES_WRONG), 0);
	cr_expect_eq(number("SELECT floor_no FROM log_floor WHERE writer_id = 2"), 500);
	cr_expect_eq(number("SELECT floor_stamp = stamp FROM log_writer JOIN log_floor USING (writer_id) WHERE "
	                    "writer_id = 2"),
	             1);
	cr_expect_eq(number("SELECT COUNT(*) FROM log_floor WHERE writer_id = 3"), 0);
	cr_expect_eq(
		number("SELECT COUNT(*) FROM event WHERE at < UTC_TIMESTAMP(3) - INTERVAL 7 DAY - INTERVAL 3 SECOND"),
		0);
	cr_expect_geq(number("SELECT MIN(event_no) FROM event WHERE writer_id = 1"), 2300);
	cr_expect_eq(
		number("SELECT (floor_stamp DIV 1000000) + 1 = (SELECT stamp DIV 1000000 FROM event WHERE writer_id"
	               " = 1 ORDER BY event_no LIMIT 1) FROM log_floor WHERE writer_id = 1"),
		1);
	sql("UPDATE event_log SET keep_days = 8");
	cr_expect_eq(pass(60000), 0);
	sql("UPDATE event_log SET keep_days = 0");
	pass(60000);
	cr_expect_eq(number("SELECT COUNT(*) FROM event"), 0);
	cr_expect_eq(number(NO_ROW_LIES_WRONG), 0);
	scratch_close(&s);
}

/* A pass ends when its time is over, and the next one goes on. */
Test(events_keep, piece_by_piece)
{
	int64_t removed, passes = 0;

	tables_open();
	writer_make(1, 20000, WEEK_S + 60);
	writer_make(2, 5000, WEEK_S + 60);
	for (int64_t all = 0; all < 25000 && passes < 100; passes++) {
		removed = pass(1);
		cr_expect(removed > 0 && removed <= 4000, "%lld", (long long)removed);
		cr_expect_eq(number(NO_ROW_LIES_WRONG), 0);
		all += removed;
	}
	cr_expect(passes >= 7, "%lld passes", (long long)passes);
	cr_expect_eq(number("SELECT COUNT(*) FROM event"), 0);
	scratch_close(&s);
}

static void reads_add(void *arg, const struct db_row *row)
{
	*(int64_t *)arg += db_int(row, 1);
}

static int64_t reads(void)
{
	int64_t sum = 0;

	cr_assert_eq(db_text(s.db, "SHOW SESSION STATUS LIKE 'Handler_read%'", reads_add, &sum), DB_OK);
	return sum;
}

/* A pass reads no more when the log is longer, or when much was removed before. */
Test(events_keep, reads_little)
{
	int64_t before;

	tables_open();
	writer_make(1, 50000, WEEK_S - 49990);
	writer_make(2, 50000, 60);
	before = reads();
	cr_expect_leq(pass(60000), 20);
	cr_expect_leq(reads() - before, 150, "%lld rows read", (long long)(reads() - before));
	before = reads();
	cr_expect_leq(pass(60000), 5);
	cr_expect_leq(reads() - before, 100, "%lld rows read", (long long)(reads() - before));
	sql("UPDATE event_log SET keep_days = 0");
	cr_expect_geq(pass(60000), 99900);
	before = reads();
	pass(60000);
	cr_expect_leq(reads() - before, 10, "%lld rows read", (long long)(reads() - before));
	scratch_close(&s);
}

/* One wrong time makes no event old, and rows that were taken away by hand stop no pass. */
Test(events_keep, clocks_that_were_wrong)
{
	tables_open();
	writer_make(1, 1000, 60);
	sql("UPDATE event SET at = '1970-01-01' WHERE event_no <= 600");
	cr_expect_eq(pass(1000), 0, "the stamps are young");
	writer_make(2, 1000, WEEK_S + 60);
	sql("UPDATE event SET stamp = stamp + 500000000000000 WHERE writer_id = 2 AND event_no > 300");
	sql("DELETE FROM event WHERE writer_id = 2 AND (event_no <= 2 OR event_no BETWEEN 400 AND 410)");
	cr_expect_eq(pass(1000), 1000, "a clock was ahead for a while");
	cr_expect_eq(number("SELECT COUNT(*) FROM event"), 1000);
	cr_expect_eq(number(NO_ROW_LIES_WRONG), 0);
	scratch_close(&s);
}

static void age_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 2);
}

#define AHEAD "UPDATE event SET at = at + INTERVAL 400 DAY, stamp = stamp + 34560000000000 WHERE "

/* Events of a clock that was ahead go with those behind them, and the last ones by the writer's last sign. */
Test(events_keep, clocks_that_were_ahead)
{
	int64_t age_ms = 0;

	tables_open();
	writer_make(1, 1000, 60);
	sql(AHEAD "event_no <= 100");
	cr_expect_eq(db_ask(s.db, EVENT_FIGURES, NULL, age_read, &age_ms), DB_OK);
	cr_expect(age_ms >= 959000 && age_ms < 1100000, "%lld", (long long)age_ms);
	writer_make(2, 5000, WEEK_S + 60);
	sql(AHEAD "writer_id = 2 AND (event_no <= 1700 OR event_no BETWEEN 2000 AND 2100)");
	writer_make(3, 20, 60);
	sql(AHEAD "writer_id = 3");
	sql("UPDATE log_writer SET ended = 1, batch_at = UTC_TIMESTAMP(3) - INTERVAL 8 DAY WHERE writer_id = 3");
	writer_make(4, 20, 60);
	sql(AHEAD "writer_id = 4");
	cr_expect_eq(pass(60000), 5020);
	cr_expect_eq(number("SELECT COUNT(*) FROM event WHERE writer_id IN (1, 4)"), 1020, "these are young");
	cr_expect_eq(number(NO_ROW_LIES_WRONG), 0);
	scratch_close(&s);
}

/* A pass does not write the row of a writer: on a cluster this would undo a transaction of the writer's owner. A writer
 * with locked events is left to the next pass; the others are not. */
Test(events_keep, passes_over_locked_events)
{
	struct db *stranger;
	int64_t    began_ms;

	tables_open();
	writer_make(1, 1500, WEEK_S + 60);
	writer_make(2, 1500, WEEK_S + 60);
	stranger = scratch_connection(&s);
	cr_assert(db_text(stranger, "START TRANSACTION", NULL, NULL) == DB_OK &&
	          db_text(stranger, "UPDATE log_writer SET epoch = 2", NULL, NULL) == DB_OK &&
	          db_text(stranger, "SELECT stamp FROM event WHERE writer_id = 1 AND event_no = 10 FOR UPDATE", NULL,
	                  NULL) == DB_OK);
	began_ms = clock_ms();
	cr_expect_eq(pass(60000), 1500);
	cr_expect(!patience_is_over(began_ms, LOCKED_MS), "it took %lld ms", (long long)(clock_ms() - began_ms));
	db_free(stranger);
	cr_expect_eq(number(NO_ROW_LIES_WRONG), 0);
	cr_expect_eq(pass(60000), 1500);
	scratch_close(&s);
}

/* By the commands and the jobs that do it. */
Test(events_keep, is_cleaned_by_jobs)
{
	static const char aged[] = "sql UPDATE event SET stamp = stamp - 864000000000, at = at - INTERVAL 10 DAY -> ";

	flow_begin();
	flow_steps("receipt A +10             -> 201",
	           "reserve R1 A=1            -> 201",
	           aged,
	           "reserve R2 A=1            -> 201",
	           "run stats --json          -> 0 event_rows=3 event_bytes=* oldest_event_ms=*",
	           "run reap --dry-run        -> 0",
	           ROWS "3",
	           "run reap                  -> 0",
	           ROWS "1",
	           aged,
	           "run purge --keep 1000 --json -> 0 event_rows=1 reservations=0",
	           ROWS "0",
	           "run stats --json          -> 0 event_rows=0 oldest_event_ms=0",
	           "reserve R3 A=1            -> 201",
	           aged,
	           "serve --lanes 1 --jobs=reap",
	           "wait:16 " ROWS "0",
	           "reserve R4 A=1            -> 201",
	           ROWS "1",
	           ODD,
	           "sql UPDATE event_log SET since = 9e18 -> " /* the orders themselves are as young as they are */);
	flow_end();
}

/* ---- writers that end */

Test(events_keep, silent_writers_end)
{
	struct db *db;

	tables_open();
	db = scratch_connection(&s);
	cr_assert_eq(writer_enter(db, 0), DB_OK);
	scratch_tick(&s, 3500);
	cr_expect_eq(keeping_writers(s.db), DB_OK);
	cr_expect_eq(number("SELECT ended FROM log_writer"), 0);
	scratch_tick(&s, 101);
	cr_expect_eq(keeping_writers(s.db), DB_OK);
	cr_expect_eq(number("SELECT ended = 1 AND epoch = 2 FROM log_writer"), 1);
	cr_assert(db_connect(db));
	cr_assert_eq(writer_enter(db, 0), DB_OK);
	cr_expect_eq(db_writer(db)->writer_id, 2, "nobody has an ended one again, nor whoever had it");
	cr_expect_eq(db_writer(db)->epoch, 1);
	db_free(db);
	scratch_close(&s);
}

/* Every cursor names the writers that have not ended: of many, those that are silent end sooner. */
Test(events_keep, silent_writers_of_many_end)
{
	static const char more[] =
		"INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at)"
		" SELECT seq + %d, 0, seq, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM seq_1_to_%d";
	char text[300];

	tables_open();
	snprintf(text, sizeof(text), more, 0, 64);
	sql(text);
	sql("UPDATE log_writer SET batch_at = batch_at + INTERVAL 1 YEAR WHERE writer_id = 1 /* a clock was ahead */");
	scratch_tick(&s, 310);
	cr_expect_eq(keeping_writers(s.db), DB_OK);
	cr_expect_eq(number("SELECT MAX(writer_id) FROM log_writer WHERE ended = 1"), 1);
	snprintf(text, sizeof(text), more, 100, 2);
	sql(text);
	cr_expect_eq(keeping_writers(s.db), DB_OK);
	cr_expect_eq(number("SELECT COUNT(*) FROM log_writer WHERE ended = 1"), 64);
	cr_expect_eq(number("SELECT COUNT(*) FROM log_writer WHERE ended = 0 AND writer_id > 100"), 2);
	scratch_close(&s);
}

/* A process that ends gives its writers back, so there are as many as ever wrote at one time. */
Test(events_keep, writers_are_given_back)
{
#define WRITERS "sql SELECT COUNT(*) FROM log_writer -> "
	flow("serve --lanes 1",
	     "receipt A +10                -> 201",
	     "reserve R1 A=1 confirm=true  -> 201",
	     "reserve R2 A=1 confirm=true  -> 201",
	     "reserve R3 A=1 confirm=true  -> 201",
	     "reserve R4 A=1 confirm=true  -> 201",
	     "reserve R5 A=1 ttl=60        -> 201",
	     WRITERS "1",
	     "exec cat > /dev/null",
	     "work settle --batch 1 --max-attempts 1 -> 0",
	     WRITERS "2",
	     "run kick R1                  -> 0",
	     "run kick R2                  -> 0",
	     "run kick --all               -> 0",
	     "exec",
	     "tick 61",
	     "receipt A +1                 -> 201",
	     "work expire                  -> 0",
	     WRITERS "2",
	     "claim settle w1 limit=1 lease=10 -> 201",
	     "claim settle w2 limit=1      -> 201 task_id=7",
	     "complete 7                   -> completed=1",
	     WRITERS "2",
	     "tick 11",
	     "receipt A +1                 -> 201",
	     "run reap                     -> 0",
	     "restart",
	     "claim settle w1              -> 201 task_id=8",
	     "complete 8                   -> completed=2",
	     "reserve R6 A=1 confirm=true  -> 201",
	     "work settle                  -> 0",
	     WRITERS "3");
}

static void purge_writers(void)
{
	cr_expect_eq(db_ask(s.db, WRITER_PURGE, NULL, NULL, NULL), DB_OK, "%s", db_error(s.db));
}

/* A cursor may have a place for a writer as long as events are kept after its end. */
Test(events_keep, ended_writers_go)
{
	tables_open();
	writer_make(1, 10, WEEK_S + 60);
	writer_make(2, 10, 60);
	writer_make(3, 10, WEEK_S + 60);
	sql("UPDATE log_writer SET ended = 1 WHERE writer_id < 3");
	pass(1000);
	purge_writers();
	cr_expect_eq(number("SELECT COUNT(*) FROM log_writer"), 3, "they ended just now");
	scratch_tick(&s, WEEK_S + 10);
	sql("UPDATE event_log SET since = 5");
	purge_writers();
	cr_expect_eq(number("SELECT COUNT(*) FROM log_writer"), 2);
	cr_expect_eq(number("SELECT COUNT(*) FROM log_writer WHERE writer_id = 1"), 0,
	             "one has an event, one has not ended");
	cr_expect_gt(number("SELECT since FROM event_log"), 1000000);
	scratch_close(&s);
}

Test(events_keep, lanes_outlive_their_writers)
{
	flow("serve --lanes 2 --jobs=reap",
	     "receipt A +10             -> 201",
	     "reserve R1 A=1            -> 201",
	     "tick 3700",
	     "wait:16 sql SELECT COUNT(*) > 0 FROM log_writer WHERE ended = 1 -> 1",
	     "reserve R2 A=1            -> 201",
	     "reserve R1 A=1            -> 409 expired replayed",
	     "release R2                -> 200");
}

/* ---- figures */

Test(events_keep, figures)
{
	flow("serve --lanes 2",
	     "receipt A +10                 -> 201",
	     "reserve R1 A=1 confirm=true   -> 201",
	     "reserve R1 A=1 confirm=true   -> 200 replayed",
	     "reserve R2 A=2                -> 201",
	     "split R2 S1 A=1 then=release  -> 201",
	     "work settle                   -> 0",
	     "raw GET /metrics              -> 200 holdfast_events_written_total=9"
	     " holdfast_events_kept{kind=rows,scope=database}=5 ~holdfast_events_kept{kind=bytes,scope=database}"
	     " ~holdfast_events_oldest_age_seconds{scope=database}");
}
