/* test_fail.c - the call fail: orders that are tried again later, orders that are buried, and with which reason. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

Test(fail, fail_retries_later)
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

Test(fail, fail_buries)
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

/* A failure counts as it did when the call is repeated with the same reason, even by the call that ended the task. */
Test(fail, fail_repeated)
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

Test(fail, fail_without_a_reason)
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
Test(fail, eight_attempts)
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

Test(fail, expire_never_buries)
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

Test(fail, fail_members)
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
Test(fail, fail_with_a_long_error)
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

/* As many orders as a task can have, each with as long a reason: one transaction all the same. */
Test(fail, all_of_the_largest_task)
{
	flow_begin();
	flow_orders("R", 5000);
	flow_steps("exec e=$(printf %0500d 0); sed -e 's/^.\\{13\\}//' -e 's/\".*/ retry '$e'/'",
	           "work settle --batch 5000 -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE LENGTH(last_error) = 500 -> 5000",
	           "task 1 -> done claimed=5000 failed=5000");
	flow_end();
}

/* As many orders and as long errors as a call may have are one transaction. */
Test(fail, fail_of_very_many_with_long_errors)
{
	struct text failed = {0};

	text_add(&failed, " X#=bury:");
	for (int i = 0; i < 500; i++)
		text_char(&failed, 'e');
	flow_begin();
	flow_orders("X", 5000);
	flow_step("claim settle w1 limit=5000 -> 201 orders=5000");
	flow_repeat("fail 1", failed.data, 5000, " -> 200 retried=0 buried=5000 lost=0");
	flow_steps("task 1     -> done claimed=5000 failed=5000",
	           STATES "6,5000",
	           "sql SELECT DISTINCT LENGTH(last_error) FROM reservation -> 500");
	flow_repeat("fail 1", failed.data, 5000, " -> 200 retried=0 buried=5000 lost=0");
	flow_step("task 1     -> done failed=5000");
	flow_end();
	text_fini(&failed);
}
