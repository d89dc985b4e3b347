/* test_places.c - kinds of locations: what is for sale, what is not, and a change of kind while orders race for the
 * units. */
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

Test(places, have_a_kind)
{
	flow("raw PUT /v1/locations/back {'kind':'aside'}       -> 201 location=back kind=aside Location:back",
	     "raw PUT /v1/locations/back {'kind':'aside'}       -> 200 location=back kind=aside",
	     "raw PUT /v1/locations/back {}                     -> 200 kind=aside",
	     "raw PUT /v1/locations/shop                        -> 201 kind=stock",
	     "raw PUT /v1/locations/shop {'kind':'attic'}       -> 400 field=kind",
	     "raw PUT /v1/locations/shop {'colour':1}           -> 400 field=colour",
	     "raw PUT /v1/locations/a2345678901234567890123456789012345678901234567890123456789012345 {}"
	     "                                                    -> 400 field=location",
	     "raw GET /v1/locations/back                        -> 200 location=back kind=aside",
	     "raw GET /v1/locations/moon                        -> 404 unknown_location",
	     "receipt A +10                                     -> 201",
	     "raw GET /v1/locations                             -> 200 items=back,main,shop end",
	     "raw GET /v1/locations?limit=2                     -> 200 items=back,main more",
	     "raw PUT /v1/locations/main {'kind':'aside'}       -> 409 in_use",
	     "adjust  A -10                                     -> 201",
	     "raw PUT /v1/locations/main {'kind':'aside'}       -> 200 kind=aside",
	     "receipt A +3                                      -> 201",
	     "raw PUT /v1/locations/main {'kind':'stock'}       -> 409 in_use",
	     "reserve R1 A=1                                    -> 409 not_for_sale lines=1 lines[0].location=main"
	     " !lines[0].requested");
}

Test(places, what_is_aside_is_not_for_sale)
{
	flow("raw PUT /v1/locations/qc {'kind':'aside'}         -> 201",
	     "receipt A +5 A@qc +3 B@qc +2                      -> 201",
	     "sku     A -> available=5 reserved=0 on_hand=8 aside=3 @main kind=stock @qc kind=aside @qc available=3"
	     " @qc on_hand=3",
	     "sku     B -> available=0 on_hand=2 aside=2",
	     "availability A B -> 200 A available=5 A on_hand=8 A aside=3 B available=0 B aside=2",
	     "skus              -> 200 A available=5 A aside=3 B available=0",
	     "reserve R1 A@qc=1                                 -> 409 not_for_sale lines=1 lines[0].location=qc",
	     "reserve R1 A=9 A@qc=1                             -> 409 not_for_sale lines=1 lines[0].location=qc",
	     "reserve R1 A@main,qc=1                            -> 409 not_for_sale lines[0].locations=main,qc",
	     "reserve R1 GHOST=1 A@qc=1                         -> 422 unknown_sku",
	     "reserve R1 A@qc=1 mode=best_effort                -> 409 not_for_sale",
	     "reserve R1 A=6                                    -> 409 short A available=5",
	     "batch   R1 A=5 | R2 A@qc=1                        -> 201 held | 409 not_for_sale",
	     "adjust  A@qc -3                                   -> 201",
	     "count   B@qc=7                                    -> 201",
	     "sku     A -> available=0 reserved=5 on_hand=5 !aside",
	     "sku     B -> available=0 on_hand=7 aside=7",
	     "run     audit                                     -> 0");
}

/* Units that go out and come back where they are not for sale change no level of the sku. */
Test(places, levels_are_of_what_is_for_sale)
{
	flow("serve   --lanes 1 --stock-changed                 -> ",
	     LEVELS_WATCHED,
	     STOCK_WISHED,
	     "raw PUT /v1/locations/qc {'kind':'aside'}         -> 201",
	     "receipt A +5 A@qc +3                              -> 201",
	     "adjust  A@qc -3                                   -> 201",
	     "receipt A@qc +1                                   -> 201",
	     "wait events types=stock.changed                   -> 200 ~available:5,reserved:0,on_hand:6",
	     "adjust  A -5                                      -> 201",
	     "wait events types=stock.out                       -> 200 items=stock.out items[0].data.location=main",
	     "run     stats --json                              -> 0 available=0 aside=1 on_hand=1");
}

/* Holds past their time keep no location in use; a live one does. */
Test(places, in_use)
{
	flow("receipt A@x +2                                    -> 201",
	     "reserve R1 A@x=2 ttl=60                           -> 201",
	     "adjust  A@x -1                                    -> 409 short",
	     "raw PUT /v1/locations/x {'kind':'aside'}          -> 409 in_use",
	     "tick    61",
	     "raw PUT /v1/locations/x {'kind':'aside'}          -> 409 in_use",
	     "get     R1                                        -> expired",
	     "sku     A                                         -> available=2 reserved=0",
	     "adjust  A@x -2                                    -> 201",
	     "raw PUT /v1/locations/x {'kind':'aside'}          -> 200 kind=aside");
}

/* The lane is shut out by the change of kind, and its transfer begins anew. */
Test(places, a_transfer_right_behind_a_change_of_kind)
{
	flow("serve   --lanes 1",
	     "receipt A +5 A@qc +1                              -> 201",
	     "adjust  A@qc -1                                   -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}         -> 200",
	     "transfer A@main>qc=2                              -> 201",
	     "sku     A                                         -> available=3 aside=2");
}

/* A service that knows an older kind neither sells nor refuses by it. */
Test(places, every_service_goes_by_the_kind_of_the_moment)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A@x +1                              -> 201",
	           "@2 reserve R1 A@x=1                         -> 201",
	           "@2 release R1                               -> released",
	           "adjust  A@x -1                              -> 201",
	           "raw PUT /v1/locations/x {'kind':'aside'}    -> 200",
	           "receipt A@x +1                              -> 201",
	           "@2 reserve R2 A@x=1                         -> 409 not_for_sale",
	           "@2 sku A                                    -> available=0 aside=1 @x kind=aside",
	           "adjust  A@x -1                              -> 201",
	           "raw PUT /v1/locations/x {'kind':'stock'}    -> 200",
	           "receipt A@x +1                              -> 201",
	           "@2 reserve R3 A@x=1                         -> 201",
	           "@2 sku A                                    -> available=0 reserved=1 !aside @x kind=stock");
	flow_end();
}

/* The kinds of several locations change between two looks of a service; no two changes hide each other. */
Test(places, every_service_sees_each_of_several_changes)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A@x +1 A@y +1 B +9                   -> 201",
	           "@2 reserve R1 A@x=1 A@y=1                    -> 201",
	           "@2 release R1                                -> released",
	           "adjust  A@x -1 A@y -1                        -> 201",
	           "raw PUT /v1/locations/x {'kind':'aside'}     -> 200",
	           "raw PUT /v1/locations/y {'kind':'aside'}     -> 200",
	           "receipt A@x +1 A@y +1                        -> 201",
	           "@2 reserve R2 A@x=1                          -> 409 not_for_sale",
	           "@2 reserve R2 A@y=1                          -> 409 not_for_sale",
	           "@2 sku A                                     -> available=0 aside=2 @x kind=aside @y kind=aside");
	flow_end();
}

/* An order that is short at a location that does not sell any more is refused for that. */
Test(places, short_is_not_said_by_an_older_kind)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A@x +1                               -> 201",
	           "@2 reserve R1 A@x=1                          -> 201",
	           "@2 release R1                                -> released",
	           "adjust  A@x -1                               -> 201",
	           "raw PUT /v1/locations/x {'kind':'aside'}     -> 200",
	           "receipt A@x +1                               -> 201",
	           "@2 reserve R2 A@x=2                          -> 409 not_for_sale");
	flow_end();
}

/* A location becomes aside and stock again while orders race for what comes in there: of what came in while it was
 * aside none is ever sold. */
Test(places, a_change_of_kind_while_orders_race)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_step("receipt A@x +1 A@y +1 -> 201");
	flow_step("adjust A@x -1 -> 201");
	race = flow_race("8*300", "reserve R# A@x=1");
	for (int i = 0; i < 12; i++) {
		flow_step("raw PUT /v1/locations/x {'kind':'aside'} -> 200");
		flow_step("receipt IN%d A@x +1 -> 201", i);
		flow_step("adjust OUT%d A@x -1 -> 201", i);
		flow_step("raw PUT /v1/locations/x {'kind':'stock'} -> 200");
	}
	trap_raced(race, "*x 409 short | *x 409 not_for_sale");
	flow_step("run audit -> 0");
	flow_end();
}
