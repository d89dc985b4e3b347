/* test_worker_process.c - workers that freeze, die and come back, in processes of their own: every order is settled
 * once or buried with a reason, and the audit is whole. TEST_DRILL_ROUNDS (10) makes the drills longer. */
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "tests/lang/expect.h"
#include "tests/kit/program.h"
#include "tests/kit/server.h"
#include "tests/kit/patience.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"
#include "tests/lang/verb.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOP(body) "while read -r l; do id=${l#*:\\\"}; id=${id%%\\\"*}; " body "; done"
#define SETTLED    "sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> "
#define UNSETTLED  "sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> "
#define REAPED     "sql SELECT COUNT(*) > 0 FROM job_task WHERE state = 4 -> " /* none: the drill is of nothing */
/* A program that names no order until its worker is gone: one kill at least finds a claim, however slow the machine. */
#define HANGS   "exec while echo; do sleep 0.05; done"
#define CLAIMED "wait sql SELECT COUNT(*) > 0 FROM job_task WHERE state = 1 -> 1"

static int rounds(void)
{
	const char *text = getenv("TEST_DRILL_ROUNDS");
	int         n = text ? atoi(text) : 10;

	return n > 0 ? n : 10;
}

static int chance(int n)
{
	unsigned dice;

	random_bytes(&dice, sizeof(dice));
	return (int)(dice % (unsigned)n);
}

static void pause_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* ---- freeze */

/* The program has done the work and says so, but meanwhile another worker has the orders. */
Test(worker_process, freeze)
{
	char gate[300];

	flow_begin();
	flow_orders("R", 20);
	snprintf(gate, sizeof(gate), "%s/%s.gate", scratch_dir(), flow_scratch()->name);
	trap_exec(GATE " " LOOP_FORMAT("echo $id done"), gate);
	flow_step("start A work settle --lease 1 --batch 20 --once");
	trap_begun();
	flow_steps("task 1                    -> open claimed=20",
	           "signal A STOP");
	trap_gate(gate);
	flow_steps("wait sql SELECT lease_until < UTC_TIMESTAMP(3) FROM job_task -> 1",
	           "run reap                  -> 0 '~20 orders freed'",
	           "exec",
	           "tick 3",
	           "work settle               -> 0",
	           "task 2                    -> done completed=20",
	           "mark",
	           "signal A CONT",
	           "end A                     -> 0 ~event=orders_lost ~lease_lost=1",
	           "unchanged",
	           "raw GET /metrics          -> holdfast_fenced_total=1 holdfast_reaped_tasks_total=1",
	           "task 1                    -> reaped claimed=20 completed=0",
	           SETTLED "20",
	           "sql SELECT COUNT(*) FROM reservation WHERE task_id <> 2 OR attempts <> 2 -> 0",
	           MOVED "1",
	           "sku A                     -> on_hand=0 reserved=0",
	           "run audit                 -> 0");
	flow_end();
}

/* A frozen worker over HTTP: its fenced completions are counted. */
Test(worker_process, freeze_of_a_worker_over_http)
{
	flow_begin();
	flow_orders("R", 20);
	flow_steps("claim settle frozen limit=20 lease=1 -> 201 orders=20",
	           "complete 1 R3 R4          -> completed=2",
	           "tick 40",
	           "run reap                  -> 0 '~18 orders freed'",
	           "tick 3",
	           "work settle               -> 0",
	           "complete 1                -> 409 lease_lost",
	           "complete 1 R5             -> 409 lease_lost",
	           "raw GET /metrics          -> holdfast_fenced_total=2",
	           SETTLED "20",
	           MOVED "1",
	           "sku A                     -> on_hand=0",
	           "run audit                 -> 0");
	flow_end();
}

/* A worker is frozen at any time: between claim and completion, within either of them, between two batches. */
Test(worker_process, freeze_at_any_moment)
{
	int freezes = (rounds() + 3) / 4;

	flow_begin();
	flow_step("receipt A +1 -> 201");
	for (int i = 0; i < freezes; i++) {
		char name[20];

		snprintf(name, sizeof(name), "F%d-", i);
		flow_orders(name, 400);
		flow_step("start A work settle --lease 1 --batch 40");
		flow_step("wait sql SELECT COUNT(*) > 0 FROM reservation WHERE state = 3 AND order_id LIKE '%s%%' -> 1",
		          name);
		pause_ms(chance(30));
		flow_step("signal A STOP");
		pause_ms(1500); /* the lease, which a busy server may begin after the freeze */
		flow_steps("run reap    -> 0",
		           "tick 3",
		           "work settle -> 0",
		           UNSETTLED "0",
		           "signal A CONT");
		pause_ms(50);
		flow_steps("signal A TERM",
		           "end A -> 0",
		           OPEN "0");
	}
	flow_step(LEFT "%d", 400 * freezes + 1);
	flow_step(SETTLED "%d", 400 * freezes);
	flow_steps(MOVED "1",
	           "run audit -> 0");
	flow_end();
}

/* ---- kill */

/* Reaps, lets time pass, settles, until nothing waits any more. */
static void settle_the_rest(void)
{
	flow_step("exec");
	for (int i = 0; i < 10; i++) {
		flow_step("tick 40");
		flow_step("run reap -> 0");
		flow_step("tick 700");
		flow_step("work settle -> 0");
	}
}

/* A worker is killed at a random time, again and again, while orders come in and others are released. Some orders are
 * buried by that. */
Test(worker_process, kill)
{
	struct race *load = NULL;
	int          n = rounds();

	flow_begin();
	flow_step("receipt A +100000 -> 201");
	for (int i = 0; i < n; i++) {
		char name[20];

		if (i % 10 == 0) {
			if (load)
				race_finish(load, NULL);
			if (load)
				race_free(load);
			load = flow_race("3*700", "reserve L# A=1 || reserve L# A=2 || release L#");
		}
		snprintf(name, sizeof(name), "K%d-", i);
		flow_orders(name, 150);
		flow_steps(i == 0  ? HANGS
		           : i % 2 ? "exec " LOOP("case $id in *7) echo $id bury seven;; *) echo $id done;; esac")
		                   : "exec");
		flow_step("start W work settle --batch 7 --workers 2 --lease 1 --max-attempts 50");
		if (i == 0)
			flow_steps(CLAIMED);
		else
			pause_ms(10 + chance(120));
		flow_steps("signal W KILL",
		           "end W -> 137");
	}
	race_finish(load, NULL);
	race_free(load);
	settle_the_rest();
	flow_steps(OPEN "0",
	           "sql SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'K%' AND NOT (state = 3 OR (state = 6 AND"
	           " last_error = 'seven')) -> 0",
	           MOVED "1",
	           "run audit -> 0");
	flow_step("sql SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'K%%' -> %d", 150 * n);
	flow_step(LEFT "%d", 100000 + 150 * n);
	flow_step(REAPED "1");
	flow_end();
}

/* ---- two reapers and four workers */

static int orders_of_a_drill(void)
{
	return rounds() * 200 < 10000 ? rounds() * 200 : 10000;
}

/* Workers are killed and started again while reapers free their orders. */
Test(worker_process, two_reapers_and_four_workers)
{
	int n = orders_of_a_drill();

	flow_begin();
	flow_orders("R", n);
	flow_steps(HANGS,
	           "start W0 work settle --batch 7 --lease 1",
	           CLAIMED,
	           "signal W0 KILL",
	           "end W0 -> 137",
	           "start X reap --every 1",
	           "start Y reap --every 1");
	for (int w = 0; w < 4; w++) {
		flow_steps(w % 2 ? "exec " LOOP("echo $id done") : "exec");
		flow_step("start W%d work settle --batch 7 --lease 1", w);
	}
	for (int i = 0; i < rounds(); i++) {
		int w = chance(4);

		pause_ms(chance(60));
		flow_step("signal W%d KILL", w);
		flow_step("end W%d -> 137", w);
		flow_step("start W%d work settle --batch 7 --lease 1 --max-attempts 50", w);
	}
	flow_step("wait:60 " UNSETTLED "0");
	flow_step("wait:10 " OPEN "0");
	for (int w = 0; w < 4; w++) {
		flow_step("signal W%d TERM", w);
		flow_step("end W%d -> 0", w);
	}
	flow_steps("signal X TERM",
	           "signal Y TERM",
	           "end X -> 0",
	           "end Y -> 0",
	           MOVED "1",
	           "run audit -> 0");
	flow_step(SETTLED "%d", n);
	flow_step(LEFT "%d", n);
	flow_step(REAPED "1");
	flow_end();
}

/* ---- the same, and the database is killed in between: a service with a private server of its own */

static struct database {
	char           dir[300], log[320];
	struct program serve;
	struct client  client;
	pid_t          beside[6]; /* two reapers, four workers */
} database;

static int database_run(const char *format, ...) PRINTF(1, 2);
static int database_run(const char *format, ...)
{
	char    command[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	snprintf(command + strlen(command), sizeof(command) - strlen(command), " --data %s", database.dir);
	return program_run(database.log, NULL, command);
}

static pid_t database_begin(const char *command)
{
	char line[600];

	snprintf(line, sizeof(line), "%s --data %s", command, database.dir);
	return program_begin(database.log, NULL, line);
}

static void number_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

/* One number from the private database; waits while it is away. */
static int64_t private_number(const char *sql)
{
	struct db_target target = {.user = "root", .database = "holdfast"};
	struct db       *db;
	int64_t          n = -1, from_ms = clock_ms();

	snprintf(target.socket, sizeof(target.socket), "%s/mariadbd.sock", database.dir);
	snprintf(target.user, sizeof(target.user), "%s", getenv(SCRATCH_USER));
	db = db_new_alone(&target);
	while (n < 0 && !patience_is_over(from_ms, 3 * PATIENCE_MS))
		if (!db_connect(db) || db_text(db, sql, number_read, &n) != DB_OK)
			pause_ms(50);
	db_free(db);
	cr_assert(n >= 0, "the private database is away for %d ms: %s", (int)(clock_ms() - from_ms), sql);
	return n;
}

static void private_number_is(const char *sql, int64_t want, int wait_s)
{
	int64_t from_ms = clock_ms(), n;

	while ((n = private_number(sql)) != want && !patience_is_over(from_ms, wait_s * 1000))
		pause_ms(20);
	cr_expect_eq(n, want, "%s: %lld after %d ms", sql, (long long)n, (int)(clock_ms() - from_ms));
}

static void private_kill_server(void)
{
	char  path[340];
	FILE *file;
	int   pid = 0;

	snprintf(path, sizeof(path), "%s/mariadbd.pid", database.dir);
	file = fopen(path, "r");
	cr_assert(file && fscanf(file, "%d", &pid) == 1 && pid > 1);
	fclose(file);
	cr_assert_eq(kill(pid, SIGKILL), 0);
}

static void database_call(const char *step, const char *want)
{
	struct step   s;
	struct call   call = {0};
	struct answer answer = {0};
	struct text   why = {0};

	step_read(&s, step, -1);
	cr_assert(verb_write(&s, &call));
	client_call(&database.client, &call, &answer);
	cr_expect(expect_words(want, strncmp(step, "batch", 5) == 0, &answer, &why), "%.60s: %s %s", step, why.data,
	          answer.body.data);
	call_fini(&call);
	answer_fini(&answer);
	step_fini(&s);
	text_fini(&why);
}

/* n orders, confirmed. */
static void private_orders(int n)
{
	struct race *race;
	char         shape[20];

	database_call("receipt A +100000", "201");
	for (int done = 0; done < n; done += 1000) {
		struct text step = {0};

		text_add(&step, "batch");
		for (int i = done; i < n && i < done + 1000; i++)
			text_format(&step, "%s R%d A=1", i > done ? " |" : "", i);
		database_call(step.data, "201 | ...");
		text_fini(&step);
	}
	snprintf(shape, sizeof(shape), "20*%d", n / 20);
	race = race_start(&database.serve.port, 1, NULL, shape, "confirm R#");
	race_finish(race, NULL);
	race_free(race);
}

static void database_open(void)
{
	char options[400];

	snprintf(database.dir, sizeof(database.dir), "%s/drill-%d", scratch_dir(), (int)getpid());
	snprintf(database.log, sizeof(database.log), "%s.log", database.dir);
	snprintf(options, sizeof(options), "--data %s --lanes 2", database.dir);
	server_data(database.dir);
	program_start(&database.serve, database.log, NULL, options);
	client_open(&database.client, database.serve.port);
}

static void database_close(void)
{
	struct text why = {0};

	client_close(&database.client);
	cr_expect(program_stop(&database.serve, &why), "%s", why.data);
	cr_expect_eq(database_run("audit"), 0);
	text_fini(&why);
}

Test(worker_process, the_database_is_killed_in_between)
{
	int n = orders_of_a_drill(), kills = (rounds() + 9) / 10, status;

	database_open();
	cr_expect_eq(private_number("SELECT @@innodb_buffer_pool_size >> 20"), SERVER_POOL_MIB, "HOLDFAST_BUFFER_POOL");
	private_orders(n);
	private_number_is("SELECT COUNT(*) FROM reservation WHERE state = 2", n, 0);
	for (int i = 0; i < 6; i++) {
		setenv("HOLDFAST_EXEC", LOOP("sleep 0.005; echo $id done"), 1);
		database.beside[i] = database_begin(i < 2 ? "reap --every 1" : "work settle --batch 7 --lease 2");
	}
	unsetenv("HOLDFAST_EXEC");
	for (int i = 0; i < kills; i++) {
		int64_t settled = private_number("SELECT COUNT(*) FROM reservation WHERE state = 3");

		while (settled < n && private_number("SELECT COUNT(*) FROM reservation WHERE state = 3") < settled + 50)
			pause_ms(5);
		pause_ms(chance(50));
		private_kill_server();
	}
	cr_expect_gt(private_number("SELECT COUNT(*) FROM reservation WHERE state = 2"), 0, "killed too late");
	private_number_is("SELECT COUNT(*) FROM reservation WHERE state = 3", n, 60);
	private_number_is("SELECT COUNT(*) FROM job_task WHERE state = 1", 0, 10);
	for (int i = 0; i < 6; i++) {
		kill(database.beside[i], SIGTERM);
		cr_expect(program_wait(database.beside[i], 20000, &status) && status == 0, "worker %d ended with %d", i,
		          status);
	}
	private_number_is("SELECT -SUM(qty) FROM movement JOIN movement_line USING (movement_no) WHERE kind = 5", n, 0);
	private_number_is("SELECT SUM(available + reserved) FROM stock_slot", 100000 - n, 0);
	database_call("reserve AFTER A=1", "201");
	database_close();
}
