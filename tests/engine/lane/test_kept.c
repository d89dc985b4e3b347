/* test_kept.c - units that a location keeps for a queue: what a reservation may have beside them, and what reads tell.
 */
#include "engine/read/kept.h"
#include "engine/write/batch.h"

#include <criterion/criterion.h>

/* How many units are kept is known where it was read in this batch. */
Test(kept, orders_get_what_a_queue_leaves_over)
{
	static const struct {
		struct balance balance;
		int64_t        for_sale;
	} cases[] = {
		{{.left = 10}, 10},
		{{.left = 10, .kept = 5, .read_seq = 1}, 10}, /* no order waits */
		{{.left = 10, .waited = true, .kept = 5, .read_seq = 1}, 5},
		{{.left = 10, .waited = true, .kept = 0, .read_seq = 1}, 10}, /* another location has enough */
		{{.left = 10, .waited = true, .kept = 10, .read_seq = 1}, 0},
		{{.left = 3, .waited = true, .kept = 5, .read_seq = 1}, 0},
		{{.left = 10, .waited = true, .kept = 5, .read_seq = 0}, 0},
	};

	for (size_t i = 0; i < LENGTH(cases); i++)
		cr_expect_eq(balance_for_sale(&cases[i].balance), cases[i].for_sale, "case %zu", i);
}

/* A replacement that keeps the units of its old order takes none. */
Test(kept, units_that_leave_beside_a_queue)
{
	cr_expect(balance_is_shared(&(struct balance){.waited = true, .hold = 2, .moved = 1}));
	cr_expect_not(balance_is_shared(&(struct balance){.waited = true, .hold = 1, .moved = 1}));
	cr_expect_not(balance_is_shared(&(struct balance){.hold = 2}));
}

/* Location 3 is the queue of 1, 2 and 5; the sku 8 has nothing to do with the sku 7. Rows come in any order. */
Test(kept, figures_count_units_once)
{
	struct total_row rows[] = {
		{8, 3, 0, {NULL, 0, 9}}, {7, 5, 3, {NULL, 4, 1}}, {7, 3, 0, {NULL, 2, 6}}, {7, 1, 3, {NULL, 1, 0}},
		{7, 2, 3, {NULL, 3, 2}}, {7, 4, 0, {NULL, 5, 0}}, {7, 6, 9, {NULL, 5, 0}}, {8, 1, 0, {NULL, 7, 0}},
	};
	static const int64_t expected[][4] = {{7, 1, 0, 1}, {7, 2, 0, 5}, {7, 3, 2, 0}, {7, 4, 5, 0},
	                                      {7, 5, 2, 3}, {7, 6, 5, 0}, {8, 1, 7, 0}, {8, 3, 0, 9}};

	totals_keep(rows, LENGTH(rows));
	for (size_t i = 0; i < LENGTH(rows); i++) {
		cr_expect(rows[i].sku_id == expected[i][0] && rows[i].location_id == expected[i][1], "row %zu", i);
		cr_expect_eq(rows[i].total.available, expected[i][2], "available of row %zu", i);
		cr_expect_eq(rows[i].total.reserved, expected[i][3], "reserved of row %zu", i);
	}
	totals_keep(NULL, 0);
}
