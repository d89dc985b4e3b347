/* test_traps_expiry.c - nobody is told `short` for the sake of units that are there: expired holds that nobody has
 * swept, and balances that a lane remembers wrongly. See test_traps.c. */
#include "tests/trap.h"

#include <stdio.h>
#include <unistd.h>

/* A worker has claimed the holds and died: they are given back all the same. */
Test(traps, expired_holds_of_a_dead_worker)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                    -> 201",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "reserve R2 A=5 ttl=60            -> 201",
	           "reserve R3 A=1                   -> 409 short A available=0");
	trap_sql("UPDATE reservation SET task_id = 7, attempts = 1 WHERE order_id = 'R1'");
	trap_sql("UPDATE reservation SET task_id = 8, attempts = 3, due_at = due_at + INTERVAL 1 HOUR"
	         " WHERE order_id = 'R2'");
	flow_steps("reserve R3 A=1                   -> 409 short A available=0",
	           "tick    61",
	           "reserve R3 A=10                  -> 201",
	           "get     R1                       -> expired",
	           "get     R2                       -> expired",
	           "reserve R4 A=1                   -> 409 short A available=0");
	flow_end();
}

/* A sweep that found nothing for one sku says nothing about another. */
Test(traps, expired_holds_of_another_sku_than_the_last_sweep)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +10              -> 201",
	           "reserve R1 B=10 ttl=60           -> 201",
	           "tick    61",
	           "reserve R2 A=11                  -> 409 short A available=10",
	           "reserve R3 B=10                  -> 201 held B=10");
	flow_end();
}

/* The first order gets its units by a sweep, and takes what the second one needs: that one is worth a sweep of its own,
 * even though its balance was read just now, because at first it was refused for an old one. */
Test(traps, expired_holds_that_are_needed_only_now)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +5 B +1                -> 201",
	           "reserve R0 B=1                   -> 201",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "@2 receipt B +10                 -> 201",
	           "@2 reserve R2 B=1 ttl=60         -> 201",
	           "tick    61",
	           "batch   R3 A=5 B=5 | R4 B=5      -> 201 held | 201 held",
	           "sku     A                        -> available=0 reserved=5",
	           "sku     B                        -> available=0 reserved=11");
	flow_end();
}

/* A replay in the call makes the lane look up all ids; what falls short only because others got units is swept, too. */
Test(traps, expired_holds_and_a_replay_in_one_call)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5 B +10               -> 201",
	           "reserve X B=1                    -> 201",
	           "release X                        -> released",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "reserve R2 B=1 ttl=60            -> 201",
	           "tick    61");
	flow_step("second --lanes 1 --slot 1"); /* remembers no id, so the replay is met by its key */
	flow_steps("@2 batch X B=1 | R3 A=5 B=5 | R4 B=5 -> 200 released replayed | 201 held | 201 held",
	           "sku     A                        -> available=0 reserved=5",
	           "sku     B                        -> available=0 reserved=10");
	flow_end();
}

/* Acquired anew, where the units are with another hold that has expired by now. */
Test(traps, expired_holds_and_one_that_is_acquired_anew)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5                     -> 201",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "tick    61",
	           "reserve R2 A=5 ttl=60            -> 201",
	           "get     R1                       -> expired",
	           "tick    61");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("@2 confirm R1 reacquire          -> 200 confirmed reacquired",
	           "@2 confirm R2 reacquire          -> 409 short A requested=5 available=0",
	           "sku     A                        -> available=0 reserved=5");
	flow_end();
}

/* Adjustments as well, also when they go alone because the total is near its limit. */
Test(traps, expired_holds_and_adjustments)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                    -> 201",
	           "reserve R1 A=10 ttl=60           -> 201",
	           "tick    61",
	           "adjust  A -10                    -> 201",
	           "receipt A +1 A@x +1              -> 201",
	           "count   A@x=8999999999999990     -> 201",
	           "reserve R2 A=1 ttl=60            -> 201",
	           "tick    61");
	usleep(120000); /* a lane that looked for expired holds of a sku in vain does not look again for 0.1 s */
	flow_steps("adjust  A -1 A@x +1              -> 201");
	flow_end();
}

/* More of them than one sweep takes. */
Test(traps, thousands_of_expired_holds)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +3000                  -> 201");
	for (int i = 0; i < 3; i++) {
		char before[40], piece[40];

		snprintf(before, sizeof(before), "batch F%d A=1 ttl=60", i);
		snprintf(piece, sizeof(piece), " | R%d-# A=1 ttl=60", i);
		flow_repeat(before, piece, 999, " -> 201 held | ...");
	}
	flow_steps("tick    61",
	           "reserve X1 A=3000                -> 201 held",
	           "reserve X2 A=1                   -> 409 short A available=0",
	           "sku     A                        -> available=0 reserved=3000");
	flow_end();
}

/* Both processes think they know what there is. A refusal has every line that is short now, with what there is now. */
Test(traps, every_short_line_as_it_is_now)
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
Test(traps, parts_as_they_are_now)
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

/* A job is giving the hold back at this moment, so nobody else can: the order waits for it instead of being told short.
 */
Test(traps, somebody_is_giving_back)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +1              -> 201",
	           "reserve  R1 A=1 ttl=60     -> 201",
	           "tick     61");
	trap_lock("UPDATE reservation r, stock_slot s SET r.state = 5, s.available = s.available + s.reserved,"
	          " s.reserved = 0");
	race = flow_race("1", "reserve S# A=1");
	usleep(100000);
	trap_unlock();
	trap_raced(race, "1x 201 held A=1");
	flow_end();
}
