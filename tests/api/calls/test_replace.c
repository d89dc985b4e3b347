/* test_replace.c - a cart that changed: a reservation that takes the place of another, and gets its units. */
#include "tests/lang/trap.h"

Test(replace, takes_the_units_along)
{
	flow("serve --lanes 1                    -> ",
	     "receipt A +5                       -> 201",
	     "receipt B +5                       -> 201",
	     "reserve R1 A=5 B=1 ttl=60          -> 201 held",
	     "reserve R2 A=5 replaces=R1         -> 201 held A=5 lines=1 !replaced_by",
	     "get     R1                         -> released replaced_by=R2 A=5 B=1 released_at=*",
	     "sku     A                          -> available=0 reserved=5",
	     "sku     B                          -> available=5 reserved=0",
	     "reserve R2 A=5 replaces=R1         -> 200 held replayed",
	     "reserve R2 A=5                     -> 422 order_id_reused",
	     "reserve R2 A=5 replaces=R9         -> 422 order_id_reused",
	     "reserve R1 A=5 B=1                 -> 409 released replayed replaced_by=R2 !field A=5 B=1"
	     " reservation.replaced_by=R2 reservation.state=released",
	     "release R1                         -> 200 released replayed replaced_by=R2",
	     "confirm R1                         -> 409 released",
	     "reserve R3 A=2 B=5 replaces=R2 ttl=600 -> 201 held A=2 B=5 expires_at=~600",
	     "sku     A                          -> available=3 reserved=2",
	     "sku     B                          -> available=0 reserved=5",
	     "confirm R3                         -> confirmed",
	     "work    settle",
	     "sku     A                          -> available=3 on_hand=3");
}

Test(replace, refused_changes_nothing)
{
	flow("receipt A +5                       -> 201",
	     "receipt B +1                       -> 201",
	     "reserve R1 A=4 ttl=60              -> 201 held",
	     "mark",
	     "reserve R2 A=6 replaces=R1         -> 409 short A requested=6 available=5",
	     "reserve R2 A=4 B=2 replaces=R1     -> 409 short B requested=2 available=1 lines=1",
	     "reserve R2 A=1 NEVER=1 replaces=R1 -> 422 unknown_sku",
	     "reserve R2 A=1 replaces=GHOST      -> 422 unknown_order field=replaces",
	     "reserve R2 NEVER=1 replaces=GHOST  -> 422 unknown_order field=replaces",
	     "reserve R2 A=1 replaces=R2         -> 400 field=replaces",
	     "reserve R1 A=1 replaces=GHOST      -> 422 order_id_reused",
	     "unchanged",
	     "get     R1                         -> held A=4 expires_at=~60",
	     "release R1                         -> released",
	     "reserve R2 A=1 replaces=R1         -> 409 released field=replaces",
	     "reserve R2 NEVER=1 replaces=R1     -> 409 released field=replaces",
	     "reserve R3 A=1 ttl=60              -> 201",
	     "tick    61",
	     "reserve R4 A=1 replaces=R3         -> 409 expired field=replaces",
	     "reserve R5 A=1 confirm=true        -> 201 confirmed",
	     "reserve R6 A=1 replaces=R5         -> 409 confirmed field=replaces",
	     "work    settle",
	     "reserve R6 A=1 replaces=R5         -> 409 settled field=replaces");
}

Test(replace, with_the_last_units_of_many_slots)
{
	flow("serve --lanes 1 --slot 0   -> ",
	     "second --lanes 1 --slot 9  -> ",
	     "receipt A +6               -> 201",
	     "@2 receipt A +6            -> 201",
	     "@2 reserve R1 A=5          -> 201",
	     "reserve R2 A=11 replaces=R1 -> 201 A=11",
	     "sku A                      -> available=1 reserved=11",
	     "@2 reserve R3 A=12 replaces=R2 -> 201 A=12",
	     "reserve R4 A=3 replaces=R3 -> 201 A=3",
	     "@2 reserve R5 A=12 replaces=R4 -> 201 A=12",
	     "@2 reserve R6 A=13 replaces=R5 -> 409 short A available=12",
	     "@2 sku A                   -> available=0 reserved=12");
}

Test(replace, as_much_as_there_is)
{
	flow("receipt A +5                                    -> 201",
	     "receipt B +2                                    -> 201",
	     "reserve R1 A=4                                  -> 201",
	     "reserve R2 A=9 B=3 mode=best_effort replaces=R1 -> 201 A=5 B=2 short[0].available=5 short[1].available=2",
	     "get     R1                                      -> released replaced_by=R2",
	     "reserve R3 A=6 confirm=true mode=best_effort replaces=R2 -> 201 confirmed A=5 short[0].requested=6",
	     "sku     B                                       -> available=2 reserved=0");
}

/* An item may replace an earlier one of its call; it is judged after it. */
Test(replace, chains_in_one_call)
{
	flow("receipt A +5     -> 201",
	     "batch R1 A=5 | R2 A=4 replaces=R1 | R3 A=5 replaces=R2 | R4 A=6 replaces=R3 | R5 A=1 replaces=R4"
	     " -> 201 held | 201 held A=4 | 201 held A=5 | 409 short | 422 unknown_order field=replaces",
	     "batch R1 A=5 | R2 A=4 replaces=R1 | R3 A=5 replaces=R2 -> 409 released replayed"
	     " replaced_by=R2 order_id=R1 | 409 released replayed replaced_by=R3 A=4 | 200 held replayed",
	     "get R2 -> released replaced_by=R3",
	     "sku A  -> available=0 reserved=5");
}

Test(replace, of_one_by_two_at_once)
{
	flow("serve --lanes 2 -> ",
	     "second --lanes 2 --slot 8 -> ",
	     "receipt A +50 -> 201",
	     "reserve R0 A=50 -> 201",
	     "race 16*32 reserve N# A=50 replaces=R0 -> 1x 201 | 511x 409 released",
	     "race 8*20 reserve M# A=1 -> 160x 409",
	     "sku A -> available=0 reserved=50");
}

Test(replace, chains_and_other_ends_at_once)
{
	flow("serve --lanes 2 -> ",
	     "second --lanes 2 --slot 8 -> ",
	     "receipt A +1000 -> 201",
	     "receipt B +1000 -> 201",
	     "race 8*40 reserve R# A=3 B=1 -> *x 201 | *x 409 short",
	     "race 8*40 reserve S# A=2 B=2 replaces=R# || confirm R# || reserve T# B=3 replaces=S# || release R#"
	     " || split R# P# A=1 || reserve S# A=2 B=2 replaces=R# -> *x 201 | *x 200 | *x 200 replayed | *x 409 "
	     "| *x 422 | *x 404");
}

/* The same calls twice at the same time, over both programs. */
Test(replace, twins)
{
	static const char *const steps =
		"reserve N# A=7 replaces=R# || reserve N# A=5 B=1 replaces=R# || reserve N# B=1"
		" replaces=R# confirm=true || reserve N# A=9 replaces=R# mode=best_effort";
	static const char *const met = "*x 201 | *x 200 replayed";
	struct race             *first, *second;

	flow_begin();
	flow_steps("serve --lanes 2 -> ",
	           "second --lanes 2 --slot 8 -> ",
	           "receipt A +10000 B +1000 -> 201",
	           "race 8*40 reserve R# A=5 -> 320x 201");
	first = flow_race("8*40", steps);
	second = flow_race("8*40", steps);
	trap_raced(first, met);
	trap_raced(second, met);
	flow_steps("sql SELECT COUNT(*) FROM reservation WHERE state = 4 -> 320",
	           "sql SELECT COUNT(*) FROM reservation_note WHERE replaced_by IS NOT NULL -> 320",
	           "sku A -> available=8320 reserved=1680",
	           "sku B -> available=840 reserved=160");
	flow_end();
}

/* Chains grow at both ends of two programs: of each chain one order holds at the end. */
Test(replace, chains_over_two_programs)
{
	flow_begin();
	flow_steps("serve --lanes 2 -> ",
	           "second --lanes 2 --slot 8 -> ",
	           "receipt A +400 -> 201",
	           "race 8*25 reserve N0-# A=2 -> 200x 201");
	for (int i = 0; i < 6; i++)
		flow_step("race 16*25 reserve N%d-# A=%d replaces=N%d-# || reserve M%d-# A=1 replaces=N%d-# -> *x 201 "
		          "| *x 409"
		          " | *x 422 unknown_order",
		          i + 1, 1 + i % 2, i, i, i);
	flow_steps("sql SELECT COUNT(*) FROM reservation WHERE state = 1 -> 200",
	           "sql SELECT SUM(reserved) <= 400, SUM(available + reserved) FROM stock_slot -> 1,400");
	flow_end();
}

/* More lines, with those of the old orders, than a batch has. */
Test(replace, of_large_orders)
{
	struct text step = {0};

	flow_begin();
	flow_step("serve --lanes 1");
	flow_repeat("receipt", " L# +100", 800, " -> 201");
	for (int i = 0; i < 8; i++) {
		text_reset(&step);
		text_format(&step, "reserve R%d", i);
		flow_repeat(step.data, " L#=2", 800, " -> 201");
	}
	text_reset(&step);
	text_add(&step, "reserve N#");
	for (int i = 100; i < 800; i++)
		text_format(&step, " L%d=3", i);
	text_add(&step, " replaces=R#");
	trap_raced(trap_race_of_waiters("8", step.data), "8x 201 held lines=700");
	flow_steps("sku L0   -> available=100 reserved=0",
	           "sku L100 -> available=76 reserved=24");
	text_fini(&step);
	flow_end();
}

/* ---- a paid order that changes */

Test(replace, a_confirmed_order)
{
	flow("serve --lanes 1                          -> ",
	     "receipt A +5 B +5 C +5                   -> 201",
	     "reserve R1 A=5 B=2 ttl=60 confirm=true   -> 201 confirmed confirmed_at=~0",
	     "tick    20",
	     "mark",
	     "reserve R2 A=4 replaces=R1               -> 409 confirmed field=replaces",
	     "reserve R2 A=6 confirm=true replaces=R1  -> 409 short A requested=6 available=5",
	     "reserve R2 A=5 B=2 NO=1 confirm=true replaces=R1 -> 422 unknown_sku",
	     "unchanged",
	     "reserve R2 A=4 C=2 confirm=true replaces=R1 ttl=60 -> 201 confirmed A=4 C=2 confirmed_at=~-20"
	     " created_at=~0 attempts=0 !replaced_by",
	     "get     R1                               -> released replaced_by=R2 A=5 B=2 confirmed_at=~-20 "
	     "released_at=~0",
	     "sku     A                                -> available=1 reserved=4",
	     "sku     B                                -> available=5 reserved=0",
	     "reserve R2 A=4 C=2 confirm=true replaces=R1 -> 200 confirmed replayed confirmed_at=~-20",
	     "reserve R1 A=5 B=2                       -> 409 released replayed replaced_by=R2",
	     "confirm R1                               -> 409 released",
	     "reserve R3 A=5 confirm=true replaces=R2  -> 201 confirmed A=5 confirmed_at=~-20",
	     "events  types=reservation.replaced,reservation.held,reservation.confirmed"
	     " -> 200 items[5].type=reservation.replaced items[5].data.confirmed_at=~-20 items[5].data.cause=R3"
	     " items[6].type=reservation.held items[7].type=reservation.confirmed items[7].data.confirmed_at=~-20",
	     "work    settle",
	     "reserve R4 A=1 confirm=true replaces=R3  -> 409 settled field=replaces",
	     "sku     A                                -> available=0 on_hand=0");
}

Test(replace, a_confirmed_order_in_every_state)
{
	flow("receipt A +9                             -> 201",
	     "reserve R1 A=1 confirm=true               -> 201",
	     "claim   settle w1 lease=60                -> 201 task_id=1",
	     "reserve N1 A=2 confirm=true replaces=R1   -> 409 claimed task_id=1 worker=w1 lease_until=~60 "
	     "field=replaces",
	     "batch   N1 A=2 confirm=true replaces=R1   -> 409 claimed task_id=1 field=replaces",
	     "reserve N1 A=2 replaces=R1                -> 409 confirmed field=replaces",
	     "fail    1 R1=bury:e                       -> buried=1",
	     "reserve N1 A=2 confirm=true replaces=R1   -> 409 buried field=replaces",
	     "kick    R1                                -> confirmed",
	     "claim   settle w1 lease=60                -> 201 task_id=2",
	     "give-back 2                               -> returned",
	     "reserve N1 A=2 confirm=true replaces=R1   -> 201 confirmed",
	     "claim   settle w2 lease=60                -> 201 task_id=3 orders=1 ~N1",
	     "tick    61",
	     "sql UPDATE job_task SET state = 4, ended_at = UTC_TIMESTAMP(3) WHERE task_id = 3 -> ",
	     "reserve N2 A=3 confirm=true replaces=N1   -> 201 confirmed attempts=0",
	     "complete 3                                -> 409 lease_lost",
	     "release N2                                -> released",
	     "reserve N3 A=3 confirm=true replaces=N2   -> 409 released field=replaces",
	     "sku     A                                 -> available=9 reserved=0");
}

/* Claims take the oldest first: a replacement stands where the order stood. */
Test(replace, keeps_its_turn)
{
	flow("receipt A +9                             -> 201",
	     "reserve R1 A=1 confirm=true               -> 201",
	     "tick    1                                 ->",
	     "reserve R2 A=1 confirm=true               -> 201",
	     "reserve R3 A=1 confirm=true               -> 201",
	     "reserve N1 A=2 confirm=true replaces=R1   -> 201",
	     "reserve N3 A=1 confirm=true replaces=R3 ship_after=+60 -> 201 ship_after=~60",
	     "claim   settle w1 limit=1                 -> 201 orders[0].order_id=N1 orders[0].attempts=1",
	     "claim   settle w1 limit=5                 -> 201 orders=1 ~R2",
	     "claim   settle w1                         -> 204");
}

/* Units that stay keep their slot; a held order that is replaced takes the first place that has all of a line. */
Test(replace, keeps_its_places)
{
	flow("serve --lanes 1                                   -> ",
	     "receipt A@x +5 A@y +5 A@z +5                       -> 201",
	     "reserve R1 A@y=3 A@z=1 confirm=true                -> 201",
	     "reserve R2 A@x,y=3 confirm=true replaces=R1        -> 201 A@y=3 lines=1",
	     "reserve R3 A@x+y+z=5 confirm=true replaces=R2      -> 201 A@y=3 A@x=2 lines=2",
	     "reserve R4 A@z+y+x=4 confirm=true replaces=R3      -> 201 A@y=3 A@x=1 lines=2",
	     "reserve R5 A@x,y=4 confirm=true replaces=R4        -> 201 A@x=4 lines=1",
	     "reserve R6 A@x+y=11 confirm=true replaces=R5       -> 409 short lines[0].available=10",
	     "reserve H1 A@y=3                                   -> 201",
	     "reserve H2 A@x,y,z=1 replaces=H1                   -> 201 A@x=1",
	     "sku     A                                          -> available=10 reserved=5");
}

Test(replace, a_confirmed_order_counts_no_held_units)
{
	flow("keys    shop order held=5 | lager admin          -> ",
	     "serve   --lanes 1                                 -> ",
	     "key     lager                                     -> ",
	     "receipt A +50                                     -> 201",
	     "key     shop                                      -> ",
	     "reserve R1 A=5 confirm=true                       -> 201",
	     "reserve R2 A=6 confirm=true replaces=R1           -> 429 rate_limited",
	     "reserve R2 A=5 confirm=true replaces=R1           -> 201 confirmed",
	     "reserve R3 A=5                                    -> 201 held",
	     "reserve R4 A=1                                    -> 429 rate_limited",
	     "reserve R5 A=5 confirm=true replaces=R2           -> 429 rate_limited",
	     "key     lager                                     -> ");
}

/* A claim comes between the look and the write, of an order with attempts that a claim does not move. */
Test(replace, sees_a_claim_that_came_between)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                   -> 201",
	           "reserve R1 A=1 confirm=true     -> 201");
	trap_sql("UPDATE reservation SET attempts = 65535");
	trap_lock("UPDATE reservation SET task_id = 7");
	trap_lock("INSERT INTO job_task (task_id, kind, worker, state, lease_until, claimed, completed, failed,"
	          " created_at) VALUES"
	          " (7, 1, 'W', 1, UTC_TIMESTAMP(3) + INTERVAL 60 SECOND, 1, 0, 0, UTC_TIMESTAMP(3))");
	race = flow_race("1", "reserve R2 A=2 confirm=true replaces=R1");
	trap_waiter();
	trap_unlock();
	trap_raced(race, "1x 409 claimed field=replaces");
	flow_steps("get R1   -> confirmed !replaced_by",
	           "get R2   -> 404",
	           "sku A    -> available=9 reserved=1");
	flow_end();
}

/* A paid order is replaced to and fro through two services while others fight for the last units: it has its unit at
 * every moment, and the others never get it. */
Test(replace, a_paid_order_never_loses_its_units)
{
	struct race *race;

	flow_begin();
	flow_steps("serve --lanes 2",
	           "second --lanes 2 --slot 2",
	           "receipt A +4                -> 201",
	           "@2 receipt A +4             -> 201",
	           "receipt B +8                -> 201",
	           "reserve P0 A=6 confirm=true -> 201");
	race = flow_race("16*400", "reserve F# A=1 ttl=1 || release F# || reserve G# B=1 ttl=1 || release G#");
	for (int i = 0; i < 300; i++) {
		const char *through = i % 3 ? "@2 " : "";

		flow_step("%sreserve P%d A=6%s confirm=true replaces=P%d mode=best_effort -> 201 confirmed A=6",
		          through, i + 1, i % 2 ? " B=9" : "", i);
		flow_step("get P%d -> confirmed A=6", i + 1);
	}
	trap_raced(race, "*x 201 | *x 200 | *x 409 | *x 404");
	flow_steps("run reap    -> 0",
	           "run audit   -> 0");
	flow_end();
}
