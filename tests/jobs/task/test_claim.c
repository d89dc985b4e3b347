/* test_claim.c - the locks of a claim, how the database runs the statements of jobs/task/task.sql, and that claims
 * stay fast while another connection keeps a snapshot open. The tests use the statements as the program has them.
 * TEST_BACKLOG (100000) is how many orders wait where the locks of a claim are counted. */
#include "engine/db/statement.h"
#include "engine/catalogue/past.h"
#include "jobs/task/claim.h"
#include "jobs/task/task.h"
#include "schema/migrate.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAITING = 20000, LATER = 3000, HOLDS = 3000, LAPSED = 60, HOLD = 3000001, BACKLOG = 100000 };

static struct scratch s;

static void run(struct db *db, const char *sql)
{
	cr_assert_eq(db_text(db, sql, NULL, NULL), DB_OK, "%s: %s", sql, db_error(db));
}

static struct db *other_connection(void)
{
	struct db *db = scratch_connection(&s);

	run(db, "SET SESSION idle_transaction_timeout = 0");
	return db;
}

/* Rows `from` .. `from` + n - 1 in `state`, due `due_s` from now and 100 ms apart. */
static void fill(int64_t from, int n, int state, int due_s)
{
	struct text sql = {0};

	text_format(
		&sql,
		"INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
		" created_at, confirmed_at)"
		" SELECT seq, CONCAT('R', seq), '', %d, UTC_TIMESTAMP(3) + INTERVAL %d SECOND"
		" + INTERVAL (seq - %lld) * 100000 MICROSECOND, UTC_TIMESTAMP(3) + INTERVAL %d SECOND"
		" + INTERVAL (seq - %lld) * 100000 MICROSECOND, 0, UTC_TIMESTAMP(3), IF(%d = 2, UTC_TIMESTAMP(3), NULL)"
		" FROM seq_%lld_to_%lld",
		state, due_s, (long long)from, due_s, (long long)from, state, (long long)from, (long long)from + n - 1);
	run(s.db, sql.data);
	text_reset(&sql);
	text_format(&sql, "INSERT INTO reservation_line SELECT seq, 1, 1, 0, 1, 1 FROM seq_%lld_to_%lld",
	            (long long)from, (long long)from + n - 1);
	run(s.db, sql.data);
	text_fini(&sql);
}

/* Orders that wait, orders that wait for their next attempt, holds that live, holds that have expired. */
static void fill_tables(int waiting)
{
	char why[300];

	scratch_open(&s);
	cr_assert(schema_migrate(s.db, why, sizeof(why)), "%s", why);
	run(s.db, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	run(s.db, "INSERT INTO sku (sku_id, code, created_at) VALUES (1, 'A', UTC_TIMESTAMP(3))");
	run(s.db, "INSERT INTO location (location_id, code) VALUES (1, 'main') ON DUPLICATE KEY UPDATE code = code");
	fill(1, waiting, CONFIRMED, -2000 - waiting / 10);
	fill(2000001, LATER, CONFIRMED, 600);
	fill(HOLD, HOLDS, HELD, 600);
	fill(4000001, LAPSED, HELD, -1000);
}

/* ---- locks */

/* The statement of the program, with `sql` before the words `mark`, or in their place if it is a comment. */
static void claim_with(struct text *to, enum task_kind kind, int limit, const char *mark, const char *sql)
{
	static int64_t made;
	struct text    whole = {0};
	char          *at;

	statement_add(&whole, TASK_CLAIM,
	              &(struct fill){.worker = "w",
	                             .mark = ++made,
	                             .kind = kind,
	                             .state = kind == TASK_SETTLE ? CONFIRMED : HELD,
	                             .limit = limit,
	                             .lease_s = 30});
	at = strstr(whole.data, mark);
	cr_assert(at, "task_claim has no %s", mark);
	text_bytes(to, whole.data, (size_t)(at - whole.data));
	text_add(to, sql);
	text_add(to, at + (*sql == '/' ? strlen(mark) : 0));
	text_fini(&whole);
}

struct claimed {
	int64_t locked, orders;
};

static void claimed_read(void *arg, const struct db_row *row)
{
	struct claimed *c = arg;

	if (row->columns == 1)
		c->locked = db_int(row, 0);
	else
		c->orders = db_int(row, 1);
}

/* Returns how many locks a claim has once it has its orders. */
static struct claimed claim_locks(enum task_kind kind, int limit)
{
	struct claimed c = {-1, -1};
	struct text    sql = {0};

	claim_with(&sql, kind, limit, "UPDATE job_task SET claimed",
	           TRANSACTIONS("trx_rows_locked", "id = CONNECTION_ID()") "; ");
	cr_assert_eq(db_text(s.db, sql.data, claimed_read, &c), DB_OK, "%s", db_error(s.db));
	text_fini(&sql);
	return c;
}

Test(claim, locks_as_many_entries_and_rows_as_it_takes)
{
	static const int limits[] = {1, 7, 500, 5000, 500};
	const char      *backlog = getenv("TEST_BACKLOG");

	fill_tables(backlog && atoi(backlog) > WAITING ? atoi(backlog) : BACKLOG);
	for (size_t i = 0; i < LENGTH(limits); i++) {
		struct claimed c = claim_locks(TASK_SETTLE, limits[i]);

		cr_expect_eq(c.orders, limits[i]);
		cr_expect_eq(c.locked, 2 * limits[i], "a claim of %d locked %lld", limits[i], (long long)c.locked);
	}
	cr_expect_eq(scratch_number(s.db, "SELECT MAX(reservation_id) FROM reservation WHERE task_id IS NOT NULL"),
	             6008, "the oldest come first");
	scratch_close(&s);
}

/* Fewer orders are due than asked for: the claim locks no order that is not due. */
Test(claim, locks_nothing_that_is_not_due)
{
	struct claimed c;

	fill_tables(WAITING);
	c = claim_locks(TASK_EXPIRE, 500);
	cr_expect_eq(c.orders, LAPSED);
	cr_expect_eq(c.locked, 2 * LAPSED);
	run(s.db, "DELETE FROM reservation WHERE state = 2 AND reservation_id BETWEEN 51 AND 20000");
	c = claim_locks(TASK_SETTLE, 5000);
	cr_expect_eq(c.orders, 50);
	cr_expect_eq(c.locked, 100);
	c = claim_locks(TASK_SETTLE, 5000);
	cr_expect_eq(c.orders, 0);
	cr_expect_eq(c.locked, -1, "nothing is due: there is no transaction");
	cr_expect_eq(scratch_number(s.db, "SELECT COUNT(*) FROM job_task"), 2);
	scratch_close(&s);
}

/* While a claim is not committed yet, live holds are confirmed and extended, and new ones are made. */
Test(claim, holds_up_nobody)
{
	struct db  *other;
	struct text sql = {0};

	fill_tables(WAITING);
	other = other_connection();
	run(other, "SET SESSION innodb_lock_wait_timeout = 1");
	for (int k = TASK_SETTLE; k <= TASK_EXPIRE; k++) {
		text_reset(&sql);
		claim_with(&sql, (enum task_kind)k, 5000, "COMMIT;", "/* not yet */ ");
		cr_assert_eq(db_text(s.db, sql.data, NULL, NULL), DB_OK, "%s", db_error(s.db));
		cr_expect_eq(scratch_number(other,
		                            "SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY)"
		                            " WHERE due_at > UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED) x"),
		             LATER + HOLDS);
		run(other, "UPDATE reservation FORCE INDEX (PRIMARY) SET state = 2, confirmed_at = UTC_TIMESTAMP(3),"
		           " due_at = UTC_TIMESTAMP(3) WHERE reservation_id = 3000001 AND state = 1");
		run(other, "UPDATE reservation FORCE INDEX (PRIMARY) SET due_at = due_at - INTERVAL 1 SECOND,"
		           " expires_at = due_at WHERE reservation_id BETWEEN 3000002 AND 3000400");
		run(other,
		    "INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, "
		    "attempts,"
		    " created_at) SELECT 9000000 + seq, UUID(), '', 1 + seq MOD 2, UTC_TIMESTAMP(3) - INTERVAL 50"
		    " SECOND + INTERVAL seq SECOND, UTC_TIMESTAMP(3), 0, UTC_TIMESTAMP(3) FROM seq_1_to_100");
		run(other, "DELETE FROM reservation WHERE reservation_id > 9000000");
		run(other,
		    "UPDATE reservation FORCE INDEX (PRIMARY) SET state = 1, confirmed_at = NULL, due_at = expires_at"
		    " WHERE reservation_id = 3000001");
		run(s.db, "ROLLBACK");
	}
	text_fini(&sql);
	db_free(other);
	scratch_close(&s);
}

/* A worker completes its orders: their rows are locked. They stand in the index next to the holds that a claim looks
 * for, after their pause. */
Test(claim, waits_for_no_worker)
{
	struct db  *other;
	struct text sql = {0};

	fill_tables(WAITING);
	run(s.db, "UPDATE reservation FORCE INDEX (claim) SET task_id = 5 WHERE state = 2 AND task_id IS NULL LIMIT 3");
	run(s.db, "UPDATE reservation FORCE INDEX (claim) SET task_id = 6 WHERE state = 1 AND task_id IS NULL LIMIT 3");
	other = other_connection();
	run(other, "START TRANSACTION");
	run(other, "SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (claim)"
	           " WHERE state IN (1, 2) AND task_id IN (5, 6) FOR UPDATE) x");
	run(s.db, "SET SESSION innodb_lock_wait_timeout = 1");
	for (int k = TASK_SETTLE; k <= TASK_EXPIRE; k++) {
		text_reset(&sql);
		claim_with(&sql, (enum task_kind)k, 100, "COMMIT;", "/* not yet */ ");
		cr_expect_eq(db_text(s.db, sql.data, NULL, NULL), DB_OK, "%s", db_error(s.db));
		run(s.db, "ROLLBACK");
	}
	text_fini(&sql);
	db_free(other);
	scratch_close(&s);
}

/* Rows that another connection has locked are skipped, the first ones and some in between: the claim takes as many of
 * the others as it may, and locks no row that it does not take, due or not. */
Test(claim, passes_over_locked_rows)
{
	struct db     *other, *third;
	struct text    sql = {0};
	struct claimed c = {-1, -1};

	fill_tables(WAITING);
	run(s.db, "DELETE FROM reservation WHERE state = 2 AND reservation_id BETWEEN 101 AND 20000");
	run(s.db, "UPDATE reservation SET due_at = due_at + INTERVAL 1 DAY WHERE due_at > UTC_TIMESTAMP(3)");
	other = other_connection();
	third = other_connection();
	run(other, "START TRANSACTION");
	run(other, "SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY)"
	           " WHERE reservation_id <= 30 OR reservation_id IN (50, 60, 4000001) FOR UPDATE) x");
	for (int limit = 10; limit <= 500; limit += 490) {
		text_reset(&sql);
		claim_with(&sql, TASK_SETTLE, limit, "COMMIT;", "/* not yet */ ");
		cr_assert_eq(db_text(s.db, sql.data, claimed_read, &c), DB_OK, "%s", db_error(s.db));
		cr_expect_eq(c.orders, limit < 68 ? limit : 68, "a claim of %d took %lld", limit, (long long)c.orders);
		cr_expect_eq(
			scratch_number(s.db, "SELECT COUNT(*) FROM reservation WHERE task_id > 0 AND attempts = 1"),
			c.orders);
		cr_expect_eq(scratch_number(third,
		                            "SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY)"
		                            " WHERE state = 2 FOR UPDATE SKIP LOCKED) x"),
		             68 + LATER - c.orders);
		run(s.db, "ROLLBACK");
	}
	text_reset(&sql);
	claim_with(&sql, TASK_EXPIRE, 500, "COMMIT;", "/* not yet */ ");
	cr_assert_eq(db_text(s.db, sql.data, claimed_read, &c), DB_OK, "%s", db_error(s.db));
	cr_expect_eq(c.orders, LAPSED - 1);
	run(third, "UPDATE reservation FORCE INDEX (PRIMARY) SET attempts = 0 WHERE reservation_id = 3000001");
	text_fini(&sql);
	db_free(other);
	db_free(third);
	scratch_close(&s);
}

/* ---- plans */

/* BY_ID: a whole batch of ids must be found by the primary key, however many rows there are. */
enum { NOT_BY_ID, BY_ID, BATCH = 500, FEW = 20 };
#define DAY_2020 INT64_C(1577836800000)

static const struct plan {
	enum statement statement;
	bool           by_id;
} plans[] = {
	{TASK_ROWS, NOT_BY_ID},        {TASK_READ, NOT_BY_ID},
	{TASK_LIST, NOT_BY_ID},        {RESERVATION_SETTLE, BY_ID},
	{RESERVATION_EXPIRE, BY_ID},   {TASK_COMPLETED, NOT_BY_ID},
	{TASK_FAIL, NOT_BY_ID},        {TASK_FAILED, NOT_BY_ID},
	{TASK_GIVE_BACK, BY_ID},       {TASK_MARK_RETURNED, NOT_BY_ID},
	{TASK_HEARTBEAT, NOT_BY_ID},   {TASK_GIVE_BACK_HELD, BY_ID},
	{TASK_OF_MARK, NOT_BY_ID},     {TASK_PROLONG, NOT_BY_ID},
	{LEASES_AHEAD, NOT_BY_ID},     {LEASES_BRING_BACK, BY_ID},
	{ORDERS_AHEAD, NOT_BY_ID},     {ORDERS_BRING_BACK, BY_ID},
	{TASK_OVERDUE, NOT_BY_ID},     {TASK_REAP, NOT_BY_ID},
	{TASK_ORPHANS, NOT_BY_ID},     {BRIEF_COUNTS, NOT_BY_ID},
	{TASK_FIGURES, NOT_BY_ID},     {BURIED_PAGE, NOT_BY_ID},
	{RESERVATION_KICK, BY_ID},     {PURGE_PAGE, NOT_BY_ID},
	{PURGE_ROWS, BY_ID},           {PURGE_LINES, BY_ID},
	{PURGE_TASKS_PAGE, NOT_BY_ID}, {PURGE_TASKS, NOT_BY_ID},
	{TASK_PUT_OFF, BY_ID},
};

struct explained {
	const char *name;
	bool        by_id;
	int         rows;
};

/* id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra */
static void plan_read(void *arg, const struct db_row *row)
{
	struct explained *e = arg;
	const char       *table = row->col[2], *type = row->col[3], *extra = row->col[9];
	bool              stored = table && table[0] != '<' && type;

	e->rows++;
	cr_expect(!stored || (strcmp(type, "ALL") != 0 && strcmp(type, "index") != 0), "%s scans %s", e->name, table);
	cr_expect(!stored || row->col[5], "%s has no key for %s", e->name, table);
	cr_expect(!e->by_id || (row->col[5] && strcmp(row->col[5], "PRIMARY") == 0), "%s goes by %s", e->name,
	          row->col[5] ? row->col[5] : "no key");
	cr_expect(!extra || !strstr(extra, "filesort"), "%s sorts: %s", e->name, extra);
	cr_expect(!type || !strstr(type, "index_merge"), "%s merges indexes", e->name);
}

static void plan_check(const char *name, const char *statement, size_t len, bool declared, bool by_id)
{
	struct explained e = {name, by_id, 0};
	struct text      sql = {0};

	text_format(&sql, "BEGIN NOT ATOMIC DECLARE t DATETIME(3) DEFAULT UTC_TIMESTAMP(3); %s EXPLAIN %.*s; END",
	            declared ? "DECLARE due INT DEFAULT 7; DECLARE token BIGINT UNSIGNED DEFAULT 9;" : "", (int)len,
	            statement);
	cr_expect_eq(db_text(s.db, sql.data, plan_read, &e), DB_OK, "%s: %s\n%s", name, db_error(s.db), sql.data);
	cr_expect_gt(e.rows, 0);
	text_fini(&sql);
}

/* True: the rows of the statement are (reservation_id, changed, attempts). */
static bool is_change(enum statement name)
{
	return strstr(statements[name].text, "(reservation_id, changed, attempts) IN (") != NULL;
}

/* A batch of 1 is for the changes only: without other rows the database reads a row before it plans. */
static void plans_check(int batch)
{
	for (size_t i = 0; i < LENGTH(plans); i++) {
		struct values rows = {0};
		struct text   sql = {0};
		size_t        len;

		if (batch == 1 && !is_change(plans[i].statement))
			continue;
		if (is_change(plans[i].statement))
			for (int64_t id = 1; id <= (batch == BATCH ? CLAIM_MAX : batch); id++)
				values_row(&rows, V_INT(id), V_INT(0), V_INT(0));
		else if (plans[i].statement == TASK_FAIL)
			for (int64_t id = 1; id <= batch; id++)
				values_row(&rows, V_INT(id), V_INT(0), V_INT(10), V_TEXT("e"));
		else
			for (int64_t id = 1; id <= batch; id++)
				values_row(&rows, V_INT(id));
		statement_add(&sql, plans[i].statement,
		              &(struct fill){.rows = &rows,
		                             .task = 1,
		                             .kind = 1,
		                             .state = CONFIRMED,
		                             .after_id = 1 << 20,
		                             .before_id = 1 << 20,
		                             .after_at = DAY_2020,
		                             .from_at = DAY_2020,
		                             .looked_at = DAY_2020,
		                             .orders = 10,
		                             .limit = 10,
		                             .stale_s = 30,
		                             .lease_s = 30});
		len = strlen(sql.data);
		while (len > 0 && strchr("; \n", sql.data[len - 1]))
			len--;
		plan_check(statements[plans[i].statement].name, sql.data, len, false, plans[i].by_id);
		values_fini(&rows);
		text_fini(&sql);
	}
}

/* The statements inside of the claim's compound that read or write reservations. */
static void plans_of_a_claim_check(enum task_kind kind)
{
	static const char *const begins[] = {"SELECT COUNT(*) INTO due", "UPDATE reservation ", "UPDATE ( "};
	struct text              sql = {0};
	int                      statements = 0;

	claim_with(&sql, kind, 100, "UPDATE job_task SET claimed", "");
	for (size_t i = 0; i < LENGTH(begins); i++)
		for (const char *at = sql.data; (at = strstr(at, begins[i])); at++, statements++)
			plan_check(begins[i], at, strcspn(at, ";"), true, false);
	cr_expect_eq(statements, 6, "task_claim has %d statements", statements);
	text_fini(&sql);
}

Test(claim, no_scan_and_no_sort)
{
	char why[300];

	fill_tables(WAITING);
	run(s.db, "INSERT INTO job_task (kind, worker, state, lease_until, claimed, completed, failed, created_at)"
	          " SELECT 1 + seq MOD 2, 'w', 1 + seq MOD 4, UTC_TIMESTAMP(3), 1, 0, 0, UTC_TIMESTAMP(3) FROM "
	          "seq_1_to_2000");
	plans_check(BATCH);
	plans_of_a_claim_check(TASK_SETTLE);
	plans_of_a_claim_check(TASK_EXPIRE);
	run(s.db, "ANALYZE TABLE reservation, job_task");
	plans_check(BATCH);
	plans_of_a_claim_check(TASK_SETTLE);
	plans_of_a_claim_check(TASK_EXPIRE);
	scratch_close(&s);
	scratch_open(&s); /* tables with next to nothing in them, where plans go wrong */
	cr_assert(schema_migrate(s.db, why, sizeof(why)), "%s", why);
	fill(1, 2 * FEW, CONFIRMED, -10);
	plans_check(FEW);
	plans_check(1);
	plans_of_a_claim_check(TASK_SETTLE);
	plans_of_a_claim_check(TASK_EXPIRE);
	scratch_close(&s);
}

/* ---- with a snapshot open elsewhere, old entries stay in the index */

/* How many pages the server has looked at. */
static int64_t pages(void)
{
	return scratch_number(s.db, "SELECT variable_value FROM information_schema.global_status"
	                            " WHERE variable_name = 'Innodb_buffer_pool_read_requests'");
}

/* The pages that `n` claims of 50 orders read; each claim with a new memory (NULL), or all with one. */
static int64_t claims_pages(struct claimer *claimer, int n)
{
	int64_t before = pages();

	for (int i = 0; i < n; i++) {
		struct claimer       nothing = {0};
		struct task          task = {.kind = TASK_SETTLE, .worker = "w"};
		struct reservation **orders;
		size_t               count;

		cr_assert_eq(task_claim(s.db, claimer ? claimer : &nothing, &task, 50, 30, &orders, &count), DB_OK,
		             "%s", db_error(s.db));
		cr_assert_eq(count, 50);
		reservations_free(orders, count);
	}
	return pages() - before;
}

/* A worker remembers its place; a worker without that memory walks over all orders that were claimed. */
Test(claim, is_not_slowed_down_by_a_snapshot)
{
	struct catalogue *c = catalogue_new();
	struct claimer    claimer = {0};
	struct server     server;
	struct db        *dump;
	int64_t           with, without;

	server_make(&server, NULL); /* a server of its own, so that no other test reads pages there */
	server_start(&server, (const char *const[]){NULL});
	server_use(&server);
	fill_tables(WAITING);
	past_watch(db_source(s.db), c);
	dump = other_connection();
	run(dump, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	run(dump, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
	claims_pages(&claimer, 340);
	with = claims_pages(&claimer, 10);
	without = claims_pages(NULL, 10);
	cr_expect_lt(2 * with, without, "%lld pages, %lld when all is walked", (long long)with, (long long)without);
	db_free(dump);
	catalogue_free(c);
	scratch_close(&s);
	server_stop(&server);
	server_remove(&server);
}
