/* test_export.c - the command export: lines of CSV, page by page. */
#include "tests/kit/program.h"
#include "tests/lang/flow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* What the command prints, line after line. */
static void prints(const char *command, const char *const *lines)
{
	struct text said = {0};
	char        log[320];

	snprintf(log, sizeof(log), "%s/%s.out", scratch_dir(), flow_scratch()->name);
	(void)unlink(log);
	cr_expect(program_run(log, flow_scratch()->url, command) == 0);
	program_log_all(log, &said);
	for (; *lines; lines++)
		cr_expect(strstr(said.data, *lines), "%s has no line %s: %s", command, *lines, said.data);
	text_fini(&said);
}

/* A cell that a spreadsheet would run begins with an apostrophe, wherever a program may see a cell begin. */
Test(export, formulas)
{
	static const char *const        stock[] = {"\n'-A,main,stock,1,1,2\n",
	                                           "\nA-B,main,stock,1,0,1\n",
	                                           "\n'=HYPERLINK(1),main,",
	                                           "\n\"a,=b\",main,",
	                                           "\na;'=b,main,",
	                                           "\n'\xEF\xBC\x9Dx,main,",
	                                           "\n\"'\"\"=q\",main,",
	                                           "\n'@x,main,",
	                                           NULL},
				 *const raw[] = {"\n-A,main,", "\n=HYPERLINK(1),main,", "\na;=b,main,", "\n@x,main,",
	                                         NULL},
				 *const movements[] = {"\n'=M1,receipt,", ",'+cmd,'@SUM,A-B,main,1,,\n",
	                                               ",'-A,main,-1,,\n", NULL},
				 *const raw_movements[] = {"\n=M1,receipt,", ",+cmd,@SUM,A-B,main,1,,\n", NULL},
				 *const orders[] = {"\n'+R1,held,", ",'-2+3,'-A,main,1\n", NULL},
				 *const raw_orders[] = {"\n+R1,held,", ",-2+3,-A,main,1\n", NULL};

	flow_begin();
	flow_steps("raw POST /v1/movements {'movement_id':'=M1','kind':'receipt','reason':'+cmd','reference':'@SUM',"
	           "'lines':[{'sku':'=HYPERLINK(1)','qty':5},{'sku':'-A','qty':3},{'sku':'A-B','qty':1},"
	           "{'sku':'\xEF\xBC\x9Dx','qty':1},"
	           "{'sku':'a;=b','qty':1},{'sku':'a,=b','qty':1},{'sku':'\\u0022=q','qty':1},"
	           "{'sku':'@x','qty':1}]} -> 201",
	           "raw POST /v1/reservations {'order_id':'+R1','customer':'-2+3','lines':[{'sku':'-A','qty':1}]}"
	           " -> 201",
	           "adjust -A -1 -> 201");
	prints("export stock", stock);
	prints("export stock --raw", raw);
	prints("export movements", movements);
	prints("export movements --raw", raw_movements);
	prints("export reservations", orders);
	prints("export reservations --raw", raw_orders);
	flow_end();
}
