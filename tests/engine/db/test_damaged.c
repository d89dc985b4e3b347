/* test_damaged.c - rows that this version of the program has not written: what it cannot know is shown as the nearest
 * time or as unknown, and ends no process. Every answer comes from the one process that the flow began with. */
#include "tests/lang/flow.h"
#include "tests/kit/drill.h"
#include "tests/kit/http.h"
#include "tests/kit/inbox.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A statement that damages a row, and a step that reads it. */
static const struct damage {
	const char *statement, *step;
} rows[] = {
	{"UPDATE reservation SET state = 99", "get O -> 200 state=unknown"},
	{"UPDATE reservation SET state = 0", "get O -> 200 state=unknown"},
	{"UPDATE reservation SET state = 255", "run stats -> 0 ~held"},
	{"UPDATE reservation SET state = 7", "raw GET /v1/reservations?sku=A -> 200"},
	{"UPDATE reservation SET created_at = '1960-01-01'", "get O -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE reservation SET expires_at = '9999-12-31 23:59:59.999'", "get O -> 200"},
	{"UPDATE movement SET kind = 99", "movement M -> 200 kind=unknown"},
	{"UPDATE movement SET kind = 0", "movement M -> 200 kind=unknown"},
	{"UPDATE movement SET kind = 99", "run audit -> 1 ~M"},
	{"UPDATE movement SET created_at = '1960-01-01'", "movement M -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE event SET at = '1960-01-01'", "events -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE webhook SET state = 0", "raw GET /v1/webhooks/W -> 200 state=off reason=unknown"},
	{"UPDATE webhook SET state = 5", "raw GET /v1/webhooks/W -> 200 state=off reason=unknown"},
	{"UPDATE webhook SET state = 12", "raw GET /v1/webhooks -> 200 items=1"},
	{"UPDATE webhook SET state = 255", "raw GET /v1/webhooks/W -> 200 state=off reason=unknown"},
	{"UPDATE webhook SET created_at = '1960-01-01'", "raw GET /v1/webhooks/W -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE webhook SET failures = 1, failing_since = NULL", "raw GET /v1/webhooks/W -> 200 failures=1"},
	{"UPDATE webhook SET state = 2, attempts = '[{\"ms\":', attempts_at = UTC_TIMESTAMP(3)",
         "raw GET /v1/webhooks/W/attempts -> 200 items=0 !at"},
	{"UPDATE webhook SET state = 2, attempts = '', attempts_by = REPEAT('x', 64)",
         "raw GET /v1/webhooks/W/attempts -> 200 items=0"},
	{"UPDATE webhook SET state = 2, attempts = '[]', attempts_at = '1960-01-01', attempts_by = REPEAT('x', 64)",
         "raw GET /v1/webhooks/W/attempts -> 200 items=0 at=1970-01-01T00:00:00.000Z"},
	{"UPDATE webhook SET url = ''", "raw POST /v1/webhooks/W/ping -> 200 !status '~not sent'"},
	{"UPDATE webhook SET secret = ''", "raw POST /v1/webhooks/W/ping -> 200 !status '~not sent'"},
	{"UPDATE webhook SET skip_event = REPEAT('x', 48), failed_event = REPEAT('x', 48)",
         "raw GET /v1/webhooks/W -> 200 webhook_id=W"},
};

Test(damaged, rows_are_shown)
{
	flow_begin();
	flow_steps("receipt M A +10 -> 201",
	           "reserve O A=1 ttl=600 -> 201",
	           "raw POST /v1/webhooks {'webhook_id':'W','url':'https://shop.example/hook'} -> 201",
	           "sql CREATE TEMPORARY TABLE r AS SELECT * FROM reservation",
	           "sql CREATE TEMPORARY TABLE m AS SELECT * FROM movement",
	           "sql CREATE TEMPORARY TABLE e AS SELECT * FROM event",
	           "sql CREATE TEMPORARY TABLE w AS SELECT * FROM webhook");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		flow_step("sql %s", rows[i].statement);
		flow_step("%s", rows[i].step);
		flow_steps("sql REPLACE INTO reservation SELECT * FROM r",
		           "sql REPLACE INTO movement SELECT * FROM m",
		           "sql REPLACE INTO event SELECT * FROM e",
		           "sql REPLACE INTO webhook SELECT * FROM w");
	}
	flow_end();
}

/* A call that would change a reservation in an unknown state does nothing, and says so. */
Test(damaged, an_unknown_state_is_left_alone)
{
	struct text said = {0};

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "reserve O A=2 ttl=60 -> 201",
	           "reserve R A=1 ttl=60 -> 201",
	           "sql UPDATE reservation SET state = 99 WHERE order_id = 'O'",
	           "mark",
	           "confirm O -> 503 busy",
	           "confirm O reacquire -> 503 busy",
	           "release O -> 503 busy",
	           "extend O ttl=60 -> 503 busy",
	           "kick O -> 503 busy",
	           "split O P A=1 -> 503 busy",
	           "split O P A=1 then=release -> 503 busy",
	           "reserve N A=3 replaces=O -> 503 busy",
	           "reserve O A=2 ttl=60 -> 200 replayed state=unknown",
	           "unchanged",
	           "confirmations O R -> 503 busy | 200 confirmed",
	           "tick 61",
	           "work expire",
	           "get O -> 200 state=unknown",
	           "sku A -> 200 available=7 reserved=3",
	           "events -> 200 items=movement.receipt,reservation.held,reservation.held,reservation.confirmed",
	           "sql UPDATE reservation SET state = 1 WHERE order_id = 'O'");
	flow_said(&said);
	cr_expect(strstr(said.data, "event=state_unknown order_id=O state=99"));
	text_fini(&said);
	flow_end();
}

/* The columns of a task, one of which is not known: nothing changes the task or its order. */
Test(damaged, an_unknown_task_is_left_alone)
{
	static const char *const columns[] = {"kind = 99", "kind = 0", "state = 99", "state = 0"};

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "reserve O A=2 confirm=true -> 201",
	           "claim settle w lease=5 -> 201",
	           "tick 60",
	           "sql CREATE TEMPORARY TABLE t AS SELECT * FROM job_task");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		flow_step("sql UPDATE job_task SET %s", columns[i]);
		flow_steps("mark",
		           "task 1 -> 200 ~unknown",
		           "heartbeat 1 -> 409 lease_lost",
		           "complete 1 O -> 409 lease_lost",
		           "complete 1 -> 409 lease_lost",
		           "fail 1 O=bury:E -> 409 lease_lost",
		           "give-back 1 -> 409 lease_lost",
		           "run reap",
		           "work settle",
		           "unchanged",
		           "sql REPLACE INTO job_task SELECT * FROM t");
	}
	flow_steps("run reap",
	           "tick 60",
	           "work settle",
	           "get O -> 200 settled");
	flow_end();
}

/* Orders of any number of attempts keep no other from its worker. */
Test(damaged, attempts_end_where_their_column_does)
{
	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "reserve O A=2 confirm=true -> 201",
	           "reserve P A=1 confirm=true -> 201",
	           "sql UPDATE reservation SET attempts = 65535 WHERE order_id = 'O'",
	           "claim settle w limit=2 -> 201 orders=2 ~65535",
	           "sql UPDATE reservation SET attempts = 0 WHERE order_id = 'O'",
	           "give-back 1 -> 200",
	           "get O -> 200 confirmed attempts=0",
	           "get P -> 200 confirmed attempts=0",
	           "work settle",
	           "get O -> 200 settled",
	           "get P -> 200 settled");
	flow_end();
}

Test(damaged, an_event_that_names_nothing_is_passed)
{
	static const char word[] = "event=event_damaged writer=";
	struct text       said = {0};
	const char       *first;

	flow_begin();
	flow_steps("receipt M A +10 -> 201",
	           "reserve O A=1 ttl=600 -> 201",
	           "sql CREATE TEMPORARY TABLE e AS SELECT * FROM event",
	           "sql UPDATE event SET changes = x'010100000252310101C1EE6D01FFFFFFFF0F0106' ORDER BY stamp LIMIT 1",
	           "events -> 200 items=reservation.held",
	           "receipt N A +1 -> 201",
	           "events -> 200 items=reservation.held,movement.receipt",
	           "run audit -> 1 ~M",
	           "sql REPLACE INTO event SELECT * FROM e");
	flow_said(&said);
	first = strstr(said.data, word);
	cr_assert(first);
	cr_expect_not(strstr(first + 1, word), "it is said once");
	text_fini(&said);
	flow_end();
}

/* Levels and slots of no sku: the watcher looks at the others. */
Test(damaged, a_level_of_nothing_is_passed)
{
	flow("receipt A +1 -> 201",
	     "sql INSERT INTO level VALUES (0, 1, 2, 5, 1) -> ",
	     "sql INSERT INTO stock_slot VALUES (0, 1, 0, 0, 0) -> ",
	     "sql UPDATE level_watch SET place = 'x', task_id = NULL -> ",
	     "restart",
	     "reserve R A=1 -> 201",
	     "wait sql SELECT level FROM level WHERE sku_id > 0 -> 3",
	     "sql DELETE FROM stock_slot WHERE sku_id = 0 -> ",
	     "sql DELETE FROM level WHERE sku_id = 0 -> ");
}

/* Webhooks with damaged rows keep no other from its events, and an impossible number of parallel deliveries is taken
 * for a possible one. */
Test(damaged, webhooks_are_delivered_beside)
{
	static const struct {
		const char *column;
		bool        comes;
	} bad[] = {
		{"state = 0", false},
		{"state = 99", false},
		{"parallel = 0", true},
		{"parallel = 200", true},
		{"failures = 4000000000", true},
		{"failures = 3, failing_since = '9999-12-31', failed_event = 'x'", true},
		{"skip_event = 'x'", true},
		{"rotated_at = '9999-12-31', secret_before = 'x'", false},
		{"types = 'no.such'", false},
		{"place = 'x'", false},
		{"secret = 'x'", false},
		{"url = 'x'", false},
	};
	int port = inbox_open();

	flow_begin();
	flow_step("serve --lanes 1 --webhooks-allow 127.0.0.0/8 -> ");
	for (size_t i = 0; i <= LENGTH(bad); i++) {
		flow_step("raw POST /v1/webhooks {'webhook_id':'W%zu','url':'http://127.0.0.1:%d/W%zu'} -> 201", i,
		          port, i);
		if (i < LENGTH(bad))
			flow_step("sql UPDATE webhook SET %s WHERE webhook_id = 'W%zu' -> ", bad[i].column, i);
	}
	flow_steps("start D work deliver --webhooks-allow 127.0.0.0/8 -> ",
	           "receipt A +10 -> 201",
	           "reserve R A=1 -> 201");
	for (size_t i = 0; i <= LENGTH(bad); i++) {
		char path[10];

		snprintf(path, sizeof(path), "/W%zu", i);
		if (i == LENGTH(bad) || bad[i].comes)
			cr_expect(inbox_waits(path, 200, 2, 2 * PATIENCE_MS), "%zu came to a webhook with %s",
			          inbox_count(path, 0), i < LENGTH(bad) ? bad[i].column : "a good row");
		else
			cr_expect_eq(inbox_count(path, 0), 0, "%s", bad[i].column);
	}
	flow_steps("raw GET /v1/webhooks -> 200 items=13",
	           "signal D TERM",
	           "end D -> 0");
	flow_end();
}

#define ANEW ", task_id = NULL, due_at = '1960-01-01'" /* a deliverer reads the row again */

/* Makes W0, W1, .. and a deliverer, which has brought each the first event, answered with `status`. */
static void webhooks_begin(size_t count, int status)
{
	char path[32];
	int  port = inbox_open();

	flow_begin();
	flow_step("serve --lanes 1 --webhooks-allow 127.0.0.0/8 -> ");
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/W%zu", i);
		inbox_answers(path, (struct manner){.status = status});
		flow_step("raw POST /v1/webhooks {'webhook_id':'W%zu','url':'http://127.0.0.1:%d%s'} -> 201", i, port,
		          path);
	}
	flow_steps("start D work deliver --webhooks-allow 127.0.0.0/8 -> ",
	           "receipt A +10 -> 201");
	flow_step("wait sql SELECT COUNT(*) FROM webhook WHERE last_status = %d -> %zu", status, count);
}

/* Rows that change while they are served: the next event comes once, and no other webhook waits. Numbers are the
 * largest that their columns hold. */
Test(damaged, webhooks_are_served_on)
{
	static const char *const bad[] = {
		"parallel = 0" ANEW,
		"parallel = 255" ANEW,
		"version = 4294967295" ANEW,
		"mark = 18446744073709551615" ANEW,
		"ahead = REPEAT('x ', 4000000)" ANEW,
		"failures = 4294967295, failing_since = '0001-01-01', retry_at = '9999-12-31'" ANEW,
		"last_status = 65535, last_error = REPEAT('x', 200)" ANEW,
		"due_at = '9999-12-31 23:59:59', waits_since = '9999-12-31 23:59:59', behind = 255",
	};
	char path[10];

	webhooks_begin(LENGTH(bad), 200);
	for (size_t i = 0; i < LENGTH(bad); i++)
		flow_step("sql UPDATE webhook SET %s WHERE webhook_id = 'W%zu' -> ", bad[i], i);
	flow_steps("wait sql SELECT COUNT(*) FROM webhook WHERE task_id IS NULL -> 0",
	           "reserve R A=1 -> 201");
	for (size_t i = 0; i < LENGTH(bad); i++) {
		snprintf(path, sizeof(path), "/W%zu", i);
		cr_expect(inbox_waits(path, 200, 2, PATIENCE_MS), "nothing came: %s", bad[i]);
	}
	flow_step(
		"wait sql SELECT COUNT(*) FROM webhook WHERE last_status = 200 AND failures = 0 AND NOT behind -> %zu",
		LENGTH(bad));
	usleep(1500000); /* an event that comes once more comes within a second */
	for (size_t i = 0; i < LENGTH(bad); i++) {
		snprintf(path, sizeof(path), "/W%zu", i);
		cr_expect_eq(inbox_count(path, 0), 2, "%zu came: %s", inbox_count(path, 0), bad[i]);
	}
	flow_steps("signal D TERM",
	           "end D -> 0");
	flow_end();
}

/* The schedule of an event that fails, and what the row says when it has failed once more. */
Test(damaged, webhooks_fail_on)
{
	static const struct {
		const char *column, *says;
	} bad[] = {
		{"failures = 4294967295", "state=active failures=4294967295 retry_at=*"},
		{"failures = 4294967294", "state=active failures=4294967295 retry_at=*"},
		{"failing_since = NULL", "state=active failures=2 retry_at=*"},
		{"failing_since = '9999-12-31'", "state=active failures=2 retry_at=*"},
		{"failing_since = '0001-01-01'", "state=off reason=failed failures=2"},
	};
	char path[10];

	webhooks_begin(LENGTH(bad), 500);
	for (size_t i = 0; i < LENGTH(bad); i++)
		flow_step("sql UPDATE webhook SET %s, retry_at = UTC_TIMESTAMP(3)" ANEW
		          " WHERE webhook_id = 'W%zu' -> ",
		          bad[i].column, i);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		snprintf(path, sizeof(path), "/W%zu", i);
		cr_expect(inbox_waits(path, 500, 2, PATIENCE_MS), "nobody tried: %s", bad[i].column);
		flow_step("wait raw GET /v1/webhooks/W%zu -> %s", i, bad[i].says);
	}
	flow_steps("signal D TERM",
	           "end D -> 0");
	flow_end();
}

/* Pages of memory that the program holds. */
static long pages_held(void)
{
	char  path[40];
	long  pages = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", flow_pid(0));
	file = fopen(path, "r");
	cr_assert(file && fscanf(file, "%*d %ld", &pages) == 1 && fclose(file) == 0);
	return pages;
}

Test(damaged, a_large_number_takes_no_memory)
{
	long before;

	flow_begin();
	flow_step("receipt M A +10 -> 201");
	before = pages_held();
	flow_steps("sql INSERT INTO sku (sku_id, code, created_at) VALUES (60000000, 'BIG', UTC_TIMESTAMP(3))",
	           "receipt N BIG +1 -> 201",
	           "sku BIG -> 200 available=1",
	           "reserve O BIG=1 ttl=600 -> 201");
	cr_expect(pages_held() < before + (100 << 20) / 4096);
	flow_end();
}

/* ---- every column */

/* Values that are put into a column, as far as its type takes them. */
static const char *const hostile[] = {
	"0",
	"-1",
	"99",
	"255",
	"18446744073709551615",
	"'1960-01-01'",
	"'9999-12-31 23:59:59.999'",
	"NULL",
	"''",
	"REPEAT('x', 5000)",
};

/* Calls that read or change rows; # is another number each time, @ the end of the log as it was
 * at the last time. In what words_put writes ' is ". */
static const struct {
	const char *method, *path, *body;
} calls[] = {
	{"GET", "/v1/reservations/held", ""},
	{"GET", "/v1/reservations/buried", ""},
	{"GET", "/v1/reservations/part", ""},
	{"GET", "/v1/reservations/claimed", ""},
	{"GET", "/v1/reservations?limit=100", ""},
	{"GET", "/v1/reservations?sku=A&location=main", ""},
	{"GET", "/v1/skus?limit=100", ""},
	{"GET", "/v1/skus/A", ""},
	{"POST", "/v1/availability", "{\"skus\":[\"A\",\"B\"]}"},
	{"POST", "/v1/stock", "{\"skus\":[\"A\",\"B\"],\"locations\":[\"main\"]}"},
	{"GET", "/v1/skus/A/movements", ""},
	{"GET", "/v1/movements/M", ""},
	{"GET", "/v1/events?limit=100", ""},
	{"GET", "/v1/events?limit=1000&after=@", ""},
	{"GET", "/v1/events?limit=1000&after=@&types=movement.receipt", ""},
	{"GET", "/v1/tasks", ""},
	{"GET", "/v1/tasks/2", ""},
	{"GET", "/v1/webhooks", ""},
	{"GET", "/v1/webhooks/W", ""},
	{"GET", "/readyz", ""},
	{"GET", "/metrics", ""},
	{"POST", "/v1/reservations", "{\"order_id\":\"n#\",\"ttl_s\":600,\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"},
	{"POST", "/v1/reservations/n#/confirm", ""},
	{"POST", "/v1/reservations/n#/release", ""},
	{"POST", "/v1/reservations",
         "{\"order_id\":\"r#\",\"ttl_s\":600,\"replaces\":\"held\",\"lines\":[{\"sku\":\"B\",\"qty\":99999}]}"},
	{"POST", "/v1/reservations/buried/kick", ""},
	{"POST", "/v1/reservations/held/extend", "{\"ttl_s\":600}"},
	{"POST", "/v1/reservations/held/split", "{\"order_id\":\"s#\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"},
	{"POST", "/v1/movements",
         "{\"movement_id\":\"m#\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"},
	{"POST", "/v1/tasks", "{\"kind\":\"settle\",\"worker\":\"w\",\"limit\":1,\"lease_s\":30}"},
	{"POST", "/v1/tasks/2/heartbeat", "{\"lease_s\":30}"},
	{"POST", "/v1/tasks/2/complete", "{\"order_ids\":[\"claimed\"]}"},
	{"POST", "/v1/tasks/2/return", ""},
	{"POST", "/v1/reservations/held/confirm", "{\"reacquire\":true}"},
	{"POST", "/v1/reservations/held/release", ""},
};

#define FROM_THE_BEGINNING "2020-01-01T00:00:00Z"
static char log_end[4000] = FROM_THE_BEGINNING; /* a cursor of the log, or a time */

static void words_put(struct text *to, const char *words, int number)
{
	for (; words && *words; words++)
		if (*words == '#')
			text_format(to, "%d", number);
		else if (*words == '@')
			text_add(to, log_end);
		else if (*words == '\'')
			text_char(to, '"');
		else
			text_char(to, *words);
}

static void log_end_keep(const struct answer *a)
{
	const cJSON *next = cJSON_GetObjectItemCaseSensitive(a->json, "next_cursor");

	snprintf(log_end, sizeof(log_end), "%s", cJSON_IsString(next) ? next->valuestring : FROM_THE_BEGINNING);
}

/* All calls, or those that read alone, each of which gets an answer. */
static void calls_make(struct client *client, bool reads, const char *why)
{
	static int number;

	number++;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct text   path = {0}, body = {0};
		struct answer a = {0};

		if (reads && strcmp(calls[i].method, "GET") != 0)
			continue;
		words_put(&path, calls[i].path, number);
		words_put(&body, calls[i].body, number);
		client_ask(client, calls[i].method, path.data, body.data ? body.data : "", &a);
		cr_assert(a.status > 0, "%s %s got no answer: %s", calls[i].method, path.data, why);
		if (strstr(calls[i].path, "after=@&types"))
			log_end_keep(&a);
		answer_fini(&a);
		text_fini(&path);
		text_fini(&body);
	}
}

/* Tables and, where the question has a second column, their columns. */
struct names {
	char   list[300][2][64];
	size_t count;
};

static void name_read(void *arg, const struct db_row *row)
{
	struct names *names = arg;

	cr_assert(names->count < sizeof(names->list) / sizeof(names->list[0]));
	for (unsigned i = 0; i < row->columns; i++)
		snprintf(names->list[names->count][i], sizeof(names->list[0][i]), "%s", row->col[i]);
	names->count++;
}

static void PRINTF(3, 4) sql(void (*each)(void *arg, const struct db_row *row), void *arg, const char *format, ...)
{
	struct db *db = flow_scratch()->db;
	char       statement[600];
	va_list    ap;

	va_start(ap, format);
	vsnprintf(statement, sizeof(statement), format, ap);
	va_end(ap);
	cr_assert(db_text(db, statement, each, arg) == DB_OK, "%s: %s", statement, db_error(db));
}

/* True: the column stands in all rows as it stood after one of the `count` values before; sums keeps their sums. */
static bool is_known(const char *table, const char *column, struct names *sums, size_t count)
{
	sums->count = count;
	sql(name_read, sums, "SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(COALESCE(%s, 'NULL')))) FROM %s", column,
	    table);
	for (size_t i = 0; i < count; i++)
		if (strcmp(sums->list[i][0], sums->list[count][0]) == 0)
			return true;
	return false;
}

/* Writes each value into the column of all rows at once, as far as the rules of the table let it. Many values become
 * the same by the column's type, and are tried once. */
static void column_damage(struct client *client, const char *table, const char *column)
{
	static struct names sums;
	size_t              tried = 0;
	char                why[200];

	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		snprintf(why, sizeof(why), "%s.%s = %s", table, column, hostile[i]);
		sql(NULL, NULL, "UPDATE IGNORE %s SET %s = %s", table, column, hostile[i]);
		if (db_changed(flow_scratch()->db) == 0 || is_known(table, column, &sums, tried))
			continue;
		tried++;
		calls_make(client, strcmp(table, "log_writer") == 0, why);
	}
	cr_assert(program_run("/dev/null", flow_scratch()->url, "audit") < 128, "audit: %s.%s", table, column);
}

static void tables_keep(struct names *tables)
{
	sql(name_read, tables, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()");
	for (size_t i = 0; i < tables->count; i++)
		sql(NULL, NULL, "CREATE TEMPORARY TABLE was_%s AS SELECT * FROM %s", tables->list[i][0],
		    tables->list[i][0]);
}

/* Brings back what was; the log and the writers, which go on, only where they were damaged or (NULL) at the end. */
static void tables_restore(const struct names *tables, const char *damaged)
{
	sql(NULL, NULL, "START TRANSACTION");
	for (size_t i = 0; i < tables->count; i++) {
		const char *table = tables->list[i][0];

		bool goes_on = strcmp(table, "log_writer") == 0 || strcmp(table, "event") == 0;

		if (goes_on && damaged && strcmp(table, damaged) != 0)
			continue;
		sql(NULL, NULL, "DELETE FROM %s", table);
		sql(NULL, NULL, "INSERT INTO %s SELECT * FROM was_%s", table, table);
	}
	sql(NULL, NULL, "COMMIT");
}

/* Columns of the table of writers ("=") or of all others ("<>"), each `step`th from `first` on. The writers' are the
 * fence: without them each call that writes waits 10 s for its 503. A version that is not the program's is no damage: a
 * program that connects then ends, as with a newer schema. */
static void columns_damage(const char *of, size_t first, size_t step)
{
	static struct names columns, tables;
	struct client       client;

	flow_begin();
	flow_steps("serve --lanes 2 --jobs=expire,reap,deliver --webhooks-allow 127.0.0.0/8",
	           "receipt M A +1000 A@paris +1000 B +1000 reason=R -> 201",
	           "reserve gone A=1 ttl=600 -> 201",
	           "reserve held A=5 A@paris=5 ttl=600 reference=R replaces=gone -> 201",
	           "split held part A=1 -> 201",
	           "reserve some A=1 B=5000 ttl=600 mode=best_effort -> 201",
	           "reserve buried A=1 confirm=true -> 201",
	           "claim settle w -> 201 ~buried",
	           "fail 1 buried=bury:E -> 200",
	           "reserve claimed A=1 confirm=true -> 201",
	           "claim settle w lease=3600 -> 201 ~claimed",
	           "raw POST /v1/webhooks {'webhook_id':'W','url':'http://127.0.0.1:1/','from':'oldest'} -> 201");
	client_open(&client, flow_port(0));
	sql(name_read, &columns,
	    "SELECT table_name, column_name FROM information_schema.columns"
	    " WHERE table_schema = DATABASE() AND table_name %s 'log_writer' AND table_name <> 'schema_version'"
	    " ORDER BY table_name, ordinal_position",
	    of);
	tables_keep(&tables);
	sql(NULL, NULL, "SET sql_mode = ''");
	for (size_t i = first; i < columns.count; i += step) {
		column_damage(&client, columns.list[i][0], columns.list[i][1]);
		tables_restore(&tables, columns.list[i][0]);
	}
	client_close(&client);
	tables_restore(&tables, NULL);
	flow_end();
}

Test(damaged, first_columns, DRILL)
{
	columns_damage("<>", 0, 4);
}

Test(damaged, second_columns, DRILL)
{
	columns_damage("<>", 1, 4);
}

Test(damaged, third_columns, DRILL)
{
	columns_damage("<>", 2, 4);
}

Test(damaged, fourth_columns, DRILL)
{
	columns_damage("<>", 3, 4);
}

Test(damaged, columns_of_writers)
{
	columns_damage("=", 0, 1);
}

/* ---- units */

#define MOVE(kind, line) "/v1/movements", "{'movement_id':'M#','kind':'" kind "','lines':[{'sku':'A#'," line "}]}"

/* Units of any number, which damage alone writes, end no process. The program has just started and knows no balance;
 * each call has a sku and an order of its own, and an answer, whatever it is. */
Test(damaged, units_of_any_number)
{
	static const struct {
		const char *damage, *path, *body;
	} cases[] = {
		{"stock_slot SET available = 9223372036854775807 WHERE slot = 0", MOVE("receipt", "'qty':1")},
		{"stock_slot SET available = 9223372036854775807", MOVE("count", "'counted':3")},
		{"stock_slot SET reserved = 9223372036854775807",
	         MOVE("count", "'counted':0,'short':'backorder','to':'po'")},
		{"stock_slot SET available = -5 WHERE slot = 0", MOVE("receipt", "'qty':1")},
		{"stock_slot SET available = IF(slot = 0, 10, -5)", MOVE("adjustment", "'qty':-1")},
		{"stock_slot SET available = IF(slot = 0, 10, -5)", MOVE("count", "'counted':3")},
		{"reservation_line SET qty = -1", "/v1/reservations",
	         "{'order_id':'N#','ttl_s':60,'replaces':'O#','mode':'best_effort',"
	         "'lines':[{'sku':'A#','qty':1},{'sku':'B','qty':1}]}"},
		{"reservation_line SET qty = 9223372036854775807", "/v1/reservations",
	         "{'order_id':'N#','ttl_s':60,'replaces':'O#','lines':[{'sku':'A#','qty':1}]}"},
	};
	static struct names tables;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	           "receipt B +1000 -> 201");
	for (size_t i = 0; i < LENGTH(cases); i++) {
		flow_step("receipt A%zu +2 -> 201", i);
		flow_step("reserve O%zu A%zu=2 ttl=600 -> 201", i, i);
	}
	sql(NULL, NULL, "ALTER TABLE stock_slot DROP CONSTRAINT available_not_negative");
	sql(NULL, NULL, "ALTER TABLE stock_slot DROP CONSTRAINT reserved_not_negative");
	sql(NULL, NULL, "INSERT INTO stock_slot SELECT sku_id, location_id, 9, 0, 0 FROM stock_slot");
	tables_keep(&tables);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct text   path = {0}, body = {0};
		struct answer a = {0};
		struct client client;

		sql(NULL, NULL, "UPDATE %s", cases[i].damage);
		flow_step("kill");
		client_open(&client, flow_port(0));
		words_put(&path, cases[i].path, (int)i);
		words_put(&body, cases[i].body, (int)i);
		client_ask(&client, "POST", path.data, body.data, &a);
		cr_expect(a.status > 0 && a.status != 400, "%d for %s beside %s", a.status, body.data, cases[i].damage);
		client_close(&client);
		answer_fini(&a);
		text_fini(&path);
		text_fini(&body);
		flow_steps("sql REPLACE INTO stock_slot SELECT * FROM was_stock_slot",
		           "sql REPLACE INTO reservation_line SELECT * FROM was_reservation_line");
	}
	tables_restore(&tables, NULL);
	flow_end();
}

/* Orders without their lines: a call that needs some of them is refused. */
Test(damaged, orders_without_lines)
{
	static struct names tables;

	flow_begin();
	flow_steps("receipt A +100 -> 201",
	           "race 1*6 reserve R# A=1 confirm=true -> 6x 201",
	           "race 1*7 reserve H# A=1 ttl=60 -> 7x 201");
	tables_keep(&tables);
	flow_steps("sql DELETE FROM reservation_line -> ",
	           "get R0 -> confirmed lines=0",
	           "raw POST /v1/reservations/R1/settle {} -> 503 busy",
	           "release R2 -> released",
	           "reserve N3 A=1 replaces=R3 confirm=true -> 201",
	           "split R4 S4 A=1 -> 422 not_in_order",
	           "confirm H0 -> confirmed",
	           "reserve N4 A=1 replaces=H4 -> 201",
	           "claim settle w limit=1 -> 201 orders=R0",
	           "complete 1",
	           "run work settle --once",
	           "tick 61",
	           "confirm H5 reacquire -> confirmed",
	           "reserve N6 A=500 -> 409 short",
	           "run work expire --once",
	           "get R2 -> released");
	tables_restore(&tables, NULL);
	flow_end();
}
