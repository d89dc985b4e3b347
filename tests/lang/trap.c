/* trap.c - see trap.h. */
#include "engine/base/clock.h"
#include "tests/lang/trap.h"
#include "tests/kit/patience.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MS = 3 * PATIENCE_MS, PAUSE_US = 10000, QUEUE_US = 300000, GATE_US = 500000 };
enum { COUNT_US = 1000000, COUNT_TRIES = 20 };

static struct db *holder; /* connection with the locks; NULL: there are none */

/* ---- the database */

static void number_keep(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

static int64_t sql_run(struct db *db, const char *format, va_list ap)
{
	char    sql[1024];
	int64_t number = 0;
	int     n = vsnprintf(sql, sizeof(sql), format, ap);

	assert(n > 0 && (size_t)n < sizeof(sql));
	if (db_text(db, sql, number_keep, &number) != DB_OK)
		cr_assert_fail("%s: %s", sql, db_error(db));
	return number;
}

void trap_sql(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	sql_run(flow_scratch()->db, format, ap);
	va_end(ap);
}

int64_t trap_number(const char *format, ...)
{
	va_list ap;
	int64_t number;

	va_start(ap, format);
	number = sql_run(flow_scratch()->db, format, ap);
	va_end(ap);
	return number;
}

/* ---- locks */

static void holder_open(void)
{
	struct db_target to = flow_scratch()->target;

	snprintf(to.database, sizeof(to.database), "%s", flow_scratch()->name);
	holder = db_new_alone(&to);
	if (!db_connect(holder) || db_text(holder, "SET SESSION idle_transaction_timeout = 0", NULL, NULL) != DB_OK ||
	    db_text(holder, "START TRANSACTION", NULL, NULL) != DB_OK)
		cr_assert_fail("cannot lock: %s", db_error(holder));
}

void trap_lock(const char *format, ...)
{
	va_list ap;

	if (!holder)
		holder_open();
	va_start(ap, format);
	sql_run(holder, format, ap);
	va_end(ap);
}

void trap_unlock(void)
{
	if (db_text(holder, "COMMIT", NULL, NULL) != DB_OK)
		cr_assert_fail("cannot unlock: %s", db_error(holder));
	db_free(holder);
	holder = NULL;
}

/* Asks the processlist, as information_schema.innodb_trx is not renewed while it is read more often than every 0.1
 * s. */
int64_t trap_waiter(void)
{
	int64_t from_ms = clock_ms(), id = 0;

	while (!id && !patience_is_over(from_ms, PATIENCE_MS)) {
		usleep(PAUSE_US);
		id = trap_number("SELECT MAX(id) FROM information_schema.processlist WHERE db = DATABASE()"
		                 " AND id <> CONNECTION_ID() AND command IN ('Query', 'Execute') AND time_ms > 100");
	}
	if (!id)
		flow_fail("no statement waits after %d ms", (int)(clock_ms() - from_ms));
	return id;
}

int64_t trap_newest(void)
{
	return trap_number("SELECT MAX(id) FROM information_schema.processlist");
}

void trap_rests(int64_t newest, int count)
{
	int64_t from_ms = clock_ms(), rest = 0;

	while (rest < count && !patience_is_over(from_ms, PATIENCE_MS)) {
		usleep(PAUSE_US);
		rest = trap_number("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()"
		                   " AND id > %lld AND command = 'Sleep' AND time_ms > 300",
		                   (long long)newest);
	}
	if (rest < count)
		flow_fail("%d of %d new connections rest after %d ms", (int)rest, count, (int)(clock_ms() - from_ms));
}

/* ---- what programs say */

int trap_said_count(const char *words)
{
	struct text said = {0};
	int         count = 0;

	flow_said(&said);
	for (const char *at = said.data; at && (at = strstr(at, words)); at++)
		count++;
	text_fini(&said);
	return count;
}

/* ---- races */

void trap_raced(struct race *race, const char *expectation)
{
	struct text why = {0};

	race_finish(race, NULL);
	if (!race_meets(race, expectation, &why))
		flow_fail("a race expects %.600s\nbut     %.3000s", expectation, why.data);
	race_free(race);
	text_fini(&why);
}

struct race *trap_race_of_waiters(const char *shape, const char *steps)
{
	struct race *race;

	trap_sql("START TRANSACTION");
	trap_sql("SELECT MIN(writer_id) FROM log_writer FOR UPDATE");
	race = flow_race(shape, steps);
	usleep(QUEUE_US);
	trap_sql("COMMIT");
	return race;
}

/* ---- gates */

void trap_gate(const char *path)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fclose(file) == 0, "%s", path);
	usleep(GATE_US);
}

void trap_file(const char *path)
{
	for (int64_t from_ms = clock_ms(); !patience_is_over(from_ms, FILE_MS) && access(path, F_OK) != 0;)
		usleep(PAUSE_US);
	cr_assert_eq(access(path, F_OK), 0, "%s: nobody made it", path);
}

static void begun_path(char *path, size_t size)
{
	snprintf(path, size, "%s/%s.begun", scratch_dir(), flow_scratch()->name);
}

void trap_exec(const char *format, ...)
{
	char    path[300], body[1000];
	va_list ap;
	int     n;

	va_start(ap, format);
	n = vsnprintf(body, sizeof(body), format, ap);
	va_end(ap);
	cr_assert(n > 0 && (size_t)n < sizeof(body));
	begun_path(path, sizeof(path));
	unlink(path);
	flow_step("exec touch %s; %s", path, body);
}

void trap_begun(void)
{
	char path[300];

	begun_path(path, sizeof(path));
	trap_file(path);
}

/* ---- figures */

int64_t trap_metric(int program, const char *name)
{
	struct client client;
	struct call   call = {.method = "GET"};
	struct answer answer = {0};
	struct text   line = {0};
	const char   *at;
	int64_t       value = -1;

	client_open(&client, flow_port(program));
	text_add(&call.path, "/metrics");
	client_call(&client, &call, &answer);
	text_format(&line, "\n%s ", name);
	at = answer.body.data ? strstr(answer.body.data, line.data) : NULL;
	if (at)
		value = strtoll(at + line.len, NULL, 10);
	client_close(&client);
	call_fini(&call);
	answer_fini(&answer);
	text_fini(&line);
	return value;
}

/* ---- counts */

static int64_t counted_at(const struct answer *a)
{
	int64_t     us = 0;
	const char *at = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(a->json, "counted_at"));

	cr_assert(a->status == 200 && at && time_read(at, &us), "status %d, counted_at %s", a->status,
	          at ? at : "absent");
	return us;
}

void trap_counted_once(const char *path, const char *step)
{
	struct client client;
	struct answer first = {0}, second = {0};
	bool          shared = false;

	client_open(&client, flow_port(0));
	for (int i = 0; i < COUNT_TRIES && !shared; i++) {
		client_ask(&client, "GET", path, "", &first);
		flow_step("%s", step);
		client_ask(&client, "GET", path, "", &second);
		shared = counted_at(&first) == counted_at(&second);
		if (shared)
			cr_expect(cJSON_Compare(first.json, second.json, true), "%s: one count, two answers", path);
		else
			cr_assert_geq(counted_at(&second) - counted_at(&first), COUNT_US, "%s: counted again", path);
	}
	cr_expect(shared, "%s: no count was shared", path);
	answer_fini(&first);
	answer_fini(&second);
	client_close(&client);
}
