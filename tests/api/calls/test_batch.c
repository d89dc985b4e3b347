/* test_batch.c - POST /v1/reservations/batch: each order judged on its own, in the order sent; and what a lane takes
 * together. */
#include "tests/lang/trap.h"

#define BATCH "raw POST /v1/reservations/batch "

Test(batch, each_is_judged_on_its_own)
{
	flow("receipt  A +10 B +1         -> 201",
	     "batch    R1 A=8 | R2 A=8 | R3 A=2 B=1 | R4 GHOST=1 | R5 A=1 ->"
	     "   201 held order_id=R1 A=8 created_at=~0 expires_at=~900 attempts=0"
	     " | 409 short order_id=R2 A requested=8 available=2 lines=1"
	     " | 201 held order_id=R3 A=2 B=1"
	     " | 422 unknown_sku order_id=R4 GHOST"
	     " | 409 short order_id=R5 A requested=1 available=0",
	     "sku      A                  -> available=0 reserved=10",
	     "get      R1                 -> held A=8",
	     "get      R2                 -> 404 unknown_order",
	     "confirm  R3                 -> confirmed");
}

Test(batch, options_of_each)
{
	flow("receipt  A +10              -> 201",
	     "batch    R1 A=4 ttl=60 | R2 A=7 mode=best_effort | R3 A=1 mode=best_effort ->"
	     "   201 held expires_at=~60"
	     " | 201 held A=6 short A requested=7 available=6"
	     " | 409 short A requested=1 available=0",
	     "tick     61",
	     "get      R1                 -> expired",
	     "get      R2                 -> held");
}

Test(batch, replays)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=4             -> 201",
	     "batch    R1 A=4 | R2 A=1 | R2 A=1 | R2 A=2 | R1 A=3 A=1 | R1 A=3 ->"
	     "   200 held order_id=R1 A=4 replayed"
	     " | 201 held"
	     " | 200 held replayed"
	     " | 422 order_id_reused order_id=R2"
	     " | 200 held replayed"
	     " | 422 order_id_reused",
	     "release  R1                 -> released",
	     "confirm  R2                 -> confirmed",
	     "batch    R1 A=4 | R2 A=1    -> 409 released replayed A=4 order_id=R1 | 200 confirmed replayed",
	     "batch    R1 A=4 | R2 A=1    -> 409 released replayed A=4 order_id=R1 | 200 confirmed replayed",
	     "sku      A                  -> available=9 reserved=1");
}

/* A repeat within the call of one that was refused is judged anew. */
Test(batch, repeats_of_a_refused_one)
{
	flow("receipt  A +10              -> 201",
	     "batch    R1 A=11 | R1 A=10 | R2 A=1 | R2 A=1 ->"
	     " 409 short | 201 held A=10 | 409 short | 409 short");
}

Test(batch, sold_out_replays_before_short)
{
	flow("receipt  A +2                     -> 201",
	     "batch    R1 A=1 | R2 A=1 | R3 A=1 -> 201 | 201 | 409 short",
	     "batch    R1 A=1 | R2 A=1 | R3 A=1 -> 200 held replayed | 200 held replayed | 409 short A available=0");
}

#define GOOD        "{'order_id':'GOOD','lines':[{'sku':'A','qty':1}]}"
#define AMONG(item) BATCH "{'reservations':[" item "," GOOD "]} -> 200 results=2 results[1].status=* "
#define FAULT       "results[0].status=400 results[0].code=invalid_request "

Test(batch, a_malformed_item_is_its_own_fault)
{
	flow("receipt  A +10              -> 201",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':0}]}") FAULT "results[0].field=lines[0].qty",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':-1}]}") FAULT "results[0].order_id=R1",
	     "mark",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1.0}]}") FAULT "results[0].field=lines[0].qty",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':'1'}]}") FAULT "results[0].field=lines[0].qty",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1e0}]}") FAULT "results[0].field=lines[0].qty",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1,'qty':1}]}") FAULT "results[0].field=lines[0].qty",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1,'x':1}]}") FAULT "results[0].field=lines[0].x",
	     AMONG("{'order_id':'R1','lines':[{'sku':'','qty':1}]}") FAULT "results[0].field=lines[0].sku",
	     AMONG("{'order_id':'R1','lines':[]}") FAULT "results[0].field=lines",
	     AMONG("{'order_id':'R1'}") FAULT "results[0].field=lines",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1}],'ttl_s':0}") FAULT "results[0].field=ttl_s",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1}],'mode':''}") FAULT "results[0].field=mode",
	     AMONG("{'lines':[{'sku':'A','qty':1}]}") FAULT "results[0].field=order_id",
	     AMONG("{'order_id':'R1\\u0000','lines':[{'sku':'A','qty':1}]}") FAULT
	     "results[0].field=order_id !results[0].order_id",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1}],'reference':'cut \\ud83d'}") FAULT
	     "results[0].field=reference results[0].order_id=R1",
	     AMONG("{'order_id':'R1','lines':[{'sku':'A','qty':1}],'\\u0000':1}") FAULT "results[0].order_id=R1",
	     AMONG("{'order_id':7,'lines':[{'sku':'A','qty':1}]}") FAULT "results[0].field=order_id",
	     AMONG("{'order_id':'R1','order_id':'R1','lines':[{'sku':'A','qty':1}]}") FAULT "results[0].field=order_id",
	     AMONG("{}") FAULT,
	     AMONG("[]") FAULT,
	     AMONG("null") FAULT,
	     AMONG("'R1'") FAULT,
	     AMONG("1") FAULT,
	     AMONG("1.5") FAULT,
	     "unchanged",
	     "get      R1                 -> 404 unknown_order",
	     "get      GOOD               -> held A=1",
	     "sku      A                  -> available=9 reserved=1");
}

Test(batch, a_malformed_call)
{
	flow("receipt  A +10              -> 201",
	     "mark",
	     BATCH "                                     -> 400 invalid_request field=reservations",
	     BATCH "{}                                   -> 400 invalid_request field=reservations",
	     BATCH "{'reservations':[]}                  -> 400 invalid_request field=reservations",
	     BATCH "{'reservations':{}}                  -> 400 invalid_request field=reservations",
	     BATCH "{'reservations':null}                -> 400 invalid_request field=reservations",
	     BATCH "[]                                   -> 400 invalid_request",
	     BATCH "[" GOOD "]                           -> 400 invalid_request",
	     BATCH GOOD "                                -> 400 invalid_request",
	     BATCH "{'reservations':[" GOOD "],'x':1}    -> 400 invalid_request field=x",
	     BATCH "{'reservations':[" GOOD "]           -> 400 invalid_request",
	     BATCH "{'reservations':[" GOOD ",]}         -> 400 invalid_request",
	     "unchanged");
}

Test(batch, a_thousand)
{
	flow_begin();
	flow_steps("receipt A +1000 -> 201",
	           "receipt B +1    -> 201");
	flow_repeat("batch R0 A=1", " | R# A=1", 1001, " -> 400 invalid_request field=reservations");
	flow_repeat("batch LAST B=1", " | R# A=1", 999, " -> 201 held | ...");
	flow_steps("list state=held limit=1000 -> items=1000 end");
	flow_repeat("batch LAST B=1", " | R# A=1", 999, " -> 200 held replayed | ...");
	flow_repeat("batch X B=1", " | X# A=2", 999, " -> 409 short | ...");
	flow_steps("sku A           -> available=1 reserved=999",
	           "list limit=1000 -> items=1000 end");
	flow_end();
}

Test(batch, many_lines)
{
	flow_begin();
	flow_repeat("receipt", " S# +100", 1000, " -> 201");
	flow_repeat("receipt", " S# +100", 1000, " -> 201");
	flow_repeat("batch R0 S0=1", " | Q# S#=1 S1=1 S2=1 S3=1 S4=1 S5=1 S6=1 S7=1 S8=1 S9=1", 150,
	            " -> 201 held | ...");
	flow_steps("sku S1   -> available=49 reserved=151",
	           "sku S149 -> available=199 reserved=1");
	flow_end();
}

static int64_t batches(const char *of)
{
	struct text name = {0};
	int64_t     count;

	text_format(&name, "holdfast_batch_requests_%s", of);
	count = trap_metric(0, name.data);
	text_fini(&name);
	return count;
}

/* Of a hundred that wait, half are taken, so that the others do not wait for nothing; those of one call stay together.
 */
Test(batch, a_crowd_is_divided_and_a_call_is_not)
{
	int64_t before;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +1000 -> 201");
	trap_raced(trap_race_of_waiters("100", "reserve R# A=1"), "100x 201 held");
	before = batches("count");
	cr_expect_eq(batches("bucket{le=\"64\"}"), before, "none of them had more");
	flow_repeat("batch FIRST A=1", " | Q# A=1", 99, " -> 201 held | ...");
	cr_expect_eq(batches("count"), before + 1);
	flow_end();
}
