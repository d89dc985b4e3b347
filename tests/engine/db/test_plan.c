/* test_plan.c - how the database runs our statements: by which key, without a scan, without a sort of what is stored.
 * The statements are taken from the program. */
#include "engine/base/memory.h"
#include "engine/db/statement.h"
#include "tests/kit/server.h"
#include "tests/kit/tables.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct scratch s;

#define DAY_2020 INT64_C(1577836800000)

/* ---- plans */

enum sorts { NO_SORT, SORTS_OWN_ROWS }; /* the rows of the batch's own list, a few thousand at most */

/* (reservation_id, changed, attempts) */
#define AS_READ_FROM_4                                                                                  \
	"(4,0,0),(5,0,0),(6,0,0),(7,0,0),(8,0,0),(9,0,0),(10,0,0),(11,0,0),(12,0,0),(13,0,0),(14,0,0)," \
	"(15,0,0),(16,0,0),(17,0,0),(18,0,0),(19,0,0),(20,0,0),(21,0,0),(22,0,0),(23,0,0),(24,0,0),(25,0,0)"
#define AS_READ_25 "(1,0,0),(2,0,0),(3,0,0)," AS_READ_FROM_4

/* (writer_id, event_no) */
#define EVENTS_30                                                                                          \
	"(7,1),(7,2),(7,3),(7,4),(7,5),(7,6),(7,7),(7,8),(7,9),(7,10),(7,11),(7,12),(7,13),(7,14),(7,15)," \
	"(8,1),(8,2),(8,3),(8,4),(8,5),(8,6),(8,7),(8,8),(8,9),(8,10),(8,11),(8,12),(8,13),(8,14),(8,15)"

static const struct plan {
	enum statement statement;
	const char    *rows;
	enum sorts     sorts;
} plans[] = {
	{SKU_FIND, "A,B", NO_SORT},
	{STOCK_BALANCE, "(1,1,0),(2,1,3)", SORTS_OWN_ROWS},
	{STOCK_WAITED, "(1,3),(2,3)", NO_SORT},
	{STOCK_KEPT, "(1,1,3),(2,1,3)", NO_SORT},
	{SLOTS_TOUCH, "(1,1),(2,1)", NO_SORT},
	{SLOTS_UNTOUCH, "(1,1),(2,1)", NO_SORT},
	{STOCK_TOTALS, "1,2,3", NO_SORT},
	{STOCK_TOTALS_TOLD, "1,2,3", NO_SORT},
	{STOCK_TOTALS_THERE, "1,2,3", NO_SORT},
	{WAITING_LIST, "", NO_SORT},
	{PULL_AHEAD, "", NO_SORT},
	{PULL_FIND, "(1,3),(2,3)", NO_SORT},
	{PULL_SLOTS, "", NO_SORT},
	{PROMISE_READ, "(1,1),(1,2)", NO_SORT},
	{WAITING_FRONT, "", NO_SORT},
	{LOSERS_WALK, "(1,1),(2,3)", NO_SORT},
	{LOSERS_WALK_ASIDE, "(1,1),(2,3)", NO_SORT},
	{LOSERS_LOCK, "(1,0,0)", NO_SORT},
	{LOSERS_LOCK, AS_READ_25, NO_SORT},
	{WAITING_LOSE, "(1,1,1,1),(2,1,1,1),(3,1,1,1)", NO_SORT},
	{WAITING_LOSE_AHEAD, "(1,1,2,1),(2,1,2,1),(3,1,2,1)", SORTS_OWN_ROWS},
	{BACKORDERS_FIND, "1,2", NO_SORT},
	{WAITING_SERVED, "(1),(2),(3)", NO_SORT},
	{RESERVATION_SERVE, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{RESERVATION_SERVE_LAST, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{ARRIVING, "1,2", NO_SORT},
	{ARRIVALS_OPEN, "", NO_SORT},
	{PROMISE_LOWER, "", NO_SORT},
	{PROMISE_UNWAITED, "", NO_SORT},
	{PROMISE_SLOTS, "", NO_SORT},
	{SLOTS_RAISE, "", NO_SORT},
	{SLOTS_LOWER, "", NO_SORT},
	{ARRIVAL_LOWER, "", NO_SORT},
	{ARRIVAL_CLOSE, "", NO_SORT},
	{ARRIVAL_MOVE, "", NO_SORT},
	{ARRIVAL_TELL, "", NO_SORT},
	{WAITING_CONFIRM, "1,2,3", NO_SORT},
	{WAITING_END, "(1),(2),(3)", NO_SORT},
	{WAITING_FOLLOW, "(9,1,2,0,1,5,2),(9,2,2,0,1,5,2)", SORTS_OWN_ROWS},
	{WAITING_LESS, "(1,1,2,1),(2,1,2,1)", SORTS_OWN_ROWS},
	{WAITING_TRIM, "1,2,3", SORTS_OWN_ROWS},
	{WAITING_RAISE, "1,2,3", SORTS_OWN_ROWS},
	{WAITING_JOIN, "1,2,3", NO_SORT},
	{WAITING_SERVED_MORE, "1,2,3", NO_SORT},
	{AMEND_ORDER, "(1,0,0)", NO_SORT},
	{AMEND_ORDER, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{AMEND_TTL, "(1,60),(2,60)", NO_SORT},
	{AMEND_SHORTS_DROP, "(1),(2),(3)", NO_SORT},
	{RESERVATION_WAIT, "1,2,3", NO_SORT},
	{STOCK_EVERY_SLOT, "1,2", NO_SORT},
	{MOVED_SINCE, "1,2", NO_SORT},
	{COUNTED_ENTER, "(1,1,0),(2,1,0)", SORTS_OWN_ROWS},
	{STOCK_LOOK, "(1,1,0),(2,1,1)", SORTS_OWN_ROWS},
	{STOCK_LOCK, "(1,1,1),(2,1,1)", SORTS_OWN_ROWS},
	{STOCK_OVER_LIMIT, "1,2", NO_SORT},
	{STOCK_GATHER, "(1,1,30),(2,1,30)", SORTS_OWN_ROWS},
	{STOCK_DEDUCT, "", NO_SORT},
	{STOCK_DEDUCT_MANY, "", NO_SORT},
	{MOVEMENT_FIND, "A,B", NO_SORT},
	{SKU_LIST, "", NO_SORT},
	{SKU_LIST_BARCODE, "", NO_SORT},
	{SKU_DETAILS, "1,2", NO_SORT},
	{STOCK_TOTALS_DETAILED, "1,2,3", NO_SORT},
	{LEVELS_OF_SKUS, "1,2", NO_SORT},
	{MOVED_LATELY, "(1,1),(2,1)", NO_SORT},
	{THRESHOLD_LIST, "", NO_SORT},
	{MOVEMENT_LIST, "", NO_SORT},
	{TXN_ENTER, "", NO_SORT},
	{LANE_LOGS, "", NO_SORT},
	{LANE_STAMP, "", NO_SORT},
	{WRITER_TOUCH, "", NO_SORT},
	{WRITER_LEAVE, "", NO_SORT},
	{WRITERS_END, "7,8", NO_SORT},
	{WALK_BEHIND, "", NO_SORT},
	{FEED_RANGE, "", NO_SORT},
	{AUDITED_RESERVATIONS, "", NO_SORT},
	{AUDITED_RESERVATIONS_NAMED, "A,B", NO_SORT},
	{AUDITED_MOVEMENTS, "", NO_SORT},
	{AUDITED_MOVEMENTS_NAMED, "A,B", NO_SORT},
	{LANE_ENTER, "", NO_SORT},
	{RESERVATION_FIND, "A,B", NO_SORT},
	{RESERVATION_BY_ID, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{RESERVATION_CONFIRM, "(1,0,0)", NO_SORT},
	{RESERVATION_CONFIRM, AS_READ_25, NO_SORT},
	{RESERVATION_CONFIRM_LATE, "(1,0,0)", NO_SORT},
	{RESERVATION_CONFIRM_LATE, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{RESERVATION_REACQUIRE, "(1,0,0)", NO_SORT},
	{RESERVATION_REACQUIRE, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{RESERVATION_LINE_MOVE, "1,2,3", NO_SORT},
	{RESERVATION_RELEASE_HELD, "(1,0,0)", NO_SORT},
	{RESERVATION_RELEASE_HELD, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{RESERVATION_RELEASE_FROM, "(1,0,0)", NO_SORT},
	{RESERVATION_RELEASE_FROM, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{RESERVATION_EXTEND, "(1,0,0)", NO_SORT},
	{RESERVATION_EXTEND, "(1,0,0),(2,0,0)", NO_SORT},
	{RESERVATION_KICK, "(1,0,0)", NO_SORT},
	{RESERVATION_KICK, "(1,0,0),(2,0,0),(3,0,0)", NO_SORT},
	{RESERVATION_EXPIRE, "(1,0,0)", NO_SORT},
	{RESERVATION_EXPIRE, AS_READ_25, NO_SORT},
	{RETURNED_FIND, "1", NO_SORT},
	{RETURNED_FIND, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{RETURNED_NOTE, "1", NO_SORT},
	{RETURNED_NOTE, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{RETURNED_MAKE, "(3,1,1),(3,2,1)", NO_SORT},
	{RETURNED_ADD, "(3,1,1),(3,2,1)", NO_SORT},
	{PARTS_SETTLED, "(1,1),(1,2),(2,3)", NO_SORT},
	{KIN_FIND, "10", NO_SORT}, /* expired by task 10 */
	{KIN_FIND, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{KIN_PARTS, "1", SORTS_OWN_ROWS},
	{RESERVATION_PROBE, "1,2,3", NO_SORT},
	{RESERVATION_SKUS, "(1),(2),(3)", NO_SORT},
	{RESERVATION_DIRTY_READ, "A,B", NO_SORT},
	{RESERVATION_AWAIT, "1,2,3", NO_SORT},
	{RESERVATION_UNLOCKED, "1,2,3", NO_SORT},
	{MOVEMENT_DIRTY_READ, "A,B", NO_SORT},
	{EXPIRED_EXISTS, "", NO_SORT},
	{EXPIRED_OF_SKUS, "1,2", NO_SORT},
	{KEY_USES, "5,6", NO_SORT},
	{KEY_HOLD_PAGE, "", NO_SORT},
	{KEY_HOLD_ENTER, "5,6", SORTS_OWN_ROWS},
	{KEY_HOLD_COUNT, "5,6", NO_SORT},
	{KEY_HOLD_OVER, "", NO_SORT},
	{KEY_HOLD_REMOVE, "1,2,3", NO_SORT},
	{RESERVATION_LIST, "", NO_SORT},
	{RESERVATION_LIST_WAITING, "", NO_SORT},
	{RESERVATION_LIST_TASKED, "", NO_SORT},
	{RESERVATION_LIST_ON_HOLD, "", NO_SORT},
	{RESERVATION_LIST_CUSTOMER, "", NO_SORT},
	{RESERVATION_LIST_REFERENCE, "", NO_SORT},
	{RESERVATION_LIST_PREFIX, "", NO_SORT},
	{RESERVATION_LIST_CUSTOMER_PREFIX, "", NO_SORT},
	{RESERVATION_LIST_REFERENCE_PREFIX, "", NO_SORT},
	{RESERVATION_LIST_CREATED, "", NO_SORT},
	{RESERVATION_MADE, "", NO_SORT},
	{NOTE_STATES, "1,2,3", NO_SORT},
	{RESERVATION_ON_HOLD, "(1,0,0,5)", NO_SORT},
	{RESERVATION_ON_HOLD, "(1,0,0,5),(2,0,0,5),(3,0,0,0)", NO_SORT},
	{RESERVATION_OFF_HOLD, "(1,0,0,5),(2,0,0,5),(3,0,0,0)", NO_SORT},
	{ON_HOLD_ADD, "(1,5,0,A),(2,5,5,B)", NO_SORT},
	{ON_HOLD_FIND, "1", NO_SORT},
	{ON_HOLD_FIND, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{ON_HOLD_END, "1", NO_SORT},
	{ON_HOLD_END, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{ON_HOLD_REMOVE, "1", NO_SORT},
	{ON_HOLD_REMOVE, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NO_SORT},
	{WEBHOOK_FIND, "", NO_SORT},
	{WEBHOOK_LIST, "", NO_SORT},
	{WEBHOOK_DELETE, "", NO_SORT},
	{WEBHOOK_ENABLE, "", NO_SORT},
	{WEBHOOK_ROTATE, "", NO_SORT},
	{WEBHOOK_CLAIM, "A,B", NO_SORT},
	{WEBHOOK_AHEAD, "", NO_SORT},
	{WEBHOOK_IS_MINE, "", NO_SORT},
	{WEBHOOK_MINE, "", NO_SORT},
	{WEBHOOK_RENEW, "", NO_SORT},
	{WEBHOOK_RETURN, "", NO_SORT},
	{WEBHOOK_SAVE, "", NO_SORT},
	{WEBHOOK_PASS, "", NO_SORT},
	{WEBHOOK_ASK, "", NO_SORT},
	{WEBHOOK_ATTEMPTS, "", NO_SORT},
	{WEBHOOK_ATTEMPTS_SAVE, "", NO_SORT},
	{WEBHOOK_FIGURES, "", NO_SORT},
	{FEED_LOG, "", NO_SORT},
	{FEED_WRITERS, "", NO_SORT},
	{FEED_LOOK, "", NO_SORT},
	{FEED_STAMPS, "(7,1),(7,2),(8,1)", NO_SORT},
	{FEED_STAMPS, EVENTS_30, NO_SORT},
	{FEED_ROWS, "(7,1)", NO_SORT},
	{FEED_ROWS, EVENTS_30, NO_SORT},
	{SKU_NAMES, "1,2,3", NO_SORT},
	{KEY_NAMES, "1,2,3,4", NO_SORT},
	{LINES_OF_ORDERS, "A,B", NO_SORT},
	{LINES_OF_MOVEMENTS, "A,B", NO_SORT},
	{LEVEL_LOOK, "(1,1),(2,1)", NO_SORT},
	{LEVEL_MAKE, "(1,2,3),(2,2,3)", NO_SORT},
	{LEVEL_LIST, "", NO_SORT},
	{LEVEL_LIST_ALL, "", NO_SORT},
	{LEVEL_ASKED, "", NO_SORT},
	{LEVEL_ANSWERED, "(1,1,1),(2,0,1)", NO_SORT},
	{UNITS_LOOK, "1,2,3", NO_SORT},
	{WATCH_CLAIM, "", NO_SORT},
	{WATCH_READ, "", NO_SORT},
	{WATCH_KEEP, "", NO_SORT},
	{WATCH_LEAVE, "", NO_SORT},
	{WATCH_WISH, "", NO_SORT},
	{LEVELS_BEHIND, "", NO_SORT},
	{ARRIVALS_AHEAD, "", NO_SORT},
	{ARRIVALS_BRING_BACK, "(1,1,1,2),(2,1,1,2)", NO_SORT},
	{WEBHOOKS_AHEAD, "", NO_SORT},
	{WEBHOOKS_BRING_BACK, "1,2", NO_SORT},
	{WAITING_AHEAD, "", NO_SORT},
	{WAITING_BRING_BACK, "1,2,3", NO_SORT},
	{COUNTS_AHEAD, "", NO_SORT},
	{COUNTS_BRING_BACK, "(1,1),(2,1)", NO_SORT},
	{LIMITS_READ, "", NO_SORT},
	{SALES_FIND, "A,B", NO_SORT},
	{SALES_FIND_LOCATION, "", NO_SORT},
	{SALES_SKUS, "(1,1)", NO_SORT},
	{SALES_SKUS, "(1,1),(2,1),(3,0)", NO_SORT},
	{SALES_NUMBERS, "(1,1),(2,2)", NO_SORT},
	{SALES_DETAILS, "", NO_SORT},
	{SALES_BARCODES_DROP, "", NO_SORT},
	{SALES_LOCATION, "", NO_SORT},
	{CUSTOMER_HAS, "", NO_SORT},
	{CUSTOMER_QUOTAS, "(1,C,1),(2,D,2)", NO_SORT},
	{CUSTOMER_RAISE, "(C,1,1),(D,2,1)", SORTS_OWN_ROWS},
	{CUSTOMER_LOOK, "(C,1),(D,2)", NO_SORT},
	{PURGE_CUSTOMERS, "1,2,3", SORTS_OWN_ROWS},
	{PURGE_NOTHING_HAD, "1,2,3", NO_SORT},
};

struct explained {
	const struct plan *plan;
	const char        *setting; /* of the server; empty: as tests have it */
	int                rows;
};

/* id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra */
static void plan_read(void *arg, const struct db_row *row)
{
	struct explained *e = arg;
	const char       *name = statements[e->plan->statement].name, *table = row->col[2], *type = row->col[3];
	bool              made = row->columns > 9 && row->col[9] && strstr(row->col[9], "Table function");
	bool              stored = table && table[0] != '<' && type && !made;

	e->rows++;
	cr_expect(!stored || (strcmp(type, "ALL") != 0 && strcmp(type, "index") != 0), "%s scans %s %s", name, table,
	          e->setting);
	cr_expect(!stored || row->col[5], "%s has no key for %s %s", name, table, e->setting);
	if (row->columns <= 9 || !row->col[9])
		return;
	cr_expect(!stored || !strstr(row->col[9], "join buffer"), "%s buffers %s %s", name, table, e->setting);
	if (strstr(row->col[9], "filesort"))
		cr_expect(e->plan->sorts == SORTS_OWN_ROWS, "%s sorts %s", name, e->setting);
}

/* Of the sku 1 or of none (0), the same of the location. */
static void explain_write(struct text *sql, const struct plan *plan, int64_t sku, int64_t location)
{
	struct values rows = {0};

	rows_parse(&rows, plan->rows);
	text_reset(sql);
	text_add(sql, "EXPLAIN ");
	statement_add(sql, plan->statement,
	              &(struct fill){.rows = &rows,
	                             .slot = 1,
	                             .writer = 7,
	                             .task = 7,
	                             .fence = 1,
	                             .sku = sku,
	                             .location = location,
	                             .state = 2,
	                             .ttl_s = 10,
	                             .webhook = "W7",
	                             .secret = "whsec_",
	                             .cursor = "c",
	                             .version = 1,
	                             .lease_s = 30,
	                             .after_code = "A",
	                             .prefix = "A",
	                             .code = "A",
	                             .customer = "C",
	                             .reference = "R",
	                             .after_at = DAY_2020,
	                             .until_at = DAY_2020,
	                             .from_at = DAY_2020,
	                             .after_id = 1,
	                             .until_id = 1 << 20,
	                             .before_id = 1 << 30,
	                             .after_task = 1,
	                             .total_max = 10,
	                             .offset = 10,
	                             .limit = 10});
	for (char *at = sql->data; (at = strchr(at, '?')) != NULL;)
		*at = '7'; /* a parameter of a prepared statement; 7 is the lane, too */
	values_fini(&rows);
}

/* A list may ask for a sku, and for a location, or not: what then is another statement is explained, too. */
static void plan_holds(const struct plan *plan, const char *setting)
{
	static const int64_t asked[][2] = {{0, 0}, {1, 0}, {1, 1}};
	struct text          sql = {0}, before = {0};

	for (size_t i = 0; i < LENGTH(asked); i++) {
		struct explained e = {plan, setting, 0};

		explain_write(&sql, plan, asked[i][0], asked[i][1]);
		if (before.data && strcmp(before.data, sql.data) == 0)
			continue;
		cr_expect_eq(db_text(s.db, sql.data, plan_read, &e), DB_OK, "%s: %s", statements[plan->statement].name,
		             db_error(s.db));
		cr_expect_gt(e.rows, 0);
		text_reset(&before);
		text_add(&before, sql.data);
	}
	text_fini(&sql);
	text_fini(&before);
}

static void plans_hold(const char *setting)
{
	for (size_t i = 0; i < LENGTH(plans); i++)
		plan_holds(&plans[i], setting);
}

Test(plan, no_scan_and_no_sort)
{
	tables_fill(&s);
	plans_hold("");
	scratch_close(&s);
}

/* ---- rows that are looked at */

static void walked_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg += strncmp(row->col[0], "Handler_read", 12) == 0 ? db_int(row, 1) : 0;
}

static int64_t reads_of(enum statement name, const struct fill *fill)
{
	struct text sql = {0};
	int64_t     walked = 0;

	statement_add(&sql, name, fill);
	tables_run(s.db, "FLUSH STATUS");
	cr_assert_eq(db_text(s.db, sql.data, NULL, NULL), DB_OK, "%s", db_error(s.db));
	cr_assert_eq(db_text(s.db, "SHOW SESSION STATUS LIKE 'Handler_read%'", walked_read, &walked), DB_OK);
	text_fini(&sql);
	return walked;
}

/* How many rows a page of ten reads. */
static int64_t page_walks(int state, int lapsed)
{
	return reads_of(RESERVATION_LIST_WAITING, &(struct fill){.state = state, .lapsed = lapsed, .limit = 10});
}

/* A list of what is held does not walk what has expired, nor the other way round. */
Test(plan, a_list_walks_its_own_rows)
{
	tables_fill(&s);
	tables_run(s.db,
	           "UPDATE reservation SET state = 1, task_id = NULL, expires_at = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR,"
	           " due_at = expires_at");
	cr_expect_leq(page_walks(1, true), 2, "expired: %lld rows", (long long)page_walks(1, true));
	cr_expect_leq(page_walks(1, false), 12);
	tables_run(s.db, "UPDATE reservation SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 HOUR, due_at = expires_at");
	cr_expect_leq(page_walks(1, false), 2, "held: %lld rows", (long long)page_walks(1, false));
	cr_expect_leq(page_walks(1, true), 12);
	tables_run(s.db, "UPDATE reservation SET state = 4");
	cr_expect_leq(page_walks(4, false), 12);
	scratch_close(&s);
}

/* A list of the holders of a sku takes one look by primary key for each row that it walks over, and ends with its
 * limit, however few hold the sku. The server's memory of answers is another look, until it has been in vain 200 times.
 */
Test(plan, a_list_of_holders_looks_once_a_row)
{
	struct fill fill = {.state = 2, .sku = 1, .limit = 10};
	int64_t     plain;

	tables_fill(&s);
	tables_run(s.db, "UPDATE reservation SET state = 2, task_id = NULL");
	tables_run(s.db, "UPDATE reservation_line SET sku_id = 2");
	plain = page_walks(2, false);
	cr_expect_leq(plain, 12);
	cr_expect_leq(reads_of(RESERVATION_LIST_WAITING, &fill), plain + 20);
	fill.location = 1;
	cr_expect_leq(reads_of(RESERVATION_LIST_WAITING, &fill), plain + 20);
	tables_run(s.db, "UPDATE reservation SET task_id = 7");
	cr_expect_leq(reads_of(RESERVATION_LIST_TASKED, &fill), plain + 20);
	scratch_close(&s);
}

/* The name of a key is read where there is a key only. */
Test(plan, no_key_costs_no_read)
{
	struct values rows = {0}, movement = {0};
	struct fill   fill = {.rows = &rows}, found = {.rows = &movement};
	int64_t       reservations, movements;

	tables_fill(&s);
	tables_run(s.db, "INSERT INTO api_key (key_id, name, created_at) VALUES (5, 'shop', UTC_TIMESTAMP(3))");
	rows_parse(&rows, "1,2,3");
	values_row(&movement, V_TEXT("M1"));
	reads_of(RESERVATION_BY_ID, &fill); /* the first statement on a table also reads the server's statistics */
	reads_of(MOVEMENT_FIND, &found);
	reservations = reads_of(RESERVATION_BY_ID, &fill);
	movements = reads_of(MOVEMENT_FIND, &found);
	tables_run(s.db, "UPDATE reservation SET key_id = 5");
	tables_run(s.db, "UPDATE movement SET key_id = 5");
	cr_expect_eq(reads_of(RESERVATION_BY_ID, &fill), reservations + 1, "one key, read once: %lld after %lld",
	             (long long)reads_of(RESERVATION_BY_ID, &fill), (long long)reservations);
	cr_expect_eq(reads_of(MOVEMENT_FIND, &found), movements + 1);
	values_fini(&rows);
	values_fini(&movement);
	scratch_close(&s);
}

/* Rows of the log are found by their keys, each once, however many there are. */
Test(plan, the_feed_looks_at_what_it_asks_for)
{
	struct values rows = {0};
	struct fill   fill = {.rows = &rows};

	tables_fill(&s);
	tables_run(s.db, "INSERT INTO event SELECT 7, 100 + seq, seq, UTC_TIMESTAMP(3), '' FROM seq_1_to_20000");
	for (int i = 0; i < 1500; i++)
		values_row(&rows, V_INT(7), V_INT(5000 + i));
	reads_of(FEED_STAMPS, &fill);
	cr_expect_leq(reads_of(FEED_STAMPS, &fill), 1600, "%lld", (long long)reads_of(FEED_STAMPS, &fill));
	cr_expect_leq(reads_of(FEED_ROWS, &fill), 1600);
	values_fini(&rows);
	scratch_close(&s);
}

/* Settings that an operator may have made. */
static const char *const settings[] = {
	"join_cache_level = 8, GLOBAL optimizer_switch = 'mrr=on,mrr_cost_based=off,mrr_sort_keys=on'",
	"join_cache_level = 4",
	"use_stat_tables = 'NEVER', GLOBAL optimizer_use_condition_selectivity = 1",
	"use_stat_tables = 'PREFERABLY', GLOBAL optimizer_use_condition_selectivity = 5",
	"optimizer_search_depth = 0, GLOBAL optimizer_prune_level = 0",
	"optimizer_search_depth = 1, GLOBAL eq_range_index_dive_limit = 1",
	"optimizer_max_sel_arg_weight = 1, GLOBAL in_predicate_conversion_threshold = 2",
	"optimizer_max_sel_args = 1", /* 10.11.6 */
	"max_seeks_for_key = 1",
	"sql_safe_updates = 1, GLOBAL sql_select_limit = 1, GLOBAL max_join_size = 1",
	"tx_isolation = 'SERIALIZABLE', GLOBAL sql_mode = 'ORACLE'",
	"tmp_memory_table_size = 0, GLOBAL old_mode = 'IGNORE_INDEX_ONLY_FOR_JOIN'",
};

/* With `back` the setting is as it was, so that there is nothing to explain. */
static void setting_try(const char *setting, bool back)
{
	struct text sql = {0};

	text_format(&sql, "SET GLOBAL %s", setting);
	if (db_text(s.db, sql.data, NULL, NULL) == DB_OK) {
		cr_assert(db_connect(s.db), "%s", db_error(s.db));
		if (!back)
			plans_hold(setting);
	} else {
		cr_assert_eq(db_errno(s.db), 1193, "%s", db_error(s.db)); /* this version does not know the setting */
	}
	text_fini(&sql);
}

struct list {
	char  *name[200];
	bool   back[200];
	size_t count;
};

static void list_read(void *arg, const struct db_row *row)
{
	struct list *list = arg;

	cr_assert(list->count < LENGTH(list->name));
	list->back[list->count] = db_int(row, 1) != 0;
	list->name[list->count++] = mem_copy(row->col[0]);
}

static void settings_try(const char *query)
{
	struct list list = {0};

	cr_assert_eq(db_text(s.db, query, list_read, &list), DB_OK, "%s", db_error(s.db));
	for (size_t i = 0; i < list.count; i++) {
		setting_try(list.name[i], list.back[i]);
		free(list.name[i]);
	}
}

/* Each switch of the optimizer the other way and back; what its steps are said to cost, which later versions know,
 * dear, for nothing, and as it was. */
Test(plan, on_a_server_that_is_set_against_us)
{
	static const char switches[] =
		"WITH RECURSIVE parts(part, rest) AS (SELECT CAST('' AS CHAR(2000)), CONCAT(@@optimizer_switch, ',')"
		" UNION ALL SELECT SUBSTRING_INDEX(rest, ',', 1), SUBSTR(rest, LOCATE(',', rest) + 1) FROM parts"
		" WHERE rest <> '') SELECT CONCAT('optimizer_switch = \"', IF(back, part, IF(part LIKE '%=on',"
		" REPLACE(part, '=on', '=off'), REPLACE(part, '=off', '=on'))), '\"'), back"
		" FROM parts, (SELECT 0 AS back UNION SELECT 1) ways WHERE part <> '' ORDER BY part, back",
			  costs[] = "SELECT CONCAT(variable_name, ' = ', ELT(n, 10000, 0, default_value)),"
				    " n = 3 FROM information_schema.system_variables, (SELECT 1 AS n UNION SELECT 2"
				    " UNION SELECT 3) ways WHERE variable_name LIKE 'OPTIMIZER%COST' AND"
				    " variable_type = 'DOUBLE' ORDER BY variable_name, n";
	struct server server;

	server_make(&server, NULL);
	server_start(&server, (const char *const[]){NULL});
	server_use(&server);
	tables_fill(&s);
	settings_try(switches);
	settings_try(costs);
	for (size_t i = 0; i < LENGTH(settings); i++)
		setting_try(settings[i], false);
	scratch_close(&s);
	server_remove(&server);
}
