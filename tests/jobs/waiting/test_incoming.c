/* test_incoming.c - places of kind incoming: promises as they are raised, lowered, moved and told. */
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"
#include "tests/kit/drill.h"

Test(incoming, is_a_kind_with_a_time)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming','expected_at':'2027-01-02T03:04:05Z'}"
	     " -> 201 kind=incoming expected_at=2027-01-02T03:04:05.000Z",
	     "raw GET /v1/locations/po                        -> 200 expected_at=2027-01-02T03:04:05.000Z",
	     "raw PUT /v1/locations/po {}                     -> 200 kind=incoming expected_at=*",
	     "raw PUT /v1/locations/po {'expected_at':'soon'} -> 400 field=expected_at",
	     "receipt A@po +5                                 -> 201 A@po=5",
	     "sku A -> @po kind=incoming @po expected_at=2027-01-02T03:04:05.000Z",
	     "raw PUT /v1/locations/po {'expected_at':'2027-02-02T03:04:05+01:00'} -> 200"
	     " expected_at=2027-02-02T02:04:05.000Z",
	     "sku A -> @po expected_at=2027-02-02T02:04:05.000Z",
	     "raw PUT /v1/locations/po {'expected_at':null}   -> 200 kind=incoming !expected_at",
	     "sku A -> @po kind=incoming !locations[0].expected_at",
	     "raw PUT /v1/locations/po {'kind':'stock'}       -> 409 in_use",
	     "adjust A@po -5                                  -> 201",
	     "raw PUT /v1/locations/po {'expected_at':'2027-01-02T03:04:05Z'} -> 200",
	     "raw PUT /v1/locations/po {'kind':'stock','expected_at':'2027-01-02T03:04:05Z'} -> 422 wrong_kind"
	     " field=expected_at",
	     "raw PUT /v1/locations/po {'kind':'stock'}       -> 200 kind=stock !expected_at",
	     "raw PUT /v1/locations/po {'expected_at':null}   -> 200 kind=stock",
	     "raw PUT /v1/locations/po {'expected_at':'2027-01-02T03:04:05Z'} -> 422 wrong_kind field=expected_at",
	     "raw PUT /v1/locations/new {'expected_at':'2027-01-02T03:04:05Z'} -> 422 wrong_kind field=expected_at",
	     "raw GET /v1/locations/new                       -> 404 unknown_location");
}

Test(incoming, promises_are_no_units_in_the_house)
{
	flow("serve   --lanes 1 --stock-changed               -> ",
	     LEVELS_WATCHED,
	     STOCK_WISHED,
	     "raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}       -> 201",
	     "receipt A@po +7 A +2 A@qc +1                    -> 201",
	     "sku     A -> available=2 reserved=0 on_hand=3 aside=1 incoming.available=7 incoming.reserved=0"
	     " @po available=7 @po on_hand=0",
	     "availability A -> 200 A available=2 A on_hand=3 A incoming.available=7",
	     "skus           -> 200 A available=2 A incoming.available=7",
	     "wait events types=stock.changed                 -> 200 ~available:2,reserved:0,on_hand:3",
	     "run     stats --json                            -> 0 available=2 aside=1 on_hand=3 incoming=7"
	     " incoming_reserved=0",
	     "run     export stock                            -> 0 ~A,po,incoming,7,0,0 ~A,qc,aside,1,0,1",
	     "adjust  A@po -3                                 -> 201",
	     "adjust  A@po -5                                 -> 409 short A@po requested=5 available=4",
	     "sku     A -> incoming.available=4 on_hand=3",
	     "run     audit                                   -> 0");
}

/* Units that are not in the house are not returned, and no transfer brings them into the house. */
Test(incoming, wrong_kind)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "raw PUT /v1/locations/po2 {'kind':'incoming'}   -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}       -> 201",
	     "receipt A@po +7 A +5 B +1                       -> 201",
	     "return  A@po +1 A +1                            -> 422 wrong_kind lines=1 lines[0].location=po",
	     "count   A@po=7 short=backorder to=po2           -> 422 wrong_kind lines=1 lines[0].location=po",
	     "transfer A@po>main=1 A@main>qc=1                -> 422 wrong_kind lines=1 lines[0].from=po"
	     " lines[0].to=main",
	     "transfer A@main>po=1                            -> 422 wrong_kind lines[0].from=main lines[0].to=po",
	     "transfer A@qc>po=1                              -> 422 wrong_kind",
	     "transfer A@po>new=1                             -> 422 wrong_kind lines[0].to=new",
	     "transfer T1 A@po>po2=3                          -> 201",
	     "transfer T1 A@po>po2=3                          -> 200 replayed",
	     "transfer A@po>po2=5                             -> 409 short",
	     "transfer A@main>qc=2                            -> 201",
	     "transfer GHOST@po>qc=2                          -> 422 unknown_sku",
	     "transfer A@nowhere>po=2                         -> 409 short",
	     "sku     A -> available=3 aside=2 on_hand=5 incoming.available=7 @po available=4 @po2 available=3",
	     "run     audit                                   -> 0");
}

/* Sums of promises change in two services, one after the other, beside movements of one batch. */
Test(incoming, sums_change_in_two_services, DRILL)
{
	flow("serve   --lanes 2                               -> ",
	     "second  --lanes 2 --slot 5                      -> ",
	     "raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "raw PUT /v1/locations/po2 {'kind':'incoming'}   -> 201",
	     "receipt A@po +20 B@po +20                       -> 201",
	     "race 16*400 adjust A@po -1 || adjust A@po +1 || transfer A@po>po2=1 B@po>po2=1 || transfer A@po2>po=1"
	     " B@po2>po=1 || receipt B +1 -> *x 201 | *x 409 short",
	     "run     audit                                   -> 0");
}

/* A service that remembers an older kind refuses nothing by it. */
Test(incoming, wrong_kind_is_not_said_by_an_older_kind)
{
	flow("serve   --lanes 1                               -> ",
	     "second  --lanes 1 --slot 5                      -> ",
	     "receipt A@x +1                                  -> 201",
	     "@2 return A@x +1                                -> 201",
	     "adjust  A@x -2                                  -> 201",
	     "raw PUT /v1/locations/x {'kind':'incoming'}     -> 200",
	     "@2 return A@x +1                                -> 422 wrong_kind",
	     "@2 receipt A@x +2                               -> 201",
	     "@2 sku A                                        -> on_hand=0 incoming.available=2",
	     "@2 adjust A@x -2                                -> 201",
	     "raw PUT /v1/locations/x {'kind':'stock'}        -> 200",
	     "@2 return A@x +1                                -> 201",
	     "@2 sku A                                        -> on_hand=1 available=1 !incoming");
}

/* A count of a promise is the list of what the supplier still owes. */
Test(incoming, is_counted)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "receipt A@po +7 A +5                            -> 201",
	     "reserve R1 A@po=3 confirm=true                  -> 201",
	     "count   C1 A@po=5 A=6                           -> 201 kind=count A@po=-2 A=1",
	     "count   C1 A@po=5 A=6                           -> 200 replayed A@po=-2 A=1",
	     "sku     A -> available=6 on_hand=6 incoming.available=2 incoming.reserved=3 @po available=2",
	     "mark",
	     "count   A@po=2                                  -> 409 short A@po counted=2 reserved=3",
	     "count   A@po=9 expected=6                       -> 409 count_mismatch A@po expected=6 on_hand=5",
	     "count   GHOST@po=1                              -> 422 unknown_sku",
	     "unchanged",
	     "count   A@po=9 expected=5                       -> 201 A@po=4",
	     "count   A@po=9                                  -> 201 A@po=0",
	     "raw PUT /v1/skus/B {}                           -> 201",
	     "count   B@po=4                                  -> 201 B@po=4",
	     "reserve R2 B@po=4                               -> 201 lines[0].waiting=true",
	     "arrival B@po>main=4                             -> 201 lines[0].filled=4",
	     "count   A@po=3 expected=9                       -> 201 A@po=-6",
	     "reserve R3 A@po=1                               -> 409 short A@po available=0",
	     "arrival A@po>main=3                             -> 201 lines[0].filled=3",
	     "events  types=movement.count                    -> items[0].data.lines[1].location=po"
	     " items[0].data.lines[1].qty=-2",
	     "run     audit                                   -> 0");
}

/* Holds past their time do not keep a promise up. */
Test(incoming, is_counted_without_expired_holds)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "receipt A@po +7                                 -> 201",
	     "reserve R1 A@po=5 ttl=60                        -> 201",
	     "reserve R2 A@po=1                               -> 201",
	     "count   A@po=1                                  -> 409 short A@po counted=1 reserved=6",
	     "tick    61",
	     "count   A@po=1                                  -> 201 A@po=-6",
	     "sku     A -> available=0 incoming.available=0 incoming.reserved=1",
	     "run     audit                                   -> 0");
}

/* What has arrived is not owed any more, even while it is not handed out. */
Test(incoming, is_counted_while_an_arrival_is_handed_out)
{
	flow_begin();
	flow_steps("serve    --lanes 2",
	           "raw PUT /v1/locations/po {'kind':'incoming'}   -> 201",
	           "receipt  A@po +10                              -> 201",
	           "reserve  C1 A@po=3 confirm=true                -> 201",
	           "reserve  C2 A@po=2 confirm=true                -> 201");
	trap_lock("SELECT * FROM reservation WHERE order_id = 'C1' FOR UPDATE");
	flow_steps("arrival  M1 A@po>main=7                        -> 201 lines[0].filled=2 lines[0].waiting=5",
	           "count    A@po=9 expected=8                     -> 409 count_mismatch A@po expected=8 on_hand=3",
	           "count    A@po=1 expected=3                     -> 201 A@po=-2",
	           "adjust   A@po -2                               -> 409 short A@po requested=2 available=1",
	           "count    A@po=0                                -> 201 A@po=-1",
	           "run      audit                                 -> 0");
	trap_unlock();
	flow_steps("wait movement M1                               -> 200 lines[0].filled=5 lines[0].for_sale=2",
	           "sku      A                                     -> available=2 reserved=5 !incoming",
	           "run      audit                                 -> 0");
	flow_end();
}

/* A supplier's list of yesterday: what has been ordered, has arrived or was lost since is added. */
Test(incoming, is_counted_as_of_yesterday)
{
	flow("serve   --lanes 1                               -> ",
	     "raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "raw PUT /v1/locations/bo {'kind':'incoming'}    -> 201",
	     "receipt A@po +10 A +4                           -> 201",
	     "reserve R1 A@po=2 confirm=true                  -> 201",
	     "reserve R2 A=4 confirm=true                     -> 201",
	     "tick    100",
	     "receipt A@po +6                                 -> 201",
	     "transfer A@po>bo=1                              -> 201",
	     "arrival A@po>main=6                             -> 201 lines[0].filled=2 lines[0].for_sale=4",
	     "adjust  A@po -1                                 -> 201",
	     "count   A=5 short=backorder to=po               -> 201 A@main=-5 A@po=1",
	     "count   A=3 short=backorder to=po               -> 201 A@main=-2 A@po=2",
	     "sku     A                                       -> @po available=8 @po reserved=3",
	     "count   A@po=12 as_of=-50 expected=9            -> 409 count_mismatch A@po expected=9 on_hand=10",
	     "count   A@po=12 as_of=-50 expected=10           -> 201 A@po=2",
	     "count   A@po=12 as_of=-49                       -> 201 A@po=0",
	     "sku     A                                       -> @po available=10 @po reserved=3",
	     "count   A@po=10 as_of=-40                       -> 201 A@po=-2",
	     "count   A@po=2 as_of=-30                        -> 201 A@po=-8",
	     "count   A@po=1 as_of=-20                        -> 409 short A@po counted=1 since=1 reserved=3",
	     "run     audit                                   -> 0");
}

/* Counts, adjustments, arrivals and orders of one promise, in two services. */
Test(incoming, is_counted_beside_everything_else)
{
	flow("serve   --lanes 2                               -> ",
	     "second  --lanes 2 --slot 5                      -> ",
	     "raw PUT /v1/locations/po {'kind':'incoming'}    -> 201",
	     "receipt A@po +400                               -> 201",
	     "race 16*60 count A@po=300 || adjust A@po +3 || reserve R# A@po=1 ttl=1 || arrival A@po>main=1 || "
	     "adjust A@po -3 expected=300 || count A@po=300 expected=303 -> *x 201 | *x 409 short"
	     " | *x 409 count_mismatch",
	     "wait sql SELECT COUNT(*) FROM arrival_open      -> 0",
	     "run     audit                                   -> 0");
}
