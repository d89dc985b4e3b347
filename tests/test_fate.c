/* test_fate.c - what becomes of an order that a worker has: it fails, its lease is lost, it is released or confirmed
 * meanwhile; and what was buried is kicked. */
#include "tests/flow.h"

#include <stdio.h>
#include <unistd.h>

/* clang-format off: the steps are tables */

#define STOCK "receipt A +10 B +10       -> 201"
#define R1    "reserve R1 A=2 B=1        -> 201", "confirm R1 -> confirmed"
#define R2    "reserve R2 A=3            -> 201", "confirm R2 -> confirmed"
#define R3    "reserve R3 B=4            -> 201", "confirm R3 -> confirmed"

/* ---- fail */

Test(fate, fail_retries_later)
{
	flow(STOCK, R1, R2, "claim    settle w1          -> 201 orders=2",
	     "fail     1 R1=retry:no_van  -> 200 retried=1 buried=0 lost=0 lost_orders=0",
	     "get      R1                 -> confirmed attempts=1 last_error=no_van",
	     "task     1                  -> open claimed=2 completed=0 failed=1",
	     "sku      A                  -> reserved=5", "claim    settle w2          -> 204",
	     "sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL 1 SECOND AND UTC_TIMESTAMP(3) + INTERVAL 2200"
	     " * 1000 MICROSECOND FROM reservation WHERE order_id = 'R1' -> 1",
	     "complete 1 R1               -> 200 completed=0 lost=1 lost_orders=R1",
	     "fail     1 R1=bury          -> 200 retried=0 buried=0 lost=1 lost_orders=R1",
	     "get      R1                 -> confirmed last_error=no_van", "tick     3",
	     "claim    settle w2          -> 201 orders=R1 R1 attempts=2 A=2",
	     "fail     2 R1=retry         -> retried=1", "task     2                  -> done failed=1",
	     "sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL 3 SECOND AND UTC_TIMESTAMP(3) + INTERVAL 4400"
	     " * 1000 MICROSECOND FROM reservation WHERE order_id = 'R1' -> 1",
	     "complete 1                  -> completed=1", "task     1                  -> done completed=1 failed=1");
}

Test(fate, fail_buries)
{
	flow(STOCK, R1, R2, R3, "claim    settle w1          -> 201 orders=3",
	     "fail     1 R2=bury:gone R1=retry -> 200 retried=1 buried=1 lost=0",
	     "get      R2                 -> buried attempts=1 last_error=gone !settled_at",
	     "list     state=buried       -> items=R2 R2 state=buried", "task     1                  -> open failed=2",
	     "complete 1                  -> completed=1", "task     1                  -> done completed=1 failed=2",
	     "sku      A                  -> reserved=5 on_hand=10", "tick     1000",
	     "claim    settle w1          -> 201 orders=R1", "complete 2                  -> completed=1",
	     "confirm  R2                 -> 200 buried replayed", "extend   R2 ttl=60          -> 409 buried",
	     "release  R2                 -> 200 released", "release  R2                 -> 200 released replayed",
	     "sku      A                  -> available=8 reserved=0 on_hand=8");
}

/* What failed counts as it did when the call is repeated with the same reason, also by the call that ended the task. */
Test(fate, fail_repeated)
{
	flow(STOCK, R1, R2, R3, "reserve  H1 A=1 ttl=60      -> 201", "claim    settle w1          -> 201 orders=3",
	     "fail     1 R1=retry:x       -> retried=1 lost=0",
	     "fail     1 R1=retry:x       -> 200 retried=1 buried=0 lost=0 lost_orders=0",
	     "fail     1 R1=retry:y       -> 200 retried=0 lost=1 lost_orders=R1",
	     "task     1                  -> open failed=1", "get      R1                 -> attempts=1 last_error=x",
	     "fail     1 R1=retry:x R2=bury:z R3=retry:v -> 200 retried=2 buried=1 lost=0",
	     "task     1                  -> done failed=3", "mark",
	     "fail     1 R1=retry:x R2=bury:z R3=retry:v -> 200 retried=2 buried=1 lost=0 lost_orders=0",
	     "fail     1 R2=retry:z GHOST=retry:x        -> 200 retried=0 buried=1 lost=1 lost_orders=GHOST",
	     "unchanged", "tick     61", "claim    settle w1          -> 201 task_id=2 orders=2",
	     "complete 2 R1               -> completed=1", "fail     1 R1=retry:x       -> 200 retried=0 lost=1",
	     "fail     2 R1=retry:x       -> 200 retried=0 lost=1 lost_orders=R1",
	     "complete 2                  -> completed=2", "fail     2 R3=retry:v       -> 200 retried=0 lost=1",
	     "claim    expire w1          -> 201 task_id=3 orders=H1", "fail     3 H1=retry:late    -> retried=1",
	     "fail     3 H1=retry:late    -> 200 retried=1 lost=0", "get      H1                 -> last_error=late");
}

Test(fate, fail_without_a_reason)
{
	flow(STOCK, R1, R2, "claim    settle w1          -> 201",
	     "raw POST /v1/tasks/1/fail {'orders':[{'order_id':'R1','error':'','retry':false},"
	     "{'order_id':'R2','error':'','retry':true}]} -> 200 buried=1 retried=1",
	     "get      R1                 -> buried '~last_error:no reason was given'",
	     "get      R2                 -> confirmed '~last_error:no reason was given'");
}

/* 2, 4, .. 128 s, give or take a tenth; the eighth time it is buried. */
Test(fate, eight_attempts)
{
	flow_begin();
	flow_steps(STOCK, R2);
	for (int attempts = 1; attempts <= 8; attempts++) {
		int pause_s = 1 << attempts;

		flow_step("claim settle w1 -> 201 task_id=%d R2 attempts=%d", attempts, attempts);
		flow_step("fail %d R2=retry:e%d -> retried=%d buried=%d", attempts, attempts, attempts < 8,
		          attempts == 8);
		if (attempts == 8)
			break;
		flow_step("sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL %d * 0.9 - 0.5 SECOND"
		          " AND UTC_TIMESTAMP(3) + INTERVAL %d * 1.1 SECOND FROM reservation -> 1",
		          pause_s, pause_s);
		flow_step("tick %d", pause_s * 8 / 10);
		flow_step("claim settle w1 -> 204");
		flow_step("tick %d", pause_s * 3 / 10 + 2);
	}
	flow_steps("get R2 -> buried attempts=8 last_error=e8", "kick R2 -> 200 confirmed attempts=0",
	           "claim settle w1 -> 201 R2 attempts=1", "complete 9 -> completed=1", "get R2 -> settled",
	           "sku A -> reserved=0 on_hand=7");
	flow_end();
}

Test(fate, expire_never_buries)
{
	flow(STOCK, "reserve  R1 A=4 ttl=60      -> 201", "reserve  R2 A=2 ttl=60      -> 201", "tick     61",
	     "claim    expire w1          -> 201 orders=2",
	     "fail     1 R1=bury R2=retry -> 200 retried=2 buried=0 lost=0",
	     "task     1                  -> done failed=2",
	     "get      R1                 -> expired attempts=1 last_error=failed",
	     "sql UPDATE reservation SET attempts = 20 WHERE order_id = 'R1'", "tick     1000",
	     "claim    expire w1          -> 201 orders=2 R1 attempts=21 R2 attempts=2",
	     "fail     2 R1=bury          -> 200 retried=1 buried=0", "complete 2                  -> completed=1",
	     "tick     1000", "claim    expire w1          -> 201 orders=R1",
	     "complete 3                  -> completed=1", "sku      A                  -> available=10 reserved=0");
}

#define FAIL "raw POST /v1/tasks/1/fail "

Test(fate, fail_members)
{
	flow(STOCK, R1, "claim    settle w1                                             -> 201", "mark",
	     FAIL "{}                                                        -> 400 invalid_request field=orders",
	     FAIL "                                                          -> 400 invalid_request field=orders",
	     FAIL "{'orders':[]}                                             -> 400 invalid_request field=orders",
	     FAIL "{'orders':['R1']}                                         -> 400 invalid_request field=orders[0]",
	     FAIL "{'orders':[{'error':'e','retry':true}]}      -> 400 invalid_request field=orders[0].order_id",
	     FAIL "{'orders':[{'order_id':'R1','retry':true}]}  -> 400 invalid_request field=orders[0].error",
	     FAIL "{'orders':[{'order_id':'R1','error':'e'}]}   -> 400 invalid_request field=orders[0].retry",
	     FAIL "{'orders':[{'order_id':'R1','error':'e','retry':1}]} -> 400 invalid_request field=orders[0].retry",
	     FAIL "{'orders':[{'order_id':'R1','error':7,'retry':true}]} -> 400 invalid_request field=orders[0].error",
	     FAIL "{'orders':[{'order_id':'R1','error':'e','retry':true,'x':1}]}"
	          "                                                   -> 400 invalid_request field=orders[0].x",
	     FAIL "{'orders':[{'order_id':'R1','error':'e','retry':true}],'y':1} -> 400 invalid_request field=y",
	     "unchanged", FAIL "{'orders':[{'order_id':'R1','error':'kein Weg zurück','retry':true}]} -> 200 retried=1",
	     "get      R1                           -> confirmed '~last_error:kein Weg zurück'");
}

/* An error has 500 bytes at most. */
Test(fate, fail_with_a_long_error)
{
	struct text step = {0};

	flow_begin();
	flow_steps(STOCK, R1, "claim settle w1 -> 201");
	for (int len = 501; len >= 500; len--) {
		text_reset(&step);
		text_add(&step, "fail 1 R1=bury:");
		for (int i = 0; i < len; i++)
			text_char(&step, 'e');
		text_add(&step, len > 500 ? " -> 400 invalid_request field=orders[0].error" : " -> 200 buried=1");
		flow_each((const char *const[]){step.data, NULL});
	}
	flow_steps("sql SELECT LENGTH(last_error) FROM reservation -> 500", "get R1 -> buried");
	flow_end();
	text_fini(&step);
}

/* ---- a lease that was lost */

Test(fate, reaped)
{
	flow(STOCK, R1, R2, "claim    settle w1 lease=5  -> 201 orders=2", "complete 1 R1               -> completed=1",
	     "run      reap               -> 0", "task     1                  -> open", "tick     31",
	     "run      reap               -> 0 '~task 1 of w1' '~1 orders freed'",
	     "task     1                  -> reaped claimed=2 completed=1",
	     "get      R2                 -> confirmed attempts=1 last_error=*", "mark",
	     "complete 1                  -> 409 lease_lost", "complete 1 R1               -> 409 lease_lost",
	     "complete 1 R2               -> 409 lease_lost", "fail     1 R2=retry         -> 409 lease_lost",
	     "heartbeat 1                 -> 409 lease_lost", "unchanged",
	     "raw GET /metrics            -> holdfast_fenced_total=3", "claim    settle w2          -> 204",
	     "tick     3", "claim    settle w2          -> 201 orders=R2 R2 attempts=2", "mark",
	     "complete 1 R2               -> 409 lease_lost", "unchanged", "complete 2                  -> completed=1",
	     "sku      A                  -> on_hand=5 reserved=0",
	     "sku      B                  -> on_hand=9 reserved=0",
	     "sql SELECT COUNT(*) FROM movement WHERE kind = 5 -> 2");
}

/* A reaper comes between two reads of a call: what it took away is not merely lost. A table that is locked holds the
 * call in the middle. */
static void reaped_meanwhile(const char *call)
{
	struct db_target target;
	struct db       *other;
	struct race     *race;
	struct text      why = {0};

	flow_begin();
	flow_steps(STOCK, R1, R2, "claim    settle w1          -> 201 task_id=1 orders=R1,R2");
	target = flow_scratch()->target;
	snprintf(target.database, sizeof(target.database), "%s", flow_scratch()->name);
	other = db_new(&target);
	cr_assert(db_connect(other), "%s", db_error(other));
	cr_assert_eq(db_text(other, "LOCK TABLES reservation WRITE", NULL, NULL), DB_OK);
	race = flow_race("1", call);
	usleep(300000); /* the task was read, open */
	flow_step("sql UPDATE task SET state = 4, ended_at = UTC_TIMESTAMP(3)");
	cr_assert_eq(db_text(other, "UPDATE reservation SET task_id = NULL", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(other, "UNLOCK TABLES", NULL, NULL), DB_OK);
	race_finish(race, NULL);
	cr_expect(race_meets(race, "1x 409 lease_lost", &why), "%s: %s", call, why.data);
	race_free(race);
	db_free(other);
	flow_steps("get R1 -> confirmed", "get R2 -> confirmed");
	flow_end();
	text_fini(&why);
}

Test(fate, reaped_while_it_completes)
{
	reaped_meanwhile("complete 1");
	reaped_meanwhile("complete 1 R1 R2");
}

Test(fate, reaped_while_it_fails)
{
	reaped_meanwhile("fail 1 R1=retry R2=bury");
}

Test(fate, reaped_while_it_is_returned)
{
	reaped_meanwhile("give-back 1");
	flow(STOCK, R1, "claim    settle w1 lease=1  -> 201", "tick 2", "run reap -> 0",
	     "give-back 1                 -> 409 lease_lost", "give-back 1 -> 409 lease_lost");
}

/* Late, but nobody has taken it away: it counts. */
Test(fate, overdue_but_not_reaped)
{
	flow(STOCK, R1, R2, "claim    settle w1 lease=1  -> 201 orders=2", "tick     1000",
	     "fail     1 R1=retry         -> retried=1", "complete 1                  -> completed=1",
	     "task     1                  -> done");
}

/* ---- what others do meanwhile */

Test(fate, released_while_claimed)
{
	flow(STOCK, R1, R2, R3, "claim    settle w1          -> 201 orders=3",
	     "release  R1                 -> 200 released",
	     "complete 1 R1 R2            -> 200 completed=1 lost=1 lost_orders=R1",
	     "release  R3                 -> 200 released",
	     "fail     1 R3=retry         -> 200 retried=0 lost=1 lost_orders=R3",
	     "get      R1                 -> released !settled_at", "get      R3                 -> released",
	     "sku      A                  -> available=7 reserved=0 on_hand=7",
	     "sku      B                  -> available=10 reserved=0 on_hand=10",
	     "raw GET /metrics            -> holdfast_fenced_total=2");
}

Test(fate, released_while_claimed_is_lost_to_a_complete_of_all)
{
	flow(STOCK, R1, R2, "claim    settle w1          -> 201 orders=2",
	     "release  R1                 -> 200 released", "complete 1                  -> 200 completed=1 lost=1",
	     "task     1                  -> done");
}

/* With nothing left, a task is done: no reaper should call its worker silent. */
Test(fate, everything_released_while_claimed)
{
	flow(STOCK, R1, "claim    settle w1          -> 201", "release  R1                 -> 200 released",
	     "complete 1 R1               -> 200 completed=0 lost=1 lost_orders=R1",
	     "task     1                  -> done completed=0");
}

Test(fate, confirm_and_extend_while_claimed)
{
	flow(STOCK, R1, "claim    settle w1          -> 201",
	     "confirm  R1                 -> 200 confirmed replayed attempts=1",
	     "extend   R1 ttl=60          -> 409 confirmed", "kick     R1                 -> 409 confirmed",
	     "complete 1                  -> completed=1", "reserve  H1 A=1 ttl=60      -> 201",
	     "reserve  H2 A=1 ttl=60      -> 201", "reserve  H3 A=1 ttl=60      -> 201", "tick     61",
	     "claim    expire w1          -> 201 task_id=2 orders=3", "extend   H1 ttl=60          -> 409 expired",
	     "release  H1                 -> 409 expired", "confirm  H1                 -> 409 expired",
	     "confirm  H2 reacquire       -> 200 confirmed reacquired attempts=0",
	     "complete 2 H1 H2            -> completed=1 lost=1 lost_orders=H2",
	     "complete 2                  -> completed=2", "get      H2                 -> confirmed",
	     "sku      A                  -> available=7 reserved=1 on_hand=8");
}

/* An order that would be short sweeps expired holds first, whoever has claimed them. */
Test(fate, short_sweeps_what_a_dead_worker_claimed)
{
	flow(STOCK, "reserve  R1 A=6 ttl=60      -> 201", "reserve  R2 A=4 ttl=600     -> 201", "tick     61",
	     "claim    expire dead lease=3600 -> 201 orders=R1", "reserve  R3 A=6             -> 201 held",
	     "reserve  R4 A=1             -> 409 short A available=0", "complete 1 R1               -> 200",
	     "get      R1                 -> expired", "sku      A                  -> available=0 reserved=10");
}

/* ... also while they wait for another attempt of their job. */
Test(fate, short_sweeps_what_waits_for_a_retry)
{
	flow(STOCK, "reserve  R1 A=6 ttl=60      -> 201", "tick     61", "claim    expire w1          -> 201 orders=R1",
	     "fail     1 R1=retry         -> retried=1", "reserve  R2 A=10            -> 201 held",
	     "sku      A                  -> available=0 reserved=10");
}

Test(fate, short_sweeps_what_was_reaped)
{
	flow(STOCK, "reserve  R1 A=6 ttl=60      -> 201", "tick     61", "claim    expire w1 lease=1  -> 201 orders=R1",
	     "tick     2", "run      reap               -> 0 '~1 orders freed'",
	     "reserve  R2 A=10            -> 201 held", "sku      A                  -> available=0 reserved=10");
}

/* ---- kick */

Test(fate, kick)
{
	flow(STOCK, R1, R2, "reserve  HELD A=1           -> 201", "kick     HELD               -> 409 held",
	     "kick     GHOST              -> 404 unknown_order", "kick     R1                 -> 409 confirmed",
	     "claim    settle w1          -> 201", "fail     1 R1=bury:e R2=bury -> buried=2", "tick     100",
	     "claim    settle w1          -> 204", "kick     R1                 -> 200 confirmed attempts=0",
	     "kick     R1                 -> 200 confirmed attempts=0 replayed",
	     "claim    settle w1          -> 201 task_id=2 orders=R1 R1 attempts=1",
	     "kick     R1                 -> 409 confirmed", "complete 2                  -> completed=1",
	     "kick     R1                 -> 409 settled", "release  R2                 -> released",
	     "kick     R2                 -> 409 released", "reserve  R5 A=1 ttl=60      -> 201", "tick 61",
	     "kick     R5                 -> 409 expired",
	     "raw POST /v1/reservations/R1/kick {'x':1} -> 400 invalid_request field=x");
}
