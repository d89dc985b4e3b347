/* test_kick.c - kick: buried orders are given to workers again, by the call and by the command. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

Test(kick, by_a_call)
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

/* Holds that failed to expire and orders that were put off have an error, too, although they were not buried. */
Test(kick, of_what_was_never_buried)
{
	struct db *stranger;

	flow_begin();
	flow_steps("receipt  A +10              -> 201",
	           "reserve  H1 A=1 ttl=60      -> 201",
	           "reserve  H2 A=1 ttl=60      -> 201",
	           "reserve  H3 A=1 ttl=60      -> 201",
	           "tick     61",
	           "claim    expire w1          -> 201 orders=3",
	           "fail     1 H1=retry H2=retry H3=retry -> retried=3",
	           "get      H1                 -> expired last_error=*",
	           "confirm  H1 reacquire       -> 200 confirmed reacquired attempts=0 !last_error",
	           "events types=reservation.confirmed -> items=reservation.confirmed"
	           "                               reservation.confirmed data.order_id=H1 !data.last_error",
	           "get      H1                 -> confirmed !last_error",
	           "kick     H1                 -> 409 confirmed",
	           "confirm  H1                 -> 200 confirmed replayed",
	           "reserve  R1 A=8             -> 201",
	           "release  R1                 -> 200",
	           "get      H2                 -> expired last_error=*",
	           "confirm  H2 reacquire       -> 200 confirmed reacquired !last_error",
	           "kick     H2                 -> 409 confirmed",
	           "claim    settle w1          -> 201 task_id=2 orders=2",
	           "fail     2 H1=bury:e        -> buried=1",
	           "kick     H1                 -> 200 confirmed last_error=e !replayed",
	           "kick     H1                 -> 200 confirmed last_error=e replayed",
	           "complete 2                  -> completed=1");
	stranger = scratch_connection(flow_scratch());
	cr_assert_eq(db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "UPDATE stock_slot SET reserved = reserved + 1", NULL, NULL), DB_OK);
	flow_steps("start    W work settle --once",
	           "wait:60 get H1              -> confirmed attempts=0 '~last_error:locked by another transaction'");
	db_free(stranger);
	flow_steps("end      W                  -> 0 ~event=orders_put_off",
	           "kick     H1                 -> 409 confirmed");
	flow_end();
}

Test(kick, by_the_command)
{
	flow_begin();
	flow_orders("R", 1200);
	flow_steps("exec cat > /dev/null",
	           "work settle --max-attempts 1 --batch 5000 -> 0",
	           STATES "6,1200",
	           "run kick R7                -> 0 '~R7 is confirmed again'",
	           "get R7                     -> confirmed attempts=0 last_error=*",
	           "run kick R7                -> 1 '~R7 is confirmed'",
	           "run kick GHOST             -> 1 ~GHOST",
	           "release R8                 -> released",
	           "run kick R8                -> 1 '~R8 is released'",
	           STATES "2,1 4,1 6,1198",
	           "run kick --all             -> 0 '~1198 reservations'",
	           "run kick --all             -> 0 '~0 reservations'",
	           "exec",
	           "work settle                -> 0",
	           STATES "3,1199 4,1");
	flow_end();
}

/* Groups of the last errors, most first; a list and a kick of one of them. */
Test(kick, by_error)
{
	flow(THREE,
	     "claim    settle w                     -> 201",
	     "fail     1 R1=bury:down R2=bury:torn R3=bury:down -> buried=3",
	     "raw GET /v1/buried                    -> 200 items=2 items[0].error=down items[0].orders=2"
	     " items[0].oldest=* items[1].error=torn items[1].orders=1 other=0 counted=3 end",
	     "raw GET /v1/buried?limit=1            -> 200 items=1 items[0].error=down other=1 counted=3 end",
	     "raw GET /v1/reservations?state=buried&error=down -> 200 items=R1,R3 end",
	     "raw GET /v1/reservations?state=buried&error=down&limit=1 -> 200 items=R1 more",
	     "raw GET /v1/reservations?state=buried&error=gone -> 200 items=0 end",
	     "raw GET /v1/reservations?error=down   -> 400 field=error",
	     "raw GET /v1/reservations?state=held&error=down -> 400 field=error",
	     "raw POST /v1/kicks {'error':'gone'}   -> 200 kicked=0 more=false !cursor",
	     "raw POST /v1/kicks {'error':'down'}   -> 200 kicked=2 more=false",
	     "get      R1                           -> confirmed attempts=0",
	     "get      R2                           -> buried",
	     "raw POST /v1/kicks {'error':'down'}   -> 200 kicked=0",
	     "sql UPDATE reservation SET last_error = NULL WHERE order_id = 'R2' -> ",
	     "raw GET /v1/buried                    -> 200 items=1 items[0].error=null",
	     "claim    settle w                     -> 201",
	     "fail     2 R1=bury:down               -> buried=1",
	     "raw POST /v1/kicks {'error':null}     -> 200 kicked=1 more=false",
	     "get      R1                           -> buried",
	     "get      R2                           -> confirmed",
	     "claim    settle w                     -> 201 orders=R2",
	     "fail     3 R2=bury                    -> buried=1",
	     "raw POST /v1/kicks                    -> 200 kicked=2",
	     "raw GET /v1/buried                    -> 200 items=0 counted=0",
	     "events types=reservation.kicked       -> items=reservation.kicked,reservation.kicked,reservation.kicked,"
	     "reservation.kicked,reservation.kicked",
	     "raw POST /v1/kicks {'x':1}            -> 400 field=x",
	     "raw POST /v1/kicks {'cursor':'x'}     -> 400 field=cursor",
	     "raw GET /v1/buried?cursor=x           -> 400 field=cursor");
}

Test(kick, roles)
{
	flow("keys shop order | desk worker | eye read | boss admin",
	     "restart",
	     "key eye",
	     "raw GET /v1/buried                    -> 200",
	     "raw POST /v1/kicks                    -> 403 forbidden",
	     "kick     GHOST                        -> 403 forbidden",
	     "key desk",
	     "raw POST /v1/kicks                    -> 200 kicked=0",
	     "kick     GHOST                        -> 404",
	     "key shop",
	     "raw POST /v1/kicks                    -> 200 kicked=0");
}

/* A call looks at 10,000 orders at most. */
Test(kick, page_by_page)
{
	flow_begin();
	flow_orders("R", 10001);
	flow_steps("sql UPDATE reservation SET state = 6, last_error = CONCAT('e', reservation_id % 150) -> ",
	           "raw GET /v1/buried             -> 200 items=100 counted=10000 more",
	           "raw GET /v1/reservations?state=buried&error=none -> 200 items=0 end",
	           "raw POST /v1/kicks {'error':'none'} -> 200 kicked=0 more=true cursor=*",
	           "raw POST /v1/kicks             -> 200 kicked=10000 more=true cursor=*",
	           "raw POST /v1/kicks             -> 200 kicked=1 more=false",
	           BY_HAND,
	           STATES "2,10001");
	flow_end();
}
