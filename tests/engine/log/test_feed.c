/* test_feed.c - the feed: the order of writers, pages, places within rows, and what becomes of a cursor. Rows of the
 * log are written here as a transaction writes them. An event shows as WRITER.STAMP.PLACE. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/log/feed.h"
#include "engine/catalogue/past.h"
#include "schema/migrate.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct scratch    s;
static struct catalogue *catalogue;
static struct feed      *feed;
static struct db        *reader;

static void run(struct db *db, const char *format, ...) PRINTF(2, 3);
static void run(struct db *db, const char *format, ...)
{
	char   *sql;
	va_list ap;

	va_start(ap, format);
	cr_assert(vasprintf(&sql, format, ap) > 0);
	va_end(ap);
	cr_assert_eq(db_text(db, sql, NULL, NULL), DB_OK, "%s: %s", sql, db_error(db));
	free(sql);
}

static void writers_add(uint32_t from, uint32_t to)
{
	run(s.db,
	    "INSERT INTO log_writer (writer_id, slot, epoch, batch_no, batch_at, started_at)"
	    " SELECT seq, 0, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM seq_%u_to_%u",
	    from, to);
	run(s.db, "UPDATE event_log SET writer_last = %u", to);
}

static void setup(void)
{
	char why[300];

	scratch_open(&s);
	cr_assert(schema_migrate(s.db, why, sizeof(why)), "%s", why);
	run(s.db,
	    "INSERT INTO sku (sku_id, code, created_at) VALUES (1,'A',UTC_TIMESTAMP(3)),(2,'B',UTC_TIMESTAMP(3))");
	run(s.db, "INSERT INTO location (location_id, code) VALUES (1,'main')");
	run(s.db, "INSERT INTO api_key (key_id, name, created_at) VALUES (5,'shop',UTC_TIMESTAMP(3))");
	writers_add(1, 3);
	catalogue = catalogue_new();
	feed = feed_new(catalogue);
	reader = scratch_connection(&s);
	past_watch(db_source(reader), catalogue);
}

static void teardown(void)
{
	feed_free(feed);
	catalogue_free(catalogue);
	db_free(reader);
	scratch_close(&s);
}

TestSuite(feed, .init = setup, .fini = teardown);

/* ---- writing */

/* `count` changes, by turns stock.out and stock.back of the sku 1. */
static void changes_make(struct text *changes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		event_level(changes, i % 2 ? EVENT_BACK : EVENT_OUT, 1, i % 3 ? 1 : 0, i, -1);
}

static void row_write_changes(struct db *db, uint32_t writer_id, int64_t stamp, const struct text *changes)
{
	struct text hex = {0};

	text_hex(&hex, changes->data, changes->len);
	run(db, "UPDATE log_writer SET event_no = event_no + 1, stamp = %lld WHERE writer_id = %u", (long long)stamp,
	    writer_id);
	run(db,
	    "INSERT INTO event (writer_id, event_no, stamp, at, changes) SELECT writer_id, event_no, stamp,"
	    " TIMESTAMP'2026-11-22 08:00:00.000', x'%s' FROM log_writer WHERE writer_id = %u",
	    hex.data, writer_id);
	text_fini(&hex);
}

static void row_write(struct db *db, uint32_t writer_id, int64_t stamp, unsigned count)
{
	struct text changes = {0};

	changes_make(&changes, count);
	row_write_changes(db, writer_id, stamp, &changes);
	text_fini(&changes);
}

/* "1.100 2.105.3": rows of one change, or of so many. */
static void rows_write(const char *rows)
{
	unsigned  writer_id, count;
	long long stamp;

	for (int used; *rows; rows += used + (rows[used] == ' ')) {
		count = 1;
		cr_assert_geq(sscanf(rows, "%u.%lld%n.%u%n", &writer_id, &stamp, &used, &count, &used), 2);
		row_write(s.db, writer_id, stamp, count);
	}
}

/* ---- reading */

static char *cursor; /* of the page before */

static void keep(char *text)
{
	free(cursor);
	cursor = text;
}

static struct feed_page page;

static enum outcome page_of(const char *after, const char *types, unsigned limit)
{
	struct event_filter filter;
	enum outcome        outcome;
	enum db_result      result;

	feed_page_fini(&page);
	cr_assert(event_filter_read(types, &filter));
	result = feed_read(feed, reader, after, &filter, limit, &page, &outcome);
	cr_assert_eq(result, DB_OK, "%s", db_error(reader));
	cr_expect(!page.cursor == (outcome != OUTCOME_OK));
	return outcome;
}

static char *shown(void)
{
	static char all[4096];
	size_t      len = 0;

	all[0] = '\0';
	for (size_t i = 0; i < page.count && len < sizeof(all) - 60; i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%u.%lld.%u", i ? " " : "",
		                        page.events[i]->writer_id, (long long)page.events[i]->stamp,
		                        page.events[i]->place);
	snprintf(all + len, sizeof(all) - len, "%s", page.more ? " .." : "");
	return all;
}

/* A page: its events, and ".." where there are more. Its cursor is kept. */
#define PAGE(after, types, limit, expected)                                                                           \
	do {                                                                                                          \
		char *at_ = (after) ? mem_copy(after) : NULL;                                                         \
		cr_assert_eq(page_of(at_, types, limit), OUTCOME_OK, "%s", outcome_code(page_of(at_, types, limit))); \
		cr_expect_str_eq(shown(), expected, "%s, not %s", shown(), expected);                                 \
		keep(mem_copy(page.cursor));                                                                          \
		free(at_);                                                                                            \
	} while (0)
#define REFUSED(after, expected)                                                             \
	do {                                                                                 \
		enum outcome outcome_ = page_of(after, NULL, 10);                            \
		cr_expect_eq(outcome_, expected, "%s: %s", outcome_code(outcome_), shown()); \
	} while (0)

/* ---- order */

Test(feed, merges_writers_by_their_stamps)
{
	PAGE(NULL, NULL, 10, "");
	rows_write("1.100 2.105 1.110 3.107.2 2.120 1.120");
	PAGE(cursor, NULL, 100, "1.100.0 2.105.0 3.107.0 3.107.1 1.110.0 1.120.0 2.120.0");
	PAGE(cursor, NULL, 100, "");
	PAGE("", NULL, 4, "1.100.0 2.105.0 3.107.0 3.107.1 ..");
	PAGE(cursor, NULL, 3, "1.110.0 1.120.0 2.120.0");
	PAGE(cursor, NULL, 3, "");
}

Test(feed, a_page_ends_within_a_row)
{
	rows_write("1.100.5 2.105.3");
	PAGE(NULL, NULL, 2, "1.100.0 1.100.1 ..");
	PAGE(cursor, NULL, 2, "1.100.2 1.100.3 ..");
	PAGE(cursor, NULL, 2, "1.100.4 2.105.0 ..");
	rows_write("3.90.2");
	PAGE(cursor, NULL, 1, "2.105.1 ..");
	PAGE(cursor, NULL, 9, "2.105.2 3.90.0 3.90.1");
	PAGE(cursor, NULL, 9, "");
}

/* A row that commits late comes late, whatever was read before it and wherever a page ends. */
Test(feed, what_is_committed_late_is_not_skipped)
{
	struct db *late = scratch_connection(&s);

	run(late, "START TRANSACTION");
	row_write(late, 2, 50, 3);
	rows_write("1.100 3.101 1.102");
	PAGE(NULL, NULL, 2, "1.100.0 3.101.0 ..");
	run(late, "COMMIT");
	PAGE(cursor, NULL, 2, "2.50.0 2.50.1 ..");
	PAGE(cursor, NULL, 1, "2.50.2 ..");
	PAGE(cursor, NULL, 1, "1.102.0");
	PAGE(cursor, NULL, 1, "");
	db_free(late);
}

Test(feed, no_writer_is_read_past_a_gap)
{
	rows_write("1.100 1.110 1.120 2.130");
	run(s.db, "UPDATE event SET event_no = 22 WHERE writer_id = 1 AND event_no = 2");
	PAGE(NULL, NULL, 10, "1.100.0 2.130.0");
	PAGE(cursor, NULL, 10, "");
	run(s.db, "UPDATE event SET event_no = 2 WHERE writer_id = 1 AND event_no = 22");
	PAGE(cursor, NULL, 10, "1.110.0 1.120.0");
}

/* Batches of rows and of stamps are larger than the page, and are cut rightly. */
Test(feed, many_rows_come_in_order)
{
	int64_t before = 0, events = 0;

	for (int i = 0; i < 40; i++)
		rows_write("1.0 2.0 3.0.2");
	run(s.db, "UPDATE event SET stamp = event_no * 10 + writer_id MOD 2");
	run(s.db, "UPDATE event SET stamp = stamp + 1000 WHERE writer_id = 2");
	keep(NULL);
	for (unsigned limit = 1; events < 160; limit = limit % 23 + 1) {
		cr_assert_eq(page_of(cursor, NULL, limit), OUTCOME_OK);
		cr_assert(page.count == limit || events + (int64_t)page.count == 160);
		for (size_t i = 0; i < page.count; i++) {
			cr_assert_geq(page.events[i]->stamp, before);
			before = page.events[i]->stamp;
		}
		events += (int64_t)page.count;
		cr_assert_eq(page.more, events < 160);
		keep(mem_copy(page.cursor));
	}
	cr_expect_eq(events, 160);
	PAGE(cursor, NULL, 10, "");
}

Test(feed, only_wanted_types)
{
	rows_write("1.100.5 2.105.3 1.110");
	PAGE(NULL, "stock.back", 2, "1.100.1 1.100.3 ..");
	PAGE(cursor, "stock.back", 2, "2.105.1");
	PAGE(cursor, NULL, 2, "");
	PAGE(NULL, "reservation.held", 2, "");
	PAGE(cursor, NULL, 2, "");
	PAGE(NULL, "stock.out", 1, "1.100.0 ..");
	PAGE(cursor, "stock.back", 9, "1.100.1 1.100.3 2.105.1");
}

/* A page passes over a bounded number of events: the page is empty, and there is more. */
Test(feed, much_that_nobody_wants)
{
	unsigned pages = 1;

	for (int i = 0; i < 50; i++)
		row_write(s.db, 1 + i % 3, 100 + i, 20000);
	rows_write("1.1000");
	PAGE(NULL, "stock.changed", 10, " ..");
	cr_expect_lt(page.begin.count ? page.steps_count : 0, 50);
	for (; page.more; pages++)
		PAGE(cursor, "stock.changed", 10, pages < 2 ? " .." : "");
	cr_expect_eq(pages, 3);
	rows_write("1.1010");
	PAGE(cursor, NULL, 10, "1.1010.0");
}

/* ---- what an event says */

static struct event_head head_by(uint32_t key_id)
{
	return (struct event_head){.type = EVENT_HELD, .by = key_id, .cause = "because"};
}

Test(feed, names_are_read)
{
	const struct sku     *b = catalogue_sku_enter(catalogue, 2, "B", 1);
	const struct location main_ = {.location_id = 1, .kind = LOCATION_STOCK, .code = "main"};
	struct line           line = {.sku = b, .location = &main_, .qty = 3};
	struct reservation    r = {.order_id = "R1",
	                           .state = HELD,
	                           .key_id = 6,
	                           .confirmed_at = TIME_NONE,
	                           .released_at = TIME_NONE,
	                           .settled_at = TIME_NONE};
	struct event_head     head = head_by(5);
	struct text           changes = {0};

	event_reservation(&changes, &head, &r, &line, 1, false);
	row_write_changes(s.db, 1, 100, &changes);
	catalogue_forget(catalogue);
	PAGE(NULL, NULL, 10, "1.100.0");
	cr_expect_str_eq(sku_code(page.events[0]->reservation->lines[0].sku), "B");
	cr_expect_str_eq(page.events[0]->reservation->lines[0].location->code, "main");
	cr_expect_str_eq(page.events[0]->by, "shop");
	cr_expect_null(page.events[0]->made_by_name, "nobody has named the key 6 yet");
	run(s.db, "INSERT INTO api_key (key_id, name, created_at) VALUES (6,'web',UTC_TIMESTAMP(3))");
	PAGE(NULL, NULL, 10, "1.100.0");
	cr_expect_str_eq(page.events[0]->made_by_name, "web");
	run(s.db, "UPDATE api_key SET name = 'till' WHERE key_id = 6");
	catalogue_forget(catalogue);
	PAGE(NULL, NULL, 10, "1.100.0");
	cr_expect_str_eq(page.events[0]->made_by_name, "till", "of another past");
	text_fini(&changes);
}

/* A restored database has other names for the numbers. */
Test(feed, names_of_another_past_are_forgotten)
{
	rows_write("1.100.2 1.110.2");
	PAGE(NULL, NULL, 1, "1.100.0 ..");
	cr_expect_str_eq(sku_code(page.events[0]->level.sku), "A");
	run(s.db, "UPDATE sku SET code = 'C' WHERE sku_id = 1");
	catalogue_forget(catalogue);
	PAGE(cursor, NULL, 9, "1.100.1 1.110.0 1.110.1");
	cr_expect_str_eq(sku_code(page.events[0]->level.sku), "C");
}

/* ---- where to begin */

Test(feed, from_now)
{
	PAGE("now", NULL, 10, "");
	rows_write("1.100");
	PAGE(cursor, NULL, 10, "1.100.0");
	rows_write("2.105 2.110 3.90");
	PAGE("now", NULL, 10, "");
	PAGE(cursor, NULL, 10, "");
	rows_write("3.100");
	PAGE(cursor, NULL, 10, "3.100.0");
}

#define SECOND INT64_C(1000000)

Test(feed, from_a_time)
{
	int64_t at; /* 2026-11-22T08:00:00Z */

	cr_assert(time_read("2026-11-22T08:00:00Z", &at));
	for (int i = 0; i < 100; i++) {
		row_write(s.db, 1, at + (i - 50) * SECOND, 1);
		row_write(s.db, 2, at + (i - 99) * SECOND, 1);
	}
	row_write(s.db, 3, at + 200 * SECOND, 1);
	cr_assert_eq(page_of("2026-11-22T08:00:00Z", NULL, 1000), OUTCOME_OK);
	cr_expect_eq(page.count, 52);
	cr_expect(page.events[0]->stamp == at && page.events[0]->writer_id == 1);
	cr_expect(page.events[1]->stamp == at && page.events[1]->writer_id == 2);
	cr_assert_eq(page_of("2026-11-22T08:00:00.000001Z", NULL, 10), OUTCOME_OK);
	cr_expect_eq(page.events[0]->stamp, at + SECOND);
	cr_assert_eq(page_of("2026-11-22T10:30:49+02:30", NULL, 10), OUTCOME_OK);
	cr_expect_eq(page.count, 2);
	cr_expect_eq(page.events[0]->stamp, at + 49 * SECOND);
	cr_assert_eq(page_of("2026-11-22T08:03:21Z", NULL, 10), OUTCOME_OK);
	cr_expect_eq(page.count, 0);
	row_write(s.db, 2, at + SECOND, 1);
	keep(mem_copy(page.cursor));
	cr_assert_eq(page_of(cursor, NULL, 10), OUTCOME_OK);
	cr_expect_eq(page.count, 1, "what is committed later is new, whatever its stamp");
	cr_assert_eq(page_of("1970-01-01T00:00:00Z", NULL, 1000), OUTCOME_OK);
	cr_expect_eq(page.count, 202);
}

/* ---- writers come and go */

Test(feed, new_writers)
{
	rows_write("1.100 2.200");
	PAGE(NULL, NULL, 10, "1.100.0 2.200.0");
	writers_add(4, 5);
	PAGE(cursor, NULL, 10, "");
	rows_write("5.150");
	PAGE(cursor, NULL, 10, "5.150.0");
	writers_add(6, 6);
	rows_write("6.120 6.300");
	PAGE(cursor, NULL, 1, "6.120.0 ..");
	PAGE(cursor, NULL, 10, "6.300.0");
}

/* No writer has its number in the log's row, but not yet in the snapshot. The other way round is possible. */
Test(feed, a_writer_newer_than_the_known_ones)
{
	writers_add(4, 4);
	run(s.db, "UPDATE event_log SET writer_last = 3");
	rows_write("4.100");
	PAGE(NULL, NULL, 10, "4.100.0");
	PAGE(cursor, NULL, 10, "");
	run(s.db, "UPDATE event_log SET writer_last = 4");
	rows_write("4.110");
	PAGE(cursor, NULL, 10, "4.110.0");
}

Test(feed, writers_that_end)
{
	rows_write("1.100 1.300 2.200 2.400 3.150");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id = 1");
	PAGE(NULL, NULL, 2, "1.100.0 3.150.0 ..");
	PAGE(cursor, NULL, 2, "2.200.0 1.300.0 ..");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id IN (2, 3)");
	PAGE(cursor, NULL, 2, "2.400.0");
	PAGE(cursor, NULL, 2, "");
	run(s.db, "DELETE FROM log_writer WHERE writer_id = 3");
	PAGE(cursor, NULL, 2, "");
	writers_add(4, 4);
	rows_write("4.10");
	PAGE(cursor, NULL, 2, "4.10.0");
}

/* A writer ends with rows unread that were committed late: they stand before the merge. */
Test(feed, a_writer_that_ends_behind)
{
	rows_write("1.100 3.101");
	PAGE(NULL, NULL, 10, "1.100.0 3.101.0");
	rows_write("2.50 2.60.2 1.110");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id = 2");
	PAGE(cursor, NULL, 1, "2.50.0 ..");
	PAGE(cursor, NULL, 1, "2.60.0 ..");
	PAGE(cursor, NULL, 1, "2.60.1 ..");
	PAGE(cursor, NULL, 1, "1.110.0");
}

Test(feed, a_writer_that_has_ended_begun)
{
	rows_write("1.100.3 2.50 2.200");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id = 1");
	PAGE(NULL, NULL, 2, "2.50.0 1.100.0 ..");
	PAGE(cursor, NULL, 1, "1.100.1 ..");
	PAGE(cursor, NULL, 1, "1.100.2 ..");
	PAGE(cursor, NULL, 1, "2.200.0");
}

Test(feed, a_writer_that_is_taken_over)
{
	rows_write("1.100");
	PAGE(NULL, NULL, 10, "1.100.0");
	run(s.db, "UPDATE log_writer SET epoch = epoch + 1, mark = 77 WHERE writer_id = 1");
	PAGE(cursor, NULL, 10, "");
	rows_write("1.101");
	PAGE(cursor, NULL, 10, "1.101.0");
}

/* ---- what is removed */

static void purge(uint32_t writer_id, uint64_t event_no)
{
	run(s.db,
	    "REPLACE INTO log_floor SELECT writer_id, event_no, stamp FROM event WHERE event_no = %llu AND writer_id = "
	    "%u",
	    (unsigned long long)event_no, writer_id);
	run(s.db, "DELETE FROM event WHERE writer_id = %u AND event_no <= %llu", writer_id,
	    (unsigned long long)event_no);
}

Test(feed, what_was_passed_may_be_removed)
{
	rows_write("1.100 2.105 1.110 2.120 3.130");
	PAGE(NULL, NULL, 3, "1.100.0 2.105.0 1.110.0 ..");
	purge(1, 1);
	purge(2, 1);
	PAGE(cursor, NULL, 1, "2.120.0 ..");
	purge(1, 2);
	purge(2, 2);
	PAGE(cursor, NULL, 1, "3.130.0");
	PAGE("", NULL, 9, "3.130.0");
	purge(3, 1);
	PAGE(cursor, NULL, 9, "");
	PAGE("", NULL, 9, "");
	rows_write("1.140");
	PAGE(cursor, NULL, 9, "1.140.0");
}

Test(feed, what_was_not_passed_is_missed_when_it_is_removed)
{
	rows_write("1.100 2.105 1.110");
	PAGE(NULL, NULL, 1, "1.100.0 ..");
	purge(2, 1);
	REFUSED(cursor, CURSOR_EXPIRED);
	PAGE("", NULL, 1, "1.100.0 ..");
	purge(1, 2);
	REFUSED(cursor, CURSOR_EXPIRED);
	PAGE("", NULL, 1, "");
	writers_add(4, 4);
	rows_write("4.200 4.210");
	purge(4, 1);
	REFUSED(cursor, CURSOR_EXPIRED);
	PAGE("", NULL, 9, "4.210.0");
}

/* The same of a writer that no cursor names. */
Test(feed, what_an_ended_writer_had_is_missed_when_it_is_removed)
{
	rows_write("1.100 2.105 2.110 1.120");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id = 2");
	PAGE(NULL, NULL, 1, "1.100.0 ..");
	purge(2, 1);
	REFUSED(cursor, CURSOR_EXPIRED);
	PAGE("", NULL, 1, "1.100.0 ..");
	PAGE(cursor, NULL, 9, "2.110.0 1.120.0");
	purge(2, 2);
	PAGE(cursor, NULL, 9, "");
	run(s.db, "DELETE FROM log_writer WHERE writer_id = 2");
	PAGE(cursor, NULL, 9, "");
}

/* ---- other pasts */

Test(feed, a_cursor_of_another_past)
{
	static const char *const changes[][2] = {
		{"UPDATE event SET stamp = stamp - 1 WHERE writer_id = 2",
	         "UPDATE event SET stamp = stamp + 1 WHERE writer_id = 2"},
		{"UPDATE event SET stamp = stamp - 1 WHERE writer_id = 3",
	         "UPDATE event SET stamp = stamp + 1 WHERE writer_id = 3"},
		{"UPDATE log_writer SET event_no = 1 WHERE writer_id = 1",
	         "UPDATE log_writer SET event_no = 2 WHERE writer_id = 1"},
		{"UPDATE log_writer SET writer_id = 44 WHERE writer_id = 2",
	         "UPDATE log_writer SET writer_id = 2 WHERE writer_id = 44"},
		{"UPDATE log_writer SET ended = 0 WHERE writer_id = 3",
	         "UPDATE log_writer SET ended = 1 WHERE writer_id = 3"},
		{"UPDATE event_log SET writer_last = 2", "UPDATE event_log SET writer_last = 3"},
		{"UPDATE event_log SET era = era + 1", "UPDATE event_log SET era = era - 1"},
		{"UPDATE identity SET mark = mark + 1", "UPDATE identity SET mark = mark - 1"},
		{"UPDATE event SET event_no = 9 WHERE writer_id = 1 AND event_no = 2",
	         "UPDATE event SET event_no = 2 WHERE writer_id = 1 AND event_no = 9"},
	};

	rows_write("1.100 2.105 1.110 3.120");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id = 3");
	PAGE(NULL, NULL, 9, "1.100.0 2.105.0 1.110.0 3.120.0");
	for (size_t i = 0; i < LENGTH(changes); i++) {
		run(s.db, "%s", changes[i][0]);
		REFUSED(cursor, CURSOR_EXPIRED);
		run(s.db, "%s", changes[i][1]);
		cr_expect_eq(page_of(cursor, NULL, 9), OUTCOME_OK, "%s", changes[i][1]);
	}
	purge(1, 2);
	cr_expect_eq(page_of(cursor, NULL, 9), OUTCOME_OK);
	run(s.db, "UPDATE log_floor SET floor_stamp = floor_stamp + 1 WHERE writer_id = 1");
	REFUSED(cursor, CURSOR_EXPIRED);
}

/* A row that was kept from the page before is given only as the database has it. */
Test(feed, kept_rows_are_compared)
{
	rows_write("1.100 1.110 1.120.2");
	PAGE(NULL, NULL, 1, "1.100.0 ..");
	run(s.db, "UPDATE event e JOIN event o ON o.event_no = 3 SET e.stamp = 115, e.changes = o.changes"
	          " WHERE e.event_no = 2");
	PAGE(cursor, NULL, 9, "1.115.0 1.115.1 1.120.0 1.120.1");
}

Test(feed, events_off)
{
	rows_write("1.100");
	PAGE(NULL, NULL, 9, "1.100.0");
	run(s.db, "UPDATE event_log SET keep_days = 0, era = era + 1");
	REFUSED(NULL, EVENTS_OFF);
	REFUSED("now", EVENTS_OFF);
	REFUSED(cursor, EVENTS_OFF);
	REFUSED("nonsense", BAD_CURSOR);
	run(s.db, "UPDATE event_log SET keep_days = 7");
	REFUSED(cursor, CURSOR_EXPIRED);
	PAGE("now", NULL, 9, "");
}

Test(feed, a_text_that_is_no_cursor)
{
	static const char *const texts[] = {
		"e",     "eAAAA", "eAAAAAAAA", "now ", "Now", "2026-11-22", "2026-13-01T00:00:00Z",
		"e====", "e.",    "r.0.1.2.3", "%00"};
	size_t len;

	rows_write("1.100 2.105");
	PAGE(NULL, NULL, 1, "1.100.0 ..");
	for (size_t i = 0; i < LENGTH(texts); i++)
		REFUSED(texts[i], BAD_CURSOR);
	len = strlen(cursor);
	for (size_t i = 0; i < len; i++) {
		char *damaged = mem_copy(cursor);

		damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
		REFUSED(damaged, BAD_CURSOR);
		damaged[i] = '\0';
		REFUSED(i ? damaged : "?", BAD_CURSOR);
		free(damaged);
	}
	PAGE(cursor, NULL, 1, "2.105.0");
}

/* ---- the cursor behind a part of a page */

Test(feed, a_cursor_behind_each_event)
{
	static const char *const all[] = {"1.100.1", "1.100.3", "2.105.1", "3.107.1", "1.110.1"};
	struct feed_page         whole;
	char                     expected[20];

	rows_write("1.100.5 2.105.3 3.106 3.107.2 1.110.2 2.120");
	PAGE(NULL, "stock.back", 9, "1.100.1 1.100.3 2.105.1 3.107.1 1.110.1");
	whole = page;
	page = (struct feed_page){0};
	for (size_t i = 0; i <= whole.count; i++) {
		keep(feed_cursor(&whole, i));
		snprintf(expected, sizeof(expected), "%s%s", i < whole.count ? all[i] : "",
		         i < whole.count ? " .." : "");
		PAGE(cursor, "stock.back", 1, expected);
	}
	keep(feed_cursor(&whole, whole.count));
	cr_expect_str_eq(cursor, whole.cursor, "what nobody wanted is passed, too");
	feed_page_fini(&whole);
}

/* ---- a look */

Test(feed, a_look_tells_what_is_new)
{
	static const char *const changes[] = {"UPDATE event_log SET era = era + 1",
	                                      "UPDATE log_writer SET ended = 1 WHERE writer_id = 3",
	                                      "DELETE FROM log_writer WHERE writer_id = 3"};
	bool                     news;

	cr_expect(feed_look(feed, reader, &news) == DB_OK && news, "the first");
	cr_expect(feed_look(feed, reader, &news) == DB_OK && !news);
	rows_write("1.100");
	cr_expect(feed_look(feed, reader, &news) == DB_OK && news);
	cr_expect(feed_look(feed, reader, &news) == DB_OK && !news);
	for (size_t i = 0; i < LENGTH(changes); i++) {
		run(s.db, "%s", changes[i]);
		cr_expect(feed_look(feed, reader, &news) == DB_OK && news, "%s", changes[i]);
	}
	writers_add(4, 4);
	cr_expect(feed_look(feed, reader, &news) == DB_OK && news);
	cr_expect(feed_look(feed, reader, &news) == DB_OK && !news);
}

/* ---- size */

Test(feed, a_cursor_of_a_hundred_writers_is_short)
{
	size_t len;

	run(s.db, "DELETE FROM log_writer");
	writers_add(4000000001, 4000000200);
	run(s.db,
	    "UPDATE log_writer SET event_no = 1000000000000000 + writer_id, stamp = 1795000000000000 + writer_id");
	run(s.db, "INSERT INTO log_floor SELECT writer_id, event_no - 1, 1795000000000000 FROM log_writer");
	run(s.db, "UPDATE log_writer SET ended = 1 WHERE writer_id MOD 2");
	run(s.db, "INSERT INTO event SELECT writer_id, event_no, stamp, UTC_TIMESTAMP(3), x'01' FROM log_writer");
	cr_assert_eq(page_of(NULL, NULL, 10), OUTCOME_OK);
	len = strlen(page.cursor);
	cr_expect_lt(len, 2000, "%zu", len);
	cr_expect_eq(strspn(page.cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), len);
	keep(mem_copy(page.cursor));
	cr_assert_eq(page_of(cursor, NULL, 10), OUTCOME_OK);
}
