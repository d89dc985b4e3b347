/* test_arrival.c - arrivals: promised units have come, and go to those who wait, in the order of their line; what they
 * leave over is for sale. */
#include "tests/flow.h"

#define PO "raw PUT /v1/locations/po {'kind':'incoming'} -> 201"

Test(arrival, serves_the_line_in_its_order)
{
	flow(PO,
	     "receipt A@po +10                                -> 201",
	     "reserve H1 A@po=2                               -> 201",
	     "tick    2",
	     "reserve C1 A@po=3 confirm=true                  -> 201",
	     "tick    2",
	     "reserve C2 A@po=4 confirm=true                  -> 201",
	     "arrival M1 A@po>main=5                          -> 201 kind=arrival lines=1 lines[0].from=po"
	     " lines[0].to=main lines[0].qty=5 lines[0].filled=5 lines[0].for_sale=0 lines[0].waiting=0",
	     "arrival M1 A@po>main=5                          -> 200 replayed lines[0].filled=5",
	     "arrival M1 A@po>main=6                          -> 422 movement_id_reused",
	     "movement M1                                     -> 200 kind=arrival lines[0].filled=5 lines[0].waiting=0",
	     "get     C1                                      -> confirmed A=3 !lines[0].waiting",
	     "get     C2                                      -> confirmed A=2 A@po=2 !lines[0].waiting"
	     " lines[1].waiting=true",
	     "get     H1                                      -> held A@po=2 lines[0].waiting=true",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=C2,H1 end items[0].qty=2",
	     "claim   settle w                                -> 201 orders=1 orders[0].order_id=C1",
	     "complete 1                                      -> completed=1",
	     "claim   settle w                                -> 204",
	     "sku     A -> available=0 reserved=2 on_hand=2 @po available=1 @po reserved=4",
	     "arrival A@po>main=5                             -> 201 lines[0].filled=4 lines[0].for_sale=1"
	     " lines[0].waiting=0",
	     "get     C2                                      -> confirmed A=4",
	     "get     H1                                      -> held A=2",
	     "claim   settle w                                -> 201 orders=1 orders[0].order_id=C2",
	     "sku     A -> available=1 reserved=6 on_hand=7 !incoming",
	     "arrival A@po>main=1                             -> 409 short lines=1 lines[0].location=po"
	     " lines[0].requested=1 lines[0].available=0",
	     "movements A                                     -> 200 items=4",
	     "tick    900",
	     "sku     A -> available=1",
	     "work    expire",
	     "sku     A -> available=3 reserved=4",
	     "sql     SELECT (SELECT COUNT(*) FROM waiting_line), (SELECT COUNT(*) FROM arrival_open) -> 0,0",
	     "run     audit                                   -> 0");
}

Test(arrival, wants_a_promise_and_a_place_for_sale)
{
	flow(PO,
	     "raw PUT /v1/locations/qc {'kind':'aside'}       -> 201",
	     "receipt A@po +10 A +5                           -> 201",
	     "arrival A@main>po=1                             -> 422 wrong_kind lines[0].from=main lines[0].to=po",
	     "arrival A@po>qc=1                               -> 422 wrong_kind lines[0].to=qc",
	     "arrival A@main>west=1                           -> 422 wrong_kind",
	     "arrival GHOST@po>main=1                         -> 422 unknown_sku",
	     "arrival A@nowhere>main=1                        -> 409 short lines[0].location=nowhere"
	     " lines[0].available=0",
	     "arrival A@po>main=11                            -> 409 short lines[0].requested=11 lines[0].available=10",
	     "arrival A@po>main=6 A@po>west=5                 -> 409 short lines[0].requested=11",
	     "arrival A@po>main=6 A@po>west=4                 -> 201 lines=2 lines[0].to=main lines[0].for_sale=6"
	     " lines[1].to=west lines[1].for_sale=4",
	     "sku     A -> available=15 @west available=4 @west kind=stock",
	     "run     audit                                   -> 0");
}
