/* test_task.c - the calls of workers: claim, heartbeat, complete, return, the lists, the metrics. Orders that fail:
 * test_fail.c; leases that are lost: test_lease.c. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

/* ---- claim */

Test(task, claim)
{
	flow(STOCK,
	     "claim    settle w1         -> 204",
	     "tasks                      -> items= end",
	     R1,
	     R2,
	     "reserve  HELD A=1          -> 201",
	     "claim    settle w1         -> 201 task_id=1 kind=settle worker=w1 lease_until=~30 orders=R1,R2 !state"
	     "                              R1 attempts=1 A=2 B=1 R2 attempts=1 A=3 lines=1"
	     "                              orders[0].lines[0].location=main",
	     "claim    settle w2         -> 204",
	     "task     1                 -> 200 open task_id=1 kind=settle worker=w1 claimed=2 completed=0 failed=0"
	     "                              lease_until=~30 created_at=~0 !orders",
	     "get      R1                -> confirmed attempts=1",
	     "get      HELD              -> held attempts=0",
	     "sku      A                 -> available=4 reserved=6 on_hand=10");
}

Test(task, claim_takes_the_oldest_first)
{
	flow(STOCK,
	     R1,
	     "tick     10",
	     R2,
	     "tick     10",
	     R3,
	     "claim    settle w1 limit=2 -> 201 task_id=1 orders=R1,R2",
	     "claim    settle w1 limit=2 -> 201 task_id=2 orders=R3",
	     "claim    settle w1 limit=2 -> 204");
}

Test(task, claim_of_a_hundred_if_nothing_is_said)
{
	flow_begin();
	flow_step("receipt A +1000 -> 201");
	flow_repeat("batch X A=1 confirm=true", " | R# A=1 confirm=true", 104, " -> 201 | ...");
	flow_steps("claim settle w1                     -> 201 orders=100",
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
	flow(STOCK,
	     R1,
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
	     CLAIM "{'kind':'settle','worker':'a '}                -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':' a'}                -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':'..'}                -> 400 invalid_request field=worker",
	     CLAIM "{'kind':'settle','worker':'é'}                 -> 400 invalid_request field=worker",
	     "claim    settle " SIXTY "01234                       -> 400 invalid_request field=worker",
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
	     "claim    settle " SIXTY "0123 limit=5000 lease=3600  -> 201 lease_until=~3600 worker=" SIXTY "0123",
	     "task     1                                           -> lease_until=~3600");
}

Test(task, paths_and_methods)
{
	flow("task     1                     -> 404 unknown_task",
	     "task     0                     -> 404 unknown_task",
	     "task     999999999999999999    -> 404 unknown_task",
	     "task     x                     -> 400 invalid_request",
	     "task     01                    -> 400 invalid_request",
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
	flow(STOCK,
	     R1,
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
	flow(STOCK,
	     R1,
	     R2,
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
	flow(STOCK,
	     R1,
	     R2,
	     R3,
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
	flow(STOCK,
	     R1,
	     "claim    settle w1                 -> 201",
	     "mark",
	     COMPLETE "{'order_ids':[]}          -> 400 invalid_request field=order_ids",
	     COMPLETE "{'order_ids':'R1'}        -> 400 invalid_request field=order_ids",
	     COMPLETE "{'order_ids':null}        -> 400 invalid_request field=order_ids",
	     COMPLETE "{'order_ids':[1]}         -> 400 invalid_request field=order_ids[0]",
	     COMPLETE "{'order_ids':['R1','']}   -> 400 invalid_request field=order_ids[1]",
	     COMPLETE "{'order_ids':['a ']}      -> 400 invalid_request field=order_ids[0]",
	     COMPLETE "{'orders':['R1']}         -> 400 invalid_request field=orders",
	     COMPLETE "[]                        -> 400 invalid_request",
	     COMPLETE "Content-Type:text/plain {} -> 415 unsupported_media_type",
	     "unchanged",
	     COMPLETE "{'order_ids':['R1','R1']} -> 200 completed=1 lost=0",
	     COMPLETE "                          -> 200 completed=1 lost=0");
}

/* Lines summed, the task as the reference, an id that no client may send. */
Test(task, movement_of_a_settlement)
{
	flow("receipt  M1 A +10 A@paris +5 B +10 -> 201",
	     "reserve  R1 A=2 B=1         -> 201",
	     "confirm R1                  -> 200",
	     "reserve  R2 A=3 A@paris=1   -> 201",
	     "confirm R2                  -> 200",
	     "claim    settle w1          -> 201",
	     "complete 1                  -> completed=2",
	     "movements A                 -> items=2 items[1].movement_id=M1 items[0].kind=settlement"
	     "                               items[0].reference=1 items[0].created_at=~0 items[0].lines=2"
	     "                               items[0].lines[0].qty=-5"
	     "                               items[0].lines[1].location=paris items[0].lines[1].qty=-1",
	     "movements B                 -> items=2 items[0].kind=settlement items[0].lines[0].qty=-1",
	     "sql SELECT COUNT(*), SUM(movement_id LIKE 'settlement/1/%') FROM movement WHERE kind = 5 -> 1,1",
	     "raw POST /v1/movements {'movement_id':'m','kind':'settlement','lines':[{'sku':'A','qty':-1}]}"
	     "                            -> 400 invalid_request field=kind",
	     "raw POST /v1/movements {'movement_id':'settlement/1/1','kind':'receipt','lines':[{'sku':'A','qty':1}]}"
	     "                            -> 400 invalid_request field=movement_id",
	     "sku      A                  -> on_hand=9 @main on_hand=5 @paris on_hand=4");
}

/* ---- return */

Test(task, give_back)
{
	flow(STOCK,
	     R1,
	     R2,
	     R3,
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

/* ---- lists */

Test(task, list)
{
	flow(STOCK,
	     R1,
	     "claim    settle a           -> 201 task_id=1",
	     "complete 1                  -> 200",
	     R2,
	     "claim    settle b           -> 201 task_id=2",
	     "give-back 2                 -> 200",
	     "claim    settle c lease=1   -> 201 task_id=3",
	     "tick     2",
	     "run      reap               -> 0",
	     R3,
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
	flow(STOCK,
	     R1,
	     "claim    settle a           -> 201",
	     "give-back 1                 -> 200",
	     "claim    settle a           -> 201",
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
	     "tasks    cursor=t.0.2.0.0.469540e9 -> items=1 end T1 state=returned",
	     "tasks    cursor=t.0.999999999999999999.0.0.72813d93 -> items=2 end",
	     "tasks    cursor=t.0.2.0.0   -> 400 invalid_request field=cursor",
	     "tasks    cursor=t.0.2.0.0.469540e8 -> 400 invalid_request field=cursor",
	     "tasks    cursor=t.0.-2.0.0.d0c76382 -> 400 invalid_request field=cursor",
	     "receipt  A +1               -> 201",
	     "movements A limit=1         -> more",
	     "tasks    next               -> 400 invalid_request field=cursor");
}

/* ---- metrics */

Test(task, metrics)
{
	flow(STOCK,
	     R1,
	     R2,
	     "reserve  H1 A=1 ttl=60      -> 201",
	     "tick     70",
	     "claim    settle w1 limit=1 lease=1 -> 201",
	     "tick     5",
	     "raw GET /metrics            -> holdfast_tasks_open{scope=database}=1 holdfast_fenced_total=0"
	     "  holdfast_reaped_tasks_total=0"
	     "  ~\nholdfast_oldest_lease_age_seconds ~\nholdfast_oldest_ready_age_seconds{kind=settle,scope=database}"
	     "  ~\nholdfast_oldest_ready_age_seconds{kind=expire,scope=database}"
	     "  holdfast_reservations{state=confirmed,scope=database}=2 "
	     "holdfast_reservations{state=buried,scope=database}=0"
	     "  holdfast_ready{kind=settle,scope=database}=1 holdfast_ready{kind=expire,scope=database}=1 "
	     "holdfast_claimed{kind=settle,scope=database}=1"
	     "  '~# TYPE holdfast_fenced_total counter' '~# TYPE holdfast_reaped_tasks_total counter'"
	     "  '~# TYPE holdfast_tasks_open gauge'",
	     "serve    --lanes 1 --jobs=reap",
	     "wait:8 task 1               -> reaped",
	     "wait:16 raw GET /metrics    -> holdfast_reaped_tasks_total=1 holdfast_tasks_open{scope=database}=0",
	     "complete 1                  -> 409 lease_lost",
	     "raw GET /metrics            -> holdfast_fenced_total=1");
}
