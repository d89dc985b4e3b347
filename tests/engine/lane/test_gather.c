/* test_gather.c - gathers: the last units are brought together from the slots of all lanes, while slots appear and
 * change. */
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <stdio.h>

/* With no units coming back, an order that was told `short` must be short for ever after. */
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
Test(gather, large_and_small_orders_for_the_last_units)
{
	flow_begin();
	flow_step("serve --lanes 4");
	flow_steps("race 16*2 receipt A +40          -> 32x 201");
	for (int round = 0; round < 3; round++) {
		char                 steps[200];
		int                  count;
		struct race         *race;
		const struct answer *answer;

		snprintf(steps, sizeof(steps),
		         "reserve S%d-# A=1 || reserve L%d-# A=90 || reserve M%d-# A=7 || reserve T%d-# A=2", round,
		         round, round, round);
		race = flow_race("64*4", steps);
		answer = race_finish(race, &count);
		nobody_was_short_too_early(answer, count, trap_number("SELECT SUM(available) FROM stock_slot"));
		race_free(race);
		flow_steps("receipt A +300                   -> 201");
	}
	flow_steps("reserve LAST A=2180 mode=best_effort -> 201 held",
	           "sku     A                            -> available=0 on_hand=2180");
	flow_end();
}

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

Test(gather, slot_appears_before_it_meanwhile)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A +10                    -> 201",
	           "@2 receipt A +10                 -> 201");
	slot_appears("reserve R1 A=15", 3);
	flow_steps("sku     A                        -> available=15 reserved=15",
	           "@2 reserve R3 A=15               -> 201",
	           "count   A=30 expected=30         -> 201 A=0");
	flow_step(BY_HAND);
	flow_end();
}

Test(gather, slot_appears_behind_it_meanwhile)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A +10                    -> 201",
	           "@2 receipt A +10                 -> 201");
	slot_appears("reserve R2 A=15", 7);
	flow_steps("sku     A                        -> available=15 reserved=15",
	           "@2 reserve R3 A=15               -> 201",
	           "count   A=30 expected=30         -> 201 A=0");
	flow_step(BY_HAND);
	flow_end();
}

/* A slot that the gather waits for has fewer units by the time it gets it. */
Test(gather, slot_changes_while_it_waits)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A +10                    -> 201",
	           "@2 receipt A +10                 -> 201");
	trap_lock("UPDATE stock_slot SET available = available - 4 WHERE slot = 5");
	trap_lock("INSERT INTO movement SELECT 99, 'taken', 2, '', UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL, NULL");
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
Test(gather, two_processes_of_one_slot)
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

/* Hints outlived what they were hints of. */
Test(gather, without_an_own_row_nothing_moves)
{
	flow("serve    --lanes 1 --slot 0",
	     "second   --lanes 1 --slot 1",
	     "receipt  A +10                -> 201",
	     "@2 receipt B +10              -> 201",
	     "@2 reserve R1 A=2             -> 201",
	     "sql DELETE FROM stock_slot WHERE slot = 1 AND available = 0 AND reserved = 0 -> ",
	     "@2 reserve R2 A=8             -> 201",
	     "sku      A                    -> available=0 reserved=10 on_hand=10");
}
