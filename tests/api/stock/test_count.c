/* test_count.c - counts of yesterday: what movements have added since is added to what was counted then. */
#include "tests/lang/trap.h"

Test(count, of_yesterday)
{
	flow("receipt A +10                                  -> 201",
	     "tick    100",
	     "receipt A +5                                   -> 201",
	     "adjust  A -2                                   -> 201",
	     "return  A +1                                   -> 201",
	     "transfer A@main>shop=3                         -> 201",
	     "reserve R1 A=2 confirm=true                    -> 201",
	     "settle  R1                                     -> 200",
	     "sku     A                                      -> on_hand=12 @main on_hand=9 @shop on_hand=3",
	     "count   C1 A=12 as_of=-50                      -> 201 kind=count A=2",
	     "sku     A                                      -> @main on_hand=11 @shop on_hand=3",
	     "count   C1 A=12 as_of=-50                      -> 422 movement_id_reused",
	     "count   C2 A=12                                -> 201 A=1",
	     "sku     A                                      -> @main on_hand=12",
	     "run     audit                                  -> 0");
}

/* Of the list that is loaded twice the second one corrects nothing; a count is no movement of goods. */
Test(count, the_same_list_twice)
{
	flow("receipt A +10 B +4                             -> 201",
	     "tick    200",
	     "receipt A +5                                   -> 201",
	     "raw POST /v1/movements {'movement_id':'L1','kind':'count','lines':[{'sku':'A','counted':8,"
	     "'as_of':'2000-01-01T00:00:00Z'}]}              -> 400 field=lines[0].as_of",
	     "count   L1 A=8 as_of=-100 B=4 as_of=-100       -> 201 A=-2 B=0",
	     "adjust  A +1                                   -> 201",
	     "count   L2 A=8 as_of=-99 B=4 as_of=-99         -> 201 A=0 B=0",
	     "sku     A                                      -> on_hand=14",
	     "count   A=8 as_of=-90 expected=8               -> 201 A=0",
	     "count   A=8 as_of=-80 expected=9               -> 409 count_mismatch A expected=9 on_hand=8 lines=1",
	     "sku     A                                      -> on_hand=14");
}

/* A count stands for its time: none of an earlier time comes behind it. */
Test(count, of_an_earlier_time_than_the_last)
{
	flow("receipt A +10 A@shop +3                        -> 201",
	     "tick    100",
	     "count   A=9 as_of=-50                          -> 201 A=-1",
	     "mark",
	     "count   A=7 as_of=-60                          -> 409 count_mismatch A counted_at=~-50 !lines[0].on_hand",
	     "count   A=7 as_of=-60 A@shop=2 as_of=-60       -> 409 count_mismatch lines=1 A counted_at=~-50",
	     "unchanged",
	     "count   A@shop=2 as_of=-60                     -> 201 A@shop=-1",
	     "count   A=7 as_of=-40                          -> 201 A=-2",
	     "count   A=8                                    -> 201 A=1",
	     "count   A=7 as_of=-1                           -> 409 count_mismatch A counted_at=~0",
	     "count   A=6                                    -> 201 A=-2",
	     "sku     A                                      -> @main on_hand=6 @shop on_hand=2");
}

Test(count, of_a_time_that_may_not_be)
{
	flow("receipt A +10 B +1                             -> 201",
	     "mark",
	     "count   A=9 as_of=+60                          -> 400 invalid_request field=lines[0].as_of",
	     "count   B=1 as_of=-5 A=9 as_of=+60             -> 400 invalid_request field=lines[1].as_of",
	     "count   A=9 as_of=-3024060                     -> 400 invalid_request field=lines[0].as_of",
	     "raw POST /v1/movements {'movement_id':'L1','kind':'count','lines':[{'sku':'A','counted':8,"
	     "'as_of':'1970-01-01T00:00:00Z'}]}              -> 400 field=lines[0].as_of",
	     "raw POST /v1/movements {'movement_id':'L1','kind':'count','lines':[{'sku':'A','counted':8,"
	     "'as_of':'yesterday'}]}                         -> 400 field=lines[0].as_of",
	     "raw POST /v1/movements {'movement_id':'L1','kind':'receipt','lines':[{'sku':'A','qty':8,"
	     "'as_of':'2026-01-01T00:00:00Z'}]}              -> 400 field=lines[0].as_of",
	     "unchanged",
	     "count   A=9 as_of=-3023900                     -> 201");
}

/* The units counted, and those that moved since, have to cover the promised ones, and are never below zero. */
Test(count, of_yesterday_that_is_short)
{
	flow("receipt A +10 B +10                            -> 201",
	     "tick    100",
	     "adjust  A -4 B -6                              -> 201",
	     "reserve R1 A=5                                 -> 201",
	     "mark",
	     "count   A=8 as_of=-50                          -> 409 short lines=1 A counted=8 since=-4 A reserved=5",
	     "count   B=5 as_of=-50                          -> 409 short lines=1 B counted=5 since=-6 B reserved=0",
	     "count   B=5 as_of=-50 A=9 as_of=-50            -> 409 short lines=1 B since=-6",
	     "unchanged",
	     "count   A=9 as_of=-50                          -> 201 A=-1",
	     "count   A=4                                    -> 409 short A counted=4 reserved=5 !lines[0].since",
	     "tick    900",
	     "count   A=4                                    -> 201",
	     "get     R1                                     -> expired",
	     "run     audit                                  -> 0");
}

/* Ids and times of long ago: movements of before the last minute, and of it, each count once. */
Test(count, over_the_minute_that_is_summed_under_locks)
{
	flow("receipt A +100 A@shop +1                       -> 201",
	     "tick    40",
	     "adjust  A -1                                   -> 201",
	     "tick    40",
	     "adjust  A -10                                  -> 201",
	     "tick    40",
	     "adjust  A -20                                  -> 201",
	     "count   A=100 as_of=-100                       -> 201 A=0",
	     "count   A=99 as_of=-70                         -> 201 A=0",
	     "count   A=89 as_of=-30                         -> 201 A=0",
	     "sku     A                                      -> @main on_hand=69");
}

/* The nightly list is loaded while orders leave and goods come in: whatever is under way, the units are those that were
 * counted and what moved. */
Test(count, while_goods_move)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 4");
	flow_step("receipt A +5000 -> 201");
	flow_step("tick 100");
	race = flow_race("8*150", "receipt A +3 || adjust A -2 || reserve R# A=1 confirm=true || settle R#");
	for (int i = 0; i < 30; i++) {
		flow_step("count N%d A=5007 as_of=-%d -> 201", i, 90 - i);
		flow_step("@2 count M%d A=5007 as_of=-%d -> 201 A=0", i, 89 - i);
	}
	trap_raced(race, "*x 201 | *x 200 | *x 404 unknown_order");
	flow_step("sql SELECT (SELECT SUM(available + reserved) FROM stock_slot) = 5007 + SUM(IF(kind <> 4 AND qty <> "
	          "5000,"
	          " qty, 0)) FROM movement_line JOIN movement USING (movement_no) -> 1");
	flow_step("run audit -> 0");
	flow_end();
}

/* Counts of one place by two processes: each rests on the one before. */
Test(count, of_two_processes_at_once)
{
	flow("serve  --lanes 2",
	     "second --lanes 2 --slot 4",
	     "receipt A +30                                    -> 201",
	     "race 8*50 count A=50 expected=30                 -> 1x 201 A=20 | 399x 409 count_mismatch",
	     "race 8*60 count A=# || count A=50 || count A@new=7 -> 480x 201",
	     "sku  A                                           -> @new on_hand=7",
	     "sql  SELECT counts > 19 FROM stock_counted ORDER BY location_id -> 1 1",
	     "run  audit                                       -> 0");
}
