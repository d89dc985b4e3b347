/* test_stock_bulk.c - the stock of many skus in one answer: what a GET of each would say. */
#include "tests/kit/http.h"
#include "tests/lang/flow.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define STOCK "raw POST /v1/stock "

Test(stock_bulk, says_what_get_sku_says)
{
	flow("receipt A +5 A@paris +3 B@lyon +2                        -> 201",
	     "raw PUT /v1/skus/A {'name':'Cup','barcodes':['1','2'],'per_customer':9} -> 200",
	     "raw PUT /v1/skus/A/threshold {'low':2,'location':'paris'} -> 200",
	     "reserve R1 A@paris=1 customer=c                         -> 201",
	     STOCK "{'skus':['B','X','A']} -> 200 items=B,X,A B available=2 X code=unknown_sku !available"
	           " A available=7 reserved=1 on_hand=8 per_customer=9 name=Cup items[2].barcodes=2"
	           " items[2].thresholds[0].low=2 items[2].locations=2 items[2].locations[0].location=main"
	           " items[2].locations[1].location=paris items[2].locations[1].available=2"
	           " items[2].locations[1].reserved=1 !~next_cursor",
	     STOCK "{'skus':['A','A']}     -> 200 items=A,A items[0].locations=2 items[1].locations=2");
}

/* With locations the sums are of these alone. */
Test(stock_bulk, at_some_locations)
{
	flow("raw PUT /v1/locations/ship {'kind':'incoming'}    -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}         -> 201",
	     "receipt A +5 A@paris +3 A@lyon +2 A@ship +7 A@qc +1 B +1 -> 201",
	     STOCK "{'skus':['A']} -> 200 A available=10 on_hand=11 aside=1 items[0].incoming.available=7"
	           " items[0].locations=5",
	     STOCK "{'skus':['A','B'],'locations':['paris','lyon','mars']} -> 200 A available=5 on_hand=5"
	           " items[0].locations=2 B available=0 on_hand=0 items[1].locations=0",
	     STOCK "{'skus':['A'],'locations':['ship']} -> 200 A available=0 on_hand=0"
	           " items[0].incoming.available=7 items[0].locations=1 items[0].locations[0].kind=incoming",
	     STOCK "{'skus':['A'],'locations':['qc','main']} -> 200 A available=5 aside=1 on_hand=6",
	     STOCK "{'skus':['A'],'locations':['mars']} -> 200 A available=0 on_hand=0 items[0].locations=0",
	     /* memory, from which a GET may be answered, is whole */
	     "sku A max_age=60000 -> available=10",
	     "second",
	     "receipt A@rome +4 -> 201",
	     "@2 raw POST /v1/stock {'skus':['A'],'locations':['rome']} -> 200 A available=4",
	     "@2 raw POST /v1/stock {'skus':['A']} -> 200 A available=14 items[0].locations=6");
}

Test(stock_bulk, tells_stops)
{
	flow("receipt A +5 A@paris +3                           -> 201",
	     "raw PUT /v1/locations/paris {'kind':'stock','for_sale':false} -> 200",
	     STOCK "{'skus':['A']} -> 200 A available=5 stopped=3 on_hand=8 !for_sale",
	     STOCK "{'skus':['A'],'locations':['paris']} -> 200 A available=0 stopped=3 on_hand=3",
	     "raw PUT /v1/skus/A {'for_sale':false,'reason':'recall'} -> 200",
	     STOCK "{'skus':['A']} -> 200 A available=0 stopped=8 for_sale=false reason=recall");
}

Test(stock_bulk, refused)
{
	flow(STOCK "{}                                  -> 400 invalid_request field=skus",
	     STOCK "{'skus':[]}                         -> 400 invalid_request field=skus",
	     STOCK "{'skus':['A',1]}                    -> 400 invalid_request field=skus[1]",
	     STOCK "{'skus':['A'],'locations':[]}       -> 400 invalid_request field=locations",
	     STOCK "{'skus':['A'],'locations':['a','b','a']} -> 400 invalid_request field=locations",
	     STOCK "{'skus':['A'],'locations':['1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16',"
	           "'17']}                              -> 400 invalid_request field=locations",
	     STOCK "{'skus':['A'],'location':'main'}    -> 400 invalid_request field=location",
	     "raw GET /v1/stock                         -> 405 method_not_allowed Allow:POST");
}

/* Skus at locations count; with `locations` those that are asked for. */
Test(stock_bulk, answers_20000_rows)
{
	flow_begin();
	flow_repeat("receipt ", " S# +1", 1000, " -> 201");
	flow_steps("sql INSERT INTO location (code) SELECT CONCAT('L', seq) FROM seq_1_to_20 -> ",
	           "sql INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved)"
	           " SELECT s.sku_id, l.location_id, 1, 1, 0 FROM sku s JOIN location l WHERE l.code LIKE 'L%' -> ",
	           "sql DELETE FROM stock_slot WHERE location_id ="
	           " (SELECT location_id FROM location WHERE code = 'L20') -> ");
	flow_repeat(STOCK "{'skus':[", "'S#',", 999, "'S999']} -> 200 items=1000 items[999].locations=20");
	flow_repeat(STOCK "{'skus':[", "'S#',", 500, "'S1']} -> 200 items=501");
	flow_steps("receipt S0@L20 +1 -> 201");
	flow_repeat(STOCK "{'skus':[", "'S#',", 999, "'S999']} -> 422 too_large");
	flow_repeat(STOCK "{'skus':[", "'S#',", 999,
	            "'S999'],'locations':['L3','main']} -> 200 items=1000"
	            " items[999].locations=2");
	flow_repeat(STOCK "{'skus':['S0'", ",'S0'", 951, "]} -> 200 items=952 items[951].locations=21");
	flow_repeat(STOCK "{'skus':['S0'", ",'S0'", 952, "]} -> 422 too_large");
	flow_steps("sql DELETE FROM stock_slot WHERE location_id IN"
	           " (SELECT location_id FROM location WHERE code LIKE 'L%')"
	           " AND NOT (sku_id = (SELECT sku_id FROM sku WHERE code = 'S0') AND location_id ="
	           " (SELECT location_id FROM location WHERE code = 'L20')) -> ");
	flow_end();
}
