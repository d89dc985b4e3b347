/* test_restored_database.c - another database at the same address, or an earlier state of the one that was known (a
 * restore, a failover that lost the last transactions): nothing that was remembered is used any more. */
#include "engine/base/clock.h"
#include "engine/base/ids.h"
#include "engine/catalogue/catalogue.h"
#include "tests/kit/drill.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

/* The number of N is M's now. */
#define ANOTHER "sql UPDATE sku SET code = 'M' WHERE code = 'N' -> "

Test(restored_database, newest_name_is_another)
{
	flow("receipt  N +5                 -> 201",
	     "reserve  R1 N=1               -> 201",
	     ANOTHER,
	     "cut",
	     "reserve  R2 N=1               -> 422 unknown_sku N",
	     "reserve  R3 M=1               -> 201 held",
	     "sku      N                    -> 404 unknown_sku",
	     "sku      M                    -> available=3 reserved=2");
}

Test(restored_database, database_has_another_mark)
{
	flow("receipt  N +5                 -> 201",
	     "receipt  Z +5                 -> 201",
	     ANOTHER,
	     "sql UPDATE identity SET mark = mark + 1 -> ",
	     "cut",
	     "reserve  R2 N=1               -> 422 unknown_sku N",
	     "reserve  R3 M=1               -> 201 held");
}

Test(restored_database, lane_committed_more_than_its_row_says)
{
	flow("serve    --lanes 1",
	     "receipt  N +5                 -> 201",
	     "receipt  Z +5                 -> 201",
	     ANOTHER,
	     "sql UPDATE log_writer SET batch_no = batch_no - 1 -> ",
	     "cut",
	     "reserve  R2 N=1               -> 422 unknown_sku N",
	     "reserve  R3 M=1               -> 201 held");
}

/* A dump that is loaded under a service with open connections. */
Test(restored_database, restored_under_a_live_connection)
{
	flow("serve    --lanes 1",
	     "receipt  N +5                 -> 201",
	     "receipt  Z +5                 -> 201",
	     ANOTHER,
	     "sql UPDATE log_writer SET batch_no = batch_no - 1 -> ",
	     "reserve  R2 N=1               -> 422 unknown_sku N",
	     "reserve  R3 M=1               -> 201 held");
}

Test(restored_database, same_past_after_a_lost_connection)
{
	flow("receipt  N +5                 -> 201",
	     "cut",
	     "reserve  R1 N=1               -> 201 held",
	     "cut",
	     "reserve  R1 N=1               -> 200 replayed held",
	     "sku      N                    -> available=4 reserved=1");
}

/* This once ended the process. */
Test(restored_database, known_name_has_another_number)
{
	flow("receipt  N +5                 -> 201",
	     "reserve  R1 N=2               -> 201",
	     "sql UPDATE sku SET sku_id = 77 -> ",
	     "sql UPDATE stock_slot SET sku_id = 77 -> ",
	     "sql UPDATE movement_line SET sku_id = 77 -> ",
	     "sql UPDATE reservation_line SET sku_id = 77 -> ",
	     "skus                          -> items=N",
	     "get      R1                   -> N=2",
	     "reserve  R2 N=1               -> 201 held",
	     "sku      N                    -> available=2 reserved=3",
	     BY_HAND);
}

/* A server that took over lacks the row and gave its number to another lane. */
Test(restored_database, lane_number_is_given_twice)
{
	flow("serve    --lanes 1",
	     "receipt  A +5                 -> 201",
	     "sql UPDATE log_writer SET mark = 5, epoch = 3, batch_no = 1000 -> ",
	     "cut",
	     "reserve  R1 A=1               -> 201 held",
	     "sql SELECT epoch, batch_no FROM log_writer WHERE mark = 5 -> 3,1000");
}

Test(restored_database, catalogue_forgets)
{
	struct catalogue *c = catalogue_new();
	struct newest     newest;
	struct sku       *a = catalogue_sku_enter(c, 1, "A", 1);
	struct location   both[] = {{.location_id = 2, .code = "paris"}, {.location_id = 1, .code = "main"}};
	struct total      totals[2] = {{.available = 1, .reserved = 2}, {.available = 3, .reserved = 4}};

	catalogue_locations_enter(c, catalogue_locations_ask(c), 7, both, 2);
	totals[0].location = catalogue_location(c, "main");
	totals[1].location = catalogue_location_by_id(c, 2);
	catalogue_totals_put(c, a, clock_ms(), totals, 2);
	cr_assert_eq(catalogue_sku_enter(c, 1, "A", 1), a, "entered twice");
	cr_assert_eq(catalogue_past(c), 1);
	catalogue_newest(c, &newest);
	cr_assert_eq(newest.sku_id, 1);
	cr_assert_str_eq(newest.location.code, "paris");
	cr_assert(catalogue_locations_same(c, catalogue_locations_ask(c), 7));
	catalogue_sku_enter(c, 1, "B", 1);
	cr_assert_eq(catalogue_past(c), 2, "a number with another name");
	cr_assert_null(catalogue_sku(c, "A"));
	cr_assert_null(catalogue_location(c, "main"));
	cr_assert_str_eq(sku_code(a), "A", "who still has it may look at it");
	catalogue_sku_enter(c, 2, "B", 1);
	cr_assert_eq(catalogue_past(c), 3, "a name with another number");
	catalogue_locations_enter(c, catalogue_locations_ask(c), 1,
	                          &(struct location){.location_id = 1, .kind = LOCATION_STOCK, .code = "main"}, 1);
	catalogue_locations_enter(c, catalogue_locations_ask(c), 1,
	                          &(struct location){.location_id = 2, .kind = LOCATION_STOCK, .code = "main"}, 1);
	cr_assert_eq(catalogue_past(c), 4, "a location with another number");
	cr_assert_eq(catalogue_location(c, "main")->location_id, 2);
	catalogue_locations_enter(
		c, catalogue_locations_ask(c), 9,
		(struct location[]){{.location_id = 3, .code = "main"}, {.location_id = 4, .code = "main"}}, 2);
	cr_assert_eq(catalogue_past(c), 5);
	cr_assert(catalogue_locations_same(c, catalogue_locations_ask(c), 9), "damage is none of this one's");
	catalogue_free(c);
}

/* ---- ids */

/* With a clock before 2020 each fresh maker began with the same id. */
Test(restored_database, ids_of_an_old_clock)
{
	struct ids a = {.owner = 7}, b = {.owner = 7};
	uint64_t   last = 0;

	a.clock_offset_ms = b.clock_offset_ms = 1000 - clock_ms(); /* a second after 1970 began */
	for (int i = 0; i < 2000; i++) {
		uint64_t id = id_make(&a);

		cr_assert_gt(id, last);
		last = id;
	}
	b.clock_offset_ms += 1000;
	cr_assert_gt(id_make(&b), last, "a second later");
	b.clock_offset_ms += 3600000;
	cr_assert_gt(id_make(&b), last);
	b.clock_offset_ms -= 3600000;
	last = id_make(&b);
	cr_assert_lt(last, id_make(&(struct ids){.owner = 7, .clock_offset_ms = b.clock_offset_ms + 1000}),
	             "no longer ahead, once the clock is right again");
	a.clock_offset_ms = INT64_C(4102444800000) - clock_ms(); /* 2100 */
	cr_assert_eq(id_make(&a) >> 63, 0);
}

/* Lanes that find their writers taken forget all names, time and again, while others look for theirs: no call is told
 * that a known sku is unknown. */
Test(restored_database, names_are_forgotten_in_the_midst, DRILL)
{
	struct text  calls = {0};
	struct race *race;

	text_add(&calls, "batch");
	for (int i = 0; i < 100; i++)
		text_format(&calls, "%s R#-%d A=1 B=1 C=1 D=1 E=1 F=1", i ? " |" : "", i);
	flow_begin();
	flow_steps("serve --lanes 4",
	           "receipt A +999999 B +999999 C +999999 D +999999 E +999999 F +999999");
	race = flow_race("8*60", calls.data);
	for (int i = 0; i < 100; i++)
		flow_step("sql UPDATE log_writer SET epoch = epoch + 1, mark = mark + 1");
	race_finish(race, NULL);
	race_free(race);
	flow_step("sql SELECT COUNT(*) FROM reservation -> 48000");
	flow_end();
	text_fini(&calls);
}
