/* test_amend.c - PUT /v1/reservations/{order_id}: the lines of an order become others under its own id. */
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <unistd.h>

Test(amend, only_the_difference_touches_the_stock)
{
	flow("receipt  A +10 B +5 C +5            -> 201",
	     "reserve  R1 A=4 B=2                 -> 201",
	     "amend    R1 A=6 C=1                 -> 200 held A=6 C=1 lines=2 order_id=R1 !short",
	     "sku      A                          -> available=4 reserved=6 on_hand=10",
	     "sku      B                          -> available=5 reserved=0",
	     "sku      C                          -> available=4 reserved=1",
	     "amend    R1 A=1                     -> 200 held A=1 lines=1",
	     "sku      A                          -> available=9 reserved=1",
	     "sku      C                          -> available=5 reserved=0",
	     "amend    R1 A=10 B=5 C=5            -> 200 A=10 B=5 C=5",
	     "amend    R1 A=1 A=2 B@main=1        -> 200 A=3 B=1 lines=2",
	     "get      R1                         -> held A=3 B=1 lines=2",
	     "sku      A                          -> available=7 reserved=3",
	     "confirm  R1                         -> confirmed A=3 B=1",
	     "amend    R1 C=2                     -> 200 confirmed C=2 lines=1 confirmed_at=~0",
	     "settle   R1                         -> settled C=2",
	     "sku      A                          -> available=10 reserved=0",
	     "sku      C                          -> available=3 reserved=0 on_hand=3",
	     "run      audit                      -> 0");
}

Test(amend, repeats_of_it_and_of_the_call_that_made_the_order)
{
	flow("receipt  A +10 B +5                 -> 201",
	     "reserve  R1 A=4 reference=one       -> 201",
	     "amend    R1 A=4                     -> 200 held replayed",
	     "amend    R1 A=2 B=1                 -> 200",
	     "mark",
	     "amend    R1 A=2 B=1                 -> 200 held replayed A=2 B=1",
	     "amend    R1 B=1 A=1 A=1 if_version=1 -> 200 held replayed A=2 B=1",
	     "amend    R1 A=2 B=1 ttl=60          -> 200 held replayed expires_at=~900",
	     "reserve  R1 A=4                     -> 200 held replayed A=2 B=1 reference=one",
	     "reserve  R1 A=2 B=1                 -> 422 order_id_reused",
	     "unchanged",
	     "confirm  R1                         -> confirmed",
	     "amend    R1 A=2 B=1                 -> 200 confirmed replayed",
	     "claim    settle w                   -> 201 R1",
	     "amend    R1 A=2 B=1                 -> 200 confirmed replayed",
	     "complete 1 R1                       -> 200",
	     "amend    R1 A=2 B=1                 -> 200 settled replayed",
	     "amend    R1 A=2                     -> 409 settled",
	     "reserve  R1 A=4                     -> 200 settled replayed A=2 B=1");
}

Test(amend, of_a_version)
{
	int64_t version;

	flow_begin();
	flow_steps("receipt  A +10                        -> 201",
	           "reserve  R1 A=4                       -> 201");
	version = trap_number("SELECT changed FROM reservation");
	flow_step("amend R1 A=5 if_version=%lld -> 200 A=5", (long long)version);
	flow_step("amend R1 A=6 if_version=%lld -> 409 changed", (long long)version);
	flow_step("amend R1 A=5 if_version=%lld -> 200 replayed", (long long)version);
	flow_step("amend R1 A=6 if_version=0 -> 409 changed");
	flow_step("get R1 -> A=5 version=%lld", (long long)trap_number("SELECT changed FROM reservation"));
	flow_step("confirm R1 -> confirmed");
	version = trap_number("SELECT changed FROM reservation");
	flow_steps("claim   settle w                      -> 201 R1",
	           "give-back 1                           -> 200");
	flow_step("amend R1 A=7 if_version=%lld -> 200 confirmed A=7", (long long)version);
	flow_step("release R1 -> released");
	flow_step("amend R1 A=8 if_version=%lld -> 409 released", (long long)version);
	flow_end();
}

Test(amend, refusals)
{
	flow("receipt  A +10 B +1                 -> 201",
	     "raw PUT /v1/locations/aside {'kind':'aside'} -> 201",
	     "transfer A@main>aside=2             -> 201",
	     "reserve  R1 A=4                     -> 201",
	     "mark",
	     "amend    R1 A=9                     -> 409 short A requested=9 available=8",
	     "amend    R1 A=4 B=2                 -> 409 short B requested=2 available=1",
	     "amend    R1 A=4 GHOST=1             -> 422 unknown_sku GHOST",
	     "amend    R1 A=4 A@aside=1           -> 409 not_for_sale",
	     "amend    R1 A=4 A@nowhere=1         -> 409 short",
	     "amend    R9 A=4                     -> 404 unknown_order",
	     "raw PUT /v1/reservations/R1 {'lines':[]} -> 400 invalid_request field=lines",
	     "raw PUT /v1/reservations/R1 {}      -> 400 invalid_request field=lines",
	     "raw PUT /v1/reservations/R1         -> 400 invalid_request",
	     "raw PUT /v1/reservations/R1 {'lines':[{'sku':'A','qty':0}]} -> 400 field=lines[0].qty",
	     "raw PUT /v1/reservations/R1 {'order_id':'R1','lines':[{'sku':'A','qty':1}]} -> 400 field=order_id",
	     "raw PUT /v1/reservations/R1 {'confirm':true,'lines':[{'sku':'A','qty':1}]} -> 400 field=confirm",
	     "raw PUT /v1/reservations/R1 {'if_version':-1,'lines':[{'sku':'A','qty':1}]} -> 400 field=if_version",
	     "raw PUT /v1/reservations/R1 {'if_version':null,'lines':[{'sku':'A','qty':1}]} -> 400 field=if_version",
	     "raw PUT /v1/reservations/R1 {'ttl_s':0,'lines':[{'sku':'A','qty':1}]} -> 400 field=ttl_s",
	     "unchanged",
	     "reserve  R2 A=1 ttl=60              -> 201",
	     "tick     61",
	     "amend    R2 A=2                     -> 409 expired",
	     "amend    R2 A=1                     -> 409 expired replayed",
	     "work     expire                     -> 0",
	     "amend    R2 A=1                     -> 409 expired replayed",
	     "release  R1                         -> released",
	     "amend    R1 A=4                     -> 409 released replayed",
	     "reserve  R3 A=2 confirm=true        -> 201",
	     "claim    settle w                   -> 201 R3",
	     "fail     2 R3=bury                  -> buried=1",
	     "amend    R3 A=3                     -> 409 buried",
	     "amend    R3 A=2                     -> 200 buried replayed");
}

/* Units of an order at a location that lies aside by now stay its own. */
Test(amend, where_a_location_is_not_for_sale_any_more)
{
	flow("receipt  A +10 A@shop +5            -> 201",
	     "reserve  R1 A=1 A@shop=3 confirm=true -> 201",
	     "raw PUT /v1/locations/shop {'kind':'aside'} -> 409 in_use");
}

Test(amend, of_an_order_that_a_task_has)
{
	flow("receipt  A +10                      -> 201",
	     "reserve  R1 A=4 confirm=true        -> 201",
	     "claim    settle w                   -> 201 R1",
	     "amend    R1 A=5                     -> 409 claimed task_id=1 worker=w lease_until=*",
	     "amend    R1 A=5 force=true          -> 200 confirmed A=5 attempts=1",
	     "complete 1 R1                       -> 200 completed=0 lost=1 lost_orders[0]=R1",
	     "claim    settle w                   -> 201 R1 attempts=2",
	     "give-back 2                         -> 200",
	     "amend    R1 A=6                     -> 200 confirmed A=6",
	     "claim    settle w                   -> 201 R1",
	     "complete 3 R1                       -> 200 completed=1",
	     "sku      A                          -> available=4 reserved=0 on_hand=4");
}

Test(amend, time_of_a_hold)
{
	flow("receipt  A +10                      -> 201",
	     "reserve  R1 A=4 ttl=60              -> 201",
	     "tick     30",
	     "amend    R1 A=5                     -> 200 held A=5 expires_at=~30",
	     "amend    R1 A=6 ttl=600             -> 200 held A=6 expires_at=~600",
	     "get      R1                         -> held expires_at=~600",
	     "tick     500",
	     "amend    R1 A=1 ttl=10              -> 200 held A=1 expires_at=~10",
	     "tick     11",
	     "get      R1                         -> expired A=1",
	     "reserve  R2 A=10                    -> 201",
	     "release  R2                         -> 200",
	     "reserve  R3 A=1 confirm=true        -> 201",
	     "amend    R3 A=2 ttl=5               -> 200 confirmed A=2 expires_at=~900",
	     "tick     6",
	     "claim    settle w                   -> 201 R3");
}

Test(amend, with_best_effort)
{
	flow("receipt  A +5 B +1                  -> 201",
	     "reserve  R1 A=7 mode=best_effort    -> 201 A=5 short A requested=7 available=5",
	     "reserve  R1 A=7 mode=best_effort    -> 200 replayed short A requested=7",
	     "amend    R1 A=2                     -> 200 A=2 !short",
	     "reserve  R1 A=7 mode=best_effort    -> 200 replayed A=2 !short",
	     "sql      SELECT COUNT(*) FROM reservation_short -> 0",
	     "amend    R1 A=2 B=3 mode=best_effort -> 200 A=2 B=1 short B requested=3 available=1",
	     "amend    R1 A=2 B=3 mode=best_effort -> 200 replayed A=2 B=1 short B requested=3 available=1",
	     "amend    R1 A=9 B=1 mode=best_effort -> 200 A=5 B=1 short A requested=9 available=5",
	     "reserve  R2 A=1                     -> 409 short",
	     "receipt  C +1                       -> 201",
	     "reserve  R3 C=1                     -> 201",
	     "amend    R1 C=1 mode=best_effort    -> 409 short C requested=1 available=0",
	     "get      R1                         -> A=5 B=1",
	     "amend    R1 A=1 C=1 mode=best_effort -> 200 A=1 lines=1 short C requested=1 available=0",
	     "sku      B                          -> available=1 reserved=0");
}

Test(amend, with_lists_of_locations)
{
	flow("receipt  A@x +5 A@y +3 A +1         -> 201",
	     "reserve  R1 A@y=3                   -> 201",
	     "amend    R1 A@x,y=3                 -> 200 replayed A@y=3",
	     "amend    R1 A@x,y=5                 -> 200 A@x=5 lines=1",
	     "amend    R1 A@x+y=7                 -> 200 A@x=5 A@y=2",
	     "amend    R1 A@y+x=7                 -> 200 replayed A@x=5 A@y=2",
	     "amend    R1 A@x+y=9                 -> 409 short lines[0].requested=9 lines[0].available=8",
	     "amend    R1 A@y+main=3              -> 200 A@y=3 lines=1",
	     "sku      A                          -> @x available=5 reserved=0 @y available=0 reserved=3");
}

Test(amend, what_a_customer_may_have)
{
	flow("receipt  A +20 B +5                 -> 201",
	     "limit    A 5                        -> 200",
	     "reserve  R1 A=3 customer=c          -> 201",
	     "reserve  R2 A=1 customer=c          -> 201",
	     "amend    R1 A=5                     -> 409 limit_reached A limit=5 has=1 requested=5",
	     "amend    R1 A=4                     -> 200 A=4",
	     "has      A c                        -> has=5",
	     "amend    R2 A=2                     -> 409 limit_reached A",
	     "amend    R1 A=9 mode=best_effort    -> 200 replayed A=4 short A requested=9",
	     "amend    R1 A=1 B=1                 -> 200",
	     "has      A c                        -> has=2",
	     "has      B c                        -> has=1",
	     "amend    R1 A=9 mode=best_effort    -> 200 A=4 short A requested=9",
	     "limit    A 2                        -> 200",
	     "amend    R1 A=4 B=1                 -> 200 A=4 B=1",
	     "amend    R1 A=5 B=1                 -> 409 limit_reached A",
	     "amend    R1 A=3 B=1                 -> 200 A=3",
	     "reserve  R3 B=1                     -> 201",
	     "amend    R3 B=1 A=1                 -> 422 customer_required A",
	     "limit    A none                     -> 200",
	     "amend    R3 B=1 A=3                 -> 200",
	     "limit    A 2                        -> 200",
	     "wait     reserve R4 A=1             -> 422 customer_required",
	     "amend    R3 B=2 A=3                 -> 200 A=3 B=2",
	     "amend    R3 B=1 A=2                 -> 200 A=2 B=1",
	     "amend    R3 B=1 A=3                 -> 422 customer_required A",
	     "release  R1                         -> 200",
	     "has      A c                        -> has=1");
}

Test(amend, what_a_key_may_hold)
{
	flow("keys     shop order held=10 | other order | boss admin",
	     "serve    --lanes 2",
	     "key      boss",
	     "receipt  A +50                      -> 201",
	     "key      shop",
	     "wait     reserve R1 A=4             -> 201",
	     "wait     amend R1 A=9               -> 200 A=9",
	     "reserve  R2 A=2                     -> 429 rate_limited",
	     "amend    R1 A=11                    -> 429 rate_limited",
	     "wait     amend R1 A=10              -> 200 A=10",
	     "amend    R1 A=3                     -> 200 A=3",
	     "wait     reserve R2 A=7             -> 201",
	     "reserve  R3 A=1                     -> 429 rate_limited",
	     "confirm  R2                         -> 200",
	     "amend    R2 A=30                    -> 200 confirmed A=30",
	     "key      other",
	     "amend    R1 A=10                    -> 200 A=10",
	     "key      shop",
	     "reserve  R3 A=1                     -> 429 rate_limited",
	     "key      other",
	     "amend    R1 A=9                     -> 200 A=9",
	     "key      shop",
	     "wait     reserve R3 A=1             -> 201",
	     "sql      SELECT SUM(h.units) FROM key_hold h JOIN reservation r USING (reservation_id) WHERE r.state = 1"
	     " -> 10");
}

Test(amend, beside_splits)
{
	flow("receipt  A +30 B +30                -> 201",
	     "reserve  R1 A=5 B=5                 -> 201",
	     "split    R1 P1 A=2                  -> 201",
	     "amend    R1 A=6 B=1                 -> 200 A=6 B=1",
	     "split    R1 P2 A=1 B=1              -> 201 A=1 B=1",
	     "amend    P1 A=4 B=2                 -> 200 A=4 B=2",
	     "split    P1 P3 A=1 B=1              -> 201",
	     "amend    P1 A=1                     -> 200 A=1",
	     "amend    R1 A=5 B=3                 -> 200 A=5 B=3",
	     "split    R1 P4 B=3                  -> 201",
	     "amend    R1 A=2                     -> 200 A=2",
	     "amend    R1 A=5                     -> 200 A=5",
	     "split    R1 P5 A=1 then=release     -> 201 released",
	     "confirm  R1                         -> confirmed",
	     "split    R1 P6 A=1 then=settle      -> 201 settled",
	     "split    R1 P1 A=2                  -> 200 replayed A=1",
	     "split    R1 P1 A=1                  -> 422 order_id_reused",
	     "run      audit                      -> 0",
	     "sql      UPDATE reservation_amend SET qty = qty + 1 WHERE units_before = 2 -> ",
	     "run      audit                      -> 1 ~amend_conserves",
	     "sql      UPDATE reservation_amend SET qty = qty - 1 WHERE units_before = 2 -> ",
	     "run      audit                      -> 0");
}

Test(amend, beside_replacements)
{
	flow("receipt  A +10 B +10                -> 201",
	     "reserve  R1 A=5                     -> 201",
	     "amend    R1 A=7 B=1                 -> 200",
	     "reserve  R2 A=8 B=1 replaces=R1     -> 201 A=8 B=1",
	     "amend    R1 A=1                     -> 409 released",
	     "amend    R2 A=10                    -> 200 A=10",
	     "reserve  R2 A=8 B=1 replaces=R1     -> 200 held replayed A=10",
	     "sku      A                          -> available=0 reserved=10",
	     "sku      B                          -> available=10 reserved=0");
}

Test(amend, is_told)
{
	flow("receipt  A +10 B +5                 -> 201",
	     "reserve  R1 A=4 B=2                 -> 201",
	     "amend    R1 A=6                     -> 200",
	     "amend    R1 A=6                     -> 200 replayed",
	     "amend    R1 A=99                    -> 409 short",
	     "events   after=now                  -> items=",
	     "events   types=reservation.changed  -> items=reservation.changed items[0].data.state=held"
	     " items[0].data.order_id=R1 items[0].data.lines[0].qty=6 items[0].data.lines_before[0].qty=4"
	     " items[0].data.lines_before[1].sku=B items[0].data.lines_before[1].qty=2",
	     "run      audit                      -> 0");
}

/* Units that lie in the slots of other lanes, and expired holds that have them. */
Test(amend, gathers_and_sweeps)
{
	flow("serve    --lanes 4",
	     "receipt  A +8 B +3                  -> 201",
	     "reserve  R1 A=2                     -> 201",
	     "reserve  R2 A=2                     -> 201",
	     "reserve  R3 A=1 ttl=60              -> 201",
	     "amend    R1 A=5                     -> 200 A=5",
	     "amend    R2 A=3                     -> 409 short A requested=3 available=2",
	     "tick     61",
	     "amend    R2 A=3 B=3                 -> 200 A=3 B=3",
	     "get      R3                         -> expired",
	     "amend    R1 A=1                     -> 200 A=1",
	     "amend    R2 A=7                     -> 200 A=7",
	     "amend    R1 B=3                     -> 200 B=3",
	     "amend    R2 A=8                     -> 200 A=8",
	     "run      audit                      -> 0");
}

Test(amend, purge_forgets_it)
{
	flow("receipt  A +10                      -> 201",
	     "reserve  R1 A=4                     -> 201",
	     "amend    R1 A=2                     -> 200",
	     "amend    R1 A=3                     -> 200",
	     "release  R1                         -> 200",
	     "sql      SELECT COUNT(*) FROM reservation_amend -> 2",
	     "tick     864000",
	     "run      purge --keep 1             -> 0",
	     "sql      SELECT COUNT(*) FROM reservation_amend -> 0",
	     "amend    R1 A=2                     -> 404 unknown_order");
}

/* ---- orders that wait */

#define PO                 "raw PUT /v1/locations/po {'kind':'incoming'} -> 201"
#define QUEUE(expectation) "raw GET /v1/skus/A/waiting?location=po -> 200 " expectation

Test(amend, units_that_wait_keep_their_positions)
{
	flow(PO,
	     "receipt  A@po +20                   -> 201",
	     "reserve  R1 A@po=3 confirm=true     -> 201",
	     "reserve  R2 A@po=2 confirm=true     -> 201",
	     "amend    R1 A@po=5                  -> 200 confirmed A@po=5",
	     QUEUE("items[0].order_id=R1 items[0].qty=3 items[1].order_id=R2 items[2].order_id=R1 items[2].qty=2"),
	     "arrival  A@po>main=4                -> 201",
	     "get      R1                         -> A@main=3 A@po=2",
	     "get      R2                         -> A@main=1 A@po=1",
	     "amend    R2 A=1 A@po=2              -> 200",
	     QUEUE("items[0].order_id=R2 items[0].qty=1 items[1].order_id=R1 items[1].qty=2 items[2].order_id=R2"
	           " items[2].qty=1 !items[3]"),
	     "arrival  A@po>main=2                -> 201",
	     "get      R2                         -> A@main=2 A@po=1",
	     "get      R1                         -> A@main=4 A@po=1",
	     "amend    R2 A=2 A@po=2              -> 200",
	     "amend    R1 A=4                     -> 200 A@main=4 lines=1",
	     QUEUE("items[0].order_id=R2 items[0].qty=1 items[1].qty=1"),
	     "claim    settle w                   -> 201 orders=R1",
	     "arrival  A@po>main=2                -> 201",
	     "get      R2                         -> A@main=4 lines=1",
	     "claim    settle w                   -> 201 orders=R2",
	     "run      audit                      -> 0");
}

Test(amend, units_leave_a_queue_from_its_end)
{
	flow(PO,
	     "receipt  A@po +20                   -> 201",
	     "reserve  R1 A@po=3                  -> 201",
	     "amend    R1 A@po=5                  -> 200 held",
	     "reserve  R2 A@po=1                  -> 201",
	     "amend    R1 A@po=8                  -> 200",
	     QUEUE("items[0].qty=3 items[1].qty=2 items[2].order_id=R2 items[3].order_id=R1 items[3].qty=3"),
	     "amend    R1 A@po=6                  -> 200",
	     QUEUE("items[0].qty=3 items[1].qty=2 items[2].order_id=R2 items[3].order_id=R1 items[3].qty=1"),
	     "amend    R1 A@po=4                  -> 200",
	     QUEUE("items[0].qty=3 items[1].qty=1 items[2].order_id=R2 !items[3]"),
	     "amend    R1 A@po=2                  -> 200",
	     QUEUE("items[0].qty=2 items[1].order_id=R2 !items[2]"),
	     "amend    R1 A@po=4                  -> 200",
	     "confirm  R1                         -> confirmed",
	     QUEUE("items[0].order_id=R1 items[0].qty=4 items[1].order_id=R2 !items[2]"),
	     "amend    R2 A@po=3                  -> 200",
	     "confirm  R2                         -> confirmed",
	     "amend    R1 A@po=5                  -> 200",
	     QUEUE("items[0].qty=4 items[1].order_id=R2 items[1].qty=3 items[2].order_id=R1 items[2].qty=1 !items[3]"),
	     "release  R1                         -> released",
	     QUEUE("items[0].order_id=R2 !items[1]"));
}

Test(amend, positions_go_along_with_parts_and_replacements)
{
	flow(PO,
	     "receipt  A@po +30                   -> 201",
	     "reserve  R1 A@po=3 confirm=true     -> 201",
	     "reserve  R2 A@po=1 confirm=true     -> 201",
	     "amend    R1 A@po=5                  -> 200",
	     "split    R1 P1 A@po=4               -> 201 A@po=4",
	     QUEUE("items[0].order_id=P1 items[0].qty=3 items[1].order_id=R2 items[2].order_id=R1 items[2].qty=1"
	           " items[3].order_id=P1 items[3].qty=1 !items[4]"),
	     "amend    R1 A@po=3                  -> 200",
	     "reserve  R3 A@po=2 confirm=true replaces=R1 -> 201",
	     QUEUE("items[0].order_id=P1 items[1].order_id=R2 items[2].order_id=P1 items[2].qty=1"
	           " items[3].order_id=R3 items[3].qty=1 items[4].order_id=R3 items[4].qty=1 !items[5]"),
	     "arrival  A@po>main=4                -> 201",
	     "get      P1                         -> A@main=3 A@po=1",
	     "get      R2                         -> A@main=1",
	     "arrival  A@po>main=2                -> 201",
	     "get      P1                         -> A@main=4 lines=1",
	     "get      R3                         -> A@main=1 A@po=1",
	     "arrival  A@po>main=1                -> 201",
	     "get      R3                         -> A@main=2 lines=1",
	     "sql      SELECT COUNT(*) FROM waiting_line -> 0",
	     "run      audit                      -> 0");
}

/* A line that waits puts a confirmed order aside; without one it is due. */
Test(amend, into_a_queue_and_out_of_it)
{
	flow(PO,
	     "receipt  A@po +20 A +5              -> 201",
	     "reserve  R1 A=2 confirm=true        -> 201",
	     "amend    R1 A=2 A@po=3              -> 200 confirmed lines[1].waiting=true",
	     "claim    settle w                   -> 204",
	     "amend    R1 A=3                     -> 200 A=3",
	     "claim    settle w                   -> 201 R1",
	     "give-back 1                         -> 200",
	     "amend    R1 A@po=1                  -> 200",
	     "claim    settle w                   -> 204",
	     "arrival  A@po>main=1                -> 201",
	     "claim    settle w                   -> 201 R1",
	     "complete 2 R1                       -> 200",
	     "sku      A                          -> available=5 on_hand=5",
	     "reserve  R2 A@po=4 waits_since=-600 confirm=true -> 201",
	     "reserve  R3 A@po=4 confirm=true     -> 201",
	     "amend    R2 A@po=5                  -> 200",
	     "adjust   A -1                       -> 201",
	     QUEUE("items[0].order_id=R2 items[0].qty=4 items[1].order_id=R3 items[2].order_id=R2 items[2].qty=1"),
	     "run      audit                      -> 0");
}

/* Units of a line at a location with a queue are not taken from those that wait. */
Test(amend, at_a_location_with_a_queue)
{
	flow(PO,
	     "raw PUT /v1/locations/main {'kind':'stock','waits_at':'po'} -> 201",
	     "receipt  A@po +20 A +3              -> 201",
	     "reserve  R1 A=2 confirm=true        -> 201",
	     "amend    R1 A=3                     -> 200",
	     "reserve  R2 A@po=4 confirm=true     -> 201",
	     "amend    R1 A=1                     -> 200",
	     "wait     get R2                     -> A@main=2 A@po=2",
	     "amend    R1 A=2                     -> 409 short A requested=2 available=1",
	     "run      audit                      -> 0");
}

/* ---- many at once */

Test(amend, whoever_comes_second_sees_the_first)
{
	int64_t version;

	flow_begin();
	flow_steps("second",
	           "receipt  A +1000 B +1000          -> 201",
	           "reserve  R1 A=4                   -> 201");
	version = trap_number("SELECT changed FROM reservation");
	flow_step("race 8*8 amend R1 A=1 B=2 if_version=%lld || amend R1 A=2 if_version=%lld -> *x 200 | *x 200 "
	          "replayed | *x 409 changed",
	          (long long)version, (long long)version);
	flow_step("sql SELECT COUNT(DISTINCT changed) FROM reservation_amend -> 1");
	flow_end();
}

Test(amend, storm)
{
	flow("second",
	     "receipt  A +60 B +60 C +60          -> 201",
	     "race 6*1 reserve R# A=3 B=1         -> 6x 201",
	     "race 8*60 amend R0 A=5 || amend R0 B=3 C=1 || amend R1 A=2 C=9 || amend R1 A=30 ||"
	     " amend R2 B=9 || split R2 P# B=1 || confirm R3 || amend R3 A=1 C=4 || amend R4 C=60 ||"
	     " amend R4 A=1 || amend R5 A=4 mode=best_effort || amend R5 A=60 mode=best_effort"
	     " -> *x 200 | *x 200 replayed | *x 201 | *x 409 short | *x 422",
	     "run      audit                      -> 0");
}

/* A service that dies has changed an order whole, or not at all. */
Test(amend, while_the_service_dies)
{
	static const char steps[] = "amend R0 A=1# || amend R1 B=1# A=1 || amend R2 A=3# B=2 || split R3 P# A=1 ||"
				    " amend R3 A=90 || confirm R1 || amend R1 A=1#";

	flow_begin();
	flow_steps("receipt  A +1000 B +1000              -> 201",
	           "race 4*1 reserve R# A=5               -> 4x 201");
	for (int i = 0; i < 4; i++) {
		struct race *race = flow_race("6*60", steps);

		usleep(150000);
		flow_step("kill");
		trap_raced(race, "*x 200 | *x 200 replayed | *x 201 | *x 409 | *x 422 | *x 503 | *x lost");
		flow_step("run audit -> 0");
	}
	flow_end();
}

/* Workers and a change of lines: the worker gets the order with these lines, or loses it. */
Test(amend, beside_workers)
{
	flow_begin();
	flow_step("receipt A +1000 -> 201");
	for (int i = 0; i < 30; i++) {
		flow_step("reserve R%d A=2 confirm=true -> 201", i);
		flow_step("race 3 amend R%d A=3 || claim settle w || amend R%d A=4 force=true"
		          " -> *x 200 | *x 201 | *x 204 | *x 409 claimed",
		          i, i);
	}
	flow_steps("run      audit                            -> 0",
	           "work     settle                           -> 0");
	flow_end();
}
