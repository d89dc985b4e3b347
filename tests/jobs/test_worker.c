/* test_worker.c - workers, clients and trouble at the same time: each order is resolved once, whichever comes first. */
#include "tests/lang/flow.h"
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <criterion/criterion.h>
#include <unistd.h>

Test(worker, settle_against_release)
{
	flow_begin();
	flow_steps("serve --lanes 4");
	flow_orders("R", 800);
	flow_steps("start W work settle --batch 7 --workers 4 --once",
	           "wait sql SELECT COUNT(*) > 0 FROM reservation WHERE state = 3 -> 1",
	           "race 8*100 release R# -> *x 200 released | *x 409 settled",
	           "end W                 -> 0",
	           "work settle           -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state NOT IN (3, 4) -> 0",
	           OPEN "0",
	           LEFT "800",
	           MOVED "1",
	           "sku A                 -> reserved=0");
	flow_end();
}

/* Workers over HTTP beside our own: no order is handed out twice. */
Test(worker, claims_over_http_beside_workers)
{
	flow_begin();
	flow_orders("R", 600);
	flow_steps("second",
	           "start W work settle --batch 5 --workers 2 --once",
	           "race 8*15 claim settle w# limit=5 -> *x 201 | *x 204",
	           "end W                 -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 2 AND task_id IS NULL -> 0",
	           "sql SELECT COUNT(*) FROM reservation JOIN job_task USING (task_id) GROUP BY task_id"
	           " HAVING COUNT(*) <> MAX(claimed) -> ",
	           "sql SELECT SUM(claimed), MAX(claimed) FROM job_task -> 600,5",
	           "race 8*40 complete #  -> *x 200 lost=0 | *x 404 unknown_task",
	           "race 8*40 complete #  -> *x 200 lost=0 | *x 404 unknown_task",
	           LEFT "600",
	           MOVED "1",
	           "sku A                 -> on_hand=0",
	           OPEN "0");
	flow_end();
}

/* Many completions of one task at once, whole and in parts. */
Test(worker, one_task_completed_by_many)
{
	flow_begin();
	flow_orders("R", 64);
	flow_steps("second",
	           "claim settle w limit=64 -> 201 orders=64",
	           "race 32*4 complete 1 R3 R9 || complete 1 || complete 1 R3 GHOST || complete 1 R60 ->"
	           "    32x 200 completed=2 lost=0 | 32x 200 completed=64 lost=0 | 32x 200 completed=1 lost=1 "
	           "lost_orders=GHOST"
	           "    | 32x 200 completed=1 lost=0",
	           "task 1                  -> done completed=64",
	           LEFT "64",
	           MOVED "1",
	           "sku A                   -> on_hand=0");
	flow_end();
}

Test(worker, complete_against_fail_and_return)
{
	flow_begin();
	flow_orders("R", 30);
	flow_steps("second",
	           "claim settle w limit=30 -> 201 orders=30",
	           "race 24 complete 1 R1 R2 R3 || fail 1 R2=retry R3=bury || complete 1 R3 R4 || give-back 1 ->"
	           "    *x 200 completed=* | *x 200 retried=* | *x 200 task_id=1 | *x 409 lease_lost",
	           "sql SELECT state <> 1 FROM job_task -> 1",
	           "tick 10",
	           "work settle -> 0",
	           "run kick --all -> 0",
	           "work settle -> 0",
	           LEFT "30",
	           MOVED "1",
	           "sku A       -> on_hand=0",
	           OPEN "0");
	flow_end();
}

/* Holds that run out while they are confirmed, extended, released and swept. */
Test(worker, expiry_against_everybody)
{
	flow_begin();
	flow_steps("serve --lanes 4 --jobs=expire",
	           "second --lanes 2 --slot 4",
	           "receipt A +300                  -> 201",
	           "race 10*30 reserve R# A=1 ttl=1 -> 300x 201",
	           "start V work expire --batch 3 --workers 3");
	usleep(600000);
	flow_steps("race 16*75 confirm R# || extend R# ttl=1 || confirm R# reacquire || release R# ->"
	           " *x 200 | *x 200 replayed | *x 409 | *x 404 unknown_order");
	for (int i = 0; i < 3; i++)
		flow_steps("race 16*20 confirm R# || confirm R# reacquire || extend R# ttl=60 ->"
		           " *x 200 | *x 200 replayed | *x 409 | *x 404 unknown_order");
	flow_steps("race 10*30 release R#   -> *x 200 released | *x 200 released replayed | *x 409 expired",
	           "wait sku A              -> available=300 reserved=0 on_hand=300",
	           "signal V TERM",
	           "end V                   -> 0",
	           "wait " OPEN "0");
	flow_end();
}

/* A worker that is to end has claimed an order, and a client changes it just then: the claim is given back all the
 * same. Otherwise the order would stay claimed until the lease is over. */
Test(worker, gives_its_claim_back_at_its_end)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 2);
	trap_lock("SELECT 1 FROM reservation WHERE order_id = 'R0' FOR UPDATE");
	proxy_arm_instead(proxy, "GREATEST(attempts, 1) - 1",
	                  "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock'");
	flow_step("start W work settle");
	trap_waiter();
	flow_step("signal W TERM");
	trap_unlock();
	flow_step("end W -> 0");
	cr_expect(proxy_disarm(proxy), "nothing was given back");
	flow_steps(OPEN "0",
	           "task 1 -> returned claimed=2 completed=0",
	           "get R0 -> confirmed attempts=0");
	flow_end();
	proxy_close(proxy);
}

/* ---- trouble with the database */

/* Connections die in the middle of claims and completions: unknown outcomes are looked up. */
Test(worker, connections_cut)
{
	flow_begin();
	flow_orders("R", 1000);
	flow_steps("start W work settle --batch 5 --workers 3 --lease 1",
	           "start X reap --every 1");
	for (int i = 0; i < 15; i++) {
		usleep(20000);
		flow_step("cut");
	}
	flow_steps("wait:20 sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> 0",
	           "wait:5 " OPEN "0",
	           "signal W TERM",
	           "end W -> 0",
	           "signal X TERM",
	           "end X -> 0",
	           LEFT "1000",
	           MOVED "1",
	           "sku A -> on_hand=0",
	           "run audit -> 0");
	flow_end();
}

Test(worker, database_away)
{
	flow_begin();
	flow_orders("R", 10);
	trap_exec("sleep 0.5; " LOOP_FORMAT("echo $id done"));
	flow_steps("start W work settle --batch 10",
	           "start V work expire",
	           "start X reap --every 1");
	trap_begun();
	flow_step("away");
	usleep(1200000);
	flow_steps("back",
	           "wait get R9 -> settled",
	           "task 1 -> done completed=10",
	           "exec",
	           "signal W TERM",
	           "signal V TERM",
	           "signal X TERM",
	           "end W -> 0",
	           "end V -> 0",
	           "end X -> 0");
	flow_end();
}

/* Another connection locks the rows for a while: the worker waits and goes on. */
Test(worker, rows_locked)
{
	flow_begin();
	flow_orders("R", 20);
	flow_steps("lock",
	           "start W work settle --once",
	           "start X reap");
	usleep(2500000);
	flow_steps("unlock",
	           "end W -> 0",
	           "end X -> 0",
	           "work settle -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> 20");
	flow_end();
}

/* SIGTERM to a service with jobs inside: what was claimed is completed. */
Test(worker, serve_with_jobs_ends)
{
	flow_begin();
	flow_orders("R", 4000);
	flow_step("serve --lanes 2 --jobs=settle,reap,expire");
	usleep(30000);
	flow_steps("serve --lanes 1",
	           OPEN "0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 2 AND task_id > 0 -> 0",
	           LEFT "4000",
	           "kill",
	           "run audit -> 0");
	flow_step("serve --lanes 2 --jobs=settle,reap,expire");
	usleep(30000);
	flow_steps("kill",
	           "tick 40",
	           "wait:15 sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> 0",
	           LEFT "4000",
	           MOVED "1");
	flow_end();
}

/* ---- a claim with a lost answer */

#define CLAIM "INSERT INTO job_task (task_id, kind"
#define ROWS  "FROM reservation r FORCE INDEX (claim)"

static void claim_is_lost(enum breach breach, const char *text)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 5);
	proxy_arm(proxy, breach, text);
	flow_step("claim settle w limit=3 -> 201 task_id=1 orders=3");
	cr_expect(proxy_struck(proxy));
	if (breach == BREACH_LATE)
		cr_expect(proxy_deliver(proxy));
	flow_steps("tasks      -> items=T1 end",
	           "complete 1 -> completed=3");
	proxy_arm(proxy, breach, text);
	flow_step("work settle -> 0");
	cr_expect(proxy_struck(proxy));
	if (breach == BREACH_LATE)
		cr_expect(proxy_deliver(proxy));
	flow_steps("sql SELECT COUNT(*), MAX(attempts) FROM reservation WHERE state = 3 -> 5,1",
	           "sql SELECT COUNT(*) FROM job_task -> 2",
	           OPEN "0");
	flow_end();
	proxy_close(proxy);
}

Test(worker, claim_whose_answer_is_lost)
{
	claim_is_lost(BREACH_MUTE, CLAIM);
}

Test(worker, claim_that_comes_late)
{
	claim_is_lost(BREACH_LATE, CLAIM);
}

Test(worker, claim_whose_rows_are_lost)
{
	claim_is_lost(BREACH_MUTE, ROWS);
}
