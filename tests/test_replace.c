/* test_replace.c - a cart that changed: a reservation that takes the place of another, whose units count for it. */
#include "tests/trap.h"

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
	     "reserve R1 A=5 B=1                 -> 200 released replayed replaced_by=R2",
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
	     "batch R1 A=5 | R2 A=4 replaces=R1 | R3 A=5 replaces=R2 -> 200 released replayed | 200 released "
	     "replayed | "
	     "200 held replayed",
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
