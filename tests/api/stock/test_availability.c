/* test_availability.c - what skus have at some locations, and how often a basket can be had. */
#include "tests/lang/flow.h"

#include <criterion/criterion.h>

#define ASK "raw POST /v1/availability "

Test(availability, at_some_locations)
{
	flow("receipt A@paris +5 A@lyon +3 A@nice +2 B@nice +4 -> 201",
	     "reserve R1 A@lyon=1                               -> 201",
	     ASK "{'skus':['A','B','C'],'locations':['paris','lyon']} -> 200 A available=7 reserved=1 on_hand=8"
	     " B available=0 reserved=0 on_hand=0 C code=unknown_sku !available",
	     ASK "{'skus':['A','A'],'locations':['nice','atlantis']}  -> 200 items=A,A A available=2 on_hand=2",
	     ASK "{'skus':['A'],'locations':['atlantis']}              -> 200 A available=0 on_hand=0",
	     ASK "{'skus':['A']}                                      -> 200 A available=9 on_hand=10",
	     "reserve R2 A@paris+lyon=7                               -> 201",
	     ASK "{'skus':['A'],'locations':['paris','lyon']}         -> 200 A available=0 reserved=8");
}

Test(availability, of_baskets)
{
	flow("receipt CUP +10 SAUCER +12 SPOON +100 KNIFE@paris +3 -> 201",
	     ASK "{'baskets':[{'id':'set','lines':[{'sku':'CUP','qty':2},{'sku':'SAUCER','qty':2},"
	     "{'sku':'SPOON','qty':4}]}]}"
	     " -> 200 baskets[0].id=set baskets[0].available=5 baskets[0].limited_by[0]=CUP !baskets[0].limited_by[1]",
	     /* equal skus are summed first, also where they stand apart; every sku that allows no more is named */
	     ASK "{'baskets':[{'id':'a','lines':[{'sku':'SAUCER','qty':1},{'sku':'CUP','qty':2},"
	     "{'sku':'SAUCER','qty':3},{'sku':'CUP','qty':1}]},"
	     "{'id':'b','lines':[{'sku':'GHOST','qty':1},{'sku':'CUP','qty':1}]},"
	     "{'id':'a','lines':[{'sku':'CUP','qty':11}]}]}"
	     " -> 200 baskets[0].available=3 baskets[0].limited_by[0]=CUP baskets[0].limited_by[1]=SAUCER"
	     " baskets[1].id=b baskets[1].code=unknown_sku !baskets[1].available !baskets[1].limited_by"
	     " baskets[2].id=a baskets[2].available=0 baskets[2].limited_by[0]=CUP !baskets[3]",
	     ASK "{'baskets':[{'id':'k','lines':[{'sku':'KNIFE','qty':1},{'sku':'CUP','qty':1}]}],"
	     "'locations':['paris']} -> 200 baskets[0].available=0 baskets[0].limited_by[0]=CUP",
	     ASK "{'baskets':[{'id':'k','lines':[{'sku':'KNIFE','qty':1},{'sku':'CUP','qty':1}]}],"
	     "'locations':['paris','main']} -> 200 baskets[0].available=3 baskets[0].limited_by[0]=KNIFE",
	     "reserve R1 CUP=4 -> 201",
	     ASK "{'baskets':[{'id':'set','lines':[{'sku':'CUP','qty':2}]}]} -> 200 baskets[0].available=3");
}

#define TEN(k)                                                                                                         \
	"{'sku':'S#" k "0','qty':1},{'sku':'S#" k "1','qty':1},{'sku':'S#" k "2','qty':1},{'sku':'S#" k "3','qty':1}," \
	"{'sku':'S#" k "4','qty':1},{'sku':'S#" k "5','qty':1},{'sku':'S#" k "6','qty':1},{'sku':'S#" k "7','qty':1}," \
	"{'sku':'S#" k "8','qty':1},{'sku':'S#" k "9','qty':1}"
#define LAST "{'id':'Z','lines':[{'sku':'S1-0','qty':2},{'sku':'S2-1','qty':1}"

/* 1,000 different skus in a call, 100 baskets, and 100 lines in a basket. */
Test(availability, many_baskets)
{
	flow_begin();
	flow_steps("receipt S1-0 +7 S2-1 +4 -> 201");
	flow_repeat(ASK "{'baskets':[", "{'id':'B#','lines':[" TEN("-") "]},", 99,
	            LAST "]}]} -> 200 baskets[1].code=unknown_sku baskets[99].id=Z baskets[99].available=3"
	                 " baskets[99].limited_by[0]=S1-0");
	flow_repeat(ASK "{'baskets':[", "{'id':'B#','lines':[" TEN("-") "]},", 99,
	            LAST ",{'sku':'X','qty':1},{'sku':'Y','qty':1}]}]} -> 200 baskets[99].code=unknown_sku");
	flow_repeat(ASK "{'baskets':[", "{'id':'B#','lines':[" TEN("-") "," TEN("+") "]},", 50,
	            LAST "]}]} -> 200 baskets[50].available=3");
	flow_repeat(ASK "{'baskets':[", "{'id':'B#','lines':[" TEN("-") "," TEN("+") "]},", 50,
	            LAST ",{'sku':'X','qty':1}]}]} -> 400 invalid_request field=baskets");
	flow_repeat(ASK "{'baskets':[", "{'id':'B#','lines':[{'sku':'A','qty':1}]},", 100,
	            LAST "]}]} -> 400 invalid_request field=baskets");
	flow_repeat(ASK "{'baskets':[" LAST, ",{'sku':'S1-0','qty':1}", 98,
	            "]}]} -> 200 baskets[0].available=0 baskets[0].limited_by[0]=S1-0 !baskets[0].limited_by[1]");
	flow_repeat(ASK "{'baskets':[" LAST, ",{'sku':'S1-0','qty':1}", 99,
	            "]}]} -> 400 invalid_request field=baskets[0].lines");
	flow_end();
}
