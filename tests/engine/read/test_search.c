/* test_search.c - skus are found by a part of their code, name or barcode: which ones, in which order, and how soon. */
#include "engine/catalogue/past.h"
#include "engine/read/search.h"
#include "tests/kit/tables.h"
#include "tests/lang/flow.h"

#include <stdio.h>

#define PUT "raw PUT /v1/skus/"

Test(search, a_part_of_code_name_or_barcode)
{
	flow("skus     q=shirt             -> 200 items= end",
	     "receipt  SHIRT-RED +5 shirt-blue +3 MUG +1 T4 +1 -> 201",
	     "skus     q=shirt             -> items=SHIRT-RED,shirt-blue end SHIRT-RED available=5 on_hand=5",
	     "skus     q=IRT-B             -> items=shirt-blue end shirt-blue available=3",
	     "skus     q=T4                -> items=T4 end",
	     "skus     q=t4                -> items=T4 end",
	     "skus     q=shirts            -> items= end",
	     PUT "MUG {'name':'Tasse weiß GRÖSSE Édition','barcodes':['4006381333931','X-9a']} -> 200",
	     PUT "NEW {'name':'Kubek żółty'} -> 201",
	     "skus     q=gr%C3%B6sse       -> items=MUG end 'items[0].name=Tasse weiß GRÖSSE Édition'"
	     " items[0].barcodes=2",
	     "skus     q=%C3%89DITION      -> items=MUG end",
	     "skus     q=wei%C3%9F%20gr    -> items=MUG end",
	     "skus     q=%C5%BB%C3%93%C5%81TY -> items=NEW end",
	     "skus     q=333               -> items=MUG end",
	     "skus     q=x-9A              -> items=MUG end",
	     "skus     q=931X              -> items= end",
	     "skus     q=%FF%FE            -> 400 invalid_request field=q",
	     PUT "MUG {'name':'Cup','barcodes':null} -> 200",
	     "skus     q=sse               -> items= end",
	     "skus     q=333               -> items= end",
	     "skus     q=cup               -> items=MUG end",
	     PUT "MUG {'name':null}       -> 200",
	     "skus     q=cup               -> items= end",
	     "skus     q=mug               -> items=MUG end",
	     "run      audit               -> 0");
}

/* An exact code and an exact barcode come first, in whatever case they are asked for. The rest is in the order of
 * codes. */
Test(search, exact_ones_first)
{
	flow("receipt  AB7 +1 ab +1 ZAB +1 Z +1 Y +1 X +1 -> 201",
	     PUT "Z  {'barcodes':['77','AB'],'name':'none'} -> 200",
	     PUT "Y  {'barcodes':['177'],'name':'ab'}       -> 200",
	     PUT "X  {'name':'77'}                          -> 200",
	     "skus     q=AB                -> items=Z,ab,AB7,Y,ZAB end",
	     "skus     q=ab                -> items=Z,ab,AB7,Y,ZAB end",
	     "skus     q=77                -> items=Z,X,Y end",
	     "skus     q=AB limit=1        -> items=Z more",
	     "skus     q=AB limit=1 next   -> items=ab more",
	     "skus     q=AB limit=2 next   -> items=AB7,Y more",
	     "skus     q=ab limit=2 next   -> items=ZAB end");
}

/* Skus that come in between move no other; the same text goes on in any case. */
Test(search, pages_stay)
{
	flow("receipt  B1 +1 B3 +1 B5 +1 B7 +1 -> 201",
	     "skus     q=B%20              -> items= end",
	     PUT "B1 {'name':'box'}       -> 200",
	     PUT "B3 {'name':'box'}       -> 200",
	     PUT "B5 {'name':'box'}       -> 200",
	     PUT "B7 {'name':'box'}       -> 200",
	     "skus     q=box limit=2       -> items=B1,B3 more",
	     PUT "B2 {'name':'box'}       -> 201",
	     PUT "B4 {'name':'box'}       -> 201",
	     PUT "B1 {'name':'bag'}       -> 200",
	     "skus     q=BOX limit=2 next  -> items=B4,B5 more",
	     "skus     q=box limit=2 next  -> items=B7 end",
	     "skus     q=box limit=2       -> items=B2,B3 more",
	     "skus     q=bag next          -> 400 invalid_request field=cursor",
	     "skus     next                -> 400 invalid_request field=cursor",
	     "skus     q=box location=main next -> 400 invalid_request field=cursor",
	     "skus     limit=1             -> items=B1 more",
	     "skus     q=box next          -> 400 invalid_request field=cursor");
}

Test(search, filters_beside)
{
	flow("receipt  BOX-1@paris +5 BOX-2 +1 BOX-3 +9 CUP@paris +1 -> 201",
	     "raw PUT  /v1/skus/BOX-2/threshold {'low':2} -> 200",
	     "skus     q=box location=paris -> items=BOX-1 end BOX-1 locations[0].available=5",
	     "skus     q=box location=rome -> items= end",
	     "skus     q=box low=true      -> items=BOX-2 end",
	     "skus     q=box low=true location=paris -> items= end",
	     "skus     q=box low=false     -> 400 invalid_request field=low",
	     "skus     q=box prefix=B      -> 400 unsupported_filter field=prefix ~location ~low",
	     "skus     q=box barcode=1     -> 400 unsupported_filter field=barcode",
	     "skus     q=box state=held    -> 400 invalid_request field=state");
}

Test(search, refused_texts)
{
	flow_begin();
	flow_steps("skus     q=                  -> 400 invalid_request field=q",
	           "skus     q=a                 -> 400 invalid_request field=q",
	           "skus     q=%C3%A9            -> 400 invalid_request field=q",
	           "skus     q=%F0%9F%91%95      -> 400 invalid_request field=q",
	           "skus     q=%C3%A9%C3%A9      -> 200",
	           "skus     q=ab%C3             -> 400 invalid_request field=q",
	           "skus     q=%ED%A0%80aa       -> 400 invalid_request field=q",
	           "skus     q=ab%00             -> 400 invalid_request",
	           "skus     q=a%09b             -> 400 invalid_request field=q",
	           "skus     q=ab%C2%85          -> 400 invalid_request field=q",
	           "skus     q=ab limit=0        -> 400 invalid_request field=limit",
	           "skus     q=ab limit=1001     -> 400 invalid_request field=limit",
	           "skus     q=ab cursor=x       -> 400 invalid_request field=cursor",
	           "skus     q=ab q=ac           -> 400 invalid_request field=q");
	flow_repeat("skus q=", "%F0%9F%91%95", 200, " -> 200 items= end");
	flow_repeat("skus q=", "%F0%9F%91%95", 201, " -> 400 invalid_request field=q");
	flow_end();
}

/* A search knows what was committed before it, whichever process has committed it. */
Test(search, second_process)
{
	flow("receipt  ONE +1              -> 201",
	     "second",
	     "skus     q=one               -> items=ONE end",
	     "@2 skus  q=one               -> items=ONE end",
	     PUT "ONE {'name':'Apfel'}    -> 200",
	     "@2 skus  q=apf               -> items=ONE end",
	     "@2 raw PUT /v1/skus/ONE {'name':'Birne','for_sale':false} -> 200",
	     "skus     q=birn              -> items=ONE end ONE for_sale=false",
	     "skus     q=apf               -> items= end",
	     "@2 receipt TWO +1            -> 201",
	     "skus     q=two               -> items=TWO end",
	     "@2 raw PUT /v1/skus/ONE {'barcodes':['9876'],'for_sale':true} -> 200",
	     "skus     q=876               -> items=ONE end",
	     "sql SELECT COUNT(*), COUNT(DISTINCT sku_id) FROM sku_text -> 1,1",
	     "race 8*20 skus q=birn        -> 160x 200 items=ONE");
}

/* Many skus, more than one page of the database, and numbers that were left out and come later. */
Test(search, numbers_left_out)
{
	flow("receipt  A +1                -> 201",
	     "sql INSERT INTO sku (sku_id, code, created_at) SELECT seq + 10, CONCAT('MANY-', seq), UTC_TIMESTAMP(3)"
	     " FROM seq_1_to_12000 -> ",
	     "skus     q=many-1199 limit=3 -> items=MANY-1199,MANY-11990,MANY-11991 more",
	     "sql INSERT INTO sku (sku_id, code, created_at) VALUES (7, 'LATE', UTC_TIMESTAMP(3)),"
	     " (13000, 'LAST', UTC_TIMESTAMP(3)) -> ",
	     "skus     q=late              -> items=LATE end",
	     "skus     q=last              -> items=LAST end",
	     "sql INSERT INTO sku (sku_id, code, created_at) VALUES (12900, 'LATER', UTC_TIMESTAMP(3)) -> ",
	     "skus     q=late              -> items=LATE,LATER end",
	     "sql REPLACE INTO sku_text SELECT 10 + seq, seq + 10 FROM seq_1_to_12000 -> ",
	     "sql UPDATE sku SET name = 'renamed' WHERE sku_id = 12010 -> ",
	     "skus     q=renamed           -> items=MANY-12000 end");
}

/* A database that was restored, or is another one: nothing that was remembered is found, and no number is used. */
Test(search, restored)
{
	flow("receipt  N1 +1 N2 +2         -> 201",
	     PUT "N2 {'name':'lost'}      -> 200",
	     "skus     q=lost              -> items=N2 end",
	     "sql BEGIN NOT ATOMIC UPDATE sku SET name = NULL; DELETE FROM sku_text; END -> ",
	     "skus     q=lost              -> items= end",
	     "sql UPDATE sku SET code = 'M2' WHERE code = 'N2' -> ",
	     "skus     q=m2                -> items=M2 end M2 available=2",
	     "skus     q=n2                -> items= end",
	     "sql BEGIN NOT ATOMIC UPDATE sku SET code = 'M1' WHERE code = 'N1';"
	     " REPLACE INTO sku_text SELECT 9000000000000000, sku_id FROM sku WHERE code = 'M1'; END -> ",
	     "skus     q=m1                -> items=M1 end M1 available=1",
	     "cut",
	     "sql UPDATE sku SET name = 'found again' WHERE code = 'M1' -> ",
	     "wait     skus q=again        -> items=M1 end",
	     "reserve  R1 M1=1             -> 201",
	     "sku      M1                  -> available=0 reserved=1");
}

/* Two skus have changed their codes, and memory does not know it yet: an order gets units of the sku that it names. */
Test(search, a_number_is_never_taken_from_memory)
{
	flow("receipt  N1 +1 N2 +2         -> 201",
	     "second",
	     "@2 skus  q=n1                -> items=N1 end",
	     "@2 skus  q=n2                -> items=N2 end",
	     "sql BEGIN NOT ATOMIC UPDATE sku SET code = 'T' WHERE code = 'N1'; UPDATE sku SET code = 'N1' WHERE code ="
	     " 'N2'; UPDATE sku SET code = 'N2' WHERE code = 'T'; END -> ",
	     "wait     @2 skus q=n1        -> items=N1 end N1 available=2",
	     "@2 sku   N1                  -> available=2",
	     "@2 sku   N2                  -> available=1");
}

/* A row that no right database has is no sku that is found, and does no harm to others. */
Test(search, damaged_rows)
{
	flow("receipt  GOOD +1 BAD +1 WORSE +1 -> 201",
	     "sql BEGIN NOT ATOMIC UPDATE sku SET code = x'424144FF' WHERE code = 'BAD';"
	     " UPDATE sku SET code = x'C3' WHERE code = 'WORSE';"
	     " UPDATE sku SET name = x'676F6F64FFFE00C3' WHERE code = 'GOOD'; END -> ",
	     "skus     q=ba                -> items= end",
	     "skus     q=goo               -> items=GOOD end",
	     "sql UPDATE sku SET name = NULL -> ",
	     "sql BEGIN NOT ATOMIC UPDATE sku SET code = 'WORSE' WHERE code = x'C3';"
	     " UPDATE sku SET code = 'BAD' WHERE code = x'424144FF'; END -> ");
}

/* Roles that read skus search; what is refused is counted. */
Test(search, keys)
{
	flow("keys     shop order | look read | pack worker",
	     "serve    --lanes 1",
	     "skus     q=ab                -> 401",
	     "key      look",
	     "skus     q=ab                -> 200",
	     "key      shop",
	     "skus     q=ab                -> 200");
}

/* At a terminal: all skus that are found, as lists are. */
Test(search, command)
{
	flow("receipt  SHIRT-RED +5 MUG +1 -> 201",
	     PUT "MUG {'name':'Tasse weiß','barcodes':['4006381333931']} -> 200",
	     "run show skus shirt          -> 0 ~SHIRT-RED !~MUG",
	     "run show skus 'TASSE WEIß'   -> 0 ~MUG '~Tasse weiß' ~4006381333931",
	     "run show skus 6381 --json     -> 0 ~MUG",
	     "run show skus cup            -> 1 '~no sku has this text'",
	     "run show skus a              -> 64 '~2 to 200 characters'",
	     "run show skus                -> 64 '~skus TEXT'");
}

/* Texts that take more memory than they may: a search is refused, and again without a look for a while. */
Test(search, memory_is_bounded)
{
	struct scratch    s;
	struct catalogue *c = catalogue_new();
	struct search    *small = search_new(30000), *large = search_new(3000000);
	bool              is_large;

	tables_fill(&s);
	tables_run(s.db, "INSERT INTO sku (code, created_at) SELECT CONCAT('SKU-', seq), UTC_TIMESTAMP(3) FROM"
	                 " seq_1_to_3000");
	past_watch(db_source(s.db), c);
	cr_expect(search_read(s.db, small, &is_large) == DB_OK && is_large);
	tables_run(s.db, "DELETE FROM sku");
	cr_expect(search_read(s.db, small, &is_large) == DB_OK && is_large);
	cr_expect(search_read(s.db, large, &is_large) == DB_OK && !is_large);
	past_watch(db_source(s.db), NULL);
	search_free(small);
	search_free(large);
	catalogue_free(c);
	scratch_close(&s);
}
