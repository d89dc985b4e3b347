/* test_line.c - places with waits_at: while an order waits for a sku, these places sell none of it. Units that become
 * available there go to the orders in the queue, in queue order. */
#include "tests/kit/server.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

static const char po[] = "raw PUT /v1/locations/po {'kind':'incoming'} -> 201";
static const char waits[] = "raw PUT /v1/locations/main {'waits_at':'po'} -> 200 waits_at=po";

Test(line, a_place_waits_at_another)
{
	flow(po,
	     "raw PUT /v1/locations/qc {'kind':'aside'}        -> 201",
	     "raw PUT /v1/locations/shop {'waits_at':'po'}     -> 201 kind=stock waits_at=po",
	     "raw GET /v1/locations/shop                       -> 200 waits_at=po",
	     "raw GET /v1/locations                            -> 200 items=po,qc,shop items[2].waits_at=po"
	     " !items[0].waits_at end",
	     "raw PUT /v1/locations/shop {}                    -> 200 waits_at=po",
	     "raw PUT /v1/locations/shop {'kind':'stock'}      -> 200 waits_at=po",
	     "raw PUT /v1/locations/shop {'waits_at':'moon'}   -> 422 unknown_location field=waits_at",
	     "raw PUT /v1/locations/shop {'waits_at':'qc'}     -> 422 wrong_kind field=waits_at",
	     "raw PUT /v1/locations/shop {'waits_at':'shop'}   -> 422 wrong_kind field=waits_at",
	     "raw PUT /v1/locations/qc {'waits_at':'po'}       -> 422 wrong_kind field=waits_at",
	     "raw PUT /v1/locations/po {'waits_at':'po'}       -> 422 wrong_kind",
	     "raw PUT /v1/locations/new {'waits_at':'moon'}    -> 422 unknown_location field=waits_at",
	     "raw PUT /v1/locations/new {'kind':'aside','waits_at':'po'} -> 422 wrong_kind field=waits_at",
	     "raw GET /v1/locations/new                        -> 404 unknown_location",
	     "raw PUT /v1/locations/shop {'waits_at':''}       -> 400 field=waits_at",
	     "raw PUT /v1/locations/shop {'waits_at':7}        -> 400 field=waits_at",
	     "raw PUT /v1/locations/shop {'kind':'x','waits_at':'po'} -> 400 field=kind",
	     "raw PUT /v1/locations/po {'kind':'stock'}        -> 409 in_use",
	     "raw PUT /v1/locations/shop {'kind':'aside'}      -> 200 kind=aside waits_at=po",
	     "raw PUT /v1/locations/po {'kind':'stock'}        -> 409 in_use",
	     "raw PUT /v1/locations/shop {'kind':'stock'}      -> 200 kind=stock waits_at=po",
	     "raw PUT /v1/locations/shop {'waits_at':null}     -> 200 !waits_at",
	     "raw PUT /v1/locations/shop {'waits_at':null}     -> 200 !waits_at",
	     "raw PUT /v1/locations/qc {'kind':'stock','waits_at':'po'} -> 200 kind=stock waits_at=po",
	     "raw PUT /v1/locations/qc {'kind':'incoming'}     -> 200 kind=incoming !waits_at",
	     "raw PUT /v1/locations/po {'kind':'stock'}        -> 200 kind=stock");
}

/* Units that lie at the place stay there when it gets a queue. */
Test(line, a_place_in_use_may_wait)
{
	flow(po,
	     "receipt A +5 A@po +5                             -> 201",
	     "reserve R1 A=1                                   -> 201",
	     waits,
	     "reserve R2 A=1                                   -> 201 held",
	     "raw PUT /v1/locations/main {'waits_at':null}     -> 200 !waits_at",
	     "reserve R3 A=1                                   -> 201 held");
}

/* Units that become free go to the orders in the queue, paid ones first; the promise stays as it was. */
Test(line, what_becomes_free_goes_to_those_who_wait)
{
	flow(po,
	     "receipt A +2 A@po +5                             -> 201",
	     "reserve R1 A=1                                   -> 201",
	     "reserve R2 A=1                                   -> 201",
	     "reserve H1 A@po=1                                -> 201 held",
	     "tick    2",
	     "reserve C1 A@po=2 confirm=true                   -> 201 confirmed",
	     waits,
	     "release R1                                       -> released",
	     "wait get C1                                      -> confirmed A@main=1 A@po=1",
	     "sku     A                                        -> available=0 reserved=2 on_hand=2 incoming.available=3"
	     " incoming.reserved=2",
	     "release R2                                       -> released",
	     "wait get C1                                      -> confirmed lines=1 A@main=2",
	     "sku     A                                        -> available=0 reserved=2 incoming.available=4"
	     " incoming.reserved=1",
	     "claim   settle                                   -> 201 orders=1 orders[0].order_id=C1",
	     "receipt A +3                                     -> 201",
	     "wait get H1                                      -> held lines=1 A@main=1",
	     "reserve N1 A=2                                   -> 201 held",
	     "sku     A                                        -> available=0 reserved=5 incoming.available=5"
	     " incoming.reserved=0",
	     "sql     SELECT COUNT(*) FROM waiting_line        -> 0",
	     "run     audit                                    -> 0");
}

/* An order that gets all that it waits for is not served. */
static const char stops[] =
	"CREATE TRIGGER no_order_is_served BEFORE DELETE ON waiting_line FOR EACH ROW SIGNAL SQLSTATE '45000'";
static const char goes_on[] = "DROP TRIGGER no_order_is_served";

/* No order in the queue can be served, and it asks for more than there is, so freed units lie there: no new order gets
 * them, whatever a lane remembers. The operator decides. */
Test(line, a_newcomer_gets_none_of_it)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps(po,
	           "receipt A +3 A@x +1 A@po +9                  -> 201",
	           waits,
	           "reserve N0 A=1                               -> 201",
	           "reserve E1 A=1 ttl=60                        -> 201",
	           "receipt A +1                                 -> 201",
	           "reserve E2 A=1 ttl=60                        -> 201",
	           "reserve O1 A=1 A@x=1                         -> 201",
	           "release O1                                   -> released");
	trap_sql(stops);
	flow_steps("@2 reserve W1 A@po=1 confirm=true            -> 201 confirmed lines[0].waiting=true",
	           "@2 reserve W2 A@po=1 confirm=true            -> 201",
	           "@2 reserve W3 A@po=1 confirm=true            -> 201",
	           "@2 reserve W4 A@po=9                         -> 409 short A@po available=6",
	           "reserve N1 A=1                               -> 409 short A requested=1 available=0",
	           "reserve N1 A=1                               -> 409 short A requested=1 available=0",
	           "reserve N1 A=1 mode=best_effort              -> 409 short",
	           "reserve N1 A@main,x=2                        -> 409 short lines[0].available=1",
	           "reserve N1 A@main+x=2                        -> 409 short lines[0].available=1",
	           "reserve N2 A@main,x=1                        -> 201 A@x=1",
	           "reserve N3 A=2 replaces=N0                   -> 409 short A available=1",
	           "reserve N3 A=1 replaces=N0                   -> 201 A@main=1",
	           "sku A -> available=0 reserved=5 on_hand=5 @main available=0 @main reserved=4 @main on_hand=4"
	           " incoming.available=6 incoming.reserved=2",
	           "availability A                               -> 200 A available=0 A on_hand=5",
	           "raw PUT /v1/skus/A/threshold {'low':1,'location':'main'} -> 200",
	           "raw GET /v1/skus?location=main -> 200 items[0].locations[0].location=main items[0].locations=1",
	           "raw GET /v1/skus                             -> 200 !items[0].locations",
	           "raw GET /v1/skus?low=true&location=main      -> 200 items=1 items[0].sku=A"
	           " items[0].low[0].location=main items[0].low[0].low=1 items[0].low[0].available=0",
	           "tick 61",
	           "confirm E1 reacquire                         -> confirmed",
	           "reserve N4 A=1                               -> 409 short",
	           "confirm E2 reacquire                         -> 409 short lines[0].available=0",
	           "adjust A -1                                  -> 201",
	           "adjust A -1                                  -> 201",
	           "adjust A -1                                  -> 409 short A available=0",
	           "receipt A +1                                 -> 201");
	trap_sql(goes_on);
	flow_steps("wait get W1                                  -> confirmed lines=1 A@main=1",
	           "reserve N4 A=1                               -> 409 short",
	           "receipt A +3                                 -> 201",
	           "reserve N4 A=1                               -> 201",
	           "wait get W3                                  -> confirmed lines=1 A@main=1",
	           "reserve N5 A=1                               -> 409 short A available=0",
	           "run audit                                    -> 0");
	flow_end();
}

/* Units on their way to the queue read as reserved, once: at their location and not at that of the queue. What the
 * queue leaves over is for sale at once. Two locations of one queue keep units for it in the order of their numbers. */
Test(line, units_on_their_way_count_once)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 1 --slot 5");
	flow_steps(po,
	           "receipt A@po +5 A +1 A@x +1                  -> 201",
	           "adjust  A -1 A@x -1                          -> 201",
	           waits,
	           "raw PUT /v1/locations/x {'waits_at':'po'}    -> 200 waits_at=po",
	           "reserve W1 A@po=1 confirm=true               -> 201 confirmed",
	           "reserve W2 A@po=1 confirm=true               -> 201 confirmed");
	trap_sql(stops);
	flow_steps("sku A -> available=0 reserved=0 on_hand=0 incoming.available=3 incoming.reserved=2",
	           "receipt A +1                                 -> 201",
	           "sku A -> available=0 reserved=1 on_hand=1 incoming.available=3 incoming.reserved=1",
	           "receipt A@x +4                               -> 201",
	           "sku A -> available=3 reserved=2 on_hand=5 incoming.available=3 incoming.reserved=0"
	           " @main available=0 @main reserved=1 @x available=3 @x reserved=1",
	           "@2 sku A -> available=3 reserved=2 on_hand=5 @x available=3 @x reserved=1",
	           "availability A                               -> 200 A available=3 A on_hand=5",
	           "raw GET /v1/skus?location=x                  -> 200 items[0].available=3 items[0].reserved=2"
	           " items[0].locations[0].available=3 items[0].locations[0].reserved=1",
	           "@2 reserve N1 A=1                            -> 409 short A requested=1 available=0",
	           "@2 reserve N1 A@x=4                          -> 409 short A@x requested=4 available=3",
	           "reserve N1 A@x=4                             -> 409 short A@x requested=4 available=3",
	           "reserve N1 A@x=4 mode=best_effort            -> 201 held A@x=3",
	           "@2 reserve N2 A@x=1                          -> 409 short A@x requested=1 available=0",
	           "reserve N2 A@main+x=1                        -> 409 short lines[0].available=0",
	           "sku A -> available=0 reserved=5 on_hand=5 incoming.available=3 incoming.reserved=0",
	           "amend N1 A@x=1                               -> 200 A@x=1",
	           "sku A -> available=2 reserved=3 on_hand=5 @x available=2 @x reserved=2",
	           "@2 amend N1 A@x=2                            -> 200 A@x=2",
	           "amend N1 A@x=4                               -> 409 short A@x requested=4 available=3",
	           "adjust A@x -1                                -> 201",
	           "sku A -> available=0 reserved=4 on_hand=4 @x available=0 @x reserved=3",
	           "reserve N2 A@x=1                             -> 409 short A@x requested=1 available=0");
	trap_sql(goes_on);
	flow_steps("wait sku A -> available=0 reserved=4 on_hand=4 incoming.available=5 incoming.reserved=0",
	           "get W1                                       -> confirmed lines=1 !lines[0].waiting",
	           "get W2                                       -> confirmed lines=1 !lines[0].waiting",
	           "run audit                                    -> 0");
	flow_end();
}

/* A stopped location keeps nothing for the queue, so the next one keeps all; of a stopped sku nothing is kept. A read
 * of some locations says the same of them as a read of all, and an atomic call meets the same figures. */
Test(line, stops_and_calls_know_what_is_kept)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps(po,
	           "receipt A@po +5 A +1 A@x +1                  -> 201",
	           "adjust  A -1 A@x -1                          -> 201",
	           waits,
	           "raw PUT /v1/locations/x {'waits_at':'po'}    -> 200 waits_at=po",
	           "reserve W1 A@po=1 confirm=true               -> 201 confirmed",
	           "reserve W2 A@po=1 confirm=true               -> 201 confirmed");
	trap_sql(stops);
	flow_steps("receipt A +1 A@x +4                          -> 201",
	           "raw POST /v1/stock {'skus':['A'],'locations':['x']} -> 200 items[0].locations=1"
	           " items[0].locations[0].available=3 items[0].locations[0].reserved=1",
	           "raw POST /v1/stock {'skus':['A'],'locations':['po']} -> 200 items[0].locations=1"
	           " items[0].locations[0].available=3 items[0].locations[0].reserved=0",
	           "batch atomic N1 A@x=3 | N2 A@x=1             -> 409 not_all | 424 not_done"
	           " | 409 short A@x requested=1 available=0",
	           "raw PUT /v1/locations/main {'for_sale':false} -> 200 for_sale=false",
	           "sku A -> available=2 reserved=2 stopped=1 incoming.reserved=0 @x available=2 @x reserved=2",
	           "reserve N1 A@x=3                             -> 409 short A@x requested=3 available=2",
	           "raw PUT /v1/locations/main {'for_sale':true} -> 200 !for_sale",
	           "raw PUT /v1/skus/A {'for_sale':false}        -> 200 for_sale=false",
	           "sku A -> available=0 reserved=0 stopped=5 incoming.available=0 incoming.reserved=2",
	           "reserve N1 A@x=1                             -> 409 not_for_sale",
	           "raw PUT /v1/skus/A {'for_sale':true}         -> 200 !for_sale",
	           "batch atomic N1 A@x=2 | N2 A@x=1             -> 201 | 201",
	           "reserve N3 A@x=1                             -> 409 short A@x available=0",
	           "sku A -> available=0 reserved=5 on_hand=5 incoming.available=3 incoming.reserved=0");
	trap_sql(goes_on);
	flow_steps("wait sku A -> available=0 reserved=5 on_hand=5 incoming.available=5 incoming.reserved=0",
	           "count A@po=5 -> 201",
	           "run audit                                    -> 0");
	flow_end();
}

/* Two lanes that take what a queue leaves over would each see the units that the other one is taking. So an order waits
 * while another transaction has locked any slot of the sku there, though its own slot has enough. */
Test(line, orders_beside_a_queue_take_turns)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps(po,
	           "receipt A@po +5 A +1                         -> 201",
	           "adjust  A -1                                 -> 201",
	           waits,
	           "reserve W1 A@po=1 confirm=true               -> 201 confirmed");
	trap_sql(stops);
	flow_steps("receipt A +2                                 -> 201",
	           "@2 receipt A +1                              -> 201");
	trap_lock("SELECT 1 FROM stock_slot WHERE slot = 5 FOR UPDATE");
	race = flow_race("1", "reserve N# A=1");
	usleep(500000);
	cr_expect_eq(trap_number("SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'N%%'"), 0);
	trap_unlock();
	trap_raced(race, "1x 201 held A=1");
	trap_sql(goes_on);
	flow_steps("wait get W1                                  -> confirmed lines=1 A@main=1",
	           "run audit                                    -> 0");
	flow_end();
}

/* The queue is served while many new orders come, through two services: they get what the queue leaves over, and each
 * order that waits gets its unit. */
Test(line, newcomers_get_what_the_queue_leaves_over)
{
	enum { WAITING = 20, OVER = 30, ROUNDS = 2 };
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_steps(po,
	           "receipt A@po +1000 A +1                      -> 201",
	           "adjust  A -1                                 -> 201",
	           waits);
	for (int round = 1; round <= ROUNDS; round++) {
		char words[80];
		int  sold;

		for (int i = 0; i < WAITING; i++)
			flow_step("reserve W%d-%d A@po=1 confirm=true -> 201", round, i);
		snprintf(words, sizeof(words), "reserve N%d-# A=1", round);
		race = flow_race("16*40", words);
		flow_step("receipt A +%d -> 201", WAITING + OVER);
		trap_raced(race, "*x 201 held | *x 409 short");
		sold = (int)trap_number("SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'N%d-%%'", round);
		cr_expect_leq(sold, OVER);
		flow_step("wait sku A -> available=%d reserved=%d @po reserved=0 @po available=1000", OVER - sold,
		          (round - 1) * (WAITING + OVER) + WAITING + sold);
		if (sold < OVER)
			flow_step("reserve R%d A=%d -> 201", round, OVER - sold);
	}
	flow_step("run audit -> 0");
	flow_end();
}

/* A locked order blocks the queue for a moment only, and gets the units that were set aside for it. */
Test(line, passes_over_who_is_locked)
{
	flow_begin();
	flow_steps(po,
	           "receipt A@po +9 A +1                         -> 201",
	           "adjust A -1                                  -> 201",
	           waits,
	           "reserve W1 A@po=1 confirm=true               -> 201",
	           "tick 2",
	           "reserve W2 A@po=1 confirm=true               -> 201");
	trap_lock("SELECT 1 FROM reservation WHERE order_id = 'W1' FOR UPDATE");
	flow_steps("receipt A +1                                 -> 201",
	           "reserve N1 A=1                               -> 409 short A available=0",
	           "receipt A +1                                 -> 201",
	           "wait get W2                                  -> confirmed A@main=1",
	           "get W1                                       -> confirmed A@po=1",
	           "reserve N1 A=1                               -> 409 short A available=0");
	trap_unlock();
	flow_steps("wait get W1                                  -> confirmed A@main=1",
	           "run audit                                    -> 0");
	flow_end();
}

#define AT_PO_OF(code)                                                                                \
	"SELECT slot FROM stock_slot WHERE sku_id = (SELECT sku_id FROM sku WHERE code = '" code "')" \
	" AND location_id = (SELECT location_id FROM location WHERE code = 'po') FOR UPDATE"

/* A sku cannot be given because a slot is locked or its rows are damaged. It does not stop the others, and is logged
 * once. */
Test(line, goes_on_behind_a_sku_that_fails)
{
	flow_begin();
	flow_steps(po,
	           "receipt A@po +9 B@po +9 C@po +9 Z +1         -> 201",
	           waits,
	           "reserve W1 A@po=1 confirm=true               -> 201",
	           "reserve W2 B@po=1 confirm=true               -> 201",
	           "reserve W3 C@po=2 confirm=true               -> 201");
	trap_sql("CREATE TRIGGER damaged BEFORE DELETE ON waiting_line FOR EACH ROW IF OLD.sku_id ="
	         " (SELECT sku_id FROM sku WHERE code = 'B') THEN SIGNAL SQLSTATE '45000'; END IF");
	trap_lock(AT_PO_OF("A"));
	flow_steps("receipt A +1                                 -> 201",
	           "receipt B +1                                 -> 201",
	           "receipt C +1                                 -> 201",
	           "wait get W3                                  -> confirmed C@main=1 C@po=1",
	           "receipt C +1                                 -> 201",
	           "wait get W3                                  -> confirmed C@main=2",
	           "get W1                                       -> confirmed A@po=1");
	trap_unlock();
	flow_steps("wait get W1                                  -> confirmed A@main=1",
	           "get W2                                       -> confirmed B@po=1",
	           "run audit                                    -> 0");
	cr_expect_eq(trap_said_count("event=job_failed worker=line sku=A"), 1);
	cr_expect_eq(trap_said_count("event=job_failed worker=line sku=B"), 1);
	trap_sql("DROP TRIGGER damaged");
	flow_end();
}

/* More skus than one look finds have a locked first order; the sku behind them is served all the same. */
Test(line, a_hundred_that_are_locked_hold_up_nobody)
{
	flow_begin();
	flow_steps(po,
	           "receipt Z +1                                 -> 201",
	           waits);
	for (int i = 0; i <= 100; i++) {
		flow_step("receipt S%d@po +1 -> 201", i);
		flow_step("reserve W%03d S%d@po=1 confirm=true -> 201", i, i);
	}
	for (int i = 0; i < 100; i++)
		trap_lock("SELECT 1 FROM reservation WHERE order_id = 'W%03d' FOR UPDATE", i);
	flow_repeat("receipt", " S#@main +1", 101, " -> 201");
	flow_step("wait get W100 -> confirmed S100@main=1");
	flow_step("get W000 -> confirmed S0@po=1");
	trap_unlock();
	flow_step("wait get W000 -> confirmed S0@main=1");
	flow_step("wait get W099 -> confirmed S99@main=1");
	flow_end();
}

/* All ways in which units become available. */
Test(line, whatever_becomes_available)
{
	flow("serve   --lanes 2 --jobs=expire                  -> ",
	     po,
	     "receipt A +9 A@po +50                            -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}        -> 201",
	     "reserve X1 A=1 ttl=2                             -> 201",
	     "reserve X2 A=8 confirm=true                      -> 201",
	     "split   X2 X3 A=1 then=settle                    -> 201 settled",
	     waits,
	     "reserve W1 A@po=1 confirm=true                   -> 201",
	     "wait get W1                                      -> confirmed A@main=1",
	     "reserve W2 A@po=1 confirm=true                   -> 201",
	     "return  A +1 order=X3                            -> 201",
	     "wait get W2                                      -> confirmed A@main=1",
	     "reserve W3 A@po=1 confirm=true                   -> 201",
	     "receipt A@qc +1                                  -> 201",
	     "transfer A@qc>main=1                             -> 201",
	     "wait get W3                                      -> confirmed A@main=1",
	     "reserve W4 A@po=1 confirm=true                   -> 201",
	     "adjust  A +1                                     -> 201",
	     "wait get W4                                      -> confirmed A@main=1",
	     "reserve W5 A@po=2 confirm=true                   -> 201",
	     "count   A=13                                     -> 201",
	     "wait get W5                                      -> confirmed A@main=2",
	     "reserve W6 A@po=1 confirm=true                   -> 201",
	     "split   X2 X4 A=1 then=release                   -> 201 released",
	     "wait get W6                                      -> confirmed A@main=1",
	     "reserve W7 A@po=1 confirm=true                   -> 201",
	     "reserve X5 A=5 replaces=X2 confirm=true          -> 201",
	     "wait get W7                                      -> confirmed A@main=1",
	     "sku     A -> available=0 on_hand=13 incoming.available=50 incoming.reserved=0",
	     "events  types=reservation.arrived                -> 200"
	     " items=reservation.arrived,reservation.arrived,reservation.arrived,reservation.arrived,"
	     "reservation.arrived,reservation.arrived,reservation.arrived items[0].data.order_id=W1"
	     " !items[0].data.cause items[6].data.order_id=W7",
	     "run     audit                                    -> 0");
}

/* The units that an arrival leaves over go to the queue of the place, whichever queue that is; an expired hold blocks
 * no order. */
Test(line, what_an_arrival_leaves_over)
{
	flow(po,
	     "raw PUT /v1/locations/po2 {'kind':'incoming'}    -> 201",
	     "receipt A@po +9 A@po2 +9                         -> 201",
	     "raw PUT /v1/locations/main {'waits_at':'po2'}    -> 201 waits_at=po2",
	     "raw PUT /v1/locations/x {'waits_at':'po2'}       -> 201 waits_at=po2",
	     "reserve W1 A@po=1                                -> 201",
	     "reserve W2 A@po2=3 confirm=true                  -> 201",
	     "arrival A@po>main=3                              -> 201",
	     "wait get W2                                      -> confirmed A@main=2 A@po2=1",
	     "get     W1                                       -> held A@main=1",
	     "receipt A@x +2                                   -> 201",
	     "wait get W2                                      -> confirmed A@main=2 A@x=1",
	     "reserve N1 A@x=1                                 -> 201",
	     "reserve H1 A@po2=1 ttl=60                        -> 201",
	     "tick    61",
	     "receipt A +1                                     -> 201",
	     "wait reserve N2 A=1                              -> 201 A@main=1",
	     "get     H1                                       -> expired",
	     "run     audit                                    -> 0");
}

/* The queue of a place comes and goes while orders race for its units: units that come while it has one are never
 * sold. */
Test(line, comes_and_goes_while_orders_race)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_steps(po,
	           "receipt A@po +100 A +1                       -> 201",
	           "adjust A -1                                  -> 201",
	           "reserve Z A@po=90 confirm=true               -> 201");
	race = flow_race("8*250", "reserve N# A=1");
	for (int i = 1; i <= 8; i++) {
		flow_step("raw PUT /v1/locations/main {'waits_at':'po'} -> 200");
		flow_step("receipt A +1 -> 201");
		flow_step("wait get Z -> confirmed A@main=%d", i);
		flow_step("raw PUT /v1/locations/main {'waits_at':null} -> 200");
	}
	trap_raced(race, "*x 409 short");
	flow_step("run audit -> 0");
	flow_end();
}

/* A hold that got its unit from an arrival is released while paid orders wait, and new orders come without pause. */
Test(line, no_newcomer_comes_before_who_waits)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_step(po);
	flow_step("receipt A@po +100 A +1 -> 201");
	flow_step("adjust A -1 -> 201");
	flow_step(waits);
	race = flow_race("16*150", "reserve N# A=1");
	for (int i = 0; i < 10; i++) {
		flow_step("reserve H%d A@po=1 -> 201 held", i);
		flow_step("arrival I%d A@po>main=1 -> 201", i);
		flow_step("wait get H%d -> held A@main=1", i);
		flow_step("@2 reserve C%d A@po=1 confirm=true -> 201 confirmed", i);
		flow_step("release H%d -> released", i);
		flow_step("wait get C%d -> confirmed A@main=1", i);
	}
	trap_raced(race, "*x 409 short");
	flow_step("run audit -> 0");
	flow_end();
}

/* A hold is confirmed at the instant in which a unit becomes free for it: a worker gets it, whichever comes first. */
Test(line, a_confirmation_at_that_instant)
{
	enum { INSTANTS = 30 };

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_step(po);
	flow_step("receipt A@po +100 A@x +100 -> 201");
	flow_step("raw PUT /v1/locations/main {'waits_at':'po'} -> 201");
	for (int i = 0; i < INSTANTS; i++) {
		flow_step("reserve R%d A@x=1 A@po=1 -> 201 held", i);
		flow_step("race 2 receipt M%d A +1 || confirm R%d -> 1x 200 confirmed | 1x 201", i, i);
		flow_step("wait get R%d -> confirmed lines=2 A@main=1 A@x=1", i);
	}
	flow_step("claim settle w limit=1000 -> 201 orders=%d", INSTANTS);
	flow_step("sku A -> on_hand=%d reserved=%d @po available=100 @po reserved=0", 100 + INSTANTS, 2 * INSTANTS);
	flow_step("run audit -> 0");
	flow_end();
}

/* ---- what an order costs */

/* An order at a place without a queue sends the same statements as ever, even if other places have one. */
Test(line, a_place_without_one_pays_nothing)
{
	struct server server;

	server_make(&server, NULL);
	server_start_logged(&server);
	server_use(&server);
	flow_begin();
	flow_steps("serve   --lanes 1",
	           "receipt A +50 A@x +50     -> 201",
	           "reserve R1 A=1            -> 201",
	           "reserve R2 A@x=1          -> 201");
	flow_costs(&server, "reserve R3 A=1            -> 201", 6, "SELECT 1 FROM want", 0);
	flow_steps(po,
	           "raw PUT /v1/locations/x {'waits_at':'po'} -> 200",
	           "reserve R4 A=1 A@x=1      -> 201");
	flow_costs(&server, "reserve R5 A=1            -> 201", 0, "SELECT 1 FROM want", 0);
	flow_costs(&server, "reserve R6 A@x=1          -> 201", 0, "SELECT 1 FROM want", 1);
	flow_costs(&server, "reserve R7 A=2 A@x=2      -> 201", 0, "SELECT 1 FROM want", 1);
	flow_costs(&server, "release R7                -> 200", 0, "SELECT 1 FROM want", 0);
	flow_costs(&server, "adjust  A@x -1            -> 201", 0, "SELECT 1 FROM want", 0);
	flow_end();
	server_remove(&server);
}
