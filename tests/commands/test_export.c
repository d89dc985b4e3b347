/* test_export.c - the command export: lines of CSV, page by page. */
#include "tests/lang/flow.h"

Test(export, stock)
{
	flow("raw PUT /v1/locations/qc {'kind':'aside'} -> 201",
	     "receipt A +5 A@qc +3 'B, \"best\"' +2 -> 201",
	     "reserve R1 A=2             -> 201",
	     "run export stock           -> 0 '~sku,location,kind,available,reserved,on_hand' '~A,main,stock,3,2,5'"
	     " '~A,qc,aside,3,0,3' '~B, best,main,stock,2,0,2'",
	     "run export                 -> 64",
	     "run export shelves         -> 64 '~stock, movements or reservations'",
	     "run export stock --json    -> 64");
}

/* The slots of a sku at a location are one line, whichever process has them. */
Test(export, sums_slots)
{
	flow("serve --lanes 1            -> ",
	     "second --lanes 1 --slot 7  -> ",
	     "receipt A +5               -> 201",
	     "@2 receipt A +6            -> 201",
	     "run export stock           -> 0 '~A,main,stock,11,0,11'",
	     "count C1 A=4               -> 201",
	     "run export movements       -> 0 '~C1,count,' '~,,,A,main,-7,,'",
	     "transfer T1 A@main>x=1 A@main>y=2 -> 201",
	     "run export movements       -> 0 '~T1,transfer,' '~,,,A,,1,main,x' '~,,,A,,2,main,y'");
}

Test(export, movements_and_reservations)
{
	flow("receipt M1 A +5 B +1 reason=late 'reference=PO 1, 2' -> 201",
	     "reserve R1 A=2 B=1 ttl=60 reference=till customer=c1  -> 201",
	     "reserve R2 A=1 confirm=true -> 201",
	     "work settle                -> 0",
	     "tick 61",
	     "run export movements       -> 0 '~movement_id,kind,created_at,reason,reference,sku,location,qty,from,to'"
	     " '~M1,receipt,' '~Z,late,PO 1, 2,A,main,5,,' '~Z,late,PO 1, 2,B,main,1,,' '~,settlement,'"
	     " '~,A,main,-1,,'",
	     "run export reservations    -> 0"
	     " '~order_id,state,created_at,expires_at,reference,customer,sku,location,qty'"
	     " '~R1,expired,' '~Z,till,c1,A,main,2' '~Z,till,c1,B,main,1' '~R2,settled,' '~Z,,,A,main,1'");
}

/* More than a page of stock, of reservations and of movements. */
Test(export, page_by_page)
{
	flow_begin();
	flow_repeat("receipt", " S# +1", 600, " -> 201");
	flow_repeat("receipt", " T# +1", 600, " -> 201");
	flow_steps("race 8*75 reserve R# S#=1  -> 600x 201",
	           "run export stock           -> 0 ~S0,main,stock,0,1,1 ~S599,main,stock,0,1,1 ~T0,main,stock,1,0,1"
	           " ~T599,main,stock,1,0,1",
	           "run export reservations    -> 0 ~R0,held ~R42,held ~R599,held",
	           "run export movements       -> 0 ~S0,main,1,, ~T599,main,1,,");
	flow_end();
}
