/* test_ship_after.c - an order that is not to be shipped before a time: no claim takes it until then, whatever becomes
 * of it meanwhile. */
#include "tests/lang/trap.h"

Test(ship_after, claims_pass_it_over)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 confirm=true ship_after=+600  -> 201 confirmed ship_after=~600",
	     "reserve R2 A=2 ship_after=+60                -> 201 held ship_after=~60",
	     "confirm R2                                   -> confirmed ship_after=~60",
	     "reserve R3 A=3 confirm=true                  -> 201 confirmed !ship_after",
	     "reserve R4 A=1 confirm=true ship_after=-60   -> 201 confirmed ship_after=~-60",
	     "reserve R1 A=1 confirm=true ship_after=+5    -> 200 confirmed replayed ship_after=~600",
	     "get     R1                                   -> confirmed ship_after=~600 attempts=0",
	     "claim   settle w1                            -> 201 task_id=1 orders=2 ~R3 ~R4",
	     "complete 1                                   -> completed=2",
	     "claim   settle w1                            -> 204",
	     "run     reap                                 -> 0",
	     "run     audit                                -> 0",
	     "tick    61",
	     "claim   settle w1                            -> 201 task_id=2 orders=1",
	     "complete 2 R2                                -> completed=1",
	     "claim   settle w1                            -> 204",
	     "tick    600",
	     "work    settle                               -> 0",
	     "get     R1                                   -> settled ship_after=*",
	     "sku     A                                    -> available=3 on_hand=3");
}

Test(ship_after, is_a_time_not_far_ahead)
{
	flow("receipt A +10                                -> 201",
	     "reserve R1 A=1 ship_after=+34600000           -> 400 field=ship_after",
	     "reserve R1 A=1 ship_after=+34500000           -> 201 held",
	     "raw POST /v1/reservations {'order_id':'R2','lines':[{'sku':'A','qty':1}],'ship_after':'soon'}"
	     " -> 400 field=ship_after",
	     "raw POST /v1/reservations {'order_id':'R2','lines':[{'sku':'A','qty':1}],'ship_after':5}"
	     " -> 400 field=ship_after",
	     "raw POST /v1/reservations {'order_id':'R2','lines':[{'sku':'A','qty':1}],"
	     "'ship_after':'2020-02-29T01:00:00.5+01:00'} -> 201 held ship_after=2020-02-29T00:00:00.500Z");
}

/* Everything else works as ever. */
Test(ship_after, ends_by_hand)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 confirm=true ship_after=+600  -> 201",
	     "reserve R2 A=1 confirm=true ship_after=+600  -> 201",
	     "reserve R3 A=3 confirm=true ship_after=+600  -> 201",
	     "settle  R1                                   -> settled ship_after=~600",
	     "release R2                                   -> released ship_after=~600",
	     "split   R3 S3 A=1 then=settle                -> 201 settled ship_after=~600",
	     "sku     A                                    -> available=6 reserved=2 on_hand=8");
}

Test(ship_after, is_of_both_parts)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=3 confirm=true ship_after=+60   -> 201",
	     "reserve R2 A=3 ship_after=+60                -> 201",
	     "split   R1 S1 A=1                            -> 201 confirmed ship_after=~60",
	     "split   R2 S2 A=1                            -> 201 held ship_after=~60",
	     "split   R2 S3 A=1 then=confirm               -> 201 confirmed ship_after=~60",
	     "confirm S2                                   -> confirmed ship_after=~60",
	     "confirm R2                                   -> confirmed ship_after=~60",
	     "claim   settle w1                            -> 204",
	     "run     audit                                -> 0",
	     "tick    61",
	     "claim   settle w1                            -> 201 orders=5 ~R1 ~R2 ~S1 ~S2 ~S3");
}

/* A claimed order with a time still to come was claimed by a clock that was ahead. */
Test(ship_after, outlives_failures_kicks_and_clocks)
{
	flow_begin();
	flow_steps("receipt A +10                                -> 201",
	           "reserve R1 A=1 confirm=true ship_after=+60    -> 201",
	           "reserve R2 A=1 confirm=true ship_after=+60    -> 201",
	           "reserve R3 A=1 confirm=true ship_after=+60    -> 201",
	           "reserve R4 A=2 confirm=true ship_after=+60    -> 201",
	           "reserve R5 A=1 confirm=true ship_after=+60    -> 201",
	           "tick    61",
	           "claim   settle w1 lease=60                    -> 201 task_id=1 orders=5",
	           "tick    -3000",
	           "fail    1 R1=retry R2=bury                    -> retried=1 buried=1",
	           "kick    R2                                    -> confirmed ship_after=*",
	           "split   R4 S4 A=1                             -> 201 confirmed",
	           "give-back 1                                   -> returned",
	           "run     reap                                  -> 0",
	           "claim   settle w1                             -> 204",
	           "tick    2900",
	           "claim   settle w1                             -> 204",
	           "run     reap                                  -> 0",
	           "claim   settle w1                             -> 204",
	           "run     audit                                 -> 0",
	           "tick    101",
	           "claim   settle w1                             -> 201 orders=6 ~R1 ~R2 ~R3 ~R4 ~R5 ~S4",
	           "tick    3600",
	           "run     reap                                  -> 0",
	           "work    settle                                -> 0");
	flow_end();
}

/* A pause that ends later than the order may be shipped puts nothing aside. */
Test(ship_after, may_be_over_before_the_pause)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 confirm=true ship_after=+60   -> 201",
	     "tick    61",
	     "claim   settle w1 lease=60                   -> 201 task_id=1 orders=1",
	     "tick    -2",
	     "fail    1 R1=retry                           -> retried=1",
	     "run     audit                                -> 0",
	     "claim   settle w1                            -> 204",
	     "tick    9",
	     "claim   settle w1                            -> 201 orders[0].order_id=R1");
}

/* A confirmation by a clock that was ahead made the order due later than it may be shipped. */
Test(ship_after, is_brought_back_by_the_reaper)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 confirm=true ship_after=+60   -> 201",
	     "reserve R2 A=1 confirm=true                  -> 201",
	     "sql UPDATE reservation SET due_at = due_at + INTERVAL 9000 SECOND, task_id = NULL -> ",
	     "claim   settle w1                            -> 204",
	     "run     reap                                 -> 0",
	     "claim   settle w1                            -> 201 task_id=1 orders[0].order_id=R2",
	     "complete 1                                   -> completed=1",
	     "tick    61",
	     "claim   settle w1                            -> 201 orders[0].order_id=R1");
}
