/* test_traps_stock.c - traps of design.md section 3 that lie in the numbers: sums beyond 2^31, totals near 9e15,
 * gathers, the last units, very large batches. See test_traps.c. */
#include "engine/base/clock.h"
#include "tests/trap.h"

#include <stdio.h>

/* ---- large numbers */

/* Ten lines of 1e9 each, equal ones, so that one line of the sum is 1e10. */
#define TIMES_10(line) line line line line line line line line line line
#define A_1E10         TIMES_10(" A=1000000000")
#define A_IN_1E10      TIMES_10(" A +1000000000")
#define B_1E10         TIMES_10(" B=1000000000")

Test(traps, sums_beyond_2_31)
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
Test(traps, gathers_beyond_2_31)
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

Test(traps, limit_is_exact)
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
Test(traps, limit_is_exact_under_load)
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

/* ---- a sku that appears while it is asked for */

Test(traps, sku_is_received_while_it_is_asked_for)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2");
	for (int i = 0; i < 8; i++) {
		char race[300];

		snprintf(race, sizeof(race),
		         "race 32 receipt M%d-# N%d +2 || reserve R%d-# N%d=1 || reserve Q%d-# N%d@x=1"
		         " || return K%d-# N%d@y +1 -> *x 201 | *x 409 short | *x 422 unknown_sku",
		         i, i, i, i, i, i, i, i);
		flow_each((const char *const[]){race, NULL});
		flow_step("receipt N%d +1 -> 201", i);
		flow_step("reserve LAST%d N%d=17 mode=best_effort -> 201 held", i, i);
		flow_step("sku     N%d -> @main available=0 reserved=17 on_hand=17", i);
	}
	flow_end();
}

/* ---- the last units */

/* With no units coming back, who was told `short` must be short for ever after. */
static void nobody_was_short_too_early(const struct answer *answer, int count, int64_t left)
{
	for (int i = 0; i < count; i++) {
		const cJSON *line = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(answer[i].json, "lines"), 0);
		const cJSON *asked = cJSON_GetObjectItemCaseSensitive(line, "requested");

		if (answer[i].status != 201 && answer[i].status != 409)
			flow_fail("order %d was answered %d %.300s", i, answer[i].status, answer[i].body.data);
		if (answer[i].status == 409 && !(cJSON_IsNumber(asked) && asked->valuedouble > (double)left))
			flow_fail("%lld are left, but order %d was told %.300s", (long long)left, i,
			          answer[i].body.data);
	}
}

/* Large orders gather what small ones want to take, and the other way round. */
Test(traps, large_and_small_orders_for_the_last_units)
{
	flow_begin();
	flow_step("serve --lanes 4");
	flow_steps("race 16*2 receipt A +40          -> 32x 201");
	for (int round = 0; round < 3; round++) {
		char                 steps[200];
		int64_t              began = clock_ms();
		int                  count;
		struct race         *race;
		const struct answer *answer;

		snprintf(steps, sizeof(steps),
		         "reserve S%d-# A=1 || reserve L%d-# A=90 || reserve M%d-# A=7 || reserve T%d-# A=2", round,
		         round, round, round);
		race = flow_race("64*4", steps);
		answer = race_finish(race, &count);
		cr_expect(clock_ms() - began < 10000, "%d orders took %lld ms", count, (long long)(clock_ms() - began));
		nobody_was_short_too_early(answer, count, trap_number("SELECT SUM(available) FROM stock_slot"));
		race_free(race);
		flow_steps("receipt A +300                   -> 201");
	}
	flow_steps("reserve LAST A=2180 mode=best_effort -> 201 held",
	           "sku     A                            -> available=0 on_hand=2180");
	flow_end();
}

/* ---- slots that appear while a gather runs */

/* The gather has read slot 0 and waits for the row of slot 5; a slot before or after it appears meanwhile, made by hand
 * because that is sure to be committed. Its units stand in a line of the first receipt. */
static void slot_appears(const char *order, int slot)
{
	struct race *race;

	trap_lock("SELECT slot FROM stock_slot WHERE slot = 5 FOR UPDATE");
	race = flow_race("1", order);
	trap_waiter();
	trap_sql("INSERT INTO stock_slot SELECT sku_id, location_id, %d, 10, 0 FROM stock_slot WHERE slot = 0", slot);
	trap_sql("INSERT INTO movement_line SELECT movement_no, sku_id, location_id, %d, 10 FROM movement_line"
	         " WHERE slot = 0 LIMIT 1",
	         slot);
	trap_unlock();
	trap_raced(race, "1x 201 held A=15");
}

Test(traps, slot_appears_while_a_gather_runs)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A +10                    -> 201",
	           "@2 receipt A +10                 -> 201");
	slot_appears("reserve R1 A=15", 3);
	flow_steps("sku     A                        -> available=15 reserved=15",
	           "@2 receipt A +10                 -> 201");
	slot_appears("reserve R2 A=15", 7);
	flow_steps("sku     A                        -> available=20 reserved=30",
	           "@2 reserve R3 A=20               -> 201",
	           "count   A=50 expected=50         -> 201 A=0");
	flow_end();
}

/* A slot that the gather waits for has fewer units by the time it gets it. */
Test(traps, slot_changes_while_a_gather_waits)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A +10                    -> 201",
	           "@2 receipt A +10                 -> 201");
	trap_lock("UPDATE stock_slot SET available = available - 4 WHERE slot = 5");
	trap_lock("INSERT INTO movement SELECT 99, 'taken', 2, '', UTC_TIMESTAMP(3), NULL, NULL");
	trap_lock("INSERT INTO movement_line SELECT 99, sku_id, location_id, slot, -4 FROM stock_slot WHERE slot = 5");
	race = flow_race("1", "reserve R# A=15");
	trap_waiter();
	trap_unlock();
	trap_raced(race, "1x 201 held A=15");
	flow_steps("sku     A                        -> available=1 reserved=15",
	           "@2 reserve R2 A=2                -> 409 short A available=1",
	           "@2 reserve R3 A=1                -> 201");
	flow_end();
}

/* Two processes take all lanes' slots for their own, gather from each other, and new slots appear all the while. */
Test(traps, two_processes_of_one_slot_gather)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2");
	for (int i = 0; i < 4; i++)
		flow_step("race 48*2 receipt M%d-# S%d +3 || reserve R%d-# S%d=2 || reserve Q%d-# S%d=7 ->"
		          " *x 201 | *x 409 short | *x 422 unknown_sku",
		          i, i, i, i, i, i);
	for (int i = 0; i < 4; i++) {
		flow_step("receipt S%d +1 -> 201", i);
		flow_step("reserve LAST%d S%d=97 mode=best_effort -> 201 held", i, i);
		flow_step("sku     S%d -> available=0 reserved=97", i);
	}
	flow_end();
}

/* ---- very large batches */

Test(traps, call_of_fifty_thousand_lines)
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
Test(traps, release_of_fourteen_thousand_lines_at_once)
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
