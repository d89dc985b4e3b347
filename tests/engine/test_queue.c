/* test_queue.c - the bounded queue before a lane: when the thread that waits there is woken, and with what. */
#include "engine/lane/lane.h"

#include <criterion/criterion.h>
#include <unistd.h>

enum { BEGUN_US = 50000 };

static struct queue queue;
static struct op    ops[QUEUE_OPS + 1];

static void open_queue(void)
{
	queue_init(&queue);
}

static void close_queue(void)
{
	struct op *left[QUEUE_OPS];

	(void)queue_take(&queue, left, QUEUE_OPS, 0);
	queue_fini(&queue);
}

TestSuite(queue, .init = open_queue, .fini = close_queue);

/* Waits for ever: a test in which nothing wakes it does not end by itself. */
static void *taker(void *arg)
{
	struct op *taken[QUEUE_OPS];

	*(size_t *)arg = queue_take(&queue, taken, QUEUE_OPS, -1);
	for (size_t i = 0; i < *(size_t *)arg; i++)
		cr_expect_eq(taken[i], &ops[i], "the %zuth", i);
	return NULL;
}

static void push(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		ops[i].next = NULL;
		cr_expect(queue_push(&queue, &ops[i], 1), "the %zuth", i);
	}
}

/* The taker has most likely begun to wait: then it is woken, or the test does not end. */
static size_t taken_after(size_t pushed, void (*then)(struct queue *q))
{
	pthread_t thread;
	size_t    count = 0;

	cr_assert_eq(pthread_create(&thread, NULL, taker, &count), 0);
	usleep(BEGUN_US);
	push(0, pushed);
	if (then)
		then(&queue);
	pthread_join(thread, NULL);
	return count;
}

Test(queue, wake_begins_what_was_pushed)
{
	cr_expect_geq(taken_after(3, queue_wake), 1);
}

Test(queue, many_need_no_wake)
{
	cr_expect_geq(taken_after(WAKE_OPS, NULL), 1);
}

Test(queue, closing_wakes)
{
	cr_expect_eq(taken_after(0, queue_close), 0);
	cr_expect(!queue_push(&queue, &ops[0], 1), "nothing is let in any more");
}

Test(queue, one_more_than_fits_is_refused)
{
	push(0, QUEUE_OPS);
	cr_expect(!queue_push(&queue, &ops[QUEUE_OPS], 1));
	cr_expect_eq(queue_depth(&queue), QUEUE_OPS);
}

/* All or none: a batch call is not cut. */
Test(queue, many_together)
{
	push(0, QUEUE_OPS - 1);
	ops[QUEUE_OPS - 1].next = &ops[QUEUE_OPS];
	cr_expect(!queue_push(&queue, &ops[QUEUE_OPS - 1], 2));
	cr_expect_eq(queue_depth(&queue), QUEUE_OPS - 1);
}
