/* test_window.c - which events of a webhook may go at once, and where its cursor is kept. Without a database. */
#include "engine/base/memory.h"
#include "jobs/webhooks/window.h"
#include "tests/lang/flow.h"

#include <stdlib.h>
#include <string.h>

/* An event of an order, which another one may have caused. */
static struct feed_event *of_order(const char *order_id, const char *cause)
{
	struct feed_event *e = mem_alloc(sizeof(*e));

	e->type = strcmp(cause, "reacquired") == 0 ? EVENT_CONFIRMED : EVENT_HELD;
	e->reservation = mem_alloc(sizeof(*e->reservation));
	strcpy(e->reservation->order_id, order_id);
	strcpy(e->cause, cause);
	return e;
}

/* Events of these orders, divided by spaces; A<B is one of A that B has caused. */
static struct feed_page page_of(const char *orders, const char *cursor)
{
	struct feed_page page = {.cursor = mem_copy(cursor)};
	char            *rest = strdupa(orders);

	for (char *order = strsep(&rest, " "); order; order = strsep(&rest, " ")) {
		char *cause = strchr(order, '<');

		if (cause)
			*cause++ = '\0';
		page.events = mem_reach(page.events, page.count, &page.max, sizeof(struct feed_event *));
		page.events[page.count++] = of_order(order, cause ? cause : "");
	}
	return page;
}

static void add(struct window *w, const char *orders, const char *cursor)
{
	struct feed_page page = page_of(orders, cursor);

	cr_expect(window_add(w, &page, SIZE_MAX));
}

/* The order of the next event; "-": none may go. */
static const char *next(struct window *w, struct window_event **e)
{
	int64_t due_ms = INT64_MAX;

	*e = window_next(w, false, 0, &due_ms);
	return *e ? (*e)->event->reservation->order_id : "-";
}

Test(window, one_order_goes_one_after_the_other)
{
	struct window       *w = window_new(10, "before");
	struct window_event *a, *b, *none;

	add(w, "A A B A", "one");
	cr_expect_str_eq(next(w, &a), "A");
	cr_expect_str_eq(next(w, &b), "B");
	cr_expect_str_eq(next(w, &none), "-");
	window_delivered(w, b);
	cr_expect_str_eq(next(w, &none), "-");
	window_delivered(w, a);
	cr_expect_str_eq(next(w, &a), "A");
	cr_expect_str_eq(next(w, &none), "-");
	window_delivered(w, a);
	cr_expect_eq(window_room(w), 9, "B is passed");
	cr_expect_str_eq(next(w, &a), "A");
	window_delivered(w, a);
	cr_expect_eq(window_room(w), 10);
	cr_expect_str_eq(window_place(w), "one");
	window_free(w);
}

Test(window, what_is_of_two_orders_waits_for_both)
{
	struct window       *w = window_new(10, "before");
	struct window_event *a, *b, *e;

	add(w, "A B C<A B A", "one");
	cr_expect_str_eq(next(w, &a), "A");
	cr_expect_str_eq(next(w, &b), "B");
	cr_expect_str_eq(next(w, &e), "-");
	window_delivered(w, b);
	cr_expect_str_eq(next(w, &b), "B");
	cr_expect_str_eq(next(w, &e), "-", "both wait for the first A");
	window_delivered(w, a);
	cr_expect_str_eq(next(w, &a), "C");
	cr_expect_str_eq(next(w, &e), "-", "the last A waits for C, which A has caused");
	window_delivered(w, a);
	cr_expect_str_eq(next(w, &a), "A");
	window_free(w);
}

/* A word is no order. */
Test(window, a_word_as_the_cause_ties_nobody)
{
	struct window       *w = window_new(10, "before");
	struct window_event *a, *b;

	add(w, "A<reacquired B<reacquired A", "one");
	cr_expect_str_eq(next(w, &a), "A");
	cr_expect_str_eq(next(w, &b), "B");
	cr_expect_str_eq(next(w, &b), "-");
	window_free(w);
}

/* Passed over while it waits: what waits for it waits for the one before. */
Test(window, passed_over)
{
	struct window       *w = window_new(10, "before");
	struct window_event *first, *e;

	add(w, "A A A", "one");
	cr_expect_str_eq(next(w, &first), "A");
	window_delivered(w, window_after(w, window_after(w, NULL)));
	cr_expect_str_eq(next(w, &e), "-");
	window_delivered(w, first);
	cr_expect_eq(window_room(w), 9);
	cr_expect_str_eq(next(w, &e), "A");
	cr_expect_str_eq(next(w, &first), "-");
	window_free(w);
}

Test(window, the_place_follows_the_oldest)
{
	struct window       *w = window_new(4, "before");
	struct window_event *a, *b;

	add(w, "A", "one");
	add(w, "B", "two");
	cr_expect_eq(window_fresh(w), 2);
	cr_expect_str_eq(window_end(w), "two");
	next(w, &a);
	next(w, &b);
	cr_expect_eq(window_fresh(w), 0);
	window_delivered(w, b);
	cr_expect_str_eq(window_place(w), "before");
	cr_expect_eq(window_room(w), 2);
	window_delivered(w, a);
	cr_expect_str_eq(window_place(w), "two");
	cr_expect_eq(window_room(w), 4);
	for (int i = 0; i < 3; i++) { /* round the ring */
		add(w, "A B C", "more");
		for (int k = 0; k < 3; k++) {
			cr_assert_str_neq(next(w, &a), "-");
			window_delivered(w, a);
		}
	}
	cr_expect_str_eq(window_place(w), "more");
	window_free(w);
}

Test(window, a_failure_has_its_time)
{
	struct window       *w = window_new(4, "before");
	struct window_event *a;
	int64_t              due_ms = 1000;

	add(w, "A B", "one");
	a = window_next(w, true, 0, &due_ms);
	cr_expect_null(window_next(w, true, 0, &due_ms), "in order: B waits for A");
	a->state = EVENT_WAITS;
	a->failing = (struct failing){1, 0, 50};
	cr_expect_null(window_next(w, true, 49, &due_ms));
	cr_expect_eq(due_ms, 50);
	cr_expect_eq(window_next(w, true, 50, &due_ms), a);
	window_free(w);
}

/* Events that are dropped or forgotten are behind the window's end, and are read again. */
Test(window, holds_some_bytes_and_forgets)
{
	struct window       *w = window_new(10, "before");
	struct feed_page     page = page_of("A B C", "one");
	struct window_event *a;
	size_t               bytes;

	add(w, "A", "zero");
	bytes = window_bytes(w);
	cr_expect_gt(bytes, sizeof(struct reservation));
	cr_expect_not(window_add(w, &page, 2 * bytes));
	cr_expect_eq(window_bytes(w), 3 * bytes);
	cr_expect_eq(window_room(w), 7, "A, A and B");
	cr_expect_str_neq(window_end(w), "one");
	page = page_of("D", "two");
	cr_expect(window_add(w, &page, 0), "one always fits");
	window_delivered(w, window_after(w, window_after(w, NULL)));
	cr_expect(window_bytes(w) < 4 * bytes && window_bytes(w) > 3 * bytes, "its number stays");
	window_delivered(w, window_after(w, NULL));
	cr_expect_eq(window_bytes(w), 2 * bytes);
	window_empty(w);
	cr_expect_eq(window_bytes(w), 0);
	cr_expect_eq(window_room(w), 10);
	cr_expect_str_eq(window_end(w), window_place(w));
	cr_expect_null(window_after(w, NULL));
	add(w, "A", "zero");
	cr_expect_str_eq(next(w, &a), "A", "nothing that was forgotten holds it up");
	window_free(w);
}
