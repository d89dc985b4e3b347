/* test_sums.c - what lies at each location, summed over all skus. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#define SUMS "wait locations sums=true -> 200 "
/* Of each location skus, available units, reserved ones. */
#define BY_SQL                                                                             \
	"sql SELECT o.code, COUNT(DISTINCT IF(s.available + s.reserved, s.sku_id, NULL))," \
	" COALESCE(SUM(s.available), 0), COALESCE(SUM(s.reserved), 0)"                     \
	" FROM location o LEFT JOIN stock_slot s USING (location_id) GROUP BY o.code -> "

Test(sums, follow_what_moves)
{
	flow("receipt  A +10 B +5 A@annex +3     -> 201",
	     SUMS "items=annex,main end counted_at=~0 @main stock.skus=2 stock.available=15 stock.reserved=0"
	          " stock.on_hand=15 !stock.stopped @annex stock.skus=1 stock.available=3 stock.on_hand=3",
	     "reserve  R1 A=4                    -> 201",
	     "reserve  R2 B=5 A@annex=1 confirm=true -> 201",
	     SUMS "@main stock.skus=2 stock.available=6 stock.reserved=9 stock.on_hand=15"
	          " @annex stock.skus=1 stock.available=2 stock.reserved=1 stock.on_hand=3",
	     BY_SQL "annex,1,2,1 main,2,6,9",
	     "settle   R2                        -> 200",
	     SUMS "@main stock.skus=1 stock.available=6 stock.reserved=4 stock.on_hand=10"
	          " @annex stock.skus=1 stock.available=2 stock.reserved=0 stock.on_hand=2",
	     "transfer A@annex>main=2            -> 201",
	     SUMS "@main stock.skus=1 stock.available=8 stock.reserved=4 stock.on_hand=12"
	          " @annex stock.skus=0 stock.available=0 stock.reserved=0 stock.on_hand=0",
	     BY_SQL "annex,0,0,0 main,1,8,4",
	     "locations                          -> 200 items=annex,main !counted_at @main !stock");
}

/* Promised units are not in the house; what lies aside is, and is not stopped by a stop of its sku. */
Test(sums, of_each_kind_of_location)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}    -> 201",
	     "raw PUT /v1/locations/empty {}               -> 201",
	     "receipt  A +10 A@qc +3 B@qc +1 A@po +20 C@po +1 -> 201",
	     "reserve  R1 A@po=5 confirm=true    -> 201",
	     SUMS "items=empty,main,po,qc @main kind=stock stock.available=10"
	          " @qc kind=aside stock.skus=2 stock.available=4 stock.reserved=0 stock.on_hand=4"
	          " @po kind=incoming stock.skus=2 stock.available=16 stock.reserved=5 stock.on_hand=0"
	          " @empty stock.skus=0 stock.available=0 stock.reserved=0 stock.on_hand=0",
	     BY_SQL "empty,0,0,0 main,1,10,0 po,2,16,5 qc,2,4,0",
	     "raw PUT /v1/skus/A {'for_sale':false} -> 200",
	     SUMS "@main stock.skus=1 stock.available=0 stock.stopped=10 stock.on_hand=10"
	          " @qc stock.available=4 !stock.stopped"
	          " @po stock.skus=2 stock.available=1 stock.reserved=5 stock.stopped=15 stock.on_hand=0",
	     "raw PUT /v1/skus/A {'for_sale':true}  -> 200",
	     SUMS "@main stock.available=10 !stock.stopped @po stock.available=16 !stock.stopped");
}

/* A stop at a location is told as of now, also beside sums of before. */
Test(sums, at_a_stopped_location)
{
	flow("receipt  A +10 B +2                -> 201",
	     "reserve  R1 A=3                    -> 201",
	     SUMS "@main stock.available=9 stock.reserved=3",
	     "raw PUT /v1/locations/main {'for_sale':false,'reason':'flood'} -> 200",
	     "locations sums=true                -> 200 @main for_sale=false reason=flood stock.available=0"
	     " stock.reserved=3 stock.stopped=9 stock.on_hand=12",
	     "raw PUT /v1/locations/main {'for_sale':true} -> 200",
	     "locations sums=true                -> 200 @main !for_sale stock.available=9 !stock.stopped");
}

Test(sums, page_by_page)
{
	flow("receipt  A@a +1 A@b +2 A@c +3 A@d +4 A@e +5 -> 201",
	     "wait locations sums=true limit=2   -> items=a,b more @a stock.available=1 @b stock.available=2",
	     "locations sums=true limit=2 next   -> items=c,d more @c stock.available=3 @d stock.available=4",
	     "locations sums=true limit=2 next   -> items=e end counted_at=~0 @e stock.available=5",
	     "locations limit=4                  -> items=a,b,c,d more !counted_at",
	     "locations sums=true next           -> items=e end @e stock.skus=1");
}

Test(sums, of_one_location)
{
	flow("receipt  A +4 A@annex +1           -> 201",
	     "wait raw GET /v1/locations/main?sums=true -> 200 location=main kind=stock stock.skus=1 stock.available=4"
	     " stock.reserved=0 stock.on_hand=4 counted_at=~0",
	     "raw GET /v1/locations/main         -> 200 location=main !stock !counted_at",
	     "raw GET /v1/locations/moon?sums=true -> 404 unknown_location !counted_at",
	     "raw GET /v1/locations/main?sums=false -> 400 invalid_request field=sums",
	     "raw GET /v1/locations/main?sums=   -> 400 field=sums",
	     "raw GET /v1/locations?sums=1       -> 400 invalid_request field=sums",
	     "raw GET /v1/locations?sums=true&sums=true -> 400 field=sums",
	     "raw GET /v1/locations?sums=true&cursor=x -> 400 field=cursor",
	     "raw PUT /v1/locations/main?sums=true {} -> 400 field=sums");
}

/* One count answers all that ask within a second. A location that was made since has nothing yet. */
Test(sums, are_counted_once)
{
	flow_begin();
	flow_step("receipt  A +1                   -> 201");
	trap_counted_once("/v1/locations?sums=true", "receipt A +1 -> 201");
	trap_counted_once("/v1/locations/main?sums=true", "receipt A +1 -> 201");
	flow_steps("receipt  A@new +7               -> 201",
	           "wait raw GET /v1/locations/new?sums=true -> 200 stock.available=7",
	           "raw PUT /v1/locations/later {}  -> 201",
	           "raw GET /v1/locations?sums=true -> 200 items=later,main,new @later stock.available=0 stock.skus=0"
	           " @new stock.available=7");
	flow_end();
}

Test(sums, for_each_role_that_reads)
{
	flow("receipt  A +1                      -> 201",
	     "keys shop order | hand worker | eye read | boss admin",
	     "restart",
	     "locations sums=true                -> 401 unauthorized",
	     "key shop",
	     "wait locations sums=true           -> 200 @main stock.available=1",
	     "key hand",
	     "raw GET /v1/locations/main?sums=true -> 200 stock.available=1",
	     "key eye",
	     "locations sums=true                -> 200 @main stock.available=1");
}

/* Units of a sku in several slots are of one sku. */
Test(sums, over_slots_and_skus)
{
	flow_begin();
	flow_step("serve --lanes 4");
	flow_repeat("receipt A +1000", " S#@main +3 S#@annex +2", 200, " -> 201");
	flow_steps("race 8*100 reserve R# A=1          -> 800x 201",
	           "sql SELECT COUNT(*) > 1 FROM stock_slot JOIN sku USING (sku_id) WHERE code = 'A' -> 1",
	           SUMS "@main stock.skus=201 stock.available=800 stock.reserved=800 stock.on_hand=1600"
	                " @annex stock.skus=200 stock.available=400 stock.reserved=0",
	           BY_SQL "annex,200,400,0 main,201,800,800");
	flow_end();
}
