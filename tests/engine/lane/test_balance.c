/* test_balance.c - balances that a lane remembers and that are wrong by now: no order is promised units that are gone,
 * and none is told `short` while units are there. */
#include "tests/lang/trap.h"

/* Units that went behind the lane's back: its balances are old, the guard in the statement is not. */
Test(balance, units_that_are_gone_are_not_promised)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10 B +10       -> 201",
	           "reserve  R1 A=1 B=1        -> 201");
	trap_sql("UPDATE stock_slot SET available = 3");
	flow_steps("reserve  R2 A=4            -> 409 short A requested=4 available=3",
	           "reserve  R3 A=1            -> 201");
	trap_sql("UPDATE stock_slot SET available = 1");
	flow_steps("reserve  R4 B=2 A=1        -> 409 short B requested=2 available=1",
	           "reserve  R5 B=1 A=1        -> 201",
	           "sku A                      -> available=0 reserved=3",
	           "sku B                      -> available=0 reserved=2");
	trap_sql("UPDATE stock_slot SET available = 10 - reserved");
	flow_end();
}

/* Both processes think they know what there is. A refusal has every line that is short now, with what there is now. */
Test(balance, every_short_line_as_it_is_now)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +5 B +5 C +5           -> 201",
	           "reserve R1 A=1 B=1 C=1           -> 201",
	           "@2 reserve R2 B=4                -> 201",
	           "reserve R3 A=5 B=1 C=1           -> 409 short A requested=5 available=4"
	           "                                              B requested=1 available=0 lines=2",
	           "@2 receipt A +1 C +3             -> 201",
	           "reserve R3 A=6 C=8               -> 409 short A requested=6 available=5"
	           "                                              C requested=8 available=7 lines=2",
	           "reserve R3 A=5 C=7               -> 201",
	           "@2 reserve R4 A=1 C=1 B=1        -> 409 short lines=3",
	           "@2 adjust A -1 B -1              -> 409 short A available=0 B available=0 lines=2");
	flow_end();
}

/* The same when a part is granted: what is told is what is held. */
Test(balance, parts_as_they_are_now)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +5 B +5                -> 201",
	           "reserve R1 A=1 B=1               -> 201",
	           "@2 reserve R2 B=3                -> 201",
	           "reserve R3 A=9 B=4 mode=best_effort -> 201 A=4 B=1 short A requested=9 available=4"
	           "                                       B requested=4 available=1 short=2",
	           "sku     B                        -> available=0 reserved=5");
	flow_end();
}
