/* test_atomic.c - calls on several orders with "atomic": true: all of their items are done, or none. What a refused
 * call tells and leaves behind, repeats, and that the lane takes, parks and answers the items as one. */
#include "engine/base/clock.h"
#include "tests/kit/patience.h"
#include "tests/kit/proxy.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

#define BATCH         "raw POST /v1/reservations/batch "
#define CONFIRMATIONS "raw POST /v1/confirmations "

Test(atomic, all_or_none)
{
	flow("receipt A +10 B +1                       -> 201",
	     "batch atomic R1 A=4 ttl=60 | R2 A=3 B=1  -> 201 held order_id=R1 A=4 created_at=~0 expires_at=~60"
	     " | 201 held order_id=R2 A=3 B=1 expires_at=~900",
	     "mark",
	     "batch atomic R3 A=2 | R4 B=1 | R5 A=1    -> 409 not_all results=3"
	     " | 424 not_done order_id=R3 !lines !state | 409 short order_id=R4 B requested=1 available=0"
	     " | 424 not_done order_id=R5",
	     "unchanged",
	     "get     R3                               -> 404 unknown_order",
	     "get     R4                               -> 404 unknown_order",
	     "sku     A                                -> available=3 reserved=7",
	     "batch atomic R3 A=3                      -> 201 held",
	     "batch atomic R4 A=1                      -> 409 not_all results=1 | 409 short A requested=1 available=0",
	     "confirm R1                               -> confirmed");
}

/* What is refused takes nothing from the items behind it, and an item that is not the reason does not say why it would
 * have been refused behind others. */
Test(atomic, items_are_judged_in_their_order)
{
	flow("receipt A +10 B +5                       -> 201",
	     "batch atomic R1 A=6 | R2 A=5 | R3 A=4 | R4 A=1 -> 409 not_all"
	     " | 424 not_done | 409 short A requested=5 available=4 | 424 not_done"
	     " | 409 short A requested=1 available=0",
	     "batch atomic R1 A=6 | R2 GHOST=5 | R3 A=11 B=6 | R4 A=1 -> 409 not_all"
	     " | 424 not_done | 422 unknown_sku GHOST | 409 short lines=2 A requested=11 available=4 B available=5"
	     " | 424 not_done",
	     "batch atomic R1 A=6 | R2 A=4             -> 201 | 201",
	     "sku     A                                -> available=0 reserved=10");
}

Test(atomic, items_replace_confirm_and_take_what_there_is)
{
	flow("receipt A +10 B +4                       -> 201",
	     "reserve OLD A=6 B=1                      -> 201",
	     "batch atomic R1 A=8 replaces=OLD confirm=true | R2 B=9 mode=best_effort | R3 A=2 reference=gift ->"
	     "   201 confirmed order_id=R1 A=8 confirmed_at=~0"
	     " | 201 held B=3 short B requested=9 available=3"
	     " | 201 held A=2 reference=gift",
	     "get     OLD                              -> released replaced_by=R1",
	     "sku     A                                -> available=0 reserved=10",
	     "sku     B                                -> available=1 reserved=3",
	     "batch atomic R4 B=2 mode=best_effort | R5 A=9 replaces=R3 -> 409 not_all"
	     " | 424 not_done !short | 409 short A requested=9 available=2",
	     "get     R3                               -> held A=2 !replaced_by",
	     "batch atomic R4 B=2 mode=best_effort | R5 A=1 replaces=R1 confirm=true | R6 A=1 replaces=R0"
	     " -> 409 not_all | 424 not_done | 424 not_done | 422 unknown_order field=replaces",
	     "get     R1                               -> confirmed A=8",
	     "batch atomic R4 B=1 mode=best_effort | R5 A=1 replaces=R3 -> 201 held B=1 !short | 201 held A=1",
	     "sku     A                                -> available=1 reserved=9");
}

/* The second of two best efforts has what the first leaves. Where nothing is left, that is a reason. */
Test(atomic, best_efforts)
{
	flow("receipt A +10 B +1                       -> 201",
	     "batch atomic R1 A=8 mode=best_effort | R2 A=8 mode=best_effort ->"
	     " 201 A=8 !short | 201 A=2 short A requested=8 available=2",
	     "batch atomic R3 B=1 | R4 A=8 mode=best_effort -> 409 not_all"
	     " | 424 not_done | 409 short A requested=8 available=0",
	     "sku     B                                -> available=1");
}

Test(atomic, repeats)
{
	flow("receipt A +10                            -> 201",
	     "batch atomic R1 A=4 | R2 A=1 | R3 A=5    -> 201 | 201 | 201",
	     "batch atomic R1 A=4 | R2 A=1 | R3 A=5    -> 200 held replayed A=4 | 200 held replayed A=1"
	     " | 200 held replayed A=5",
	     "batch R1 A=4 | R2 A=1                    -> 200 held replayed | 200 held replayed",
	     "reserve R1 A=4                           -> 200 held replayed",
	     "confirm R2                               -> confirmed",
	     "batch atomic R3 A=5 | R2 A=1 | R1 A=4    -> 200 held replayed | 200 confirmed replayed"
	     " | 200 held replayed",
	     /* some exist: they are granted, and the others are made or not */
	     "batch atomic R1 A=4 | R4 A=1             -> 409 not_all | 424 not_done order_id=R1"
	     " | 409 short A requested=1 available=0",
	     "get     R1                               -> held A=4",
	     "receipt A +2                             -> 201",
	     "batch atomic R1 A=4 | R4 A=1 | R5 A=1    -> 200 held replayed | 201 held | 201 held",
	     "batch atomic R1 A=4 | R4 A=1 | R5 A=1    -> 200 held replayed | 200 held replayed | 200 held replayed",
	     /* what became of an order since does not matter */
	     "release R1                               -> released",
	     "batch atomic R1 A=4 | R4 A=1             -> 409 released replayed order_id=R1 | 200 held replayed",
	     "batch atomic R1 A=4 | R6 A=4             -> 409 released replayed | 201 held",
	     "batch atomic R1 A=4 | R7 A=1             -> 409 not_all | 424 not_done | 409 short",
	     /* another content */
	     "batch atomic R1 A=4 | R4 A=2 | R5 A=1    -> 409 not_all | 424 not_done | 422 order_id_reused order_id=R4"
	     " | 424 not_done",
	     "sku     A                                -> available=0 reserved=12");
}

/* The stock is sold out by the call itself, and the process that is asked again does not remember it. */
Test(atomic, repeats_in_another_process_and_behind_a_restart)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 2",
	     "receipt A +6                             -> 201",
	     "batch atomic R1 A=1 | R2 A=2 | R3 A=3    -> 201 | 201 | 201",
	     "@2 batch atomic R1 A=1 | R2 A=2 | R3 A=3 -> 200 replayed held | 200 replayed held | 200 replayed held",
	     "@2 batch atomic R3 A=3 | R4 A=1          -> 409 not_all | 424 not_done | 409 short",
	     "restart",
	     "batch atomic R3 A=3 | R2 A=2 | R1 A=1    -> 200 replayed held | 200 replayed held | 200 replayed held",
	     "sku     A                                -> available=0 reserved=6");
}

/* Eight clients send one call: it is done once. */
Test(atomic, twins)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 2",
	     "receipt A +600                           -> 201",
	     "race 16 batch atomic R1 A=1 | R2 A=1 | R3 A=1 -> 1x 200 results[0].status=201 results[2].status=201"
	     " | 15x 200 results[0].replayed=true results[1].replayed=true results[2].replayed=true",
	     "race 16*4 batch atomic S1 A=1 | S2 A=1 || batch atomic S2 A=1 | S1 A=1 || reserve S2 A=1"
	     " -> *x 200 results=2 | *x 201 held | *x 200 held replayed",
	     "sku     A                                -> available=595 reserved=5");
}

Test(atomic, one_malformed_item_refuses_the_call)
{
	flow("receipt A +10                            -> 201",
	     "reserve R9 A=1                           -> 201",
	     "mark",
	     BATCH "{'atomic':true,'reservations':[{'order_id':'R1','lines':[{'sku':'A','qty':1}]},"
	     "{'order_id':'R2','lines':[{'sku':'A','qty':0}]}]}"
	     " -> 400 invalid_request field=reservations[1].lines[0].qty !results",
	     BATCH "{'reservations':[{'order_id':'R1','lines':[{'sku':'A','qty':1}],'x':1}],'atomic':true}"
	     " -> 400 invalid_request field=reservations[0].x",
	     BATCH "{'reservations':[1,{'order_id':'R1','lines':[{'sku':'A','qty':1}]}],'atomic':true}"
	     " -> 400 invalid_request field=reservations[0]",
	     BATCH "{'reservations':[{'order_id':'R1','lines':[{'sku':'A','qty':1}]}],'atomic':1}"
	     " -> 400 invalid_request field=atomic",
	     BATCH "{'reservations':[],'atomic':true}  -> 400 invalid_request field=reservations",
	     CONFIRMATIONS "{'order_ids':['R9',' R9'],'atomic':true} -> 400 invalid_request field=order_ids[1]",
	     CONFIRMATIONS "{'order_ids':['R9'],'atomic':null}       -> 400 invalid_request field=atomic",
	     "unchanged",
	     "raw GET /metrics                         -> holdfast_refusals_total{code=invalid_request}=7",
	     BATCH "{'reservations':[{'order_id':'R1','lines':[{'sku':'A','qty':1}]},1],'atomic':false}"
	     "                                         -> 200 results=2 results[0].status=201 results[1].status=400");
}

Test(atomic, an_order_is_named_once)
{
	flow("receipt A +10                            -> 201",
	     "reserve R9 A=1                           -> 201",
	     "mark",
	     "batch atomic R1 A=1 | R2 A=1 | R1 A=1    -> 400 invalid_request field=reservations[2]",
	     "batch atomic R1 A=1 | R2 A=1 replaces=R1 -> 400 invalid_request field=reservations[1]",
	     "batch atomic R1 A=1 replaces=R9 | R2 A=1 replaces=R9 -> 400 invalid_request field=reservations[1]",
	     "batch atomic R1 A=1 replaces=R9 | R9 A=1 -> 400 invalid_request field=reservations[1]",
	     "confirmations atomic R9 R9               -> 400 invalid_request field=order_ids[1]",
	     "releases atomic R9 R8 R9                 -> 400 invalid_request field=order_ids[2]",
	     "settlements atomic R9 R9                 -> 400 invalid_request field=order_ids[1]",
	     "unchanged");
}

/* BEGIN, FIRST with one line more than fifty or with fifty, 99 others with fifty each, and END. */
static void five_thousand(const char *begin, bool more, const char *end)
{
	struct text fifty = {0}, step = {0};

	for (int i = 0; i < 50; i++)
		text_format(&fifty, " S%d=1", i);
	text_format(&step, "%s FIRST%s%s", begin, fifty.data, more ? " S50=1" : "");
	for (int i = 0; i < 99; i++)
		text_format(&step, " | Q%d%s", i, fifty.data);
	text_add(&step, end);
	flow_repeat(step.data, "", 0, "");
	text_fini(&fifty);
	text_fini(&step);
}

/* 100 items, 5,000 lines with those that are there. */
Test(atomic, largest)
{
	flow_begin();
	flow_repeat("receipt", " S# +1000", 60, "         -> 201");
	flow_repeat("batch atomic R S0=1", " | R# S1=1", 100, " -> 422 too_large !results");
	flow_repeat("confirmations atomic R", " R#", 100, " -> 422 too_large !results");
	five_thousand("batch atomic", true, " -> 422 too_large !results");
	flow_steps("list                              -> items=0");
	five_thousand("batch atomic", false, " -> 201 held | ...");
	five_thousand("batch atomic", false, " -> 200 held replayed | ...");
	flow_steps("sku S0                            -> available=900 reserved=100",
	           "list limit=1000                   -> items=100 end");
	flow_repeat("amend FIRST", " S#=1", 51, "         -> 200");
	flow_repeat("releases atomic FIRST", " Q#", 99, " -> 422 too_large !results");
	flow_repeat("confirmations atomic FIRST", " Q#", 99, " -> 422 too_large !results");
	flow_repeat("releases atomic", " Q#", 99, "       -> 200 released | ...");
	flow_repeat("releases atomic FIRST", " Q#", 99, " -> 200 released | 200 released replayed | ...");
	flow_steps("sku S0                            -> available=1000 reserved=0");
	flow_end();
}

Test(atomic, confirmations)
{
	flow("receipt A +10                            -> 201",
	     "batch   R1 A=1 | R2 A=1 ttl=60 | R3 A=1 | R4 A=1 | R5 A=1 -> 201 | ...",
	     "release R4                               -> released",
	     "confirmations atomic R1 R4 R3 R9         -> 409 not_all results=4 | 424 not_done order_id=R1"
	     " | 409 released order_id=R4 | 424 not_done order_id=R3 | 404 unknown_order order_id=R9",
	     "get     R1                               -> held !confirmed_at",
	     "confirmations atomic R1 R3               -> 200 confirmed order_id=R1 confirmed_at=~0 | 200 confirmed",
	     "confirmations atomic R1 R5               -> 200 confirmed replayed | 200 confirmed",
	     "confirmations atomic R1 R5 R3            -> 200 confirmed replayed | ...",
	     "tick    61",
	     "confirmations atomic R1 R2               -> 409 not_all | 424 not_done | 409 expired",
	     "run     audit                            -> 0");
}

/* Whatever became of its orders since: the call was done. */
Test(atomic, confirmations_that_were_done)
{
	flow("receipt A +10                            -> 201",
	     "batch   R1 A=1 | R2 A=1 | R3 A=1 | R4 A=1 -> 201 | ...",
	     "confirmations atomic R1 R2 R3            -> 200 confirmed | 200 confirmed | 200 confirmed",
	     "release R1                               -> released",
	     "settle  R2                               -> settled",
	     "confirmations atomic R1 R2 R3            -> 409 released order_id=R1"
	     " | 200 settled replayed | 200 confirmed replayed",
	     /* it is another call with R4 in it */
	     "confirmations atomic R1 R2 R4            -> 409 not_all | 409 released | 424 not_done | 424 not_done",
	     "get     R4                               -> held");
}

Test(atomic, confirmations_of_expired_orders)
{
	flow("receipt A +10 B +10                      -> 201",
	     "batch   R1 A=4 ttl=60 | R2 A=5 ttl=60 | R3 B=1 ttl=60 | R4 B=1 -> 201 | ...",
	     "tick    61",
	     "work    expire",
	     "reserve R5 A=3                           -> 201",
	     "confirmations atomic R1 R2 R3 R4 reacquire -> 409 not_all | 424 not_done"
	     " | 409 short A requested=5 available=3 | 424 not_done | 424 not_done",
	     "confirmations atomic R2 R1 R3 R4 reacquire -> 409 not_all | 424 not_done"
	     " | 409 short A requested=4 available=2 | 424 not_done | 424 not_done",
	     "sku     A                                -> available=7 reserved=3",
	     "get     R3                               -> expired",
	     "get     R4                               -> held",
	     "confirmations atomic R1 R3 R4 reacquire  -> 200 confirmed reacquired | 200 confirmed reacquired"
	     " | 200 confirmed !reacquired",
	     "sku     A                                -> available=3 reserved=7");
}

Test(atomic, releases)
{
	flow("receipt A +10                            -> 201",
	     "batch   R1 A=1 | R2 A=2 | R3 A=3 | R4 A=4 -> 201 | ...",
	     "confirm R3                               -> confirmed",
	     "releases atomic R1 R3 R2 if=held         -> 409 not_all | 424 not_done | 409 confirmed order_id=R3"
	     " | 424 not_done",
	     "sku     A                                -> available=0 reserved=10",
	     "releases atomic R1 R3 R0                 -> 409 not_all | 424 not_done | 424 not_done"
	     " | 404 unknown_order",
	     "releases atomic R2 R1 if=held            -> 200 released A=2 | 200 released A=1",
	     "releases atomic R2 R1 if=held            -> 200 released replayed | 200 released replayed",
	     "releases atomic R3 R1                    -> 200 released | 200 released replayed",
	     "sku     A                                -> available=6 reserved=4");
}

Test(atomic, settlements)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "receipt A +10 A@po +5                    -> 201",
	     "batch   R1 A=1 confirm=true | R2 A=2 confirm=true | R3 A=3 confirm=true | W A@po=1 confirm=true"
	     " | H A=1                                 -> 201 | ...",
	     "settlements atomic R1 H                  -> 409 not_all | 424 not_done | 409 held order_id=H",
	     "settlements atomic R1 W                  -> 409 not_all | 424 not_done | 409 waiting A@po",
	     "hold    R3                               -> 200",
	     "settlements atomic R1 R3 R2              -> 409 not_all | 424 not_done | 409 on_hold | 424 not_done",
	     "off-hold R3                              -> 200",
	     "claim   settle w1 limit=1                -> 201 task_id=1 orders=R1",
	     "settlements atomic R2 R1                 -> 409 not_all | 424 not_done | 409 claimed task_id=1 worker=w1",
	     "sku     A                                -> on_hand=10",
	     "complete 1                               -> completed=1",
	     "settlements atomic R2 R3 R1              -> 200 settled settled_at=* | 200 settled"
	     " | 200 settled replayed",
	     "sku     A                                -> on_hand=4 reserved=1",
	     "run     audit                            -> 0");
}

/* What items of a customer get counts for those behind them; after a refusal nothing of it does. */
Test(atomic, limits_of_customers)
{
	flow("serve   --lanes 1",
	     "receipt A +100 B +2                      -> 201",
	     "limit   A 5                              -> 200",
	     "batch atomic R1 A=3 customer=c | R2 A=3 customer=c | R3 A=2 customer=c | R4 A=5 customer=d ->"
	     " 409 not_all | 424 not_done | 409 limit_reached A limit=5 has=3 requested=3 | 424 not_done"
	     " | 424 not_done",
	     "has     A c                              -> has=0",
	     "batch atomic R1 A=3 customer=c | R3 A=2 customer=c | R4 A=5 customer=d -> 201 | 201 | 201",
	     "has     A c                              -> has=5",
	     "batch atomic R5 B=1 | R6 A=1             -> 409 not_all | 424 not_done | 422 customer_required",
	     "batch atomic R5 B=1 customer=d | R6 A=1 replaces=R3 customer=c | R7 B=2 -> 409 not_all"
	     " | 424 not_done | 424 not_done | 409 short B requested=2 available=1",
	     "has     A c                              -> has=5",
	     "has     A d                              -> has=5",
	     "releases atomic R1 R9                    -> 409 not_all | 424 not_done | 404 unknown_order",
	     "has     A c                              -> has=5",
	     "batch atomic R6 A=1 replaces=R3 customer=c | R7 A=1 customer=c | R8 A=9 mode=best_effort customer=e ->"
	     " 201 | 201 | 201 A=5 short A requested=9 limit=true",
	     "has     A c                              -> has=5");
}

/* The key may hold ten units. */
Test(atomic, limit_of_a_key)
{
	flow("keys    shop order held=10 | boss admin",
	     "serve   --lanes 2",
	     "key     boss",
	     "receipt A +100                           -> 201",
	     "key     shop",
	     "wait batch atomic R1 A=4 | R2 A=4        -> 201 | 201",
	     "batch atomic R3 A=1 | R4 A=2             -> 409 not_all | 424 not_done | 429 rate_limited order_id=R4",
	     "batch atomic R3 A=1 | R4 A=1             -> 201 | 201",
	     "batch atomic R1 A=4 | R4 A=1             -> 200 replayed held | 200 replayed held",
	     "batch atomic R5 A=1 waits_since=-9       -> 403 forbidden field=reservations[0].waits_since",
	     "confirmations atomic R1 R2               -> 200 confirmed | 200 confirmed",
	     "wait batch atomic R5 A=4 | R6 A=4        -> 201 | 201",
	     "key     boss",
	     "batch atomic R7 A=1 waits_since=-9       -> 201");
}

Test(atomic, at_several_locations)
{
	flow("receipt A@paris +5 A@rome +5 B@paris +1 B@rome +1 -> 201",
	     "batch atomic R1 A@paris=5 | R2 A@paris,rome=4 | R3 A@paris+rome=1 -> 201 A@paris=5 | 201 A@rome=4"
	     " | 201 A@rome=1",
	     "batch atomic R4 B@paris,rome=1 | R5 B@paris,rome=1 | R6 B@rome,paris=1 -> 409 not_all"
	     " | 424 not_done | 424 not_done | 409 short",
	     "batch atomic R4 B@paris+rome=2 | R5 A@paris=1 -> 409 not_all | 424 not_done | 409 short A@paris",
	     "batch atomic R4 B@rome,paris=1 | R5 B@rome,paris=1 -> 201 B@rome=1 | 201 B@paris=1");
}

/* Orders that wait for goods: those of one call stand in its order. */
Test(atomic, in_the_queue)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "receipt A@po +10 B +1                    -> 201",
	     "batch atomic W1 A@po=2 confirm=true | W2 A@po=2 confirm=true | W3 B=2 -> 409 not_all"
	     " | 424 not_done | 424 not_done | 409 short B requested=2 available=1",
	     "raw GET /v1/skus/A/waiting?location=po   -> 200 items=0",
	     "sku     A                                -> @po available=10 @po reserved=0",
	     "batch atomic W1 A@po=2 confirm=true | W2 A@po=2 confirm=true | W3 B=1 -> 201 | 201 | 201",
	     "raw GET /v1/skus/A/waiting?location=po   -> 200 items=W1,W2",
	     "arrival A@po>main=3                      -> 201",
	     "wait get W1                              -> A=2",
	     "wait get W2                              -> A=1 A@po=1",
	     "run     audit                            -> 0");
}

/* A refused call has no event, another one the events of its items, in its order, of one moment. */
Test(atomic, events)
{
	flow("receipt A +10                            -> 201",
	     "reserve OLD A=1                          -> 201",
	     "events                                   -> 200",
	     "batch atomic R1 A=1 | R2 A=11            -> 409 not_all",
	     "confirmations atomic OLD R0              -> 409 not_all",
	     "events  next                             -> items=0",
	     "batch atomic R1 A=1 | R2 A=2 replaces=OLD confirm=true -> 201 | 201",
	     "releases atomic R2 R1                    -> 200 | 200",
	     "events  next                             -> items=reservation.held,reservation.replaced,"
	     "reservation.held,reservation.confirmed,reservation.released,reservation.released",
	     "run     audit                            -> 0");
}

/* ---- beside others */

/* Calls that are refused because of one item take nothing from those beside them: each of these buyers has its unit. */
Test(atomic, nobody_sees_the_units_of_a_refused_call)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 2",
	     "receipt A +64 B +1000                    -> 201",
	     "race 32*4 reserve R# A=1 || batch atomic X# A=20 | Y# B=1 | Z# A=60 ->"
	     " 64x 201 held | 64x 409 not_all",
	     "sku     A                                -> available=0 reserved=64",
	     "sku     B                                -> available=1000 reserved=0");
}

/* How many calls of a race were done in part, by the ids N0-0, N0-1 and so on of `items` each. */
static int64_t torn(const char *name, int items)
{
	return trap_number("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM reservation WHERE order_id LIKE '%s%%-%%'"
	                   " GROUP BY SUBSTRING_INDEX(order_id, '-', 1) HAVING n <> %d) g",
	                   name, items);
}

/* To the last unit, from several lanes, in orders that cross each other. */
Test(atomic, crowds_to_the_last_unit)
{
	flow_begin();
	flow_steps("serve --lanes 2",
	           "second --lanes 2 --slot 2",
	           "receipt A +100 B +100 C +100      -> 201",
	           "race 24*8 batch atomic P#-0 A=1 | P#-1 B=1 | P#-2 C=2"
	           " || batch atomic P#-0 C=2 | P#-1 B=1 | P#-2 A=1"
	           " || batch atomic P#-0 B=1 | P#-1 A=1 | P#-2 C=2 -> 50x 200 results=3 | 142x 409 not_all",
	           "sku A                             -> available=50 reserved=50",
	           "sku B                             -> available=50 reserved=50",
	           "sku C                             -> available=0 reserved=100");
	cr_expect_eq(torn("P", 3), 0);
	flow_end();
}

/* Orders of other lanes are changed by the lane of the call, beside calls of their own. */
Test(atomic, changes_beside_single_ones)
{
	flow_begin();
	flow_steps("serve --lanes 2",
	           "second --lanes 2 --slot 2",
	           "receipt A +1000                   -> 201");
	flow_repeat("batch FIRST A=1", " | R# A=1", 64, " -> 201 | ...");
	flow_steps("race 16*4 confirmations atomic R0 R1 R2 R3 || confirm R2 || confirmations atomic R3 R2 R1 R0"
	           " || confirmations R1 R3"
	           " -> *x 200 results=4 results[0].status=200 | 16x 200 results=2 | *x 200 confirmed"
	           " | *x 200 confirmed replayed",
	           "race 16*4 releases atomic R10 R11 R12 R13 || releases atomic R13 R12 R11 R10 || release R12"
	           " -> *x 200 results=4 results[0].status=200 | *x 200 released | *x 200 released replayed",
	           /* one of the two has it whole */
	           "race 32*2 confirmations atomic R20 R21 R22 R23 R24 R25 || releases atomic R25 R24 R23 R22 R21 R20"
	           " if=held -> *x 200 results=6 | *x 409 not_all",
	           "sku A                             -> available=*");
	cr_expect(trap_number("SELECT COUNT(DISTINCT state) FROM reservation"
	                      " WHERE order_id BETWEEN 'R20' AND 'R25'") == 1,
	          "all of them are confirmed, or all are released");
	flow_end();
}

/* ---- rows that a stranger has locked */

/* The call waits as a whole, and others go on meanwhile. */
Test(atomic, parked_behind_a_strangers_lock)
{
	struct race *race;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +100 B +1000 C +100     -> 201",
	           "reserve W A=1 B=1 C=1             -> 201");
	trap_lock(SLOTS_OF("A"));
	race = flow_race("4", "batch atomic P#-0 B=1 | P#-1 C=1 | P#-2 A=1 | P#-3 B=1");
	for (int64_t from = clock_ms(); trap_said_count("event=rows_locked") == 0;) {
		cr_assert(!patience_is_over(from, PATIENCE_MS), "the lane does not wait");
		usleep(10000);
	}
	flow_steps("reserve B1 B=1                    -> 201",
	           "get P0-0                          -> 404 unknown_order",
	           "sku C                             -> available=99 reserved=1");
	trap_unlock();
	trap_raced(race, "4x 200 results=4 results[0].status=201 results[3].status=201");
	flow_steps("sku A                             -> available=95 reserved=5",
	           "sku B                             -> available=990 reserved=10");
	flow_end();
}

/* The lock outlasts its patience. Behind a parked call waits what names an order of it. */
Test(atomic, a_lock_that_stays)
{
	struct race *race, *behind;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +100 B +100             -> 201",
	           "reserve W A=1 B=1                 -> 201");
	trap_lock(SLOTS_OF("A"));
	race = flow_race("3", "batch atomic P#-0 B=1 | P#-1 A=1 | P#-2 B=1");
	usleep(2500000);
	behind = flow_race("1", "reserve P0-0 B=1");
	trap_raced(race, "3x 503 busy Retry-After:* !results");
	trap_raced(behind, "1x 201 held");
	trap_unlock();
	flow_steps("sku B                             -> available=98 reserved=2",
	           "get P0-1                          -> 404 unknown_order",
	           "batch atomic P0-0 B=1 | P0-1 A=1 | P0-2 B=1 -> 200 replayed held | 201 | 201");
	flow_end();
}

/* ---- trouble */

/* One order that the database refuses is found by halving, down to its call. */
Test(atomic, a_culprit_takes_its_own_call_along)
{
	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +5000                   -> 201");
	trap_sql("CREATE TRIGGER refuse BEFORE INSERT ON reservation FOR EACH ROW IF NEW.order_id = 'P7-1' THEN"
	         " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by the test'; END IF");
	trap_raced(trap_race_of_waiters("16", "batch atomic P#-0 A=1 | P#-1 A=1 | P#-2 A=1"),
	           "15x 200 results=3 | 1x 503 busy");
	flow_steps("sku A                             -> available=4955 reserved=45");
	cr_expect_eq(torn("P", 3), 0);
	trap_sql("DROP TRIGGER refuse");
	flow_steps("batch atomic P7-0 A=1 | P7-1 A=1 | P7-2 A=1 -> 201 | 201 | 201");
	flow_end();
}

/* The connection dies at COMMIT: nobody knows, and the repeat tells. */
Test(atomic, unknown_outcome)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve --lanes 1",
	           "receipt A +10                     -> 201",
	           "batch atomic R1 A=1 | R2 A=1      -> 201 | 201");
	proxy_arm_lane(proxy, BREACH_LATE, "COMMIT");
	proxy_shut_behind(proxy);
	race = flow_race("1", "batch atomic R1 A=1 | R3 A=1");
	cr_assert(proxy_struck(proxy));
	flow_step("away");
	proxy_let_in(proxy);
	flow_steps("batch atomic R4 A=1 | R5 A=1      -> 503 unavailable Retry-After:* !results");
	trap_raced(race, "1x 503 unknown_outcome !results");
	flow_steps("back",
	           "wait batch atomic R1 A=1 | R3 A=1 -> 200 held replayed | 201 held",
	           "sku A                             -> available=7 reserved=3");
	flow_end();
	proxy_close(proxy);
}

/* The client has gone before the answer. Its call is done as a whole all the same. */
Test(atomic, a_client_that_goes_away)
{
	struct client client;
	char          request[400], body[200];
	int           len;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +10                     -> 201");
	trap_lock("SELECT writer_id FROM log_writer FOR UPDATE");
	client_open(&client, flow_port(0));
	cr_assert(client_connect(&client));
	len = snprintf(body, sizeof(body),
	               "{\"atomic\":true,\"reservations\":[{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]},"
	               "{\"order_id\":\"R2\",\"lines\":[{\"sku\":\"A\",\"qty\":2}]}]}");
	len = snprintf(request, sizeof(request),
	               "POST /v1/reservations/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	               "Content-Length: %d\r\n\r\n%s",
	               len, body);
	cr_assert_eq(write(client.fd, request, (size_t)len), len);
	trap_waiter();
	client_close(&client);
	trap_unlock();
	flow_steps("wait get R2                       -> held A=2",
	           "get R1                            -> held A=1",
	           "batch atomic R1 A=1 | R2 A=2      -> 200 replayed held | 200 replayed held");
	flow_end();
}

/* The service is killed in the midst of a crowd, and what it was told to do is there as a whole or not. */
Test(atomic, killed)
{
	flow_begin();
	flow_steps("serve --lanes 2",
	           "receipt A +1000 B +1000           -> 201");
	for (int i = 0; i < 3; i++) {
		struct text  step = {0};
		struct race *race;

		text_format(&step, "batch atomic P%d_#-0 A=1 | P%d_#-1 B=1 | P%d_#-2 A=1 | P%d_#-3 B=1", i, i, i, i);
		race = flow_race("16*4", step.data);
		usleep(20000 + 15000 * (useconds_t)i);
		flow_step("kill");
		race_finish(race, NULL);
		race_free(race);
		text_fini(&step);
	}
	cr_expect_eq(torn("P", 4), 0);
	flow_steps("run audit                         -> 0",
	           "race 1 batch atomic P0_0-0 A=1 | P0_0-1 B=1 | P0_0-2 A=1 | P0_0-3 B=1 -> 1x 200 results=4");
	flow_end();
}
