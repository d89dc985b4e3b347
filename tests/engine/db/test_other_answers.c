/* test_other_answers.c - a database server that answers something else than what was asked for, as a node that was
 * broken into does, or a program between. The program says so and ends by itself; it writes nothing past its memory. */
#include "engine/base/text.h"
#include "schema/files.h"
#include "tests/kit/drill.h"
#include "tests/kit/impostor.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/kit/proxy.h"
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How the server answers every statement that it does not answer rightly. */
struct lie {
	const char *name;
	unsigned    columns, rows;
	const char *value; /* of every column; NULL is NULL */
};
enum { ANSWER_MS = 3 * PATIENCE_MS };
enum { NO_ROWS, AS_ASKED = 100 }; /* columns: none, done; as many as the statement has, behind the right schema */

/* The first read has two columns, on the stack. */
static const struct lie lies[] = {
	{"done", NO_ROWS, 0, ""},
	{"too few columns", 1, 1, "1"},
	{"too many columns", 30, 1, "20"},
	{"too many columns and rows", 30, 3, "-1"},
	{"too many texts", 30, 3, "word"},
	{"too many NULLs", 30, 1, NULL},
	{"NULL for a version", 2, 1, NULL},
	{"text for a version", 2, 9, "word"},
	{"no number for a version", 2, 1, "99999999999999999999"},
};
/* Behind that every number, text and time. */
static const struct lie later_lies[] = {
	{"NULLs", AS_ASKED, 1, NULL},
	{"many NULLs", AS_ASKED, 1500, NULL},
	{"texts", AS_ASKED, 1500, "word"},
	{"small numbers", AS_ASKED, 1500, "1"},
	{"large numbers", AS_ASKED, 1500, "9223372036854775807"},
	{"numbers below zero", AS_ASKED, 1500, "-9223372036854775808"},
	{"no numbers", AS_ASKED, 1500, "99999999999999999999"},
	{"times", AS_ASKED, 1500, "2026-11-27 22:00:00.000"},
	{"no times", AS_ASKED, 1500, "99999999999999999999-01-01 00:00:00"},
	{"no rows", AS_ASKED, 0, NULL},
};

static char url[80], log_path[64];

/* ---- the server */

static struct lie now;

/* `rest`: the value of all columns but the first. */
static void rows_add(struct reply *to, const struct lie *a, const char *rest)
{
	reply_columns(to, a->columns, REPLY_TEXT);
	for (unsigned i = 0; i < a->rows; i++) {
		for (unsigned k = 0; k < a->columns; k++) {
			const char *value = k == 0 ? a->value : rest;

			reply_value(to, value, value ? strlen(value) : 0);
		}
		reply_row(to);
	}
	reply_end(to, false);
}

static bool lie_answer(struct reply *to, const char *sql, bool prepared)
{
	struct lie  a = now;
	const char *rest = a.value;
	char        version[20];

	snprintf(version, sizeof(version), "%d", schema_files_latest(&schema_files));
	if (now.columns == AS_ASKED) {
		a.columns = prepared ? 0 : impostor_columns(sql);
		if (strstr(sql, "FROM schema_version")) {
			a = (struct lie){.columns = a.columns, .rows = 1, .value = version};
			rest = "0";
		}
	}
	if (a.columns > 0)
		rows_add(to, &a, rest);
	else
		reply_done(to, 0, 0);
	return true;
}

static void server_begin(void)
{
	int port = impostor_open(NULL, lie_answer);

	cr_assert(port);
	snprintf(url, sizeof(url), "mariadb://shop@127.0.0.1:%d/holdfast", port);
	snprintf(log_path, sizeof(log_path), "/tmp/holdfast-other-%d", (int)getpid());
}

/* ---- the tests */

static void command_ends(const char *command, const struct lie *a)
{
	struct text said = {0};
	int         status;
	bool        is;

	now = *a;
	status = program_run(log_path, url, command);
	program_log_all(log_path, &said);
	is = status == 69 && said.data && strstr(said.data, "the database answers something else");
	cr_expect(is || (status == 78 && (a->columns == 1 || a->columns == 2)), "%s, %s: %d: %s", command, a->name,
	          status, said.data);
	unlink(log_path);
	text_fini(&said);
}

Test(other_answers, end_a_command)
{
	static const char *const commands[] = {"stats", "migrate", "audit", "export stock",
	                                       "serve --listen 127.0.0.1:0"};

	server_begin();
	for (size_t i = 0; i < LENGTH(lies); i++)
		for (size_t k = 0; k < LENGTH(commands); k++)
			command_ends(commands[k], &lies[i]);
}

/* A text or a number in a row is believed, and the command may end well. */
Test(other_answers, end_no_process, DRILL)
{
	static const char *const commands[] = {"stats",      "audit",        "export stock", "export movements",
	                                       "show sku X", "show order X", "jobs"};

	server_begin();
	for (size_t i = 0; i < LENGTH(later_lies); i++)
		for (size_t k = 0; k < LENGTH(commands); k++) {
			int status;

			now = later_lies[i];
			status = program_run(log_path, url, commands[k]);
			cr_expect(status < 128, "%s, %s: %d", commands[k], now.name, status);
		}
}

/* ---- a service that runs */

static const struct {
	const char *name, *value;
	int         more;
	const char *from;
} rows[] = {
	{"a column less", "1", -1, ""},
	{"columns too many", "20", 30, ""},
	{"NULLs", "NULL", 0, ""},
	{"rows too many", "1", 0, "FROM information_schema.COLLATIONS a JOIN information_schema.CHARACTER_SETS b"},
	{"large numbers", "9223372036854775807", 0, ""},
	{"no numbers", "99999999999999999999", 0, ""},
	{"numbers below zero", "-9223372036854775807-1", 0, ""},
	{"texts", "REPEAT('word',200)", 0, ""},
};

static const struct {
	const char *method, *path, *body;
} calls[] = {
	{"GET", "/v1/reservations/R1", ""},
	{"GET", "/v1/reservations?limit=3", ""},
	{"GET", "/v1/reservations?sku=A&location=main", ""},
	{"GET", "/v1/skus/A", ""},
	{"GET", "/v1/skus?limit=3", ""},
	{"GET", "/v1/skus?low=true", ""},
	{"GET", "/v1/skus?q=wo", ""},
	{"POST", "/v1/stock", "{\"skus\":[\"A\",\"B\"],\"locations\":[\"main\"]}"},
	{"POST", "/v1/reservations/find", "{\"order_ids\":[\"R1\",\"held\"]}"},
	{"GET", "/v1/skus/A/movements", ""},
	{"GET", "/v1/skus/A/waiting", ""},
	{"GET", "/v1/movements/M1", ""},
	{"GET", "/v1/customers/c/skus/A", ""},
	{"GET", "/v1/stats", ""},
	{"GET", "/v1/jobs", ""},
	{"GET", "/v1/tasks", ""},
	{"GET", "/v1/buried", ""},
	{"GET", "/v1/locations", ""},
	{"GET", "/v1/locations?sums=true", ""},
	{"GET", "/v1/webhooks", ""},
	{"GET", "/v1/events?limit=3", ""},
	{"GET", "/metrics", ""},
	{"GET", "/readyz?verbose", ""},
	{"POST", "/v1/tasks", "{\"kind\":\"settle\",\"worker\":\"w\",\"lease_s\":1}"},
	{"POST", "/v1/kicks", "{}"},
	{"POST", "/v1/reservations", "{\"order_id\":\"N%u\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"},
	{"POST", "/v1/reservations/R1/confirm", ""},
	{"POST", "/v1/reservations/R2/split", "{\"order_id\":\"S%u\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"},
	{"POST", "/v1/movements",
         "{\"movement_id\":\"M%u\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"},
	{"POST", "/v1/movements",
         "{\"movement_id\":\"C%u\",\"kind\":\"count\",\"lines\":[{\"sku\":\"B\",\"counted\":9}]}"},
};

static int call_send(size_t i, unsigned number)
{
	char body[200], request[600];
	int  fd = attack_open(flow_port(0));

	snprintf(body, sizeof(body), calls[i].body, number);
	snprintf(request, sizeof(request),
	         "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
	         "Content-Length: %zu\r\n\r\n%s",
	         calls[i].method, calls[i].path, strlen(body), body);
	cr_assert(attack_say(fd, request));
	return fd;
}

/* All calls at once, each answered in time by whatever status. */
static void calls_are_answered(const char *what)
{
	static unsigned number = 1000;
	int             fds[LENGTH(calls)], status;

	for (size_t i = 0; i < LENGTH(calls); i++)
		fds[i] = call_send(i, number++);
	for (size_t i = 0; i < LENGTH(calls); i++) {
		struct text heard = {0};

		attack_hear(fds[i], patience_ms(ANSWER_MS), &heard);
		cr_expect(attack_answers(&heard, &status) == 1 && status >= 200 && (status < 500 || status == 503),
		          "%s: %s %s: %s", what, calls[i].method, calls[i].path, heard.data);
		close(fds[i]);
		text_fini(&heard);
	}
}

/* The database lies for a while, to lanes or to all others. */
static void service_lives(const char *begins, size_t count, bool to_lanes)
{
	struct proxy *proxy;
	int           pid, struck = 0;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve --lanes 1 --jobs=expire,reap,deliver",
	           "receipt M1 A +100 B +9                  -> 201",
	           "reserve R1 A=2 customer=c               -> 201",
	           "reserve R2 A=50 confirm=true            -> 201");
	pid = flow_pid(0);
	for (size_t i = 0; i < count; i++) {
		proxy_arm_hostile(proxy, to_lanes, begins, (unsigned)i & 1, rows[i].value, rows[i].more, rows[i].from);
		calls_are_answered(rows[i].name);
		struck += proxy_disarm(proxy);
	}
	cr_expect(struck >= (int)count / 2 && flow_pid(0) == pid, "%d, %d: %d", struck, pid, flow_pid(0));
	flow_steps("wait raw GET /readyz            -> 200",
	           "wait raw GET /v1/reservations/R2 -> 200",
	           "wait sku B                      -> on_hand=9",
	           "wait reserve LAST A=1           -> 201 held",
	           "run audit                       -> 0");
	flow_end();
	proxy_close(proxy);
}

Test(other_answers, end_no_service, DRILL)
{
	service_lives("SELECT", LENGTH(rows), false);
}

/* A write with an unknown outcome is looked for or done again for ten seconds; hence the drills. */
Test(other_answers, end_no_service_that_writes, DRILL)
{
	service_lives("BEGIN NOT ATOMIC", 2, false);
}

Test(other_answers, end_no_lane, DRILL)
{
	service_lives("SELECT", LENGTH(rows), true);
}
