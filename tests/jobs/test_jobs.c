/* test_jobs.c - the command work: batches, signals. Programs that do the work: test_exec.c; which rows a claim locks
 * and how it finds them: test_claim.c. */
#include "engine/base/clock.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"
#include "tests/kit/patience.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAUSE_US = 20000 };

Test(jobs, settle_once)
{
	flow(THREE,
	     "reserve  H A=1              -> 201",
	     "work     settle             -> 0",
	     "get      R1                 -> settled attempts=1",
	     "get      R3                 -> settled",
	     "get      H                  -> held",
	     "sku      A                  -> available=6 reserved=1 on_hand=7",
	     "task     1                  -> done kind=settle claimed=3 completed=3 failed=0",
	     "movements A                 -> items[0].kind=settlement items[0].lines[0].qty=-3",
	     "work     settle             -> 0",
	     "tasks                       -> items=1 end");
}

Test(jobs, expire_once)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1 ttl=60      -> 201",
	     "reserve  R2 A=2 ttl=60      -> 201",
	     "reserve  R3 A=3 ttl=600     -> 201",
	     "tick     61",
	     "work     expire --batch 1   -> 0",
	     "list     state=expired      -> set=R1,R2",
	     "sku      A                  -> available=7 reserved=3 on_hand=10",
	     "tasks                       -> items=2 T1 state=done kind=expire completed=1 T2 state=done");
}

Test(jobs, four_workers_of_batch_seven)
{
	flow_begin();
	flow_orders("R", 500);
	flow_steps("work settle --workers 4 --batch 7 -> 0",
	           STATES "3,500",
	           TASKS "2,72",
	           "sql SELECT MAX(claimed), SUM(claimed), SUM(completed), SUM(failed) FROM job_task"
	           " -> 7,500,500,0",
	           "sql SELECT COUNT(*), COUNT(DISTINCT movement_id), SUM(qty) FROM movement JOIN movement_line"
	           " USING (movement_no) WHERE kind = 5 -> 72,72,-500",
	           "sku A                             -> available=0 reserved=0 on_hand=0");
	flow_end();
}

Test(jobs, usage)
{
	flow("run work                        -> 64",
	     "run work reap                   -> 64",
	     "run work settle expire          -> 64",
	     "run work settle --batch 0       -> 64",
	     "run work settle --batch 5001    -> 64",
	     "run work settle --batch x       -> 64",
	     "run work settle --lease 0       -> 64",
	     "run work settle --lease 3601    -> 64",
	     "run work settle --workers 0     -> 64",
	     "run work settle --every 0       -> 64",
	     "run work settle --max-attempts 0 -> 64",
	     "run work settle --once --every 1 -> 64",
	     "run work settle --dry-run       -> 64",
	     "run reap settle                 -> 64",
	     "run reap --stale-after x        -> 64",
	     "run reap --every 0              -> 64",
	     "run kick                        -> 64",
	     "run kick R1 --all               -> 64",
	     "run reap --once --every 1       -> 64",
	     "run purge --keep 36501          -> 64",
	     "run purge                       -> 64",
	     "run purge --keep x              -> 64",
	     "run audit R1                    -> 64",
	     "run work --help                 -> 0 '~--exec CMD'",
	     "run reap --help                 -> 0 ~--dry-run",
	     "run kick --help                 -> 0 ~--all",
	     "run purge --help                -> 0 '~--keep N '",
	     "run serve --jobs=settle,fly     -> 78");
}

/* An order that waits for its next attempt is not ready. */
Test(jobs, every)
{
	flow_begin();
	flow_orders("R", 3);
	flow_steps("start W work settle --every 1",
	           "wait get R2               -> settled",
	           "reserve X A=1             -> 409 short",
	           "receipt A +1              -> 201",
	           "reserve X A=1             -> 201",
	           "confirm X                 -> 200",
	           "wait:3 get X              -> settled",
	           "signal W TERM",
	           "end W                     -> 0");
	flow_end();
}

/* An order that was given back meanwhile is ready, however long ago it became due. */
Test(jobs, once_leaves_nothing_that_was_given_back)
{
	char gate[300];

	flow_begin();
	flow_steps(THREE,
	           "sql UPDATE reservation SET due_at = due_at - INTERVAL 1000 SECOND WHERE order_id = 'R1'",
	           "claim    settle other limit=1 -> 201 orders=R1");
	snprintf(gate, sizeof(gate), "%s/%s.gate", scratch_dir(), flow_scratch()->name);
	flow_step(EACH_FORMAT("case $id in R3) " GATE " esac; echo $id done"), gate);
	flow_steps("start W  work settle --once --batch 1",
	           "wait task 3                 -> open",
	           "give-back 1                 -> returned");
	trap_gate(gate);
	flow_steps("end W                       -> 0",
	           STATES "3,3");
	flow_end();
}

/* ---- signals */

static int lines_in(const char *path)
{
	FILE *file = fopen(path, "r");
	int   count = 0;

	for (int c; file && (c = fgetc(file)) != EOF;)
		count += c == '\n';
	if (file)
		fclose(file);
	return count;
}

/* Two workers have begun a batch each when the signal comes; they end it, and claim no other. */
static void ends_after_the_batch(const char *signal, int last_task)
{
	char gate[300], begun[320];

	snprintf(gate, sizeof(gate), "%s/%s.%s", scratch_dir(), flow_scratch()->name, signal);
	snprintf(begun, sizeof(begun), "%s.begun", gate);
	flow_step(EACH_FORMAT("echo >> %s.begun; " GATE " sleep 0.1; echo $id done"), gate, gate);
	flow_step("start W work settle --batch 5 --workers 2");
	flow_step("wait task %d -> open", last_task);
	for (int64_t from_ms = clock_ms(); lines_in(begun) < 2 && !patience_is_over(from_ms, PATIENCE_MS);)
		usleep(PAUSE_US);
	cr_expect_eq(lines_in(begun), 2, "the programs of the batches did not begin");
	flow_step("signal W %s", signal);
	trap_gate(gate);
	flow_step("end W -> 0");
}

Test(jobs, sigterm_ends_after_the_batch)
{
	flow_begin();
	flow_orders("R", 40);
	ends_after_the_batch("TERM", 2);
	flow_steps(STATES "2,30 3,10",
	           TASKS "2,2");
	ends_after_the_batch("INT", 4);
	flow_steps(STATES "2,20 3,20",
	           TASKS "2,4");
	flow_end();
}

/* The claim waits, and gets its orders after the worker was told to end. No order has begun, so they go back as if they
 * had never been claimed. */
Test(jobs, sigterm_returns_what_has_not_begun)
{
	flow_begin();
	flow_orders("R", 5);
	trap_sql("LOCK TABLES job_task WRITE");
	flow_step("start W work settle");
	trap_waiter();
	flow_step("signal W TERM");
	trap_sql("UNLOCK TABLES");
	flow_steps("end W  -> 0",
	           "task 1 -> returned claimed=5 completed=0",
	           "get R0 -> confirmed attempts=0",
	           STATES "2,5");
	flow_end();
}

/* A locked order does not keep a claim from the others. */
Test(jobs, claims_pass_over_locked_rows)
{
	flow_begin();
	flow_orders("R", 10);
	flow_steps("receipt B +10         -> 201",
	           "reserve H1 B=1 ttl=60 -> 201",
	           "reserve H2 B=1 ttl=60 -> 201",
	           "reserve H3 B=1 ttl=60 -> 201",
	           "tick 61");
	trap_lock("SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY)"
	          " WHERE order_id IN ('R0', 'R4', 'H2') FOR UPDATE) x");
	flow_steps("claim expire w limit=2 -> 201 task_id=1 orders=H1,H3",
	           "claim expire w -> 204",
	           "work settle    -> 0",
	           STATES "1,3 2,2 3,8",
	           "claim settle w -> 204",
	           "work expire    -> 0",
	           "complete 1     -> completed=2",
	           STATES "1,1 2,2 3,8 5,2");
	trap_unlock();
	flow_steps("work settle -> 0",
	           "work expire -> 0",
	           STATES "3,10 5,3",
	           "sku B       -> available=10");
	flow_end();
}

/* The next round is a minute away, and `end` waits half a minute at most. */
Test(jobs, sigterm_while_idle)
{
	int64_t newest;

	flow_begin();
	flow_step("receipt A +1 -> 201");
	newest = trap_newest();
	flow_steps("start W work settle --every 60",
	           "start V reap --every 60",
	           "start U work expire");
	trap_rests(newest, 3);
	flow_steps("signal W TERM",
	           "signal V TERM",
	           "signal U TERM",
	           "end W -> 0",
	           "end V -> 0",
	           "end U -> 0");
	flow_end();
}

/* Waits until both programs have left their byte: a signal that comes before them gives the orders back. */
static void programs_run(const char *path)
{
	struct stat st = {0};
	int64_t     from_ms = clock_ms();

	while ((stat(path, &st) != 0 || st.st_size < 2) && !patience_is_over(from_ms, 3 * PATIENCE_MS))
		usleep(PAUSE_US);
	cr_assert_eq(st.st_size, 2, "the programs did not begin in %d ms", (int)(clock_ms() - from_ms));
}

Test(jobs, second_signal_ends_at_once)
{
	char gate[300], path[300], on[300];

	flow_begin();
	flow_orders("R", 10);
	snprintf(gate, sizeof(gate), "%s/%s.gate", scratch_dir(), flow_scratch()->name);
	snprintf(path, sizeof(path), "%s/%s.late", scratch_dir(), flow_scratch()->name);
	snprintf(on, sizeof(on), "%s/%s.on", scratch_dir(), flow_scratch()->name);
	flow_step("exec echo >> %s; (" GATE " echo late > %s) & sleep 60", on, gate, path);
	flow_step("start W work settle --batch 5 --workers 2 --lease 25");
	programs_run(on);
	flow_steps("signal W TERM",
	           "signal W TERM",
	           "end W        -> 143");
	trap_gate(gate);
	flow_steps("task 1 -> open",
	           "task 2 -> open",
	           "tick 30",
	           "run reap -> 0 '~task 1 of' '~task 2 of' '~5 orders freed'",
	           "exec",
	           "tick 3",
	           "work settle -> 0",
	           STATES "3,10");
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
		flow_step("sql UPDATE log_writer SET ops = ops + 1000000, batch_at = UTC_TIMESTAMP(3) -> ");
	}
	flow_steps("signal A TERM",
	           "end A                     -> 0 ~event=rests",
	           "work settle               -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state <> 3 -> 0",
	           "run audit                 -> 0");
	flow_end();
}
