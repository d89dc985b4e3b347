/* test_fate.c - what becomes of an order that a worker has: it fails, its lease is lost, it is released or confirmed
 * meanwhile; and what was buried is kicked. */
#include "tests/flow.h"

#include <stdio.h>
#include <unistd.h>

#define STOCK "receipt A +10 B +10       -> 201"
/* clang-format off */
#define R1 \
	"reserve R1 A=2 B=1        -> 201", \
	"confirm R1                -> confirmed"
#define R2 \
	"reserve R2 A=3            -> 201", \
	"confirm R2                -> confirmed"
#define R3 \
	"reserve R3 B=4            -> 201", \
	"confirm R3                -> confirmed"
/* clang-format on */

/* ---- fail */

Test(fate, fail_retries_later)
{
	flow(STOCK,
	     R1,
	     R2,
	     "claim    settle w1          -> 201 orders=2",
	     "fail     1 R1=retry:no_van  -> 200 retried=1 buried=0 lost=0 lost_orders=0",
	     "get      R1                 -> confirmed attempts=1 last_error=no_van",
	     "task     1                  -> open claimed=2 completed=0 failed=1",
	     "sku      A                  -> reserved=5",
	     "claim    settle w2          -> 204",
	     "sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL 1 SECOND AND UTC_TIMESTAMP(3) + INTERVAL 2200"
	     " * 1000 MICROSECOND FROM reservation WHERE order_id = 'R1' -> 1",
	     "complete 1 R1               -> 200 completed=0 lost=1 lost_orders=R1",
	     "fail     1 R1=bury          -> 200 retried=0 buried=0 lost=1 lost_orders=R1",
	     "get      R1                 -> confirmed last_error=no_van",
	     "tick     3",
	     "claim    settle w2          -> 201 orders=R1 R1 attempts=2 A=2",
	     "fail     2 R1=retry         -> retried=1",
	     "task     2                  -> done failed=1",
	     "sql SELECT due_at BETWEEN UTC_TIMESTAMP(3) + INTERVAL 3 SECOND AND UTC_TIMESTAMP(3) + INTERVAL 4400"
	     " * 1000 MICROSECOND FROM reservation WHERE order_id = 'R1' -> 1",
	     "complete 1                  -> completed=1",
	     "task     1                  -> done completed=1 failed=1");
}

Test(fate, fail_buries)
{
	flow(STOCK,
	     R1,
	     R2,
	     R3,
	     "claim    settle w1          -> 201 orders=3",
	     "fail     1 R2=bury:gone R1=retry -> 200 retried=1 buried=1 lost=0",
	     "get      R2                 -> buried attempts=1 last_error=gone !settled_at",
	     "list     state=buried       -> items=R2 R2 state=buried",
	     "task     1                  -> open failed=2",
	     "complete 1                  -> completed=1",
	     "task     1                  -> done completed=1 failed=2",
	     "sku      A                  -> reserved=5 on_hand=10",
	     "tick     1000",
	     "claim    settle w1          -> 201 orders=R1",
	     "complete 2                  -> completed=1",
	     "confirm  R2                 -> 200 buried replayed",
	     "extend   R2 ttl=60          -> 409 buried",
	     "release  R2                 -> 200 released",
	     "release  R2                 -> 200 released replayed",
	     "sku      A                  -> available=8 reserved=0 on_hand=8");
}

/* What failed counts as it did when the call is repeated with the same reason, also by the call that ended the task. */
Test(fate, fail_repeated)
{
	flow(STOCK,
	     R1,
	     R2,
	     R3,
	     "reserve  H1 A=1 ttl=60      -> 201",
	     "claim    settle w1          -> 201 orders=3",
	     "fail     1 R1=retry:x       -> retried=1 lost=0",
	     "fail     1 R1=retry:x       -> 200 retried=1 buried=0 lost=0 lost_orders=0",
	     "fail     1 R1=retry:y       -> 200 retried=0 lost=1 lost_orders=R1",
	     "task     1                  -> open failed=1",
	     "get      R1                 -> attempts=1 last_error=x",
	     "fail     1 R1=retry:x R2=bury:z R3=retry:v -> 200 retried=2 buried=1 lost=0",
	     "task     1                  -> done failed=3",
	     "mark",
	     "fail     1 R1=retry:x R2=bury:z R3=retry:v -> 200 retried=2 buried=1 lost=0 lost_orders=0",
	     "fail     1 R2=retry:z GHOST=retry:x -> 200 retried=0 buried=1 lost=1 lost_orders=GHOST",
	     "unchanged",
	     "tick     61",
	     "claim    settle w1          -> 201 task_id=2 orders=2",
	     "complete 2 R1               -> completed=1",
	     "fail     1 R1=retry:x       -> 200 retried=0 lost=1",
	     "fail     2 R1=retry:x       -> 200 retried=0 lost=1 lost_orders=R1",
	     "complete 2                  -> completed=2",
	     "fail     2 R3=retry:v       -> 200 retried=0 lost=1",
	     "claim    expire w1          -> 201 task_id=3 orders=H1",
	     "fail     3 H1=retry:late    -> retried=1",
	     "fail     3 H1=retry:late    -> 200 retried=1 lost=0",
	     "get      H1                 -> last_error=late");
}

Test(fate, fail_without_a_reason)
{
	flow(STOCK,
	     R1,
	     R2,
	     "claim    settle w1          -> 201",
	     "raw POST /v1/tasks/1/fail {'orders':[{'order_id':'R1','error':'','retry':false},"
	     "{'order_id':'R2','error':'','retry':true}]} -> 200 buried=1 retried=1",
	     "get      R1                 -> buried '~last_error:no reason was given'",
	     "get      R2                 -> confirmed '~last_error:no reason was given'");
}

/* 2, 4, .. 128 s, give or take a tenth; the eighth time it is buried. */
Test(fate, eight_attempts)
{
	flow_begin();
	flow_steps(STOCK,
	           R2);
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
	flow_steps("get R2 -> buried attempts=8 last_error=e8",
	           "kick R2 -> 200 confirmed attempts=0",
	           "claim settle w1 -> 201 R2 attempts=1",
	           "complete 9 -> completed=1",
	           "get R2 -> settled",
	           "sku A  -> reserved=0 on_hand=7");
	flow_end();
}

Test(fate, expire_never_buries)
{
	flow(STOCK,
	     "reserve  R1 A=4 ttl=60      -> 201",
	     "reserve  R2 A=2 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=2",
	     "fail     1 R1=bury R2=retry -> 200 retried=2 buried=0 lost=0",
	     "task     1                  -> done failed=2",
	     "get      R1                 -> expired attempts=1 last_error=failed",
	     "sql UPDATE reservation SET attempts = 20 WHERE order_id = 'R1'",
	     "tick     1000",
	     "claim    expire w1          -> 201 orders=2 R1 attempts=21 R2 attempts=2",
	     "fail     2 R1=bury          -> 200 retried=1 buried=0",
	     "complete 2                  -> completed=1",
	     "tick     1000",
	     "claim    expire w1          -> 201 orders=R1",
	     "complete 3                  -> completed=1",
	     "sku      A                  -> available=10 reserved=0");
}

#define FAIL "raw POST /v1/tasks/1/fail "

Test(fate, fail_members)
{
	flow(STOCK,
	     R1,
	     "claim    settle w1 -> 201",
	     "mark",
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
	     "unchanged",
	     FAIL "{'orders':[{'order_id':'R1','error':'kein Weg zurück','retry':true}]} -> 200 retried=1",
	     "get      R1        -> confirmed '~last_error:kein Weg zurück'");
}

/* An error has 500 bytes at most. */
Test(fate, fail_with_a_long_error)
{
	struct text step = {0};

	flow_begin();
	flow_steps(STOCK,
	           R1,
	           "claim settle w1 -> 201");
	for (int len = 501; len >= 500; len--) {
		text_reset(&step);
		text_add(&step, "fail 1 R1=bury:");
		for (int i = 0; i < len; i++)
			text_char(&step, 'e');
		text_add(&step, len > 500 ? " -> 400 invalid_request field=orders[0].error" : " -> 200 buried=1");
		flow_each((const char *const[]){step.data, NULL});
	}
	flow_steps("sql SELECT LENGTH(last_error) FROM reservation -> 500",
	           "get R1 -> buried");
	flow_end();
	text_fini(&step);
}

/* ---- a lease that was lost */

Test(fate, reaped)
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

/* A reaper comes between two reads of a call: what it took away is not merely lost. A table that is locked holds the
 * call in the middle. */
static void reaped_meanwhile(const char *call)
{
	struct db_target target;
	struct db       *other;
	struct race     *race;
	struct text      why = {0};

	flow_begin();
	flow_steps(STOCK,
	           R1,
	           R2,
	           "claim    settle w1          -> 201 task_id=1 orders=R1,R2");
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
	flow_steps("get R1 -> confirmed",
	           "get R2 -> confirmed");
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
	flow(STOCK,
	     R1,
	     "claim    settle w1 lease=1  -> 201",
	     "tick 2",
	     "run reap                    -> 0",
	     "give-back 1                 -> 409 lease_lost",
	     "give-back 1                 -> 409 lease_lost");
}

/* Late, but nobody has taken it away: it counts. */
Test(fate, overdue_but_not_reaped)
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

Test(fate, released_while_claimed)
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

Test(fate, released_while_claimed_is_lost_to_a_complete_of_all)
{
	flow(STOCK,
	     R1,
	     R2,
	     "claim    settle w1          -> 201 orders=2",
	     "release  R1                 -> 200 released",
	     "complete 1                  -> 200 completed=1 lost=1",
	     "task     1                  -> done");
}

/* With nothing left, a task is done: no reaper should call its worker silent. */
Test(fate, everything_released_while_claimed)
{
	flow(STOCK,
	     R1,
	     "claim    settle w1          -> 201",
	     "release  R1                 -> 200 released",
	     "complete 1 R1               -> 200 completed=0 lost=1 lost_orders=R1",
	     "task     1                  -> done completed=0");
}

Test(fate, confirm_and_extend_while_claimed)
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

/* An order that would be short sweeps expired holds first, whoever has claimed them. */
Test(fate, short_sweeps_what_a_dead_worker_claimed)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "reserve  R2 A=4 ttl=600     -> 201",
	     "tick     61",
	     "claim    expire dead lease=3600 -> 201 orders=R1",
	     "reserve  R3 A=6             -> 201 held",
	     "reserve  R4 A=1             -> 409 short A available=0",
	     "complete 1 R1               -> 200",
	     "get      R1                 -> expired",
	     "sku      A                  -> available=0 reserved=10");
}

/* ... also while they wait for another attempt of their job. */
Test(fate, short_sweeps_what_waits_for_a_retry)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=R1",
	     "fail     1 R1=retry         -> retried=1",
	     "reserve  R2 A=10            -> 201 held",
	     "sku      A                  -> available=0 reserved=10");
}

Test(fate, short_sweeps_what_was_reaped)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1 lease=1  -> 201 orders=R1",
	     "tick     2",
	     "run      reap               -> 0 '~1 orders freed'",
	     "reserve  R2 A=10            -> 201 held",
	     "sku      A                  -> available=0 reserved=10");
}

/* ---- kick */

Test(fate, kick)
{
	flow(STOCK,
	     R1,
	     R2,
	     "reserve  HELD A=1           -> 201",
	     "kick     HELD               -> 409 held",
	     "kick     GHOST              -> 404 unknown_order",
	     "kick     R1                 -> 409 confirmed",
	     "claim    settle w1          -> 201",
	     "fail     1 R1=bury:e R2=bury -> buried=2",
	     "tick     100",
	     "claim    settle w1          -> 204",
	     "kick     R1                 -> 200 confirmed attempts=0",
	     "kick     R1                 -> 200 confirmed attempts=0 replayed",
	     "claim    settle w1          -> 201 task_id=2 orders=R1 R1 attempts=1",
	     "kick     R1                 -> 409 confirmed",
	     "complete 2                  -> completed=1",
	     "kick     R1                 -> 409 settled",
	     "release  R2                 -> released",
	     "kick     R2                 -> 409 released",
	     "reserve  R5 A=1 ttl=60      -> 201",
	     "tick     61",
	     "kick     R5                 -> 409 expired",
	     "raw POST /v1/reservations/R1/kick {'x':1} -> 400 invalid_request field=x");
}

/* ---- one order that the database will not have completed: it alone fails, with the reason */

/* clang-format off */
#define TEN \
	"serve    --lanes 1", \
	"receipt  A +100 B +10         -> 201", \
	"batch R0 A=1 | R1 A=1 | R2 A=1 | R3 A=1 | BAD B=2 | R5 A=1 | R6 A=1 | R7 A=1 | R8 A=1 | R9 A=1 -> 201 | ...", \
	"sql UPDATE reservation SET state = 2, confirmed_at = UTC_TIMESTAMP(3), due_at = UTC_TIMESTAMP(3) -> "
/* clang-format on */
#define DAMAGE "sql UPDATE stock_slot SET reserved = 0 WHERE sku_id = 2 -> "
#define REPAIR "sql UPDATE stock_slot SET reserved = 2 WHERE sku_id = 2 AND available = 8 -> "
#define STATES "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> "

Test(fate, settlement_of_a_damaged_slot)
{
	flow(TEN,
	     DAMAGE,
	     "work     settle              -> 1 '~event=order_refused task=1 order=BAD buried=1'",
	     STATES "3,9 6,1",
	     "get      BAD                 -> buried attempts=1 '~last_error:the database refused it: CONSTRAINT'",
	     "task     1                   -> done claimed=10 completed=9 failed=1",
	     REPAIR,
	     "kick     BAD                 -> confirmed",
	     "work     settle              -> 0",
	     STATES "3,10",
	     "sku      A                   -> on_hand=91",
	     "sku      B                   -> on_hand=8");
}

Test(fate, settlement_of_a_damaged_slot_over_http)
{
	flow(TEN,
	     DAMAGE,
	     "claim    settle w            -> 201 orders=10",
	     "complete 1                   -> 200 completed=9 lost=1 lost_orders=BAD",
	     "get BAD                      -> buried last_error=*",
	     "complete 1 R0 BAD            -> 200 completed=1 lost=1 lost_orders=BAD",
	     "raw GET /metrics             -> holdfast_fenced_total=1",
	     REPAIR,
	     "release BAD                  -> released");
}

Test(fate, settlement_by_a_program_of_a_damaged_slot)
{
	flow(TEN,
	     DAMAGE,
	     "exec while read -r l; do id=${l#*:\\\"}; echo ${id%%\\\"*} done; done",
	     "work     settle              -> 1 ~event=order_refused",
	     STATES "3,9 6,1",
	     REPAIR);
}

/* A slot that is gone: nothing refuses it, but the count of rows tells. */
Test(fate, settlement_without_a_slot)
{
	flow(TEN,
	     "sql UPDATE stock_slot SET slot = slot + 40 WHERE sku_id = 2 -> ",
	     "work     settle                                             -> 1 ~event=order_refused",
	     STATES "3,9 6,1",
	     "get      BAD -> buried '~last_error:the database refused it: its units are not'",
	     "sql UPDATE stock_slot SET slot = slot - 40 WHERE sku_id = 2 -> ");
}

/* An expiry is never buried. */
Test(fate, expiry_of_a_damaged_slot)
{
	flow("serve    --lanes 1",
	     "receipt  A +10 B +10         -> 201",
	     "reserve  H1 A=1 ttl=60       -> 201",
	     "reserve  BAD B=2 ttl=60      -> 201",
	     "reserve  H2 A=1 ttl=60       -> 201",
	     "reserve  H3 A=1 ttl=60       -> 201",
	     "tick     61",
	     DAMAGE,
	     "work     expire              -> 1 '~event=order_refused task=1 order=BAD buried=0'",
	     "sku      A                   -> available=10 reserved=0",
	     "task     1                   -> done completed=3 failed=1",
	     "get      BAD                 -> expired attempts=1 last_error=*",
	     REPAIR,
	     "tick     10",
	     "work     expire              -> 0",
	     "sku      B                   -> available=10 reserved=0");
}

/* What the database refuses of all of them is no fault of the orders: none is buried. */
Test(fate, settlements_that_the_database_refuses)
{
	flow(TEN,
	     "sql CREATE TRIGGER refuse BEFORE INSERT ON movement FOR EACH ROW SIGNAL SQLSTATE '45000' -> ",
	     "work     settle         -> 1 ~event=job_failed !order_refused",
	     STATES "2,10",
	     "sql SELECT COUNT(*) FROM reservation WHERE last_error IS NOT NULL -> 0",
	     "sql DROP TRIGGER refuse -> ",
	     "tick 40",
	     "run reap                -> 0",
	     "tick 10",
	     "work settle             -> 0",
	     STATES "3,10");
}

/* What it refuses of one of them, for whatever reason, is that one's. */
Test(fate, settlement_that_the_database_refuses)
{
	flow(TEN,
	     "sql CREATE TRIGGER refuse BEFORE UPDATE ON reservation FOR EACH ROW BEGIN"
	     " IF NEW.state = 3 AND NEW.order_id = 'R0' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not today';"
	     " END IF; END -> ",
	     "work     settle              -> 1 '~event=order_refused task=1 order=R0 buried=1'",
	     STATES "3,9 6,1",
	     "get      R0                  -> buried '~last_error:the database refused it: not today'",
	     "sql DROP TRIGGER refuse      -> ");
}

/* Nothing was done since, so it may as well be the database: it is tried again. */
Test(fate, settlement_that_the_database_refuses_in_the_end)
{
	flow(TEN,
	     "sql CREATE TRIGGER refuse BEFORE UPDATE ON reservation FOR EACH ROW BEGIN"
	     " IF NEW.state = 3 AND NEW.order_id = 'R9' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not today';"
	     " END IF; END -> ",
	     "work     settle         -> 1 !order_refused ~event=job_failed",
	     STATES "2,1 3,9",
	     "sql DROP TRIGGER refuse -> ",
	     "tick 40",
	     "run reap                -> 0",
	     "tick 10",
	     "work settle             -> 0",
	     STATES "3,10");
}

/* A stranger keeps a slot locked: what needs it waits, and the others are settled. */
Test(fate, settlement_of_a_locked_slot)
{
	struct db_target target;
	struct db       *stranger;

	flow_begin();
	flow_steps(TEN);
	target = flow_scratch()->target;
	snprintf(target.database, sizeof(target.database), "%s", flow_scratch()->name);
	stranger = db_new(&target);
	cr_assert(db_connect(stranger), "%s", db_error(stranger));
	cr_assert_eq(db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "UPDATE stock_slot SET reserved = reserved + 1 WHERE sku_id = 2", NULL, NULL),
	             DB_OK);
	flow_steps("start    W work settle --once",
	           "wait:60 " STATES "2,1 3,9",
	           "wait:20 get BAD              -> confirmed attempts=0 '~last_error:locked by somebody else'");
	db_free(stranger);
	flow_steps("end      W                   -> 0 '~event=orders_put_off task=1 orders=1'",
	           "tick 11",
	           "work     settle              -> 0",
	           STATES "3,10",
	           "get BAD                      -> settled attempts=1");
	flow_end();
}

/* More slots than one statement should name: 100 orders of 1,000 lines, no two of them of one slot. */
Test(fate, settlement_of_very_many_slots)
{
	flow("receipt  A +1                -> 201",
	     "sql INSERT INTO sku (sku_id, code, created_at) SELECT 10 + seq, CONCAT('S', seq), UTC_TIMESTAMP(3)"
	     " FROM seq_1_to_1000 -> ",
	     "sql INSERT INTO location (location_id, code) SELECT 10 + seq, CONCAT('L', seq) FROM seq_1_to_100 -> ",
	     "sql INSERT INTO stock_slot SELECT 10 + s.seq, 10 + l.seq, 0, 0, 1"
	     " FROM seq_1_to_1000 s, seq_1_to_100 l -> ",
	     "sql INSERT INTO movement SELECT 7, 'M7', 1, '', UTC_TIMESTAMP(3), NULL, NULL -> ",
	     "sql INSERT INTO movement_line SELECT 7, sku_id, location_id, slot, 1 FROM stock_slot"
	     " WHERE sku_id > 10 -> ",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at, confirmed_at) SELECT seq, CONCAT('R', seq), '', 2, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 0,"
	     " UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM seq_1_to_100 -> ",
	     "sql INSERT INTO reservation_line SELECT location_id - 10, sku_id, location_id, 0, 1 FROM stock_slot"
	     " WHERE sku_id > 10 -> ",
	     "work     settle              -> 0",
	     STATES "3,100",
	     "sql SELECT COUNT(*) > 1 FROM movement WHERE kind = 5 -> 1",
	     "sku      S7                  -> on_hand=0");
}
