/* test_skus.c - what a shop says of a sku: that it is there, its name, its barcodes, its thresholds; and which skus are
 * low. */
#include "tests/lang/flow.h"

#define PUT        "raw PUT /v1/skus/A "
#define THRESHOLD  "raw PUT /v1/skus/A/threshold "
#define THRESHOLDS "raw GET /v1/skus/A/thresholds"
#define EAN        "4006381333931"

/* A sku without units is there, and is short; one that was never named is unknown. */
Test(skus, are_made)
{
	flow("raw GET /v1/skus/A          -> 404 unknown_sku",
	     PUT "{}                      -> 201 Location:A sku=A !name !barcodes !per_customer !thresholds",
	     PUT "{}                      -> 200 sku=A",
	     "sku      A                  -> available=0 reserved=0 on_hand=0 !name !barcodes !thresholds",
	     "skus                        -> items=A !items[0].name",
	     "reserve  R1 A=1             -> 422 unknown_location A lines[0].location=main",
	     "reserve  R1 B=1             -> 422 unknown_sku B",
	     "adjust   A +3               -> 201",
	     "reserve  R1 A=1             -> 201",
	     "race 16  raw PUT /v1/skus/C {} -> 1x 201 | 15x 200");
}

/* A member that is left out stays, null removes it, and each is set by itself. */
Test(skus, have_a_name_and_barcodes)
{
	flow(PUT "{'name':'Tasse weiß ☕\ufe0f','barcodes':['" EAN "','X 1']} -> 201 'name=Tasse weiß ☕\ufe0f'"
	         " barcodes=2 barcodes[0]=" EAN " 'barcodes[1]=X 1'",
	     "sku      A                  -> available=0 'name=Tasse weiß ☕\ufe0f' barcodes=2 'barcodes[1]=X 1'",
	     "skus                        -> items=A 'items[0].name=Tasse weiß ☕\ufe0f' items[0].barcodes=2",
	     "receipt  A +5               -> 201",
	     "sku      A max_age=60000    -> available=5 !name !barcodes",
	     "sku      A                  -> available=5 name=* barcodes=2",
	     PUT "{'per_customer':7}      -> 200 per_customer=7 name=* barcodes=2",
	     PUT "{'name':'Cup'}          -> 200 per_customer=7 name=Cup barcodes=2",
	     PUT "{'barcodes':['9']}      -> 200 per_customer=7 name=Cup barcodes=1 barcodes[0]=9",
	     PUT "{'barcodes':['9']}      -> 200 barcodes=1",
	     PUT "{'name':null,'per_customer':null} -> 200 !per_customer !name barcodes=1",
	     PUT "{'barcodes':null}       -> 200 !barcodes",
	     PUT "{'barcodes':null}       -> 200 !barcodes",
	     "sku      A                  -> available=5 !name !barcodes",
	     PUT "{'name':'Cup','barcodes':['2','1']} -> 200",
	     "second",
	     "@2 sku   A                  -> name=Cup barcodes=2 barcodes[0]=2 barcodes[1]=1",
	     "restart",
	     "sku      A                  -> name=Cup barcodes=2",
	     "run show sku A              -> 0 '~Cup' '~2, 1'",
	     "availability A              -> !items[0].name",
	     "run audit                   -> 0");
}

Test(skus, refused_details)
{
	flow(PUT "{'name':'Cup','barcodes':['1']} -> 201",
	     "mark",
	     PUT "{'name':''}             -> 400 invalid_request field=name",
	     PUT "{'name':7}              -> 400 invalid_request field=name",
	     PUT "{'name':'a\\nb'}        -> 400 invalid_request field=name",
	     PUT "{'name':'a\\u0085b'}    -> 400 invalid_request field=name",
	     PUT "{'name':'a\\u0000b'}    -> 400 invalid_request field=name",
	     PUT "{'barcodes':[]}         -> 400 invalid_request field=barcodes",
	     PUT "{'barcodes':'1'}        -> 400 invalid_request field=barcodes",
	     PUT "{'barcodes':[1]}        -> 400 invalid_request field=barcodes[0]",
	     PUT "{'barcodes':['1','2','1']} -> 400 invalid_request field=barcodes",
	     PUT "{'barcodes':['1',' 2']} -> 400 invalid_request field=barcodes[1]",
	     PUT "{'barcodes':['\u00e9']} -> 400 invalid_request field=barcodes[0]",
	     PUT "{'barcodes':['1'],'Name':'x'} -> 400 invalid_request field=Name",
	     PUT "{'name':'x','barcodes':[null]} -> 400 invalid_request field=barcodes[0]",
	     "raw GET /v1/skus?barcode=   -> 400 invalid_request field=barcode",
	     "raw GET /v1/skus?barcode=%C3%A9 -> 400 invalid_request field=barcode",
	     "raw GET /v1/skus?barcode=%20 -> 400 invalid_request field=barcode",
	     "unchanged");
}

/* A name has 200 characters, whatever they take; a sku 20 barcodes, of 64 bytes each. */
Test(skus, longest_details)
{
	flow_begin();
	flow_repeat(PUT "{'name':'", "\U0001f455", 200, "'} -> 201");
	flow_repeat(PUT "{'name':'", "\U0001f455", 201, "'} -> 400 field=name");
	flow_repeat(PUT "{'name':'", "x", 200, "'} -> 200");
	flow_repeat(PUT "{'name':'", "x", 201, "'} -> 400 field=name");
	flow_repeat(PUT "{'barcodes':['", "x", 64, "']} -> 200 barcodes=1");
	flow_repeat(PUT "{'barcodes':['", "x", 65, "']} -> 400 field=barcodes[0]");
	flow_repeat(PUT "{'barcodes':['x'", ",'#'", 19, "]} -> 200 barcodes=20 barcodes[19]=18");
	flow_repeat(PUT "{'barcodes':['x'", ",'#'", 20, "]} -> 400 field=barcodes");
	flow_steps("sku A -> barcodes=20 barcodes[0]=x barcodes[1]=0");
	flow_end();
}

/* Goods are found by their barcode. Two skus may have the same barcode; the list is by code, and combines with other
 * filters. */
Test(skus, found_by_barcode)
{
	flow("receipt  A +5 B +1 C +1     -> 201",
	     "raw PUT  /v1/skus/C {'barcodes':['" EAN "']}     -> 200",
	     PUT "{'barcodes':['1','" EAN "']} -> 200",
	     "raw PUT  /v1/skus/B {'barcodes':['40','" EAN "0']} -> 200",
	     "raw PUT  /v1/skus/D {'barcodes':['" EAN "']}     -> 201",
	     "skus     barcode=" EAN "           -> items=A,C,D end A available=5",
	     "skus     barcode=1                 -> items=A end",
	     "skus     barcode=" EAN "0          -> items=B end",
	     "skus     barcode=400               -> items= end",
	     "skus     barcode=" EAN " limit=1   -> items=A more",
	     "skus     barcode=" EAN " limit=1 next -> items=C more",
	     "skus     barcode=" EAN " limit=1 next -> items=D end",
	     "skus     barcode=" EAN " limit=1   -> items=A more",
	     "skus     barcode=1 next            -> 400 invalid_request field=cursor",
	     "skus     next                      -> 400 invalid_request field=cursor",
	     "skus     barcode=" EAN " prefix=C  -> items=C end",
	     "skus     barcode=" EAN " location=main -> items=A,C end",
	     "skus     barcode=" EAN " low=true  -> items= end",
	     "raw PUT  /v1/skus/C {'barcodes':['2']} -> 200",
	     "skus     barcode=" EAN "           -> items=A,D end",
	     "raw PUT  /v1/skus/A {'barcodes':null} -> 200",
	     "skus     barcode=" EAN "           -> items=D end");
}

/* ---- thresholds */

Test(skus, thresholds_are_read_and_deleted)
{
	flow(THRESHOLDS "                                  -> 404 unknown_sku",
	     "raw DELETE /v1/skus/A/threshold              -> 404 unknown_sku",
	     "receipt  A +5 A@paris +5                     -> 201",
	     THRESHOLDS "                                  -> 200 items=0 end",
	     "raw DELETE /v1/skus/A/threshold              -> 204",
	     THRESHOLD "{'low':0}                          -> 200",
	     THRESHOLD "{'low':3,'location':'paris'}       -> 200",
	     THRESHOLD "{'low':2,'location':'main'}        -> 200",
	     THRESHOLDS "                                  -> 200 items=3 end !items[0].location items[0].low=0"
	                " items[1].location=main items[1].low=2 items[2].location=paris items[2].low=3",
	     "sku      A                                   -> thresholds=3 !thresholds[0].location thresholds[0].low=0"
	     " thresholds[1].location=main thresholds[2].low=3",
	     "sku      A max_age=60000                     -> !thresholds",
	     THRESHOLDS "?limit=2                          -> 200 items=2 more",
	     "second",
	     "@2 sku   A                                   -> thresholds=3",
	     "raw DELETE /v1/skus/A/threshold?location=rome  -> 404 unknown_location",
	     "raw DELETE /v1/skus/A/threshold?location=%20   -> 400 invalid_request field=location",
	     "raw DELETE /v1/skus/A/threshold?locations=main -> 400 invalid_request field=locations",
	     THRESHOLDS "?location=main                    -> 400 invalid_request field=location",
	     THRESHOLDS "?cursor=s.41.00000000             -> 400 invalid_request field=cursor",
	     "raw DELETE /v1/skus/A/threshold              -> 204",
	     "raw DELETE /v1/skus/A/threshold              -> 204",
	     THRESHOLDS "                                  -> 200 items=2 end items[0].location=main",
	     "raw DELETE /v1/skus/A/threshold?location=paris -> 204",
	     "@2 sku   A                                   -> thresholds=1 thresholds[0].location=main",
	     "raw DELETE /v1/skus/A/threshold?location=main -> 204",
	     "sku      A                                   -> !thresholds",
	     "run show sku A                               -> 0 !~threshold");
}

/* A page goes on behind any location; a cursor is of its sku. */
Test(skus, pages_of_thresholds)
{

	flow_begin();
	flow_step("receipt A@a +1 A@b +1 A@c +1 B +1 -> 201");
	for (int i = 0; i < 4; i++)
		flow_step(THRESHOLD "{'low':%d%s} -> 200", i,
		          (const char *[]){"", ",'location':'c'", ",'location':'a'", ",'location':'b'"}[i]);
	flow_steps(THRESHOLDS "?limit=1 -> 200 items=1 more items[0].low=0",
	           THRESHOLDS "?limit=4 -> 200 items=4 end items[1].location=a items[2].location=b"
	                      " items[3].location=c");
	flow_end();
}

/* One that sleeps, at a location that does not sell any more, can be read and deleted, too. */
Test(skus, thresholds_that_sleep)
{
	flow("receipt  A +5 A@qc +1                        -> 201",
	     THRESHOLD "{'low':3,'location':'qc'}          -> 200",
	     "adjust   A@qc -1                             -> 201",
	     "raw PUT  /v1/locations/qc {'kind':'aside'}   -> 200",
	     THRESHOLD "{'low':4,'location':'qc'}          -> 422 wrong_kind field=location",
	     THRESHOLDS "                                  -> 200 items=1 items[0].location=qc items[0].low=3",
	     "raw DELETE /v1/skus/A/threshold?location=qc  -> 204",
	     THRESHOLDS "                                  -> 200 items=0");
}

/* The level is looked at when its threshold goes. */
Test(skus, a_deleted_threshold_tells_nothing_more)
{
	flow("receipt  A +5                                -> 201",
	     THRESHOLD "{'low':5,'location':'main'}        -> 200",
	     "wait events types=stock.low,stock.back       -> items=stock.low",
	     "raw DELETE /v1/skus/A/threshold?location=main -> 204",
	     "wait events types=stock.low,stock.back       -> items=stock.low,stock.back",
	     "adjust   A -1                                -> 201",
	     "adjust   A -4                                -> 201",
	     "wait events types=stock.low,stock.back,stock.out -> items=stock.low,stock.back,stock.out");
}

/* ---- which are low */

/* Without a threshold a sku counts as out where it had units within 30 days, and not for ever. */
Test(skus, out_for_a_month)
{
	flow("receipt  A +1 B +1 B@paris +1                -> 201",
	     "raw PUT  /v1/skus/C {}                       -> 201",
	     "skus     low=true                            -> items= end",
	     "adjust   A -1                                -> 201",
	     "skus     low=true                            -> items=A end items[0].low=1 items[0].low[0].low=0",
	     "wait sql SELECT level FROM level             -> 3",
	     "skus     low=true                            -> items=A end",
	     "sql UPDATE level SET stamp = stamp - 31 * 86400000000 -> ",
	     "skus     low=true                            -> items= end",
	     THRESHOLD "{'low':0,'location':'main'}        -> 200",
	     "skus     low=true                            -> items=A end",
	     "raw DELETE /v1/skus/A/threshold?location=main -> 204",
	     "wait sql SELECT COUNT(*) FROM level_asked    -> 0",
	     "skus     low=true                            -> items= end",
	     "reserve  R1 B@paris=1                        -> 201",
	     "wait sql SELECT COUNT(*) FROM level          -> 2",
	     "sql UPDATE level SET stamp = stamp - 31 * 86400000000 -> ",
	     "skus     low=true                            -> items=B end items[0].low[0].location=paris",
	     "confirm  R1                                  -> 200",
	     "settle   R1                                  -> 200",
	     "skus     low=true                            -> items= end",
	     "receipt  A +2                                -> 201",
	     "wait sql SELECT level FROM level WHERE location_id = 1 -> 1",
	     "adjust   A -2                                -> 201",
	     "skus     low=true                            -> items=A end",
	     "wait sql SELECT level FROM level WHERE location_id = 1 -> 3",
	     "skus     low=true                            -> items=A end");
}

/* Without events no level is looked at: the movements tell. */
Test(skus, out_without_events)
{
	flow("serve --lanes 2 --events-keep 0",
	     "receipt  A +1 B +1                           -> 201",
	     "sql INSERT INTO stock_slot SELECT sku_id, location_id + 1, 1, 0, 0 FROM sku JOIN location"
	     " WHERE sku.code = 'B' -> ",
	     "sql INSERT INTO location (code) VALUES ('rome') -> ",
	     "adjust   A -1                                -> 201",
	     "skus     low=true                            -> items=A end",
	     "sql DELETE FROM stock_slot WHERE location_id > 1 -> ");
}
