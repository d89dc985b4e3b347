/* test_split.c - a part of an order under an id of its own: what it takes along, what is refused, and that each unit is
 * resolved once. */
#include "tests/lang/trap.h"

Test(split, of_a_hold)
{
	flow("receipt A +10               -> 201",
	     "receipt B +5                -> 201",
	     "reserve R1 A=4 B=2 ttl=600  -> 201 held",
	     "split   R1 S1 A=1 B=2       -> 201 held A=1 B=2 lines=2 order_id=S1 expires_at=~600 attempts=0 "
	     "!confirmed_at",
	     "get     R1                  -> held A=3 lines=1",
	     "get     S1                  -> held A=1 B=2 lines=2 expires_at=~600",
	     "sku     A                   -> available=6 reserved=4",
	     "split   R1 S1 B=2 A=1       -> 200 held replayed A=1 B=2",
	     "split   R1 S1 A=1           -> 422 order_id_reused",
	     "split   R1 S1 A=1 B=2 then=confirm -> 422 order_id_reused",
	     "split   S1 R1 A=1           -> 422 order_id_reused",
	     "reserve S1 A=1 B=2          -> 422 order_id_reused",
	     "reserve R1 B=2 A=4          -> 200 held replayed A=3",
	     "confirm S1                  -> confirmed",
	     "release R1                  -> released A=3",
	     "sku     A                   -> available=9 reserved=1",
	     "sku     B                   -> available=3 reserved=2",
	     "split   S1 S2 A=1           -> 201 confirmed A=1 confirmed_at=*",
	     "get     S1                  -> confirmed B=2 lines=1",
	     "work    settle",
	     "get     S1                  -> settled B=2",
	     "get     S2                  -> settled A=1",
	     "sku     A                   -> available=9 reserved=0 on_hand=9");
}

Test(split, and_then)
{
	flow("receipt A +10                    -> 201",
	     "reserve R1 A=6 ttl=60            -> 201 held",
	     "split   R1 C1 A=1 then=confirm   -> 201 confirmed A=1 confirmed_at=* expires_at=~60",
	     "split   R1 X1 A=2 then=release   -> 201 released A=2 released_at=* !confirmed_at",
	     "sku     A                        -> available=6 reserved=4",
	     "get     R1                       -> held A=3",
	     "split   R1 X1 A=2 then=release   -> 200 released replayed",
	     "split   R1 X1 A=2                -> 422 order_id_reused",
	     "confirm R1                       -> confirmed",
	     "split   R1 C2 A=1 then=confirm   -> 201 confirmed A=1",
	     "split   R1 X2 A=1 then=release   -> 201 released A=1 confirmed_at=* released_at=*",
	     "sku     A                        -> available=7 reserved=3",
	     "work    settle",
	     "sku     A                        -> available=7 reserved=0 on_hand=7");
}

Test(split, refused)
{
	flow("receipt A +10                  -> 201",
	     "receipt A@paris +10            -> 201",
	     "receipt B +10                  -> 201",
	     "reserve R1 A=3 A@paris=2       -> 201",
	     "split   GHOST S1 A=1           -> 404 unknown_order",
	     "split   R1 S1 A=4 A@paris=1    -> 422 not_in_order A requested=4 in_order=3 lines=1",
	     "split   R1 S1 B=1 NEVER=1 A=1  -> 422 not_in_order B in_order=0 lines=2",
	     "split   R1 S1 A@nowhere=1      -> 422 not_in_order lines[0].location=nowhere",
	     "split   R1 S1 A=2 A=2          -> 422 not_in_order A requested=4",
	     "split   R1 S1 A=3 A@paris=2    -> 422 nothing_left",
	     "split   R1 R1 A=1              -> 400 field=order_id",
	     "get     S1                     -> 404",
	     "split   R1 S1 A@paris=1        -> 201 lines[0].location=paris",
	     "release R1                     -> released",
	     "split   R1 S2 A=1              -> 409 released",
	     "reserve R2 A=2 ttl=60          -> 201",
	     "tick    61",
	     "split   R2 S2 A=1              -> 409 expired",
	     "reserve R3 A=2 confirm=true    -> 201 confirmed",
	     "work    settle",
	     "split   R3 S2 A=1              -> 409 settled",
	     "sku     A                      -> reserved=3",
	     "release S1                     -> released"); /* its events have the time from before the tick */
}

Test(split, bad_bodies)
{
	flow("receipt A +10             -> 201",
	     "reserve R1 A=3            -> 201",
	     "mark",
	     "raw POST /v1/reservations/R1/split {} -> 400 field=order_id",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1'} -> 400 field=lines",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[]} -> 400 field=lines",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[{'sku':'A'}]} -> 400 field=lines[0].qty",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[{'sku':'A','qty':0}]} -> 400 "
	     "field=lines[0].qty",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[{'sku':'A','qty':1}],'then':'ship'} "
	     "-> 400 "
	     "field=then",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[{'sku':'A','qty':1}],'ttl_s':5} -> 400 "
	     "field=ttl_s",
	     "raw POST /v1/reservations/R1/split {'order_id':'R1','lines':[{'sku':'A','qty':1}],'ttl_s':5} -> 400 "
	     "field=ttl_s",
	     "raw POST /v1/reservations/R1/split?x=1 {'order_id':'S1','lines':[{'sku':'A','qty':1}]} -> 400 field=x",
	     "unchanged");
}

/* The task finds the first lost and both parts are ready at once; the part has no attempt behind it. */
Test(split, of_a_claimed_order)
{
	flow("receipt A +10            -> 201",
	     "reserve R1 A=4           -> 201",
	     "reserve R2 A=1           -> 201",
	     "confirm R1               -> confirmed",
	     "confirm R2               -> confirmed",
	     "claim   settle W1        -> 201 orders=2",
	     "split   R1 S1 A=1        -> 201 confirmed attempts=0",
	     "get     R1               -> confirmed A=3 attempts=1",
	     "complete 1               -> completed=1 lost=1 lost_orders[0]=R1",
	     "complete 1               -> completed=1 lost=1 lost_orders[0]=R1",
	     "claim   settle W2        -> 201 orders=2",
	     "split   R1 S2 A=1 then=release -> 201 released",
	     "complete 2 R1 S1         -> completed=1 lost=1 lost_orders[0]=R1",
	     "complete 2               -> completed=1 lost=1",
	     "claim   settle W3        -> 201 orders=1 orders[0].order_id=R1",
	     "complete 3               -> completed=1 lost=0",
	     "sku     A                -> available=6 reserved=0 on_hand=6");
}

/* An order that waits for its next attempt goes on waiting; its part has not failed, so it is due. */
Test(split, of_an_order_that_failed)
{
	flow("receipt A +10            -> 201",
	     "reserve R1 A=4 confirm=true -> 201 confirmed",
	     "claim   settle W1        -> 201 orders=1",
	     "fail    1 R1=retry:later -> 200",
	     "split   R1 S1 A=1        -> 201 confirmed attempts=0 !last_error",
	     "claim   settle W1        -> 201 orders=1 orders[0].order_id=S1",
	     "complete 2               -> completed=1",
	     "get     R1               -> confirmed attempts=1 last_error=later A=3");
}

/* Each unit is resolved once, whichever call comes first. */
Test(split, beside_everything_else)
{
	flow("serve --lanes 2 --jobs=settle -> ",
	     "receipt A +10000              -> 201",
	     "race 8*60 reserve R# A=6 ttl=60 -> 480x 201",
	     "race 8*60 split R# P# A=2 || split R# Q# A=3 then=confirm || confirm R# || release R# || split R# P# A=2"
	     " -> *x 201 | *x 200 | *x 409 | *x 422 | *x 404",
	     "race 8*60 release P# || release Q# || confirm P# || split P# T# A=1 then=release -> *x 201 | *x 200 "
	     "| *x 200 replayed | *x 409 | *x 404 "
	     "| *x 422");
}

Test(split, by_two_programs_at_once)
{
	flow("serve --lanes 2 -> ",
	     "second --lanes 2 --slot 8 -> ",
	     "receipt A +10000          -> 201",
	     "race 8*40 reserve R# A=10 confirm=true -> 320x 201",
	     "race 16*60 split R1 S# A=1 -> 9x 201 | *x 422",
	     "get R1                    -> A=1",
	     "race 8*40 split R# U# A=3 || split R# V# A=4 || split R# U# A=3 -> *x 201 | *x 200 replayed | *x "
	     "422 | *x 404");
}

/* The new id is being reserved elsewhere: one of the two has it. */
Test(split, an_id_that_is_being_reserved)
{
	flow("serve --lanes 2 -> ",
	     "second --lanes 2 --slot 8 -> ",
	     "receipt A +10000 -> 201",
	     "race 8*40 reserve R# A=3 -> 320x 201",
	     "race 8*80 reserve X# A=1 || split R# X# A=1 -> *x 201 | *x 422 order_id_reused | *x 200 replayed | "
	     "*x 404",
	     "sql SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'X%' AND order_id NOT IN (SELECT "
	     "r.order_id FROM "
	     "reservation r JOIN reservation_line USING (reservation_id)) -> 0");
}

/* The same calls twice at the same time, over both programs. */
Test(split, twins)
{
	static const char *const steps =
		"split R# P# A=1 || split R# P# A=2 then=confirm || split R# P# A=3 then=release"
		" || reserve C# A=1 confirm=true || split R# P# A=1 B=1";
	static const char *const met = "*x 201 | *x 200 replayed";
	struct race             *first, *second;

	flow_begin();
	flow_steps("serve --lanes 2 -> ",
	           "second --lanes 2 --slot 8 -> ",
	           "receipt A +10000 B +1000 -> 201",
	           "race 8*40 reserve R# A=5 B=2 -> 320x 201");
	first = flow_race("8*40", steps);
	second = flow_race("8*40", steps);
	trap_raced(first, met);
	trap_raced(second, met);
	flow_steps("sql SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'P%' -> 256",
	           "sql SELECT COUNT(DISTINCT part_id), SUM(qty) FROM reservation_part -> 256,512",
	           "sku A -> available=8528 reserved=1472",
	           "sku B -> reserved=640");
	flow_end();
}

/* Holds that run out while they are split, replaced, confirmed, released and swept; workers settle meanwhile. */
Test(split, at_the_last_moment)
{
	flow_begin();
	flow_steps("serve --lanes 2 --jobs=expire,settle -> ",
	           "second --lanes 2 --slot 8 --jobs=settle -> ",
	           "receipt A +3000 -> 201",
	           "race 10*40 reserve R# A=5 ttl=1 -> 400x 201",
	           "wait sql SELECT MIN(expires_at) < UTC_TIMESTAMP(3) + INTERVAL 0.3 SECOND FROM reservation -> 1");
	for (int i = 0; i < 4; i++)
		flow_steps("race 16*25 split R# P# A=1 || split R# Q# A=2 then=confirm || reserve N# A=6 replaces=R#"
		           " || confirm R# || release R# || split R# X# A=2 then=release || confirm R# reacquire"
		           " || split N# O# A=1"
		           " -> *x 201 | *x 200 | *x 200 replayed | *x 409 | *x 409 replayed | *x 422 | *x 404");
	flow_steps("race 16*25 release P# || confirm P# || split P# T# A=1 || release N# || split Q# U# A=1 "
	"then=release"
	           " -> *x 200 | *x 200 replayed | *x 201 | *x 409 | *x 422 | *x 404",
	           "wait:16 sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> 0",
	           "wait sql SELECT COUNT(*) FROM job_task WHERE state = 1 -> 0",
	           "run audit -> 0");
	flow_end();
}

/* Workers that claim and settle what is split again and again: each unit leaves the house once. */
Test(split, against_workers)
{
	flow_begin();
	flow_steps("serve --lanes 2 -> ",
	           "second --lanes 2 --slot 8 -> ",
	           "receipt A +3200 -> 201",
	           "race 8*40 reserve R# A=10 confirm=true -> 320x 201 confirmed",
	           "start W work settle --batch 7 --workers 2",
	           "start V work settle --batch 3 ",
	           "race 8*40 split R# P# A=1 || split R# Q# A=2 then=release || split R# S# A=3 then=confirm ->"
	           " *x 201 | *x 409 settled",
	           "race 8*40 split P# p# A=1 || split R# q# A=1 || split S# s# A=1 -> *x 201 | *x 409 | *x 404 | "
	           "*x 422",
	           "signal V TERM",
	           "end V -> 0",
	           "wait:16 sql SELECT COUNT(*) FROM reservation WHERE state = 2 AND task_id IS NULL AND "
	           "last_error IS NULL"
	           " -> 0",
	           "signal W TERM",
	           "end W -> 0",
	           "run audit -> 0");
	flow_end();
}
