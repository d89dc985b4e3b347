/* test_exec.c - work --exec: programs that do the work, what they print, how they end, and trouble with the database
 * meanwhile: an order that a program has answered for is not given to it again. */
#include "engine/base/clock.h"
#include "tests/kit/program.h"
#include "tests/kit/proxy.h"
#include "tests/kit/patience.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_US = 20000 };

Test(exec, says_what_happened)
{
	flow("receipt  A +10 B +10        -> 201",
	     "reserve  R1 A=1 B=2         -> 201",
	     "confirm  R1                 -> 200",
	     "reserve  R2 A=1             -> 201",
	     "confirm  R2                 -> 200",
	     "reserve  R3 A=1             -> 201",
	     "confirm  R3                 -> 200",
	     "reserve  R4 A=1             -> 201",
	     "confirm  R4                 -> 200",
	     "reserve  R5 A=1             -> 201",
	     "confirm  R5                 -> 200",
	     EACH("case $id in R1) echo $id done;; R2) echo $id retry no van left;; R3) echo $id bury no such street;;"
	     " R4) echo $id bury;; esac"),
	     "work     settle             -> 0",
	     "get      R1                 -> settled !last_error",
	     "get      R2                 -> confirmed attempts=1 '~last_error:no van left'",
	     "get      R3                 -> buried attempts=1 '~last_error:no such street'",
	     "get      R4                 -> buried '~last_error:no reason was given'",
	     "get      R5                 -> confirmed attempts=1 last_error=*",
	     "task     1                  -> done claimed=5 completed=1 failed=4",
	     "exec",
	     "tick     3",
	     "work     settle             -> 0",
	     "get      R2                 -> settled attempts=2",
	     "get      R5                 -> settled attempts=2",
	     "get      R3                 -> buried",
	     "sku      A                  -> on_hand=7 reserved=2");
}

/* One JSON line per order, then the end of the input. */
Test(exec, is_told_the_orders)
{
	char        path[300], line[500];
	FILE       *file;
	int         lines = 0;
	const char *want = "{\"order_id\":\"R1\",\"answer\":\"R1\",\"attempts\":1,"
			   "\"lines\":[{\"sku\":\"A\",\"location\":\"main\",\"qty\":3},"
			   "{\"sku\":\"B\",\"location\":\"paris\",\"qty\":1}]}\n";

	flow_begin();
	snprintf(path, sizeof(path), "%s/%s.orders", scratch_dir(), flow_scratch()->name);
	flow_steps("receipt A +10 B@paris +10 -> 201",
	           "reserve R1 A=3 B@paris=1 -> 201",
	           "confirm R1 -> 200",
	           "reserve R2 A=1 -> 201",
	           "confirm R2 -> 200");
	flow_step("exec cat > %s", path);
	flow_steps("work settle -> 0",
	           TASKS "2,1",
	           STATES "2,2");
	file = fopen(path, "r");
	cr_assert(file);
	while (fgets(line, sizeof(line), file)) {
		cJSON *json = cJSON_Parse(line);

		cr_expect(cJSON_IsObject(json), "%s", line);
		cr_expect(lines > 0 || strcmp(line, want) == 0, "%s", line);
		cJSON_Delete(json);
		lines++;
	}
	cr_expect_eq(lines, 2);
	fclose(file);
	flow_end();
}

Test(exec, prints_garbage)
{
	flow(THREE,
	     "exec echo; echo done; echo R1; echo R1 DONE; echo R9 done; echo 'R2  done'; printf '\\377\\376\\n';"
	     " head -c 100000 /dev/zero | tr '\\0' x; echo; echo R3 done; echo R3 bury; echo; echo R3 retry",
	     "work     settle             -> 0 '~event=answer_astray task=1 answers=1 first=R9 done'",
	     "get      R1                 -> confirmed attempts=1 last_error=*",
	     "get      R2                 -> confirmed attempts=1",
	     "get      R3                 -> settled",
	     TASKS "2,1");
}

/* The last line may have no newline. */
Test(exec, ends_without_a_newline)
{
	flow(THREE,
	     "exec printf 'R1 done\\nR2 retry later\\r\\nR3 done'",
	     "work     settle             -> 0",
	     "get      R1                 -> settled",
	     "get      R2                 -> confirmed last_error=later",
	     "get      R3                 -> settled");
}

Test(exec, dies_in_the_middle)
{
	flow(THREE,
	     EACH("echo $id done; kill -9 $$"),
	     "work     settle             -> 0",
	     "get      R1                 -> settled",
	     "get      R2                 -> confirmed attempts=1 last_error=*",
	     "get      R3                 -> confirmed attempts=1 last_error=*",
	     "task     1                  -> done completed=1 failed=2",
	     "exec     exit 3",
	     "tick     3",
	     "work     settle             -> 0",
	     "get      R2                 -> confirmed attempts=2",
	     "exec     /there/is/no/such/program",
	     "tick     5",
	     "work     settle             -> 0",
	     "get      R2                 -> confirmed attempts=3",
	     TASKS "2,3");
}

/* The program finds the signals as a shell would set them: SIGPIPE ends it. */
Test(exec, has_no_signal_ignored)
{
	flow(THREE,
	     EACH("echo $id done; kill -PIPE $$"),
	     "work     settle             -> 0",
	     STATES "2,2 3,1");
}

/* The program is silent for the lease: it is killed with all that it started. Its earlier answers count, the other
 * orders are tried again. */
Test(exec, falls_silent)
{
	char gate[300], path[300];

	flow_begin();
	flow_steps(THREE);
	snprintf(gate, sizeof(gate), "%s/%s.gate", scratch_dir(), flow_scratch()->name);
	snprintf(path, sizeof(path), "%s/%s.late", scratch_dir(), flow_scratch()->name);
	flow_step(EACH_FORMAT("echo $id done; (" GATE " echo late > %s)"), gate, path);
	flow_steps("work settle --lease 1         -> 0");
	trap_gate(gate);
	flow_steps("get R1                        -> settled",
	           "get R2                        -> confirmed attempts=1 last_error=*",
	           "get R3                        -> confirmed attempts=1",
	           "sql SELECT COUNT(*) FROM job_task WHERE state = 1 -> 0");
	cr_expect_neq(access(path, F_OK), 0, "what the program had started lived on");
	flow_end();
}

/* The program is slow, but it answers: the lease is renewed, and no reaper frees the orders. */
Test(exec, takes_longer_than_the_lease)
{
	flow_begin();
	flow_orders("R", 7);
	flow_steps(EACH("sleep 0.5; echo $id done"),
	           "start W work settle --once --lease 2");
	for (int i = 0; i < 9; i++) {
		usleep(300000);
		flow_step("run reap -> 0 !reaped");
	}
	flow_steps("end W  -> 0",
	           STATES "3,7",
	           "task 1 -> done claimed=7 completed=7");
	flow_end();
}

/* More input than a pipe holds, to programs that read all of it first, or nothing. */
Test(exec, of_a_large_batch)
{
	flow_begin();
	flow_orders("R", 3000);
	flow_steps("exec exit 0",
	           "work settle --batch 3000   -> 0",
	           STATES "2,3000",
	           "tick 3",
	           "exec sed -e 's/^.\\{13\\}//' -e 's/\".*/ done/' | tac",
	           "work settle --batch 3000   -> 0",
	           STATES "3,3000",
	           TASKS "2,2",
	           "sku A                      -> on_hand=0");
	flow_end();
}

/* Buried after --max-attempts; the pause is ten minutes at most. */
Test(exec, retries_for_a_while)
{
	flow(THREE,
	     EACH("echo $id retry"),
	     "work     settle --max-attempts 2 -> 0",
	     "get      R1                 -> confirmed attempts=1",
	     "sql UPDATE reservation SET attempts = 11 WHERE order_id = 'R3'",
	     "tick     3",
	     "work     settle --max-attempts 2 --batch 2 -> 0",
	     "get      R1                 -> buried attempts=2",
	     "get      R3                 -> buried attempts=12",
	     "run      kick --all         -> 0 '~3 reservations'",
	     "get      R3                 -> confirmed attempts=0",
	     "sql UPDATE reservation SET attempts = 11 WHERE order_id = 'R3'",
	     "work     settle --max-attempts 20 -> 0",
	     "sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL 530 SECOND AND UTC_TIMESTAMP(3)"
	     " + INTERVAL 660 SECOND FROM reservation WHERE order_id = 'R3' -> 1");
}

/* An expiry that fails is tried again, but not again and again at once. */
Test(exec, of_an_expiry_that_fails)
{
	flow_begin();
	flow_steps("receipt A +10         -> 201",
	           "reserve R1 A=1 ttl=60 -> 201",
	           "tick 61",
	           EACH("echo $id retry"),
	           "start W work expire --once");
	usleep(1000000);
	flow_steps("sql SELECT COUNT(*) < 5 FROM job_task -> 1",
	           "signal W TERM",
	           "end W -> 0",
	           "get R1 -> expired !released_at",
	           "exec",
	           "tick 1000",
	           "work expire -> 0",
	           "sku A -> available=10");
	flow_end();
}

/* ---- a program that settles, and trouble with the database meanwhile: what it answered is not done again */

/* From now on workers have a program that takes `pause` seconds for each order, and notes the orders that it has
 * done. */
static void exec_that_notes(const char *pause)
{
	flow_step("exec while read -r l; do id=${l#*:\\\"}; id=${id%%%%\\\"*}; sleep %s; echo $id >> %s/%s.done;"
	          " echo $id done; done",
	          pause, scratch_dir(), flow_scratch()->name);
}

static void notes_path(char *path, size_t size)
{
	snprintf(path, size, "%s/%s.done", scratch_dir(), flow_scratch()->name);
}

/* Waits until the program has done its first order, and the worker has read its answer. */
static void notes_begin(void)
{
	char path[300];

	notes_path(path, sizeof(path));
	trap_file(path);
	usleep(200000);
}

/* Waits until the program has done this many orders. */
static void notes_wait(int orders)
{
	char    path[300];
	int64_t from_ms = clock_ms();
	int     lines = 0;

	notes_path(path, sizeof(path));
	while (lines < orders && !patience_is_over(from_ms, PATIENCE_MS)) {
		FILE *file = fopen(path, "r");

		usleep(PAUSE_US);
		for (lines = 0; file && fscanf(file, "%*s") != EOF; lines++)
			;
		if (file)
			fclose(file);
	}
	if (lines < orders)
		flow_fail("the program has done %d orders in %d ms", lines, (int)(clock_ms() - from_ms));
}

/* Checks how many orders the program has noted, and how many different ones. */
static void notes_are(int lines, int orders)
{
	char  path[300], id[64], seen[100] = "";
	FILE *file;
	int   all = 0, different = 0, n;

	notes_path(path, sizeof(path));
	file = fopen(path, "r");
	cr_assert(file, "the program did nothing");
	while (fscanf(file, " R%63[0-9]", id) == 1 && sscanf(id, "%d", &n) == 1 && n < 100) {
		all++;
		different += !seen[n];
		seen[n] = 1;
	}
	fclose(file);
	cr_expect_eq(all, lines, "done %d times", all);
	cr_expect_eq(different, orders, "%d orders were done", different);
}

Test(exec, connects_anew)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("0.5");
	flow_steps("start X reap --every 1",
	           "start W work settle --once --lease 2",
	           "wait task 1 -> open");
	notes_begin();
	flow_steps("cut",
	           "end W -> 0 !orders_lost !exec_killed",
	           "task 1 -> done completed=8 failed=0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 8",
	           "signal X TERM",
	           "end X -> 0");
	notes_are(8, 8);
	flow_end();
}

/* The database stands still for twice the lease, for the worker and for a reaper beside it. */
Test(exec, while_the_database_stands_still)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 10);
	exec_that_notes("0.5");
	flow_steps("start X reap --every 1",
	           "start W work settle --once --lease 2",
	           "wait task 1 -> open");
	notes_begin();
	proxy_stall(proxy, true);
	usleep(4000000);
	proxy_stall(proxy, false);
	flow_steps("end W -> 0 !orders_lost !exec_killed",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 10",
	           "signal X TERM",
	           "end X -> 0");
	notes_are(10, 10);
	flow_end();
	proxy_close(proxy);
}

/* The program has ended and answered all, and the database is away for longer than any other wait lasts. */
Test(exec, waits_for_the_database)
{
	flow_begin();
	flow_orders("R", 5);
	exec_that_notes("0.2");
	flow_steps("start W work settle --once --lease 2",
	           "wait task 1 -> open");
	notes_begin();
	flow_step("away");
	usleep(10600000);
	flow_steps("back",
	           "end W  -> 0",
	           "task 1 -> done completed=5");
	notes_are(5, 5);
	flow_end();
}

/* A reaper has freed the orders although the worker works: it takes them up again, if no other worker has had them. */
Test(exec, takes_up_what_was_reaped)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("0.4");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	notes_begin();
	flow_steps("signal W STOP",
	           "tick 100",
	           "run reap --max-attempts 1 -> 0 '~8 orders freed'",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 6 -> 8",
	           "signal W CONT",
	           "end W  -> 0 ~event=task_taken_up !orders_lost !exec_killed",
	           "task 1 -> reaped completed=0",
	           "task 2 -> done claimed=8 completed=8",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 8",
	           LEFT "8",
	           MOVED "1");
	notes_are(8, 8);
	flow_end();
}

/* Two of the orders are settled under the old task meanwhile, one answered and one not: neither is lost. */
Test(exec, takes_up_no_order_that_its_old_task_has_settled)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("0.4");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	notes_begin();
	flow_steps("signal W STOP",
	           "complete 1 R0 R7 -> completed=2",
	           "tick 100",
	           "run reap --max-attempts 1 -> 0 '~6 orders freed'",
	           "signal W CONT",
	           "end W  -> 0 ~event=task_taken_up !orders_lost !exec_killed",
	           "task 1 -> reaped completed=2",
	           "task 2 -> done claimed=6 completed=6",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 8",
	           LEFT "8",
	           MOVED "1");
	notes_are(8, 8);
	flow_end();
}

/* Another worker has begun some of the orders. The program may be at work on them, so it is ended. It does not end by
 * itself: after its first order it sleeps for a minute. */
Test(exec, gives_up_what_others_have)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("$((minute)).2; minute=60");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	notes_begin();
	flow_steps("signal W STOP",
	           "tick 100",
	           "run reap                            -> 0 '~8 orders freed'",
	           "tick 3",
	           "claim settle other limit=7 lease=60 -> 201 task_id=2 orders=7",
	           "signal W CONT",
	           "end W -> 0 '~event=orders_lost task=1 lost=7 lease_lost=1' ~exec_killed",
	           "task 3                              -> done claimed=1",
	           "complete 2                          -> completed=7 lost=0",
	           "exec",
	           "tick 10",
	           "work settle                         -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> 8",
	           LEFT "8",
	           MOVED "1");
	flow_end();
}

/* Starts a worker that, when it renews its lease, loses the database; its program goes on. */
static struct proxy *exec_without_news(const char *pause)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 8);
	exec_that_notes(pause);
	proxy_arm(proxy, BREACH_WAIT, "UPDATE job_task SET lease_until");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	cr_assert(proxy_struck(proxy));
	flow_steps("tick 100",
	           "run reap -> 0 '~orders freed'");
	return proxy;
}

/* Answers that wait in the pipe are read before any order is given up. Another worker has had one of the orders, and
 * lost it, too: that order is not this worker's any more. */
Test(exec, hears_what_waits_in_the_pipe)
{
	struct proxy *proxy = exec_without_news("0.4");

	flow_steps("tick 3",
	           "claim settle other limit=1 lease=1 -> 201 task_id=2 orders=1",
	           "tick 2",
	           "run reap                           -> 0 '~task 2 of other (settle): 1 orders freed'",
	           "sql UPDATE reservation SET due_at = due_at + INTERVAL 60 SECOND WHERE attempts = 2 -> ");
	notes_wait(8);
	proxy_go_on(proxy);
	flow_steps("end W       -> 0 ~event=task_taken_up '~event=orders_lost task=1 lost=1' !exec_killed",
	           "sql SELECT state, COUNT(*), MAX(attempts) FROM reservation GROUP BY state -> 2,1,2 3,7,1",
	           "exec",
	           "tick 80",
	           "work settle -> 0",
	           LEFT "8",
	           MOVED "1");
	notes_are(8, 8);
	flow_end();
	proxy_close(proxy);
}

/* No other worker is at work on an order that was released: the program goes on. */
Test(exec, goes_on_without_what_was_released)
{
	struct proxy *proxy = exec_without_news("0.6");

	flow_step("release R7 -> released");
	proxy_go_on(proxy);
	flow_steps("end W -> 0 ~event=task_taken_up '~event=orders_lost task=1 lost=1' !exec_killed",
	           "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> 3,7 4,1");
	notes_are(8, 8);
	flow_end();
	proxy_close(proxy);
}

/* An order that lost its unit meanwhile waits for another one: the worker that was at work on it does not settle it. */
Test(exec, leaves_out_what_waits_by_now)
{
	struct proxy *proxy = exec_without_news("0.6");

	flow_steps("raw PUT /v1/locations/bo {'kind':'incoming'} -> 201",
	           "adjust A -1 short=backorder to=bo            -> 201 backordered=1");
	proxy_go_on(proxy);
	flow_steps("end W -> 0 ~event=task_taken_up '~event=orders_lost task=1 lost=1' !exec_killed",
	           "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> 2,1 3,7",
	           "claim settle w           -> 204",
	           "arrival A@bo>main=1      -> 201 lines[0].filled=1",
	           "claim settle w           -> 201 orders=1",
	           "run audit                -> 0");
	notes_are(8, 8);
	flow_end();
	proxy_close(proxy);
}

/* The database refuses the answers for a while: the worker holds them, and writes them later. */
Test(exec, waits_while_the_database_refuses)
{
	flow_begin();
	flow_orders("R", 3);
	exec_that_notes("0.1");
	flow_steps("sql CREATE TRIGGER refuse BEFORE INSERT ON movement FOR EACH ROW SIGNAL SQLSTATE '45000' -> ",
	           "start W work settle --once --lease 3",
	           "wait task 1 -> open");
	usleep(4000000); /* longer than the lease */
	flow_steps("run reap                -> 0 !freed",
	           "sql DROP TRIGGER refuse -> ",
	           "end W                   -> 0 !answer_lost",
	           "task 1                  -> done completed=3");
	notes_are(3, 3);
	flow_end();
}

/* A worker has claimed all orders. Its program runs, and waits for the gate. */
static void exec_behind_gate(const char *gate, const char *worker)
{
	trap_exec(GATE " " LOOP_FORMAT("echo $id done"), gate);
	flow_step("start %s work settle --once --lease 60", worker);
	trap_begun();
}

/* Answers for orders that the worker has lost are named in the log. */
Test(exec, tells_what_is_lost)
{
	char first[300], second[300];

	flow_begin();
	snprintf(first, sizeof(first), "%s/%s.first", scratch_dir(), flow_scratch()->name);
	snprintf(second, sizeof(second), "%s/%s.second", scratch_dir(), flow_scratch()->name);
	flow_orders("R", 3);
	exec_behind_gate(first, "W");
	flow_step("release R2 -> released");
	trap_gate(first);
	flow_step("end W      -> 0 '~event=orders_lost task=1 lost=1 lease_lost=0'");
	flow_orders("S", 2);
	exec_behind_gate(second, "W");
	flow_step("give-back 2 -> 200");
	trap_gate(second);
	flow_step("end W       -> 0 '~event=orders_lost task=2 lost=2 lease_lost=1'");
	flow_end();
}

/* Descriptor 9 stands for a connection that a library has not marked yet. */
Test(exec, inherits_no_descriptor)
{
	char line[1000];

	flow_begin();
	flow_steps("receipt A +1   -> 201",
	           "reserve R1 A=1 -> 201",
	           "confirm R1     -> 200");
	snprintf(line, sizeof(line),
	         "exec 9</dev/null; exec %s work settle --once --db '%s' --log-level error"
	         " --exec 'cat > /dev/null; [ -e /proc/$$/fd/9 ] || echo R1 done'",
	         program_path(), flow_scratch()->url);
	cr_expect_eq(system(line), 0);
	flow_steps("get R1 -> settled");
	flow_end();
}

/* All orders are answered, so the lease has nothing left to lose. */
Test(exec, tidies_up)
{
	char path[300];

	flow_begin();
	flow_orders("R", 5);
	snprintf(path, sizeof(path), "%s/%s.tidied", scratch_dir(), flow_scratch()->name);
	flow_step("exec while read -r l; do id=${l#*:\\\"}; echo ${id%%%%\\\"*} done; done; sleep 2; touch %s", path);
	flow_steps("work settle --lease 3 -> 0 !orders_lost !exec_killed",
	           "task 1                -> done completed=5");
	cr_expect_eq(access(path, F_OK), 0, "the program was ended before it was through");
	flow_end();
}
