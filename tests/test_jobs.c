/* test_jobs.c - the command work: batches, programs that do the work (--exec), signals. What a claim locks and how it
 * finds its rows is in test_claim.c. */
#include "engine/base/clock.h"
#include "tests/trap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off: the steps are tables */

/* A program that does `body` for every order of its batch, whose id is $id. */
#define EACH(body)        "exec while read -r l; do id=${l#*:\\\"}; id=${id%%\\\"*}; " body "; done"
#define EACH_FORMAT(body) "exec while read -r l; do id=${l#*:\\\"}; id=${id%%%%\\\"*}; " body "; done"
#define STATES            "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> "
#define TASKS             "sql SELECT state, COUNT(*) FROM task GROUP BY state -> "

#define THREE                                                                                              \
	"receipt A +10 -> 201", "reserve R1 A=1 -> 201", "reserve R2 A=1 -> 201", "reserve R3 A=1 -> 201", \
		"confirm R1 -> 200", "confirm R2 -> 200", "confirm R3 -> 200"

/* ---- work */

Test(jobs, settle_once)
{
	flow(THREE, "reserve  H A=1              -> 201", "work     settle             -> 0",
	     "get      R1                 -> settled attempts=1", "get      R3                 -> settled",
	     "get      H                  -> held", "sku      A                  -> available=6 reserved=1 on_hand=7",
	     "task     1                  -> done kind=settle claimed=3 completed=3 failed=0",
	     "movements A                 -> items[0].kind=settlement items[0].lines[0].qty=-3",
	     "work     settle             -> 0", "tasks                       -> items=1 end");
}

Test(jobs, expire_once)
{
	flow("receipt  A +10              -> 201", "reserve  R1 A=1 ttl=60      -> 201",
	     "reserve  R2 A=2 ttl=60      -> 201", "reserve  R3 A=3 ttl=600     -> 201", "tick     61",
	     "work     expire --batch 1   -> 0", "list     state=expired      -> set=R1,R2",
	     "sku      A                  -> available=7 reserved=3 on_hand=10",
	     "tasks                       -> items=2 T1 state=done kind=expire completed=1 T2 state=done");
}

Test(jobs, four_workers_of_batch_seven)
{
	flow_begin();
	flow_orders("R", 500);
	flow_steps("work settle --workers 4 --batch 7 -> 0", STATES "3,500", TASKS "2,72",
	           "sql SELECT MAX(claimed), SUM(claimed), SUM(completed), SUM(failed) FROM task -> 7,500,500,0",
	           "sql SELECT COUNT(*), COUNT(DISTINCT movement_id), SUM(qty) FROM movement JOIN movement_line"
	           " USING (movement_no) WHERE kind = 5 -> 72,72,-500",
	           "sku A -> available=0 reserved=0 on_hand=0");
	flow_end();
}

Test(jobs, usage)
{
	flow("run work                        -> 64", "run work reap                   -> 64",
	     "run work settle expire          -> 64", "run work settle --batch 0       -> 64",
	     "run work settle --batch 5001    -> 64", "run work settle --batch x       -> 64",
	     "run work settle --lease 0       -> 64", "run work settle --lease 3601    -> 64",
	     "run work settle --workers 0     -> 64", "run work settle --every 0       -> 64",
	     "run work settle --max-attempts 0 -> 64", "run work settle --once --every 1 -> 64",
	     "run work settle --dry-run       -> 64", "run reap settle                 -> 64",
	     "run reap --stale-after x        -> 64", "run reap --every 0              -> 64",
	     "run kick                        -> 64", "run kick R1 --all               -> 64",
	     "run reap --once --every 1       -> 64", "run purge --keep 36501          -> 64",
	     "run purge                       -> 64", "run purge --keep x              -> 64",
	     "run audit R1                    -> 64", "run work --help                 -> 0 '~--exec CMD'",
	     "run reap --help                 -> 0 ~--dry-run", "run kick --help                 -> 0 ~--all",
	     "run purge --help                -> 0 '~--keep DAYS'", "run serve --jobs=settle,fly     -> 78");
}

/* What waits for its next attempt is not ready. */
Test(jobs, every)
{
	flow_begin();
	flow_orders("R", 3);
	flow_steps("start W work settle --every 1", "wait get R2               -> settled",
	           "reserve X A=1             -> 409 short", "receipt A +1              -> 201", "reserve X A=1 -> 201",
	           "confirm X -> 200", "wait:3 get X              -> settled", "signal W TERM", "end W    -> 0");
	flow_end();
}

/* An order that somebody gave back meanwhile is ready, however long ago it became due. */
Test(jobs, once_leaves_nothing_that_was_given_back)
{
	flow(THREE, "sql UPDATE reservation SET due_at = due_at - INTERVAL 1000 SECOND WHERE order_id = 'R1'",
	     "claim    settle other limit=1 -> 201 orders=R1", EACH("sleep 0.4; echo $id done"),
	     "start W  work settle --once --batch 1", "wait task 3                 -> open",
	     "give-back 1                 -> returned", "end W                       -> 0", STATES "3,3");
}

/* ---- work --exec */

Test(jobs, exec_says_what_happened)
{
	flow("receipt  A +10 B +10        -> 201", "reserve  R1 A=1 B=2         -> 201", "confirm R1 -> 200",
	     "reserve  R2 A=1             -> 201", "confirm R2 -> 200", "reserve  R3 A=1             -> 201",
	     "confirm R3 -> 200", "reserve  R4 A=1             -> 201", "confirm R4 -> 200",
	     "reserve  R5 A=1             -> 201", "confirm R5 -> 200",
	     EACH("case $id in R1) echo $id done;; R2) echo $id retry no van left;; R3) echo $id bury no such street;;"
	          " R4) echo $id bury;; esac"),
	     "work     settle             -> 0", "get      R1                 -> settled !last_error",
	     "get      R2                 -> confirmed attempts=1 '~last_error:no van left'",
	     "get      R3                 -> buried attempts=1 '~last_error:no such street'",
	     "get      R4                 -> buried '~last_error:no reason was given'",
	     "get      R5                 -> confirmed attempts=1 last_error=*",
	     "task     1                  -> done claimed=5 completed=1 failed=4", "exec", "tick     3",
	     "work     settle             -> 0", "get      R2                 -> settled attempts=2",
	     "get      R5                 -> settled attempts=2", "get      R3                 -> buried",
	     "sku      A                  -> on_hand=7 reserved=2");
}

/* One JSON line per order, then the end of the input. */
Test(jobs, exec_is_told_the_orders)
{
	char        path[300], line[500];
	FILE       *file;
	int         lines = 0;
	const char *want = "{\"order_id\":\"R1\",\"attempts\":1,"
			   "\"lines\":[{\"sku\":\"A\",\"location\":\"main\",\"qty\":3},"
			   "{\"sku\":\"B\",\"location\":\"paris\",\"qty\":1}]}\n";

	flow_begin();
	snprintf(path, sizeof(path), "%s/%s.orders", scratch_dir(), flow_scratch()->name);
	flow_steps("receipt A +10 B@paris +10 -> 201", "reserve R1 A=3 B@paris=1 -> 201", "confirm R1 -> 200",
	           "reserve R2 A=1 -> 201", "confirm R2 -> 200");
	flow_step("exec cat > %s", path);
	flow_steps("work settle -> 0", TASKS "2,1", STATES "2,2");
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

Test(jobs, exec_prints_garbage)
{
	flow(THREE,
	     "exec echo; echo done; echo R1; echo R1 DONE; echo R9 done; echo 'R2  done'; printf '\\377\\376\\n';"
	     " head -c 100000 /dev/zero | tr '\\0' x; echo; echo R3 done; echo R3 bury; echo; echo R3 retry",
	     "work     settle             -> 0", "get      R1                 -> confirmed attempts=1 last_error=*",
	     "get      R2                 -> confirmed attempts=1", "get      R3                 -> settled",
	     TASKS "2,1");
}

/* Its last line may lack the end of a line. */
Test(jobs, exec_ends_without_a_newline)
{
	flow(THREE, "exec printf 'R1 done\\nR2 retry later\\r\\nR3 done'", "work     settle             -> 0",
	     "get      R1                 -> settled", "get      R2                 -> confirmed last_error=later",
	     "get      R3                 -> settled");
}

Test(jobs, exec_dies_in_the_middle)
{
	flow(THREE, EACH("echo $id done; kill -9 $$"), "work     settle             -> 0",
	     "get      R1                 -> settled",
	     "get      R2                 -> confirmed attempts=1 last_error=*",
	     "get      R3                 -> confirmed attempts=1 last_error=*",
	     "task     1                  -> done completed=1 failed=2", "exec     exit 3", "tick     3",
	     "work     settle             -> 0", "get      R2                 -> confirmed attempts=2",
	     "exec     /there/is/no/such/program", "tick     5", "work     settle             -> 0",
	     "get      R2                 -> confirmed attempts=3", TASKS "2,3");
}

/* It finds the signals as a shell would give them to it: SIGPIPE ends it. */
Test(jobs, exec_has_no_signal_ignored)
{
	flow(THREE, EACH("echo $id done; kill -PIPE $$"), "work     settle             -> 0", STATES "2,2 3,1");
}

/* Silent for the lease: killed with all that it started; what it had answered counts, the rest is tried again. */
Test(jobs, exec_falls_silent)
{
	char    path[300];
	int64_t since;

	flow_begin();
	flow_steps(THREE);
	snprintf(path, sizeof(path), "%s/%s.late", scratch_dir(), flow_scratch()->name);
	flow_step(EACH_FORMAT("echo $id done; (sleep 2; echo late > %s); sleep 60"), path);
	since = clock_ms();
	flow_steps("work settle --lease 1         -> 0");
	cr_expect_lt(clock_ms() - since, 1900);
	flow_steps("get R1                        -> settled",
	           "get R2                        -> confirmed attempts=1 last_error=*",
	           "get R3                        -> confirmed attempts=1",
	           "sql SELECT COUNT(*) FROM task WHERE state = 1 -> 0");
	usleep((useconds_t)(since + 2500 - clock_ms()) * 1000);
	cr_expect_neq(access(path, F_OK), 0, "what the program had started lived on");
	flow_end();
}

/* Slow, but it answers: the lease is renewed, no reaper gets it. */
Test(jobs, exec_takes_longer_than_the_lease)
{
	flow_begin();
	flow_orders("R", 7);
	flow_steps(EACH("sleep 0.4; echo $id done"), "start W work settle --once --lease 1");
	for (int i = 0; i < 8; i++) {
		usleep(300000);
		flow_step("run reap -> 0 !reaped");
	}
	flow_steps("end W -> 0", STATES "3,7", "task 1 -> done claimed=7 completed=7");
	flow_end();
}

/* More than a pipe holds, to programs that read all of it first, or nothing. */
Test(jobs, exec_of_a_large_batch)
{
	flow_begin();
	flow_orders("R", 3000);
	flow_steps("exec exit 0", "work settle --batch 3000   -> 0", STATES "2,3000", "tick 3",
	           "exec sed -e 's/^.\\{13\\}//' -e 's/\".*/ done/' | tac", "work settle --batch 3000   -> 0",
	           STATES "3,3000", TASKS "2,2", "sku A -> on_hand=0");
	flow_end();
}

/* Buried after --max-attempts; the pause is ten minutes at most. */
Test(jobs, exec_retries_for_a_while)
{
	flow(THREE, EACH("echo $id retry"), "work     settle --max-attempts 2 -> 0",
	     "get      R1                 -> confirmed attempts=1",
	     "sql UPDATE reservation SET attempts = 11 WHERE order_id = 'R3'", "tick     3",
	     "work     settle --max-attempts 2 --batch 2 -> 0", "get      R1                 -> buried attempts=2",
	     "get      R3                 -> buried attempts=12", "run      kick --all         -> 0 '~3 reservations'",
	     "get      R3                 -> confirmed attempts=0",
	     "sql UPDATE reservation SET attempts = 11 WHERE order_id = 'R3'", "work     settle --max-attempts 20 -> 0",
	     "sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL 530 SECOND AND UTC_TIMESTAMP(3)"
	     " + INTERVAL 660 SECOND FROM reservation WHERE order_id = 'R3' -> 1");
}

/* An expiry that fails is tried again, but not again and again at once. */
Test(jobs, exec_of_an_expiry_that_fails)
{
	flow_begin();
	flow_steps("receipt A +10 -> 201", "reserve R1 A=1 ttl=60 -> 201", "tick 61", EACH("echo $id retry"),
	           "start W work expire --once");
	usleep(1000000);
	flow_steps("sql SELECT COUNT(*) < 5 FROM task -> 1", "signal W TERM", "end W -> 0",
	           "get R1 -> expired !released_at", "exec", "tick 1000", "work expire -> 0", "sku A -> available=10");
	flow_end();
}

/* ---- signals */

Test(jobs, sigterm_ends_after_the_batch)
{
	flow_begin();
	flow_orders("R", 40);
	flow_steps(EACH("sleep 0.1; echo $id done"), "start W work settle --batch 5 --workers 2",
	           "wait task 2                   -> open", "signal W TERM", "end W                         -> 0",
	           STATES "2,30 3,10", TASKS "2,2", "start W work settle --batch 5 --workers 2",
	           "wait task 4                   -> open", "signal W INT", "end W                         -> 0",
	           STATES "2,20 3,20", TASKS "2,4");
	flow_end();
}

/* The claim waits, and by the time it has its orders the worker is to end: nothing has begun, so they go back as if
 * nobody had had them. */
Test(jobs, sigterm_returns_what_has_not_begun)
{
	flow_begin();
	flow_orders("R", 5);
	trap_sql("LOCK TABLES task WRITE");
	flow_step("start W work settle");
	usleep(600000);
	flow_step("signal W TERM");
	usleep(200000);
	trap_sql("UNLOCK TABLES");
	flow_steps("end W -> 0", "task 1 -> returned claimed=5 completed=0", "get R0 -> confirmed attempts=0",
	           STATES "2,5");
	flow_end();
}

/* One order that somebody has locked keeps nobody from the others. */
Test(jobs, claims_pass_over_locked_rows)
{
	flow_begin();
	flow_orders("R", 10);
	flow_steps("receipt B +10 -> 201", "reserve H1 B=1 ttl=60 -> 201", "reserve H2 B=1 ttl=60 -> 201",
	           "reserve H3 B=1 ttl=60 -> 201", "tick 61");
	trap_lock("SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY)"
	          " WHERE order_id IN ('R0', 'R4', 'H2') FOR UPDATE) x");
	flow_steps("claim expire w limit=2 -> 201 task_id=1 orders=H1,H3", "claim expire w -> 204", "work settle -> 0",
	           STATES "1,3 2,2 3,8", "claim settle w -> 204", "work expire -> 0", "complete 1 -> completed=2",
	           STATES "1,1 2,2 3,8 5,2");
	trap_unlock();
	flow_steps("work settle -> 0", "work expire -> 0", STATES "3,10 5,3", "sku B -> available=10");
	flow_end();
}

Test(jobs, sigterm_while_idle)
{
	int64_t since;

	flow_begin();
	flow_steps("receipt A +1 -> 201", "start W work settle --every 60", "start V reap --every 60",
	           "start U work expire");
	usleep(300000);
	since = clock_ms();
	flow_steps("signal W TERM", "signal V TERM", "signal U TERM", "end W -> 0", "end V -> 0", "end U -> 0");
	cr_expect_lt(clock_ms() - since, 1000);
	flow_end();
}

Test(jobs, second_signal_ends_at_once)
{
	char    path[300];
	int64_t since;

	flow_begin();
	flow_orders("R", 10);
	snprintf(path, sizeof(path), "%s/%s.late", scratch_dir(), flow_scratch()->name);
	flow_step("exec (sleep 2; echo late > %s) & sleep 20", path);
	since = clock_ms();
	flow_steps("start W work settle --batch 5 --workers 2 --lease 25", "wait task 2                   -> open",
	           "signal W TERM");
	usleep(200000);
	flow_steps("signal W TERM", "end W        -> 143");
	cr_expect_lt(clock_ms() - since, 1800);
	flow_steps("task 1 -> open", "task 2 -> open", "tick 30",
	           "run reap -> 0 '~task 1 of' '~task 2 of' '~5 orders freed'", "exec", "tick 3", "work settle -> 0",
	           STATES "3,10");
	usleep((useconds_t)(since + 3000 - clock_ms()) * 1000);
	cr_expect_neq(access(path, F_OK), 0, "what the programs had started lived on");
	flow_end();
}

/* The lanes say in their rows how much they do: a worker that settles makes way, and is done all the same. */
Test(jobs, settling_rests_while_the_lanes_are_busy)
{
	flow_begin();
	flow_orders("R", 3000);
	flow_step("start A work settle --batch 1 --log-level debug");
	for (int i = 0; i < 4; i++) {
		usleep(400000);
		flow_step("sql UPDATE lane SET ops = ops + 1000000, batch_at = UTC_TIMESTAMP(3) -> ");
	}
	flow_steps("signal A TERM", "end A                     -> 0 ~event=rests", "work settle               -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state <> 3 -> 0", "run audit -> 0");
	flow_end();
}
