/* test_sales.c - stops of sales: of skus and at locations. Which orders are refused, what goes on, how answers and
 * events tell it, and that another process knows of a stop from the moment of its answer on. */
#include "engine/base/clock.h"
#include "tests/kit/drill.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <unistd.h>

#define STOP(sku)     "raw PUT /v1/skus/" sku " {'for_sale':false} -> 200 for_sale=false"
#define START(sku)    "raw PUT /v1/skus/" sku " {'for_sale':true} -> 200 !for_sale !reason"
#define CLOSE(place)  "raw PUT /v1/locations/" place " {'for_sale':false} -> 200 for_sale=false"
#define REOPEN(place) "raw PUT /v1/locations/" place " {'for_sale':true} -> 200 !for_sale !reason"
#define PO            "raw PUT /v1/locations/po {'kind':'incoming'} -> 201"
#define WAITS         "raw PUT /v1/locations/main {'waits_at':'po'} -> 200 waits_at=po"

Test(sales, of_a_sku_are_stopped)
{
	flow("receipt A +10 B +5                              -> 201",
	     "reserve R1 A=2                                  -> 201",
	     "raw PUT /v1/skus/A {'for_sale':false,'reason':'recall of lot 17'}"
	     "                                                -> 200 sku=A for_sale=false '~recall of lot 17'",
	     "raw PUT /v1/skus/A {'for_sale':false,'reason':'recall of lot 17'} -> 200 for_sale=false",
	     "reserve R2 A=1                                  -> 409 not_for_sale lines=1 lines[0].sku=A"
	     " lines[0].location=main !lines[0].requested",
	     "reserve R2 A=1 B=1                              -> 409 not_for_sale lines=1 A location=main",
	     "reserve R2 A=1 B=9                              -> 409 not_for_sale lines=1 A location=main",
	     "reserve R2 B=1                                  -> 201",
	     "reserve R1 A=2                                  -> 200 replayed held",
	     "batch   R3 A=1 | R4 B=1                         -> 409 not_for_sale | 201 held",
	     "sku     A -> available=0 reserved=2 on_hand=10 stopped=8 for_sale=false '~recall of lot 17'"
	     " @main available=0 @main reserved=2 @main on_hand=10 @main stopped=8",
	     "sku     A max_age=60000                         -> available=0 stopped=8 for_sale=false",
	     "availability A B -> 200 A available=0 A stopped=8 A for_sale=false B available=3 B !for_sale",
	     "skus             -> 200 A available=0 A for_sale=false B available=3 B !for_sale",
	     "raw POST /v1/availability {'baskets':[{'id':'b','lines':[{'sku':'A','qty':1}]}]}"
	     "                                                -> 200 baskets[0].available=0",
	     "confirm R1                                      -> 200 confirmed",
	     "claim   settle w                                -> 201 R1",
	     "complete 1                                      -> completed=1",
	     "receipt A +3                                    -> 201",
	     "adjust  A -1                                    -> 201",
	     "sku     A -> available=0 reserved=0 on_hand=10 stopped=10",
	     START("A"),
	     "reserve R3 A=10                                 -> 201",
	     "sku     A -> available=0 reserved=10 on_hand=10 !stopped !for_sale !reason",
	     "run     audit                                   -> 0");
}

Test(sales, at_a_location_are_stopped)
{
	flow("receipt A +5 A@shop +5                          -> 201",
	     "reserve R1 A@shop=1                             -> 201",
	     "raw PUT /v1/locations/shop {'for_sale':false,'reason':'flooded'}"
	     "                                                -> 200 location=shop kind=stock for_sale=false"
	     " reason=flooded",
	     "raw GET /v1/locations/shop                      -> 200 kind=stock for_sale=false reason=flooded",
	     "raw GET /v1/locations                           -> 200 items=main,shop !items[0].for_sale"
	     " items[1].for_sale=false",
	     "reserve R2 A@shop=1                             -> 409 not_for_sale lines=1 lines[0].location=shop",
	     "reserve R2 A=1                                  -> 201 A=1",
	     "sku     A -> available=4 reserved=2 on_hand=10 stopped=4 !for_sale @shop available=0 @shop stopped=4"
	     " @shop reserved=1 @shop on_hand=5 @shop for_sale=false @main available=4",
	     "raw POST /v1/availability {'skus':['A'],'locations':['shop']}"
	     "                                                -> 200 A available=0 A stopped=4 A for_sale=false",
	     "raw POST /v1/availability {'skus':['A'],'locations':['shop','main']} -> 200 A available=4 A !for_sale",
	     "raw PUT /v1/locations/shop {'kind':'stock'}     -> 200 for_sale=false reason=flooded",
	     "receipt A@shop +1                               -> 201",
	     "transfer A@shop>main=2                          -> 201",
	     "sku     A -> available=6 stopped=3",
	     "confirm R1                                      -> 200",
	     "claim   settle w                                -> 201 R1",
	     "complete 1                                      -> completed=1",
	     REOPEN("shop"),
	     "reserve R3 A@shop=3                             -> 201",
	     "raw PUT /v1/locations/new {'for_sale':false}    -> 201 kind=stock for_sale=false",
	     "run     audit                                   -> 0");
}

/* Of several locations a stopped one is passed over. */
Test(sales, lists_of_locations_pass_over_a_stopped_one)
{
	flow("receipt A@x +5 A@y +5                           -> 201",
	     CLOSE("x"),
	     "reserve R1 A@x,y=2                              -> 201 A@y=2 lines=1",
	     "reserve R2 A@x+y=2                              -> 201 A@y=2 lines=1",
	     "reserve R3 A@x+y=2                              -> 409 short lines[0].requested=2 lines[0].available=1",
	     "reserve R3 A@x,=1                               -> 409 not_for_sale lines[0].location=x",
	     CLOSE("y"),
	     "reserve R3 A@x,y=1                              -> 409 not_for_sale lines[0].locations=x,y",
	     REOPEN("x"),
	     "reserve R3 A@y+x=3                              -> 201 A@x=3 lines=1",
	     REOPEN("y"),
	     STOP("A"),
	     "reserve R4 A@x,y=1                              -> 409 not_for_sale lines[0].locations=x,y",
	     "reserve R4 A@x+y=1                              -> 409 not_for_sale",
	     START("A"),
	     "reserve R4 A@x+y=3                              -> 201 A@x=2 A@y=1");
}

Test(sales, best_effort_gets_nothing_of_it)
{
	flow("receipt A +5 B +5 B@x +5                        -> 201",
	     STOP("A"),
	     "reserve R1 A=2 B=2 mode=best_effort             -> 201 B=2 lines=1 short A requested=2 available=0",
	     "reserve R1 A=2 B=2 mode=best_effort             -> 200 replayed B=2 short A requested=2",
	     "reserve R2 A=2 mode=best_effort                 -> 409 not_for_sale lines=1 lines[0].sku=A",
	     "reserve R2 A=2 B=9 mode=best_effort             -> 201 B=3 lines=1 short A available=0 B available=3",
	     "reserve R3 A=2 B=9 mode=best_effort             -> 409 not_for_sale lines=1 A location=main",
	     CLOSE("main"),
	     "reserve R3 B@main+x=7 mode=best_effort          -> 201 B@x=5 lines=1 short",
	     "reserve R4 B@main+x=7 mode=best_effort          -> 409 short",
	     "reserve R4 B@main,=7 mode=best_effort           -> 409 not_for_sale");
}

/* A best effort is refused for a stop only if there is no unit of the rest, whatever a lane remembers of that. */
Test(sales, best_effort_is_refused_for_certain)
{
	flow("serve   --lanes 1                               -> ",
	     "second  --lanes 1 --slot 5                      -> ",
	     "receipt A +5 B +1                               -> 201",
	     "reserve R1 B=1                                  -> 201",
	     "@2 release R1                                   -> 200",
	     STOP("A"),
	     "reserve R2 A=1 B=1 mode=best_effort             -> 201 B=1 lines=1",
	     "reserve R3 A=1 B=1 mode=best_effort             -> 409 not_for_sale A location=main");
}

/* Stops are told before limits, and with all lines that they hold back. */
Test(sales, are_told_before_a_limit)
{
	flow("receipt A@main +5 A@berlin +5 A@paris +5 B +5   -> 201",
	     "limit   A 1                                     -> 200",
	     "limit   B 1                                     -> 200",
	     "reserve R1 A@paris=1 B=1 customer=C             -> 201",
	     "raw PUT /v1/locations/main {'for_sale':false}   -> 200",
	     "reserve R2 A@berlin+main=1 A=1 B=1 customer=C mode=best_effort -> 409 not_for_sale A B lines=2"
	     " lines[0].location=main",
	     "raw PUT /v1/locations/main {'for_sale':true}    -> 200",
	     "reserve R2 A@berlin+main=1 A=1 B=1 customer=C mode=best_effort -> 409 limit_reached A B lines=2");
}

/* Units that an order has stay its own; those that it would get beside are refused. */
Test(sales, changes_of_orders)
{
	flow("receipt A +10 B +10                             -> 201",
	     "reserve R1 A=3 B=1                              -> 201",
	     "reserve R2 A=3 confirm=true                     -> 201",
	     STOP("A"),
	     "amend   R1 A=4 B=1                              -> 409 not_for_sale lines=1 A location=main",
	     "amend   R1 A=3 B=4                              -> 200 A=3 B=4",
	     "amend   R1 A=2 B=4                              -> 200 A=2 B=4",
	     "amend   R1 A=3 B=4                              -> 409 not_for_sale lines=1",
	     "amend   R1 A=5 B=5 mode=best_effort             -> 200 A=2 B=5 short A requested=5 available=2",
	     "amend   R2 A=3                                  -> 200 replayed",
	     "hold    R2                                      -> 200",
	     "amend   R2 A=4                                  -> 409 not_for_sale",
	     "amend   R2 A=2 B=1                              -> 200 A=2 B=1",
	     "off-hold R2                                     -> 200",
	     "reserve R3 A=3 replaces=R1                      -> 409 not_for_sale",
	     "reserve R3 A=2 B=1 replaces=R1                  -> 201 A=2 B=1",
	     "split   R3 R4 A=1                               -> 201 A=1",
	     "extend  R3 ttl=60                               -> 200",
	     "release R3                                      -> 200",
	     "sku     A -> available=0 reserved=3 stopped=7",
	     START("A"),
	     "amend   R2 A=9 B=1                              -> 200 A=9 B=1",
	     "run     audit                                   -> 0");
}

Test(sales, changes_of_orders_at_locations)
{
	flow("receipt A@x +5 A@y +5                           -> 201",
	     "reserve R1 A@x=3                                -> 201",
	     CLOSE("x"),
	     "amend   R1 A@x=4                                -> 409 not_for_sale lines=1 lines[0].location=x",
	     "amend   R1 A@x,y=3                              -> 200 replayed A@x=3",
	     "amend   R1 A@x+y=5                              -> 200 A@x=3 A@y=2",
	     "amend   R1 A@x+y=9                              -> 409 short lines[0].requested=9 lines[0].available=8",
	     "amend   R1 A@x=2 A@y=4                          -> 200 A@x=2 A@y=4",
	     "amend   R1 A@x,=3                               -> 409 not_for_sale lines[0].location=x",
	     "amend   R1 A@x,=2                               -> 200 A@x=2 lines=1",
	     "hold    R1                                      -> 200",
	     "amend   R1 A@x+y=3                              -> 200 A@x=2 A@y=1",
	     "amend   R1 A@x=3 A@y=1                          -> 409 not_for_sale",
	     "off-hold R1                                     -> 200",
	     CLOSE("y"),
	     "amend   R1 A@x+y=4                              -> 409 not_for_sale lines[0].locations=x,y",
	     "amend   R1 A@y+x=3                              -> 200 replayed",
	     "reserve R2 A@x+y=3 replaces=R1                  -> 201 A@x=2 A@y=1",
	     "reserve R3 A@x+y=4 replaces=R2                  -> 409 not_for_sale",
	     REOPEN("y"),
	     "reserve R3 A@x+y=4 replaces=R2                  -> 201",
	     "run     audit                                   -> 0");
}

/* A hold that has expired is not acquired anew, whether its units were given back or not. */
Test(sales, reacquisitions)
{
	flow("receipt A +5 A@x +5                             -> 201",
	     "reserve R1 A=1 ttl=1                            -> 201",
	     "reserve R2 A=1 ttl=1                            -> 201",
	     "reserve R3 A@x=1 ttl=1                          -> 201",
	     "reserve R4 A=1 ttl=60                           -> 201",
	     "tick    2",
	     STOP("A"),
	     "confirm R1 reacquire                            -> 409 not_for_sale lines=1 lines[0].sku=A",
	     "confirm R4 reacquire                            -> 200 confirmed !reacquired",
	     "work    expire",
	     "confirm R1 reacquire                            -> 409 not_for_sale",
	     "confirmations R1 R2 reacquire                   -> 409 not_for_sale | 409 not_for_sale",
	     "confirm R1                                      -> 409 expired",
	     START("A"),
	     CLOSE("x"),
	     "confirm R3 reacquire                            -> 409 not_for_sale lines[0].location=x",
	     "confirm R1 reacquire                            -> 200 confirmed reacquired",
	     REOPEN("x"),
	     "confirm R3 reacquire                            -> 200 reacquired");
}

Test(sales, preorders_stop_too)
{
	flow(PO,
	     "receipt A@po +10 B@po +10                       -> 201",
	     "reserve R1 A@po=2 confirm=true                  -> 201",
	     STOP("A"),
	     "reserve R2 A@po=1                               -> 409 not_for_sale lines[0].location=po",
	     "sku     A -> available=0 reserved=0 on_hand=0 for_sale=false incoming.available=0 incoming.reserved=2"
	     " incoming.stopped=8 @po available=0 @po stopped=8",
	     CLOSE("po"),
	     START("A"),
	     "reserve R2 A@po=1                               -> 409 not_for_sale lines[0].location=po",
	     "amend   R1 A@po=3                               -> 409 not_for_sale",
	     "raw POST /v1/availability {'skus':['A'],'locations':['po']}"
	     "                                                -> 200 A available=0 A reserved=2 A stopped=8 A"
	     " for_sale=false",
	     REOPEN("po"),
	     "amend   R1 A@po=3                               -> 200 A@po=3",
	     "run     audit                                   -> 0");
}

/* Units that become free go to no order until sales go on; then the queue is served. */
Test(sales, freed_units_go_to_no_order)
{
	flow_begin();
	flow_steps(PO,
	           "receipt A +2 A@po +10                           -> 201",
	           WAITS,
	           "reserve R1 A=2                                  -> 201",
	           "reserve R2 A@po=2 confirm=true                  -> 201",
	           STOP("A"),
	           "release R1                                      -> 200");
	usleep(1000000); /* the chore walks every 0.2 s */
	flow_steps("get     R2                                      -> A@po=2 lines=1",
	           "sku     A -> available=0 reserved=0 on_hand=2 stopped=2",
	           START("A"),
	           "wait get R2                                     -> A=2 lines=1",
	           "receipt A +1                                    -> 201",
	           "reserve R3 A=1                                  -> 201",
	           "reserve R4 A@po=1 confirm=true                  -> 201",
	           CLOSE("main"),
	           "release R3                                      -> 200");
	usleep(1000000);
	flow_steps("get     R4                                      -> A@po=1 lines=1",
	           "sku     A -> available=0 reserved=2 on_hand=3 stopped=1",
	           REOPEN("main"),
	           "wait get R4                                     -> A=1 lines=1",
	           "run     audit                                   -> 0");
	flow_end();
}

Test(sales, arrivals_stay_open)
{
	flow_begin();
	flow_steps(PO,
	           "receipt A@po +10 B@po +10                       -> 201",
	           "reserve R1 A@po=2 B@po=2 confirm=true           -> 201",
	           STOP("A"),
	           "arrival M1 A@po>main=4 B@po>main=4              -> 201",
	           "wait get R1                                     -> A@po=2 B=2",
	           "movement M1 -> lines[0].filled=0 lines[0].for_sale=0 lines[1].filled=2 lines[1].for_sale=2");
	usleep(1000000);
	flow_steps("sql SELECT COUNT(*), SUM(units) FROM arrival_open -> 1,4",
	           "sql SELECT MAX(due_at) <= UTC_TIMESTAMP(3) FROM arrival_open -> 1", /* any service may serve it */
	           "get     R1                                      -> A@po=2 B=2",
	           START("A"),
	           "wait get R1                                     -> A=2 B=2",
	           "wait sql SELECT COUNT(*) FROM arrival_open      -> 0",
	           "movement M1 -> lines[0].filled=2 lines[0].for_sale=2",
	           CLOSE("main"),
	           "arrival M2 A@po>main=4                          -> 201 lines[0].filled=0 lines[0].for_sale=0");
	usleep(1000000);
	flow_steps("sql SELECT COUNT(*), SUM(units) FROM arrival_open -> 1,4",
	           "sql SELECT MAX(due_at) <= UTC_TIMESTAMP(3) FROM arrival_open -> 1",
	           REOPEN("main"),
	           "wait sql SELECT COUNT(*) FROM arrival_open      -> 0",
	           "sku     A -> available=6 reserved=2",
	           "run     audit                                   -> 0");
	flow_end();
}

/* A stop at the location of the queue stops preorders; orders that wait there get what arrives. */
Test(sales, a_stopped_queue_is_served)
{
	flow(PO,
	     "receipt A@po +10                                -> 201",
	     "reserve R1 A@po=2 confirm=true                  -> 201",
	     CLOSE("po"),
	     "arrival M1 A@po>main=4                          -> 201 lines[0].filled=2 lines[0].for_sale=2",
	     "get     R1                                      -> A=2 lines=1",
	     "reserve R2 A=2                                  -> 201");
}

Test(sales, many_skus_in_one_call)
{
	flow("receipt A +1 B +1 C +1                          -> 201",
	     "raw POST /v1/skus/for_sale {'skus':['C','GHOST','A'],'for_sale':false,'reason':'recall'}"
	     "                                                -> 200 items=C,GHOST,A items[0].for_sale=false"
	     " items[1].code=unknown_sku items[2].for_sale=false",
	     "reserve R1 A=1                                  -> 409 not_for_sale",
	     "reserve R1 C=1                                  -> 409 not_for_sale",
	     "reserve R1 B=1                                  -> 201",
	     "sku     C                                       -> for_sale=false reason=recall",
	     "raw POST /v1/skus/for_sale {'skus':['A','B','C'],'for_sale':true}"
	     "                                                -> 200 items[0].for_sale=true items[2].for_sale=true",
	     "reserve R2 A=1 C=1                              -> 201",
	     "events  types=movement.receipt,sku.for_sale,reservation.held -> 200 items=movement.receipt,"
	     "sku.for_sale,sku.for_sale,reservation.held,sku.for_sale,sku.for_sale,reservation.held items[1].data.sku=A"
	     " items[2].data.sku=C items[2].data.for_sale=false items[2].data.reason=recall items[4].data.for_sale=true"
	     " !items[4].data.reason",
	     "raw POST /v1/skus/for_sale {'skus':['A','A'],'for_sale':true} -> 400 field=skus",
	     "raw POST /v1/skus/for_sale {'skus':[],'for_sale':true} -> 400 field=skus",
	     "raw POST /v1/skus/for_sale {'skus':['A']}       -> 400 field=for_sale",
	     "raw POST /v1/skus/for_sale {'skus':['A'],'for_sale':true,'reason':'x'} -> 400 field=reason",
	     "raw POST /v1/skus/for_sale {'skus':['A'],'for_sale':1} -> 400 field=for_sale",
	     "run     audit                                   -> 0");
}

Test(sales, a_thousand_skus)
{
	flow_begin();
	flow_repeat("receipt", " S# +1", 1000, " -> 201");
	flow_repeat("raw POST /v1/skus/for_sale {'for_sale':false,'skus':['S0'", ",'S#x'", 998, "]} -> 200 items=*");
	flow_steps("reserve R1 S0=1                                 -> 409 not_for_sale",
	           "reserve R1 S1=1                                 -> 201");
	flow_repeat("raw POST /v1/skus/for_sale {'for_sale':false,'reason':'all','skus':['G'", ",'S#'", 999,
	            "]} -> 200 items=*");
	flow_steps("reserve R2 S1=1                                 -> 409 not_for_sale",
	           "reserve R2 S998=1                               -> 409 not_for_sale",
	           "reserve R2 S999=1                               -> 201",
	           "run     audit                                   -> 0");
	flow_repeat("raw POST /v1/skus/for_sale {'for_sale':false,'skus':['S0'", ",'T#'", 1000, "]} -> 400 field=skus");
	flow_end();
}

/* All that a PUT says of a sku is one change. */
Test(sales, a_put_says_all_at_once)
{
	flow("raw PUT /v1/skus/T"
	     " {'name':'Teapot','barcodes':['1','2'],'per_customer':3,'for_sale':false,'reason':'soon'}"
	     " -> 201 sku=T name=Teapot barcodes=2 per_customer=3 for_sale=false reason=soon",
	     "sku     T -> available=0 name=Teapot per_customer=3 for_sale=false reason=soon",
	     "receipt T +9                                    -> 201",
	     "reserve R1 T=1 customer=c                       -> 409 not_for_sale",
	     "reserve R1 T=1                                  -> 409 not_for_sale",
	     "reserve R1 T=5 customer=c                       -> 409 not_for_sale",
	     "raw PUT /v1/skus/T {'reason':'never'}           -> 400 field=reason",
	     "raw PUT /v1/skus/T {'for_sale':true,'reason':'never'} -> 400 field=reason",
	     "raw PUT /v1/skus/T {'for_sale':null}            -> 400 field=for_sale",
	     "raw PUT /v1/skus/T {'name':'Pot'}               -> 200 name=Pot barcodes=2 per_customer=3 for_sale=false"
	     " reason=soon",
	     "raw PUT /v1/skus/T {'for_sale':false}           -> 200 name=Pot for_sale=false !reason",
	     "raw PUT /v1/skus/T {'for_sale':true,'per_customer':2,'barcodes':null,'name':null}"
	     "                                                -> 200 per_customer=2 !barcodes !name !for_sale !reason",
	     "reserve R1 T=3 customer=c                       -> 409 limit_reached",
	     "reserve R1 T=1                                  -> 422 customer_required",
	     "reserve R1 T=2 customer=c                       -> 201",
	     "raw PUT /v1/skus/T {'for_sale':true,'per_customer':1} -> 200 per_customer=1",
	     "reserve R2 T=1 customer=c                       -> 409 limit_reached",
	     "events  types=sku.for_sale                      -> 200 items=sku.for_sale,sku.for_sale,sku.for_sale"
	     " items[0].data.sku=T items[0].data.reason=soon !items[1].data.reason items[2].data.for_sale=true",
	     "run     audit                                   -> 0");
}

Test(sales, are_told_with_the_key)
{
	flow("keys    boss admin | shop order                 -> ",
	     "key     boss",
	     "receipt A +5                                    -> 201",
	     "key     shop",
	     "raw PUT /v1/skus/A {'for_sale':false}           -> 403",
	     "raw POST /v1/skus/for_sale {'skus':['A'],'for_sale':false} -> 403",
	     "raw PUT /v1/locations/main {'for_sale':false}   -> 403",
	     "key     boss",
	     STOP("A"),
	     STOP("A"),
	     CLOSE("main"),
	     CLOSE("main"),
	     REOPEN("main"),
	     START("A"),
	     START("A"),
	     "events types=sku.for_sale,location.for_sale     -> 200"
	     " items=sku.for_sale,location.for_sale,location.for_sale,"
	     "sku.for_sale items[0].by=boss items[0].data.sku=A items[1].by=boss items[1].data.location=main"
	     " items[1].data.for_sale=false items[2].data.for_sale=true items[3].data.for_sale=true");
}

/* A stop is no change of a level: nothing has left. What mirrors the shop's stock hears of it. */
Test(sales, levels_do_not_follow)
{
	flow("serve   --lanes 1 --stock-changed               -> ",
	     LEVELS_WATCHED,
	     STOCK_WISHED,
	     "receipt A +5                                    -> 201",
	     "wait events types=stock.changed                 -> 200 ~available:5,reserved:0,on_hand:5",
	     STOP("A"),
	     "wait events types=stock.changed                 -> 200 ~available:0,reserved:0,on_hand:5",
	     "adjust  A -5                                    -> 201",
	     "wait events types=stock.out                     -> 200 items=stock.out items[0].data.location=main",
	     "receipt A +5                                    -> 201",
	     "wait events types=stock.back                    -> 200 items=stock.back items[0].data.available=5");
}

Test(sales, by_command)
{
	flow("receipt A +5                                    -> 201",
	     "run     sku A --stop 'recall of lot 17'         -> 0 '~A is not for sale: recall of lot 17'",
	     "reserve R1 A=1                                  -> 409 not_for_sale",
	     "sku     A                                       -> for_sale=false '~recall of lot 17'",
	     "run     show sku A                              -> 0 '~recall of lot 17'",
	     "run     sku A --start --json                    -> 0 sku=A for_sale=true",
	     "reserve R1 A=1                                  -> 201",
	     "run     sku GHOST --start                       -> 1 '~there is no such sku'",
	     "run     sku A                                   -> 64 ~--stop",
	     "run     sku A --start --stop x                  -> 64 ~--stop",
	     "run     sku --start                             -> 64 ~--stop");
}

/* What one process stops no other one sells, however long that one was idle. */
Test(sales, of_an_idle_process)
{
	enum { ROUNDS = 12, PAUSES = 3 };
	static const int pauses_ms[PAUSES] = {0, 200, 1700}; /* limits alone are read once in 1.5 s */

	flow_begin();
	flow_steps("second --lanes 2 --slot 5",
	           "receipt A +1000 A@x +1000 -> 201",
	           "@2 reserve W A=1 A@x=1 -> 201");
	for (int i = 0; i < ROUNDS; i++) {
		usleep((unsigned)pauses_ms[i % PAUSES] * 1000);
		flow_step(i % 2 ? STOP("A") : CLOSE("x"));
		usleep(1000);
		for (int k = 0; k < 4; k++)
			flow_step("@2 reserve N%d-%d A@x=1 -> 409 not_for_sale", i, k);
		flow_step("@2 sku A -> %s", i % 2 ? "available=0 for_sale=false" : "@x available=0 @x for_sale=false");
		flow_step(i % 2 ? "@2 " START("A") : "@2 " REOPEN("x"));
		flow_step("reserve Y%d A@x=1 -> 201", i);
		flow_step("release Y%d -> 200", i);
	}
	flow_step("@2 confirm W -> 200");
	flow_step("run audit -> 0");
	flow_end();
}

/* Stops that come while another one is written share one transaction, and shut the writers out once. Each has its own
 * answer and its own event; what a call says beside the stop holds, too. */
Test(sales, stops_that_come_together)
{
	struct race *race, *named;
	int64_t      turns;

	flow_begin();
	flow_steps("race 20 raw PUT /v1/skus/S# {} -> 20x 201",
	           "raw PUT /v1/skus/T {}          -> 201",
	           "receipt S3 +1                  -> 201");
	trap_lock("SELECT mark FROM identity FOR UPDATE");
	race = flow_race("20", "raw PUT /v1/skus/S# {'for_sale':false,'reason':'r'}");
	named = flow_race("1", "raw PUT /v1/skus/T {'for_sale':false,'reason':'r','name':'tea'}");
	usleep(700000);
	turns = trap_number("SELECT n FROM location_kinds");
	trap_unlock();
	trap_raced(race, "20x 200 for_sale=false reason=r");
	trap_raced(named, "1x 200 for_sale=false name=tea");
	cr_expect_leq(trap_number("SELECT n FROM location_kinds") - turns, 4, "each stop shut the writers out");
	flow_steps("events types=sku.for_sale limit=100 -> items=21",
	           "reserve R1 S3=1                     -> 409 not_for_sale",
	           "race 20 raw PUT /v1/skus/S# {'for_sale':true} -> 20x 200 !for_sale",
	           "reserve R1 S3=1                     -> 201",
	           "run audit                           -> 0");
	flow_end();
}

/* Orders of two processes race with stops: behind the answer to a stop no order of the sku has come. */
Test(sales, beside_orders, DRILL)
{
	static const char orders[] = "SELECT COUNT(*) FROM reservation_line JOIN sku USING (sku_id) WHERE code = 'A'";
	struct race      *race;

	flow_begin();
	flow_step("second --lanes 2 --slot 5");
	flow_step("receipt A +1000000 B +1000000 -> 201");
	race = flow_race("8*1500", "reserve R# A=1 || reserve S# A=1 B=1 || reserve U# B=1");
	for (int i = 0; i < 10; i++) {
		int64_t then;

		usleep(20000);
		flow_step(i % 2 ? "@2 " STOP("A") : STOP("A"));
		then = trap_number("%s", orders);
		usleep(20000);
		cr_expect_eq(trap_number("%s", orders), then, "an order has come behind the stop");
		flow_step(i % 3 ? "@2 " START("A") : START("A"));
	}
	trap_raced(race, "*x 201 | *x 409 not_for_sale");
	flow_step("run audit -> 0");
	flow_end();
}
