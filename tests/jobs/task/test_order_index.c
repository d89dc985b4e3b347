/* test_order_index.c - orders by their ids: of the largest list that a call may name, and of lists with one id twice.
 */
#include "jobs/task/order_index.h"
#include "jobs/task/task.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 5000 };

Test(order_index, finds_each_of_many)
{
	struct report     *list = calloc(MANY, sizeof(*list));
	struct order_index x;

	for (int i = 0; i < MANY; i++)
		snprintf(list[i].order_id, sizeof(list[i].order_id), "X%d", (i * 7) % MANY);
	x = order_index_list(list, MANY, sizeof(*list));
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(order_index_find(&x, list[i].order_id), &list[i]);
	cr_expect_null(order_index_find(&x, "X5000"));
	cr_expect_null(order_index_find(&x, "X"));
	cr_expect_null(order_index_find(&x, "Y"));
	order_index_fini(&x);
	free(list);
}

Test(order_index, the_first_of_one_id_counts)
{
	struct report      list[] = {{.order_id = "b"}, {.order_id = "a"}, {.order_id = "b"}, {.order_id = "a"}};
	struct order_index x = order_index_list(list, LENGTH(list), sizeof(list[0]));

	cr_expect_eq(order_index_find(&x, "a"), &list[1]);
	cr_expect_eq(order_index_find(&x, "b"), &list[0]);
	order_index_fini(&x);
}

Test(order_index, rows_and_nothing)
{
	struct reservation        one = {.order_id = "R1"}, *rows[] = {&one};
	struct reservation_reader in = {.list = rows, .count = 1}, none = {0};
	struct order_index        x = order_index_rows(&in), empty = order_index_rows(&none);

	cr_expect_eq(order_index_row(&x, "R1"), &one);
	cr_expect_null(order_index_row(&x, "R2"));
	cr_expect_null(order_index_row(&empty, "R1"));
	order_index_fini(&x);
	order_index_fini(&empty);
}
