/* test_transfer.c - movements with two ends: units go from a location to another in one step. */
#include "tests/lang/trap.h"

Test(transfer, both_ends_in_one_step)
{
	flow("raw PUT /v1/locations/qc {'kind':'aside'}        -> 201",
	     "receipt A +5 B +5                                -> 201",
	     "transfer T1 A@main>qc=2 B@main>annex=3 reason=look -> 201 kind=transfer reason=look lines=2"
	     " lines[0].sku=A lines[0].from=main lines[0].to=qc lines[0].qty=2 !lines[0].location lines[1].to=annex",
	     "sku A   -> available=3 on_hand=5 aside=2 @qc available=2",
	     "sku B   -> available=5 on_hand=5 @main available=2 @annex available=3",
	     "movement T1 -> 200 kind=transfer lines=2 lines[0].from=main lines[1].to=annex lines[1].qty=3",
	     "transfer T1 B@main>annex=3 A@main>qc=2 reason=look -> 200 replayed lines=2",
	     "transfer T1 A@main>qc=2 B@main>annex=3           -> 422 movement_id_reused",
	     "transfer T1 A@main>qc=2 B@annex>main=3 reason=look -> 422 movement_id_reused",
	     "movements A -> 200 items[0].kind=transfer items[0].lines[0].from=main items[0].lines=1",
	     "events types=movement.transfer -> 200 items[0].data.movement_id=T1 items[0].data.lines[0].to=qc"
	     " items[0].data.lines=2",
	     "transfer T2 A@qc>main=2                          -> 201",
	     "reserve R1 A=5                                   -> 201",
	     "transfer T3 A@main>qc=1                          -> 409 short lines=1 lines[0].location=main"
	     " lines[0].requested=1 lines[0].available=0",
	     "run audit                                        -> 0");
}

Test(transfer, is_refused)
{
	flow("receipt A +5                                     -> 201",
	     "transfer A@main>main=1                           -> 400 field=lines[0].to",
	     "transfer A@main>x=0                              -> 400 field=lines[0].qty",
	     "raw POST /v1/movements {'movement_id':'M','kind':'transfer','lines':[{'sku':'A','from':'main','qty':1}]}"
	     " -> 400 field=lines[0].to",
	     "raw POST /v1/movements {'movement_id':'M','kind':'transfer','lines':[{'sku':'A','qty':1}]}"
	     " -> 400",
	     "transfer GHOST@main>x=1                          -> 422 unknown_sku",
	     "transfer A@moon>main=1                           -> 409 short lines[0].location=moon",
	     "raw GET /v1/locations/moon                       -> 404 unknown_location",
	     "transfer T1 A@main>x=3 A@main>x=2                -> 201 lines=1 lines[0].qty=5",
	     "raw GET /v1/locations/x                          -> 200 kind=stock");
}

/* Units that a location gives have to be there before the movement. */
Test(transfer, gives_what_is_there_before)
{
	flow("receipt A@x +5 A@y +1                            -> 201",
	     "transfer T1 A@x>y=3 A@y>z=2                      -> 409 short lines=1 lines[0].location=y"
	     " lines[0].requested=2 lines[0].available=1",
	     "transfer T1 A@x>y=3 A@y>x=1                      -> 201 lines=2",
	     "sku A -> available=6 @x available=3 @y available=3",
	     "transfer T2 A@x>y=3 A@y>x=3                      -> 201",
	     "sku A -> available=6 @x available=3 @y available=3",
	     "transfer T3 A@x>y=1 A@x>z=2                      -> 201 lines=2",
	     "sku A -> available=6 @x available=0 @y available=4 @z available=2",
	     "run audit                                        -> 0");
}

/* Units of many slots, through two services, to and fro at once: nothing is lost, and no call is told of a deadlock. */
Test(transfer, to_and_fro_at_once)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_steps("receipt A@x +40 A@y +40 B@x +40 B@y +40 -> 201",
	           "race 8*60 transfer T# A@x>y=1 B@y>x=1 || transfer U# A@y>x=1 B@x>y=1 || reserve R# A@x=1 ttl=1"
	           " || transfer V# A@x>z=1 A@y>z=1 || release R# -> *x 201 | *x 200 | *x 409 | *x 404",
	           "sql SELECT SUM(qty) FROM movement_line JOIN sku USING (sku_id) WHERE code = 'A' -> 80",
	           "run audit                               -> 0");
	flow_end();
}
