/* test_task.c - the calls of workers: claim, heartbeat, complete, fail, return, the lists; kick; what becomes of an
 * order while a worker has it. */
#include "tests/flow.h"

#define STOCK "receipt A +10 B +10       -> 201"
#define R1    "reserve R1 A=2 B=1        -> 201", "confirm R1 -> confirmed"
#define R2    "reserve R2 A=3            -> 201", "confirm R2 -> confirmed"
#define R3    "reserve R3 B=4            -> 201", "confirm R3 -> confirmed"

/* ---- claim */

Test(task, claim)
{
	flow(STOCK,
	     "claim    settle w1         -> 204",
	     "tasks                      -> items= end",
	     R1, R2,
	     "reserve  HELD A=1          -> 201",
	     "claim    settle w1         -> 201 task_id=1 kind=settle worker=w1 lease_until=~30 orders=R1,R2 !state"
	     "                              R1 attempts=1 A=2 B=1 R2 attempts=1 A=3 lines=1 orders[0].lines[0].location=main",
	     "claim    settle w2         -> 204",
	     "task     1                 -> 200 open task_id=1 kind=settle worker=w1 claimed=2 completed=0 failed=0"
	     "                              lease_until=~30 created_at=~0 !orders",
	     "get      R1                -> confirmed attempts=1",
	     "get      HELD              -> held attempts=0",
	     "sku      A                 -> available=4 reserved=6 on_hand=10");
}

Test(task, claim_takes_the_oldest_first)
{
	flow(STOCK, R1,
	     "tick     10", R2,
	     "tick     10", R3,
	     "claim    settle w1 limit=2 -> 201 task_id=1 orders=R1,R2",
	     "claim    settle w1 limit=2 -> 201 task_id=2 orders=R3",
	     "claim    settle w1 limit=2 -> 204");
}

Test(task, claim_of_a_hundred_if_nothing_is_said)
{
	flow_begin();
	flow_step("receipt A +1000 -> 201");
	flow_repeat("batch X A=1", " | R# A=1", 104, " -> 201 | ...");
	flow_steps("sql UPDATE reservation SET state = 2, confirmed_at = UTC_TIMESTAMP(3), due_at = UTC_TIMESTAMP(3)",
	           "claim settle w1                     -> 201 orders=100",
	           "claim settle w1 limit=5000          -> 201 orders=5",
	           "complete 1                          -> completed=100 lost=0",
	           "complete 2                          -> completed=5 lost=0",
	           "sku A                               -> available=895 reserved=0 on_hand=895");
	flow_end();
}

Test(task, claim_of_what_has_expired)
{
	flow(STOCK,
	     "reserve  R1 A=4 ttl=60     -> 201",
	     "reserve  R2 A=2 ttl=600    -> 201",
	     "claim    expire w1         -> 204",
	     "tick     61",
	     "claim    settle w1         -> 204",
	     "claim    expire w1         -> 201 kind=expire orders=R1 R1 attempts=1 A=4",
	     "get      R1                -> expired",
	     "sku      A                 -> available=4 reserved=6",
	     "complete 1                 -> 200 completed=1 lost=0 lost_orders=0",
	     "task     1                 -> done kind=expire completed=1",
	     "sku      A                 -> available=8 reserved=2 on_hand=10",
	     "movements A                -> items=1 end",
	     "get      R1                -> expired !released_at !settled_at",
	     "complete 1                 -> 200 completed=1 lost=0");
}

#define CLAIM "raw POST /v1/tasks "
#define SIXTY "012345678901234567890123456789012345678901234567890123456789"

Test(task, claim_limits_of_every_member)
{
	flow(STOCK, R1,
	     "mark",
	     CLAIM "{'kind':'settle'}                              -> 400 invalid_request field=worker",
	     CLAIM "{'worker':'w'}                                 -> 400 invalid_request field=kind",
	     CLAIM "                                               -> 400 invalid_request",
	     CLAIM "[]                                             -> 400 invalid_request",
	     "claim    reap                                        -> 400 invalid_request field=kind",
	     "claim    Settle                                      -> 400 invalid_request field=kind",
	     CLAIM "{'kind':'','worker':'w'}                       -> 400 invalid_request field=kind",
	     CLAIM "{'kind':1,'worker':'w'}                        -> 400 invalid_request field=kind",
	     CLAIM "{'kind':null,'worker':'w'}                     -> 400 invalid_request field=kind",
	     CLAIM "{'kind':'settle','worker':''}                  -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':7}                   -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':'a b'}               -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':'a/b'}               -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':'..'}                -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':'é'}                 -> 400 invalid_request field=worker",
	     "claim    settle " SIXTY "01234                      -> 400 invalid_request field=worker",
	     "claim    settle w limit=0                            -> 400 invalid_request field=limit",
	     "claim    settle w limit=5001                         -> 400 invalid_request field=limit",
	     "claim    settle w limit=-1                           -> 400 invalid_request field=limit",
	     "claim    settle w limit=1.0                          -> 400 invalid_request field=limit",
	     "claim    settle w limit=\"1\"                        -> 400 invalid_request field=limit",
	     "claim    settle w limit=18446744073709551617         -> 400 invalid_request field=limit",
	     "claim    settle w limit=null                         -> 400 invalid_request field=limit",
	     "claim    settle w lease=0                            -> 400 invalid_request field=lease_s",
	     "claim    settle w lease=3601                         -> 400 invalid_request field=lease_s",
	     "claim    settle w lease=1e1                          -> 400 invalid_request field=lease_s",
	     CLAIM "{'kind':'settle','worker':'w','x':1}           -> 400 invalid_request field=x",
	     CLAIM "{'kind':'settle','worker':'w','worker':'v'}    -> 400 invalid_request field=worker",
	     "raw POST /v1/tasks?limit=1 {'kind':'settle','worker':'w'} -> 400 invalid_request field=limit",
	     "unchanged",
	     "claim    expire w limit=1 lease=1                    -> 204",
	     "claim    expire w limit=5000 lease=3600              -> 204",
	     "claim    settle " SIXTY "0123 limit=5000 lease=3600 -> 201 lease_until=~3600 worker=" SIXTY "0123",
	     "task     1                                           -> lease_until=~3600");
}

Test(task, paths_and_methods)
{
	flow("task     1                     -> 404 unknown_task",
	     "task     0                     -> 404 unknown_task",
	     "task     999999999999999999    -> 404 unknown_task",
	     "task     x                     -> 400 invalid_request",
	     "task     -1                    -> 400 invalid_request",
	     "task     1.0                   -> 400 invalid_request",
	     "task     18446744073709551617  -> 400 invalid_request",
	     "complete 7                     -> 404 unknown_task",
	     "complete 7 R1                  -> 404 unknown_task",
	     "complete x                     -> 400 invalid_request",
	     "fail     7 R1=retry            -> 404 unknown_task",
	     "heartbeat 7                    -> 404 unknown_task",
	     "give-back 7                    -> 404 unknown_task",
	     "raw PUT  /v1/tasks {}          -> 405 method_not_allowed Allow:GET Allow:POST",
	     "raw POST /v1/tasks/1 {}        -> 405 method_not_allowed Allow:GET",
	     "raw GET  /v1/tasks/1/complete  -> 405 method_not_allowed Allow:POST",
	     "raw GET  /v1/tasks/1/fail      -> 405 method_not_allowed Allow:POST",
	     "raw GET  /v1/tasks/1/heartbeat -> 405 method_not_allowed Allow:POST",
	     "raw GET  /v1/tasks/1/return    -> 405 method_not_allowed Allow:POST",
	     "raw POST /v1/tasks/1/reap {}   -> 404 not_found",
	     "raw GET  /v1/tasks/1?x=1       -> 400 invalid_request field=x",
	     "raw POST /v1/tasks/1/complete?all=1 {} -> 400 invalid_request field=all",
	     "raw GET  /v1/reservations/R1/kick -> 405 method_not_allowed Allow:POST");
}

/* ---- heartbeat */

Test(task, heartbeat)
{
	flow(STOCK, R1,
	     "claim    settle w1 lease=5 -> 201 lease_until=~5",
	     "heartbeat 1                -> 200 open task_id=1 lease_until=~30",
	     "heartbeat 1 lease=3600     -> 200 open lease_until=~3600",
	     "heartbeat 1 lease=60       -> 200 open lease_until=~60 claimed=1",
	     "task     1                 -> lease_until=~60",
	     "heartbeat 1 lease=0        -> 400 invalid_request field=lease_s",
	     "heartbeat 1 lease=3601     -> 400 invalid_request field=lease_s",
	     "raw POST /v1/tasks/1/heartbeat {'lease':1} -> 400 invalid_request field=lease",
	     "tick     100",
	     "heartbeat 1                -> 200 open lease_until=~30",
	     "run      reap              -> 0",
	     "task     1                 -> open",
	     "tick     100",
	     "run      reap              -> 0",
	     "heartbeat 1                -> 409 lease_lost",
	     "task     1                 -> reaped");
}

/* ---- complete */

Test(task, complete_settles)
{
	flow(STOCK, R1, R2,
	     "claim    settle w1         -> 201 orders=R1,R2",
	     "complete 1                 -> 200 completed=2 lost=0 lost_orders=0",
	     "get      R1                -> settled settled_at=~0 attempts=1 confirmed_at=~0 !released_at A=2 B=1",
	     "sku      A                 -> available=5 reserved=0 on_hand=5",
	     "sku      B                 -> available=9 reserved=0 on_hand=9",
	     "task     1                 -> done claimed=2 completed=2 failed=0",
	     "list     state=settled     -> set=R1,R2",
	     "mark",
	     "complete 1                 -> 200 completed=2 lost=0 lost_orders=0",
	     "complete 1 R2 R1           -> 200 completed=2 lost=0",
	     "complete 1 R2              -> 200 completed=1 lost=0",
	     "complete 1 R9              -> 200 completed=0 lost=1 lost_orders=R9",
	     "unchanged",
	     "release  R1                -> 409 settled",
	     "confirm  R1                -> 200 settled replayed",
	     "extend   R1 ttl=60         -> 409 settled",
	     "kick     R1                -> 409 settled",
	     "reserve  R1 A=2 B=1        -> 200 settled replayed");
}

Test(task, complete_some)
{
	flow(STOCK, R1, R2, R3,
	     "claim    settle w1 lease=5 -> 201 orders=3",
	     "complete 1 R2              -> 200 completed=1 lost=0",
	     "task     1                 -> open claimed=3 completed=1 lease_until=~30",
	     "get      R1                -> confirmed attempts=1",
	     "get      R2                -> settled",
	     "claim    settle w2         -> 204",
	     "complete 1 R2 R3 GHOST     -> 200 completed=2 lost=1 lost_orders=GHOST",
	     "complete 1                 -> 200 completed=3 lost=0",
	     "task     1                 -> done completed=3",
	     "sku      A                 -> reserved=0 on_hand=5",
	     "sku      B                 -> reserved=0 on_hand=5");
}

#define COMPLETE "raw POST /v1/tasks/1/complete "

Test(task, complete_members)
{
	flow(STOCK, R1,
	     "claim    settle w1                 -> 201",
	     "mark",
	     COMPLETE "{'order_ids':[]}          -> 400 invalid_request field=order_ids",
	     COMPLETE "{'order_ids':'R1'}        -> 400 invalid_request field=order_ids",
	     COMPLETE "{'order_ids':null}        -> 400 invalid_request field=order_ids",
	     COMPLETE "{'order_ids':[1]}         -> 400 invalid_request field=order_ids[0]",
	     COMPLETE "{'order_ids':['R1','']}   -> 400 invalid_request field=order_ids[1]",
	     COMPLETE "{'order_ids':['a b']}     -> 400 invalid_request field=order_ids[0]",
	     COMPLETE "{'orders':['R1']}         -> 400 invalid_request field=orders",
	     COMPLETE "[]                        -> 400 invalid_request",
	     COMPLETE "Content-Type:text/plain {} -> 415 unsupported_media_type",
	     "unchanged",
	     COMPLETE "{'order_ids':['R1','R1']} -> 200 completed=1 lost=0",
	     COMPLETE "                          -> 200 completed=1 lost=0");
}

/* Lines summed, the task as the reference, an id that no client can send. */
Test(task, movement_of_a_settlement)
{
	flow("receipt  M1 A +10 A@paris +5 B +10 -> 201",
	     "reserve  R1 A=2 B=1         -> 201", "confirm R1 -> 200",
	     "reserve  R2 A=3 A@paris=1   -> 201", "confirm R2 -> 200",
	     "claim    settle w1          -> 201",
	     "complete 1                  -> completed=2",
	     "movements A                 -> items=2 items[1].movement_id=M1 items[0].kind=settlement items[0].reference=1"
	     "                               items[0].created_at=~0 items[0].lines=2 items[0].lines[0].qty=-5"
	     "                               items[0].lines[1].location=paris items[0].lines[1].qty=-1",
	     "movements B                 -> items=2 items[0].kind=settlement items[0].lines[0].qty=-1",
	     "sql SELECT COUNT(*), COUNT(movement_id REGEXP '[/?%]' OR NULL) FROM movement WHERE kind = 5 -> 1,1",
	     "raw POST /v1/movements {'movement_id':'m','kind':'settlement','lines':[{'sku':'A','qty':-1}]}"
	     "                            -> 400 invalid_request field=kind",
	     "raw POST /v1/movements {'movement_id':'settlement/1/1','kind':'receipt','lines':[{'sku':'A','qty':1}]}"
	     "                            -> 400 invalid_request field=movement_id",
	     "sku      A                  -> on_hand=9 @main on_hand=5 @paris on_hand=4");
}

/* ---- fail */

Test(task, fail_retries_later)
{
	flow(STOCK, R1, R2,
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

Test(task, fail_buries)
{
	flow(STOCK, R1, R2, R3,
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

/* 2, 4, .. 128 s, give or take a tenth; the eighth time it is buried. */
Test(task, eight_attempts)
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
	           "claim settle w1 -> 201 R2 attempts=1", "complete 9 -> completed=1",
	           "get R2 -> settled", "sku A -> reserved=0 on_hand=7");
	flow_end();
}

Test(task, expire_never_buries)
{
	flow(STOCK,
	     "reserve  R1 A=4 ttl=60      -> 201",
	     "reserve  R2 A=2 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=2",
	     "fail     1 R1=bury R2=retry -> 200 retried=2 buried=0 lost=0",
	     "task     1                  -> done failed=2",
	     "get      R1                 -> expired attempts=1 last_error=failed",
	     "claim    expire w1          -> 204",
	     "sql UPDATE reservation SET attempts = 20, due_at = UTC_TIMESTAMP(3) WHERE order_id = 'R1'",
	     "claim    expire w1          -> 201 orders=R1 R1 attempts=21",
	     "fail     2 R1=retry         -> 200 retried=1 buried=0",
	     "tick     1000",
	     "claim    expire w1          -> 201 orders=2",
	     "complete 3                  -> completed=2",
	     "sku      A                  -> available=10 reserved=0");
}

#define FAIL "raw POST /v1/tasks/1/fail "

Test(task, fail_members)
{
	flow(STOCK, R1,
	     "claim    settle w1                                             -> 201",
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
	     "get      R1                           -> confirmed '~last_error:kein Weg zurück'");
}

/* An error has 500 bytes at most. */
Test(task, fail_with_a_long_error)
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

/* ---- return */

Test(task, give_back)
{
	flow(STOCK, R1, R2, R3,
	     "claim    settle w1          -> 201 orders=3",
	     "complete 1 R1               -> completed=1",
	     "give-back 1                 -> 200 returned task_id=1 claimed=3 completed=1 failed=0",
	     "get      R2                 -> confirmed attempts=0 !last_error",
	     "claim    settle w2          -> 201 task_id=2 orders=R2,R3 R2 attempts=1",
	     "give-back 1                 -> 200 returned",
	     "task     2                  -> open",
	     "complete 1 R2               -> 200 completed=0 lost=1 lost_orders=R2",
	     "get      R2                 -> confirmed attempts=1",
	     "heartbeat 1                 -> 409 lease_lost",
	     "fail     1 R2=bury          -> 409 lease_lost",
	     "get      R2                 -> confirmed !last_error",
	     "complete 2                  -> completed=2",
	     "give-back 2                 -> 200 done",
	     "sku      A                  -> on_hand=5 reserved=0",
	     "raw POST /v1/tasks/2/return {'x':1} -> 400 invalid_request field=x");
}

Test(task, give_back_of_holds)
{
	flow(STOCK,
	     "reserve  R1 A=4 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201",
	     "give-back 1                 -> returned",
	     "claim    expire w1          -> 201 orders=R1 R1 attempts=1",
	     "complete 2                  -> completed=1",
	     "sku      A                  -> available=10");
}

/* ---- a lease that was lost */

Test(task, reaped)
{
	flow(STOCK, R1, R2,
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

/* Late, but nobody has taken it away: it counts. */
Test(task, overdue_but_not_reaped)
{
	flow(STOCK, R1, R2,
	     "claim    settle w1 lease=1  -> 201 orders=2",
	     "tick     1000",
	     "fail     1 R1=retry         -> retried=1",
	     "complete 1                  -> completed=1",
	     "task     1                  -> done");
}

/* ---- what others do meanwhile */

Test(task, released_while_claimed)
{
	flow(STOCK, R1, R2, R3,
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

Test(task, released_while_claimed_is_lost_to_a_complete_of_all)
{
	flow(STOCK, R1, R2,
	     "claim    settle w1          -> 201 orders=2",
	     "release  R1                 -> 200 released",
	     "complete 1                  -> 200 completed=1 lost=1",
	     "task     1                  -> done");
}

/* With nothing left, a task is done: no reaper should call its worker silent. */
Test(task, everything_released_while_claimed)
{
	flow(STOCK, R1,
	     "claim    settle w1          -> 201",
	     "release  R1                 -> 200 released",
	     "complete 1 R1               -> 200 completed=0 lost=1 lost_orders=R1",
	     "task     1                  -> done completed=0");
}

Test(task, confirm_and_extend_while_claimed)
{
	flow(STOCK, R1,
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
Test(task, short_sweeps_what_a_dead_worker_claimed)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "reserve  R2 A=4 ttl=600     -> 201",
	     "tick     61",
	     "claim    expire dead lease=3600 -> 201 orders=R1",
	     "reserve  R3 A=6             -> 201 held",
	     "reserve  R4 A=1             -> 409 short A available=0",
	     "complete 1 R1               -> 200 lost=1 lost_orders=R1",
	     "sku      A                  -> available=0 reserved=10");
}

/* ... also while they wait for another attempt of their job. */
Test(task, short_sweeps_what_waits_for_a_retry)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=R1",
	     "fail     1 R1=retry         -> retried=1",
	     "reserve  R2 A=10            -> 201 held",
	     "sku      A                  -> available=0 reserved=10");
}

Test(task, short_sweeps_what_was_reaped)
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

/* ---- lists */

Test(task, list)
{
	flow(STOCK, R1,
	     "claim    settle a           -> 201 task_id=1", "complete 1 -> 200", R2,
	     "claim    settle b           -> 201 task_id=2", "give-back 2 -> 200",
	     "claim    settle c lease=1   -> 201 task_id=3", "tick 2", "run reap -> 0", R3,
	     "claim    settle d           -> 201 task_id=4",
	     "tasks                       -> 200 items=T4,T3,T2,T1 end T4 state=open worker=d kind=settle claimed=1"
	     "                               T3 state=reaped T2 state=returned T1 state=done completed=1 failed=0"
	     "                               lease_until=* created_at=*",
	     "tasks    limit=3            -> items=T4,T3,T2 more",
	     "tick     5",
	     "claim    settle e           -> 201 task_id=5 orders=R2",
	     "tasks    limit=3 next       -> items=1 end T1 state=done",
	     "tasks    limit=2            -> items=T5,T4 more",
	     "tasks    limit=2 next       -> items=T3,T2 more",
	     "tasks    limit=2 next       -> items=1 end T1 worker=a",
	     "tasks    limit=5            -> items=5 end");
}

Test(task, list_limits_and_cursors)
{
	flow(STOCK, R1,
	     "claim    settle a           -> 201", "give-back 1 -> 200", "claim settle a -> 201",
	     "tasks    limit=0            -> 400 invalid_request field=limit",
	     "tasks    limit=1001         -> 400 invalid_request field=limit",
	     "tasks    limit=             -> 400 invalid_request field=limit",
	     "tasks    limit=1x           -> 400 invalid_request field=limit",
	     "tasks    limit=1000         -> items=2 end",
	     "tasks    state=open         -> 400 invalid_request field=state",
	     "tasks    cursor=            -> 400 invalid_request field=cursor",
	     "tasks    cursor=x           -> 400 invalid_request field=cursor",
	     "tasks    cursor=1           -> 400 invalid_request field=cursor",
	     "tasks    limit=1            -> items=1 more",
	     "list     next               -> 400 invalid_request field=cursor",
	     "skus     next               -> 400 invalid_request field=cursor",
	     "movements A next            -> 400 invalid_request field=cursor",
	     "tasks    next               -> items=1 end T1 state=returned",
	     "receipt  A +1               -> 201",
	     "movements A limit=1         -> more",
	     "tasks    next               -> 400 invalid_request field=cursor");
}

/* ---- kick */

Test(task, kick)
{
	flow(STOCK, R1, R2,
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
	     "reserve  R5 A=1 ttl=60      -> 201", "tick 61",
	     "kick     R5                 -> 409 expired",
	     "raw POST /v1/reservations/R1/kick {'x':1} -> 400 invalid_request field=x");
}

/* ---- metrics */

Test(task, metrics)
{
	flow(STOCK, R1, R2,
	     "reserve  H1 A=1 ttl=60      -> 201",
	     "tick     70",
	     "claim    settle w1 limit=1 lease=1 -> 201",
	     "tick     5",
	     "raw GET /metrics            -> holdfast_tasks_open=1 holdfast_fenced_total=0 holdfast_reaped_tasks_total=0"
	     "  ~\nholdfast_oldest_lease_age_seconds ~\nholdfast_oldest_ready_age_seconds{kind=settle}"
	     "  ~\nholdfast_oldest_ready_age_seconds{kind=expire}"
	     "  holdfast_reservations{state=confirmed}=2 holdfast_reservations{state=buried}=0"
	     "  '~# TYPE holdfast_fenced_total counter' '~# TYPE holdfast_reaped_tasks_total counter'"
	     "  '~# TYPE holdfast_tasks_open gauge'",
	     "serve    --lanes 1 --jobs=reap",
	     "wait:8 task 1               -> reaped",
	     "wait:16 raw GET /metrics    -> holdfast_reaped_tasks_total=1 holdfast_tasks_open=0",
	     "complete 1                  -> 409 lease_lost",
	     "raw GET /metrics            -> holdfast_fenced_total=1");
}
