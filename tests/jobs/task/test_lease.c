/* test_lease.c - leases that run out, and orders that are released, confirmed or extended while a worker has them. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

Test(lease, reaped)
{
	flow(STOCK,
	     R1,
	     R2,
	     "claim    settle w1 lease=5  -> 201 orders=2",
	     "complete 1 R1               -> completed=1",
	     "run      reap               -> 0",
	     "task     1                  -> open",
	     "tick     31",
	     "run      reap               -> 0 '~task 1 of w1' '~1 orders freed'",
	     "task     1                  -> reaped claimed=2 completed=1",
	     "get      R2                 -> confirmed attempts=1 last_error=*",
	     "mark",
	     "complete 1                  -> 409 lease_lost",
	     "complete 1 R1               -> 409 lease_lost",
	     "complete 1 R2               -> 409 lease_lost",
	     "fail     1 R2=retry         -> 409 lease_lost",
	     "heartbeat 1                 -> 409 lease_lost",
	     "unchanged",
	     "raw GET /metrics            -> holdfast_fenced_total=3",
	     "claim    settle w2          -> 204",
	     "tick     3",
	     "claim    settle w2          -> 201 orders=R2 R2 attempts=2",
	     "mark",
	     "complete 1 R2               -> 409 lease_lost",
	     "unchanged",
	     "complete 2                  -> completed=1",
	     "sku      A                  -> on_hand=5 reserved=0",
	     "sku      B                  -> on_hand=9 reserved=0",
	     "sql SELECT COUNT(*) FROM movement WHERE kind = 5 -> 2");
}

/* A reaper comes between two reads of a call: the orders that it took are not merely lost. A locked table holds the
 * call in the middle. */
static void reaped_meanwhile(const char *call)
{
	struct db   *other;
	struct race *race;
	struct text  why = {0};

	flow_begin();
	flow_steps(STOCK,
	           R1,
	           R2,
	           "claim    settle w1          -> 201 task_id=1 orders=R1,R2");
	other = scratch_connection(flow_scratch());
	cr_assert_eq(db_text(other, "LOCK TABLES reservation WRITE", NULL, NULL), DB_OK);
	race = flow_race("1", call);
	trap_waiter(); /* the task was read, open */
	flow_step("sql UPDATE job_task SET state = 4, ended_at = UTC_TIMESTAMP(3)");
	cr_assert_eq(db_text(other, "UPDATE reservation SET task_id = NULL", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(other, "UNLOCK TABLES", NULL, NULL), DB_OK);
	race_finish(race, NULL);
	cr_expect(race_meets(race, "1x 409 lease_lost", &why), "%s: %s", call, why.data);
	race_free(race);
	db_free(other);
	flow_steps("get R1 -> confirmed",
	           "get R2 -> confirmed");
	flow_end();
	text_fini(&why);
}

Test(lease, reaped_while_it_completes)
{
	reaped_meanwhile("complete 1");
	reaped_meanwhile("complete 1 R1 R2");
}

Test(lease, reaped_while_it_fails)
{
	reaped_meanwhile("fail 1 R1=retry R2=bury");
}

Test(lease, reaped_while_it_is_returned)
{
	reaped_meanwhile("give-back 1");
	flow(STOCK,
	     R1,
	     "claim    settle w1 lease=1  -> 201",
	     "tick 2",
	     "run reap                    -> 0",
	     "give-back 1                 -> 409 lease_lost",
	     "give-back 1                 -> 409 lease_lost");
}

/* The lease has run out, but no reaper took the orders: the report counts. */
Test(lease, overdue_but_not_reaped)
{
	flow(STOCK,
	     R1,
	     R2,
	     "claim    settle w1 lease=1  -> 201 orders=2",
	     "tick     1000",
	     "fail     1 R1=retry         -> retried=1",
	     "complete 1                  -> completed=1",
	     "task     1                  -> done");
}

/* ---- what others do meanwhile */

Test(lease, released_while_claimed)
{
	flow(STOCK,
	     R1,
	     R2,
	     R3,
	     "claim    settle w1          -> 201 orders=3",
	     "release  R1                 -> 200 released",
	     "complete 1 R1 R2            -> 200 completed=1 lost=1 lost_orders=R1",
	     "release  R3                 -> 200 released",
	     "fail     1 R3=retry         -> 200 retried=0 lost=1 lost_orders=R3",
	     "get      R1                 -> released !settled_at",
	     "get      R3                 -> released",
	     "sku      A                  -> available=7 reserved=0 on_hand=7",
	     "sku      B                  -> available=10 reserved=0 on_hand=10",
	     "raw GET /metrics            -> holdfast_fenced_total=2");
}

Test(lease, released_while_claimed_is_lost_to_a_complete_of_all)
{
	flow(STOCK,
	     R1,
	     R2,
	     "claim    settle w1          -> 201 orders=2",
	     "release  R1                 -> 200 released",
	     "complete 1                  -> 200 completed=1 lost=1",
	     "task     1                  -> done");
}

/* A task without orders left is done: a reaper must not call its worker silent. */
Test(lease, everything_released_while_claimed)
{
	flow(STOCK,
	     R1,
	     "claim    settle w1          -> 201",
	     "release  R1                 -> 200 released",
	     "complete 1 R1               -> 200 completed=0 lost=1 lost_orders=R1",
	     "task     1                  -> done completed=0");
}

Test(lease, confirm_and_extend_while_claimed)
{
	flow(STOCK,
	     R1,
	     "claim    settle w1          -> 201",
	     "confirm  R1                 -> 200 confirmed replayed attempts=1",
	     "extend   R1 ttl=60          -> 409 confirmed",
	     "kick     R1                 -> 409 confirmed",
	     "complete 1                  -> completed=1",
	     "reserve  H1 A=1 ttl=60      -> 201",
	     "reserve  H2 A=1 ttl=60      -> 201",
	     "reserve  H3 A=1 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 task_id=2 orders=3",
	     "extend   H1 ttl=60          -> 409 expired",
	     "release  H1                 -> 409 expired",
	     "confirm  H1                 -> 409 expired",
	     "confirm  H2 reacquire       -> 200 confirmed reacquired attempts=0",
	     "complete 2 H1 H2            -> completed=1 lost=1 lost_orders=H2",
	     "complete 2                  -> completed=2",
	     "get      H2                 -> confirmed",
	     "sku      A                  -> available=7 reserved=1 on_hand=8");
}

/* Holds of a task that clients revive or give back are lost to the task, and named; so are live holds that a clock that
 * was ahead has claimed. */
Test(lease, holds_that_others_resolve)
{
	flow("receipt  A +10              -> 201",
	     "receipt  B +2               -> 201",
	     "reserve  H1 A=1 ttl=60      -> 201",
	     "reserve  H2 B=1 ttl=60      -> 201",
	     "reserve  H3 B=1 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=3",
	     "confirm  H1 reacquire       -> 200 confirmed reacquired",
	     "reserve  R1 B=2             -> 201 held",
	     "complete 1 H1               -> 200 completed=0 lost=1 lost_orders=H1",
	     "complete 1                  -> 200 completed=0 lost=3",
	     "sql SELECT order_id FROM task_lost WHERE task_id = 1 -> H1 H2 H3",
	     "task     1                  -> done claimed=3 completed=0",
	     "reserve  OLD A=1 ttl=60     -> 201",
	     "reserve  H4 A=1 ttl=600     -> 201",
	     "reserve  H5 A=1 ttl=600     -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=OLD",
	     "sql UPDATE reservation SET task_id = 2, attempts = 1 WHERE order_id IN ('H4', 'H5') -> ",
	     "sql UPDATE job_task SET claimed = 3 WHERE task_id = 2 -> ",
	     "confirm  H4                 -> 200 confirmed",
	     "extend   H5 ttl=60          -> 200 held",
	     "complete 2                  -> 200 completed=1 lost=2",
	     "sql SELECT order_id FROM task_lost WHERE task_id = 2 -> H4 H5",
	     "task     2                  -> done completed=1",
	     "sku      A                  -> available=7 reserved=3",
	     "sku      B                  -> available=0 reserved=2");
}
