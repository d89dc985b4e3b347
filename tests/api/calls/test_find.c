/* test_find.c - many reservations by their ids. */
#include "tests/lang/flow.h"

#define FIND "raw POST /v1/reservations/find "

Test(find, in_the_order_asked)
{
	flow("receipt A +20 B +5                 -> 201",
	     "reserve R1 A=1 customer=c reference=web -> 201",
	     "reserve R2 A=2 B=1 confirm=true    -> 201",
	     "reserve R3 B=1 ttl=60              -> 201",
	     "hold    R2 reason=fraud            -> 200",
	     FIND "{'order_ids':['R3','R2','R1']} -> 200 items=R3,R2,R1 R1 state=held customer=c reference=web"
	          " R2 state=confirmed lines=2 items[1].on_hold.reason=fraud !~next_cursor",
	     FIND "{'order_ids':['R1','X','R1']} -> 200 items=3 items[0].order_id=R1 items[2].order_id=R1"
	          " items[2].lines=1 '~[{order_id:R1' ~},null,{",
	     FIND "{'order_ids':['X']}          -> 200 items=1 ~[null]",
	     "tick    61",
	     FIND "{'order_ids':['R3']}         -> 200 R3 state=expired");
}

Test(find, refused)
{
	flow(FIND "{}                             -> 400 invalid_request field=order_ids",
	     FIND "{'order_ids':[]}               -> 400 invalid_request field=order_ids",
	     FIND "{'order_ids':'R1'}             -> 400 invalid_request field=order_ids",
	     FIND "{'order_ids':['R1',7]}         -> 400 invalid_request field=order_ids[1]",
	     FIND "{'order_ids':['R1',null]}      -> 400 invalid_request field=order_ids[1]",
	     FIND "{'order_ids':[' R1']}          -> 400 invalid_request field=order_ids[0]",
	     FIND "{'order_ids':['R1'],'x':1}     -> 400 invalid_request field=x",
	     "raw POST /v1/reservations/find?limit=3 {'order_ids':['R1']} -> 400 invalid_request field=limit",
	     "raw GET /v1/reservations/find       -> 404 unknown_order",
	     "raw DELETE /v1/reservations/find    -> 405 method_not_allowed");
}

/* A thousand ids in a call. */
Test(find, many)
{
	flow_begin();
	flow_steps("receipt A +1000 -> 201");
	flow_repeat("batch Q1000 A=1", " | Q# A=1", 999, " -> 201 | ...");
	flow_repeat(FIND "{'order_ids':[", "'Q#',", 999, "'Q0']} -> 200 items=1000 items[7].order_id=Q7");
	flow_repeat(FIND "{'order_ids':[", "'Q#',", 1000, "'Q0']} -> 400 invalid_request field=order_ids");
	flow_end();
}

/* Each order counts with its lines, also where it is asked for twice. */
Test(find, answers_20000_lines)
{
	flow_begin();
	flow_repeat("receipt ", " S# +1", 1000, " -> 201");
	flow_repeat("reserve R ", " S#=1", 1000, " -> 201");
	flow_repeat(FIND "{'order_ids':[", "'R',", 19, "'R']} -> 200 items=20 items[19].lines=1000");
	flow_repeat(FIND "{'order_ids':[", "'R',", 20, "'R']} -> 422 too_large");
	flow_repeat(FIND "{'order_ids':[", "'R',", 19, "'R','X','Y']} -> 200 items=22");
	flow_steps("reserve T S0=1 mode=best_effort     -> 409 short",
	           "receipt S0 +1                       -> 201",
	           "reserve T S0=1                      -> 201",
	           "sql INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty)"
	           " SELECT reservation_id, 1, seq, 1, 1 FROM reservation JOIN seq_1000_to_20999"
	           " WHERE order_id = 'T' -> ",
	           FIND "{'order_ids':['T']}            -> 422 too_large",
	           "sql DELETE FROM reservation_line WHERE location_id >= 1000 -> ",
	           FIND "{'order_ids':['T']}            -> 200 T lines=1");
	flow_end();
}

Test(find, is_a_read)
{
	flow("keys shop order | reader read | worker worker -> ",
	     "serve --lanes 1",
	     "key reader",
	     FIND "{'order_ids':['R1']} -> 200",
	     "raw POST /v1/stock {'skus':['A']} -> 200",
	     "key worker",
	     FIND "{'order_ids':['R1']} -> 200",
	     "raw POST /v1/stock {'skus':['A']} -> 200",
	     "key",
	     FIND "{'order_ids':['R1']} -> 401 unauthorized");
}
