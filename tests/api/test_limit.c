/* test_limit.c - numbers near their limits: sums beyond 2^31, totals near 9e15, calls and orders of very many lines. */
#include "tests/lang/trap.h"

#include <stdio.h>

/* ---- large numbers */

/* Ten lines of 1e9 each, equal ones: one line of the sum is 1e10. */
#define TIMES_10(line) line line line line line line line line line line
#define A_1E10         TIMES_10(" A=1000000000")
#define A_IN_1E10      TIMES_10(" A +1000000000")
#define B_1E10         TIMES_10(" B=1000000000")

Test(limit, sums_beyond_2_31)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt M1" A_IN_1E10 "          -> 201 A=10000000000 lines=1",
	           "receipt M1" A_IN_1E10 "          -> 200 replayed A=10000000000",
	           "receipt S +5 B +1000000000 T +5  -> 201");
	flow_repeat("receipt M2", " B +1000000000", 1000, " -> 201 B=1000000000000 lines=1");
	flow_steps("reserve R1 S=1" A_1E10 " T=1     -> 201 A=10000000000 S=1 T=1 lines=3",
	           "sku     A                        -> available=0 reserved=10000000000",
	           "reserve R2 S=1 A=1               -> 409 short A requested=1 available=0 lines=1",
	           "release R1                       -> released",
	           "sku     A                        -> available=10000000000 reserved=0",
	           "adjust  M3" TIMES_10(" A -1000000000") " S -1 -> 201 A=-10000000000 S=-1",
	           "sku     A                        -> available=0 on_hand=0");
	flow_repeat("reserve R3 S=1 T=2", " B=1000000000", 990, " -> 201 B=990000000000");
	flow_steps("reserve R4" B_1E10 B_1E10 " mode=best_effort -> 201 B=11000000000 short B requested=20000000000",
	           "get     R3                       -> held B=990000000000 S=1 T=2",
	           "release R3                       -> released",
	           "sku     B                        -> available=990000000000 reserved=11000000000");
	flow_end();
}

/* The units lie in several slots, more than 2^31 in each, and are gathered; small and large needs in one statement. */
Test(limit, gathers_beyond_2_31)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("second --lanes 1 --slot 2",
	           "@2 receipt" A_IN_1E10 " S +1 T +3 -> 201",
	           "second --lanes 1 --slot 1",
	           "receipt" A_IN_1E10 A_IN_1E10 " S +1 T +3 -> 201",
	           "@2 receipt" A_IN_1E10 A_IN_1E10 " S +1 T +3 -> 201",
	           "reserve R1 S=3" A_1E10 A_1E10 A_1E10 " T=8 -> 201 A=30000000000 S=3 T=8",
	           "@2 reserve R2 T=1" A_1E10 A_1E10 " A=1 -> 409 short A requested=20000000001 available=20000000000",
	           "@2 reserve R3 T=1" A_1E10 A_1E10 " -> 201",
	           "@2 release R1                    -> released",
	           "@2 reserve R4" A_1E10 A_1E10 A_1E10 " S=3 T=8 -> 201",
	           "sku     A                        -> available=0 reserved=50000000000",
	           "sku     T                        -> available=0 reserved=9",
	           "release R3                       -> released",
	           "@2 adjust" TIMES_10(" A -1000000000") " A -999999999 -> 201 A=-10999999999",
	           "sku     A                        -> available=9000000001 reserved=30000000000");
	flow_end();
}

Test(limit, limit_is_exact)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +1 B +1                -> 201",
	           "count   A=8999999999999998       -> 201",
	           "receipt A +3                     -> 409 limit",
	           "receipt A +1 A@x +2              -> 409 limit",
	           "receipt A +1 A@x +1              -> 201",
	           "sku     A                        -> on_hand=9000000000000000",
	           "return  A@y +1                   -> 409 limit",
	           "adjust  A -1 A@y +1              -> 201",
	           "adjust  A -1 A@y +2              -> 409 limit",
	           "count   A=8999999999999999       -> 409 limit",
	           "count   A=8999999999999999 A@x=0 -> 201 A=1 A@x=-1",
	           "reserve R1 A=1000000000          -> 201",
	           "receipt A +1                     -> 409 limit",
	           "release R1                       -> released",
	           "count   A=0 A@x=9000000000000000 A@y=0 -> 201",
	           "count   A=1                      -> 409 limit",
	           "sku     A                        -> on_hand=9000000000000000 @x available=9000000000000000");
	flow_end();
}

/* Many at once, by way of several lanes, processes and locations: as many as there is room for. */
Test(limit, limit_is_exact_under_load)
{
	flow_begin();
	flow_step("serve --lanes 4");
	flow_step("second --lanes 4 --slot 4");
	flow_steps("receipt A +1 B +1                -> 201",
	           "count   A=8999999000000000       -> 201",
	           "race 2  receipt X# A +1000000000 -> 1x 201 | 1x 409 limit",
	           "adjust  A -999999999             -> 201",
	           "adjust  A -1                     -> 201",
	           "race 16 receipt Y# A +200000000 || return Y# A@p# +200000000 -> 5x 201 | 11x 409 limit",
	           "sku     A                        -> on_hand=9000000000000000",
	           "adjust  A -10                    -> 201",
	           "race 16 count Z# A@q#=5 B@q#=1 || receipt Z# A +5 B +1 -> 2x 201 | 14x 409 limit",
	           "sku     A                        -> on_hand=9000000000000000",
	           "sku     B                        -> on_hand=3");
	flow_end();
}

/* Goods that are counted in grams: the largest lines of each call, and a unit more. */
Test(limit, lines_of_10_12)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt M1 A +1000000000000           -> 201 A=1000000000000",
	           "receipt M1 A +1000000000000           -> 200 replayed",
	           "receipt M2 A +1000000000001           -> 400 field=lines[0].qty",
	           "receipt M2 A +1000000000000 A +1      -> 201 A=1000000000001",
	           "reserve R1 A=1000000000001            -> 400 field=lines[0].qty",
	           "reserve R1 A=1000000000000 confirm=true -> 201 confirmed A=1000000000000",
	           "reserve R2 A=1000000000000 A=2        -> 409 short A requested=1000000000002"
	           " available=1000000000001",
	           "reserve R2 A=1000000000000 A=2 mode=best_effort -> 201 A=1000000000001"
	           " short A requested=1000000000002",
	           "split   R1 R1b A=999999999999         -> 201 A=999999999999",
	           "settle  R1b                           -> settled",
	           "return  M3 A +999999999999 order=R1b  -> 201",
	           "transfer M4 A@main>back=999999999999  -> 201",
	           "transfer M5 A@back>main=1000000000001 -> 400 field=lines[0].qty",
	           "adjust  M6 A@back -1000000000000      -> 409 short A@back requested=1000000000000"
	           " available=999999999999",
	           "adjust  M6 A@back -1000000000001      -> 400 field=lines[0].qty",
	           "adjust  M7 A@back -999999999998       -> 201 A@back=-999999999998",
	           "sku     A                             -> available=1 reserved=1000000000002",
	           "limit   A 1000000000001               -> 400 field=per_customer",
	           "limit   A 1000000000000               -> 200 per_customer=1000000000000",
	           "receipt M8 A +1000000000000 A +1      -> 201",
	           "reserve R3 A=1                        -> 422 customer_required A",
	           "reserve R3 A=1000000000000 customer=C -> 201",
	           "reserve R4 A=1 customer=C             -> 409 limit_reached A limit=1000000000000 has=1000000000000",
	           "has     A C                           -> has=1000000000000 per_customer=1000000000000",
	           "run audit                             -> 0");
	flow_end();
}

/* Lines of 10^12 at once, with small ones between them, by way of several lanes, processes and locations. */
Test(limit, limit_is_exact_under_large_lines)
{
	flow_begin();
	flow_step("serve --lanes 4");
	flow_step("second --lanes 4 --slot 4");
	flow_steps("receipt A +1 B +1                -> 201",
	           "count   A=8994999999999999       -> 201",
	           "race 16 receipt X# A +1000000000000 || return Y# A@p# +1000000000000 -> 5x 201 | 11x 409 limit",
	           "sku     A                        -> on_hand=8999999999999999",
	           "race 8  receipt Z# A@q# +1 || receipt V# A +1000000000000 B +1 -> 1x 201 | 7x 409 limit",
	           "sku     A                        -> on_hand=9000000000000000",
	           "race 16 receipt W# A +1000000000 || adjust U# A -1000000000000 -> *x 201 | *x 409 limit",
	           "run audit                        -> 0");
	flow_end();
}

/* ---- very large batches */

Test(limit, call_of_fifty_thousand_lines)
{
	struct text item = {0};

	flow_begin();
	flow_step("serve --lanes 2");
	flow_repeat("receipt", " S# +1000", 50, " -> 201");
	text_add(&item, " | R#");
	for (int i = 0; i < 50; i++)
		text_format(&item, " S%d=1", i);
	flow_repeat("batch LAST S0=1", item.data, 999, " -> 201 held | ...");
	flow_steps("sku     S0                       -> available=0 reserved=1000",
	           "sku     S49                      -> available=1 reserved=999",
	           "get     R998                     -> held lines=50");
	flow_repeat("batch LAST S0=1", item.data, 999, " -> 200 held replayed | ...");
	flow_steps("race 32*32 release R#            -> 999x 200 released | 25x 404 unknown_order",
	           "sku     S0                       -> available=999 reserved=1");
	text_fini(&item);
	flow_end();
}

/* A release carries no lines, but writes those of its order: many at once are far more than one batch of orders. */
Test(limit, release_of_fourteen_thousand_lines_at_once)
{
	flow_begin();
	flow_step("serve --lanes 1");
	for (int i = 0; i < 14; i++) {
		char before[40], piece[40];

		snprintf(piece, sizeof(piece), " S%d-# +1", i);
		flow_repeat("receipt", piece, 1000, " -> 201");
		snprintf(before, sizeof(before), "reserve R%d", i);
		snprintf(piece, sizeof(piece), " S%d-#=1", i);
		flow_repeat(before, piece, 1000, " -> 201 held lines=1000");
	}
	trap_raced(trap_race_of_waiters("16", "release R#"), "14x 200 released | 2x 404 unknown_order");
	flow_steps("sku     S9-999                   -> available=1 reserved=0");
	flow_end();
}

/* Their lines, which were not known when the batch was filled, overran it. */
Test(limit, releases_of_very_long_orders_at_once)
{
	flow_begin();
	flow_steps("serve --lanes 1");
	flow_repeat("receipt M1", " S# +100", 1000, " -> 201");
	for (int i = 0; i < 12; i++) {
		char before[32];

		snprintf(before, sizeof(before), "reserve R%d", i);
		flow_repeat(before, " S#=1", 1000, " -> 201");
	}
	flow_steps("sku S7                   -> available=88 reserved=12",
	           "race 12 release R#       -> 12x 200 released",
	           "sku S7                   -> available=100 reserved=0");
	flow_end();
}
