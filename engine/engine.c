/* engine.c - see engine.h. */
#include "engine/engine.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/lane/lane.h"
#include "engine/log/follow.h"
#include "engine/catalogue/past.h"
#include "engine/read/reader.h"

struct engine {
	struct shared    shared;
	unsigned         lanes_count;
	struct lane    **lanes;
	struct reader   *readers[BY_FEED]; /* a thread for each kind of answer between BY_LANE and BY_FEED */
	struct follower *follower;         /* BY_FEED */
	struct queue   **queues;           /* queues of the lanes, then of the others, by enum answerer */
};

struct engine *engine_open(const struct engine_options *options)
{
	struct engine *e = mem_alloc(sizeof(*e));

	assert(options->lanes <= 64);
	shared_init(&e->shared, options->source);
	past_watch(e->shared.source, e->shared.catalogue);
	e->lanes_count = options->lanes;
	e->lanes = mem_alloc(options->lanes * sizeof(*e->lanes));
	e->queues = mem_alloc((options->lanes + ANSWERERS) * sizeof(struct queue *));
	for (unsigned i = 0; i < options->lanes; i++) {
		e->lanes[i] = lane_open(&e->shared, options->slot + i);
		e->queues[i] = lane_queue(e->lanes[i]);
	}
	for (enum answerer by = BY_READER; by < BY_FEED; by++) {
		e->readers[by] = reader_open(&e->shared, by);
		e->queues[e->lanes_count + by - BY_READER] = reader_queue(e->readers[by]);
	}
	e->follower = follow_open(&e->shared, options->waiting_max);
	e->queues[e->lanes_count + BY_FEED - BY_READER] = follow_queue(e->follower);
	return e;
}

void engine_close(struct engine *e)
{
	for (unsigned i = 0; i < e->lanes_count; i++)
		lane_close(e->lanes[i]);
	for (enum answerer by = BY_READER; by < BY_FEED; by++)
		reader_close(e->readers[by]);
	follow_close(e->follower);
	past_watch(e->shared.source, NULL);
	shared_fini(&e->shared);
	free(e->lanes);
	free(e->queues);
	free(e);
}

struct source *engine_source(struct engine *e)
{
	return e->shared.source;
}

struct catalogue *engine_catalogue(struct engine *e)
{
	return e->shared.catalogue;
}

/* The lane is chosen by the id, so that twins meet. */
static struct queue *queue_of(struct engine *e, const struct op *op)
{
	enum answerer by = op_trait(op)->by;

	return e->queues[by == BY_LANE ? (op->id_hash >> 1) % e->lanes_count : e->lanes_count + by - BY_READER];
}

static void op_begin(struct op *op, struct loop *loop, void (*done)(void *arg, struct op *op), void *arg,
                     int64_t now_ms)
{
	op->loop = loop;
	op->done = done;
	op->arg = arg;
	op->arrived_ms = now_ms;
	op->id_hash = op_id_hash(op_trait(op)->of_movement, op->id);
}

/* The operations of a batch call go to the lane of the first, in their order. */
bool engine_start_batch(struct engine *e, struct op *first, size_t count, struct loop *loop,
                        void (*done)(void *arg, struct op *op), void *arg)
{
	int64_t now_ms = clock_ms();

	for (struct op *op = first; op; op = op->next) {
		op_begin(op, loop, done, arg, now_ms);
		op->more_follow = op->next != NULL;
	}
	return queue_push(queue_of(e, first), first, count);
}

/* Moves the ops of queue `q` from the list `rest` to the end of a list of their own; returns how many. */
static size_t part_take(struct engine *e, const struct queue *q, struct op **rest, struct op **part)
{
	size_t count = 0;

	while (*rest) {
		struct op *op = *rest;

		if (queue_of(e, op) != q) {
			rest = &op->next;
			continue;
		}
		*rest = op->next;
		op->next = NULL;
		*part = op;
		part = &op->next;
		count++;
	}
	return count;
}

struct op *engine_start_each(struct engine *e, struct op *first, struct loop *loop,
                             void (*done)(void *arg, struct op *op), void *arg)
{
	struct op *full = NULL, **full_last = &full;
	int64_t    now_ms = clock_ms();

	for (struct op *op = first; op; op = op->next)
		op_begin(op, loop, done, arg, now_ms);
	while (first) {
		struct queue *q = queue_of(e, first);
		struct op    *part = NULL;
		size_t        count = part_take(e, q, &first, &part);

		for (struct op *op = part; op; op = op->next)
			op->more_follow = op->next != NULL;
		if (queue_push(q, part, count))
			continue;
		*full_last = part;
		while (*full_last)
			full_last = &(*full_last)->next;
	}
	return full;
}

bool engine_start(struct engine *e, struct op *op, struct loop *loop, void (*done)(void *arg, struct op *op), void *arg)
{
	op->next = NULL;
	return engine_start_batch(e, op, 1, loop, done, arg);
}

void engine_wake(struct engine *e)
{
	for (unsigned i = 0; i < e->lanes_count + ANSWERERS - BY_READER; i++)
		if (atomic_load(&e->queues[i]->news))
			queue_wake(e->queues[i]);
}

void engine_give_way(struct engine *e, size_t count)
{
	follow_give_way(e->follower, count);
}

size_t engine_waiting(struct engine *e)
{
	return follow_waiting(e->follower);
}

bool engine_ready(struct engine *e)
{
	for (unsigned i = 0; i < e->lanes_count; i++)
		if (!lane_connected(e->lanes[i]))
			return false;
	return reader_connected(e->readers[BY_READER]);
}

bool engine_wait(struct engine *e, int64_t ms)
{
	struct timespec until = clock_until(ms);
	bool            ready;

	pthread_mutex_lock(&e->shared.lock);
	while (!(ready = engine_ready(e)) && pthread_cond_timedwait(&e->shared.connects, &e->shared.lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&e->shared.lock);
	return ready;
}

const struct lane_metrics *engine_metrics(struct engine *e)
{
	return &e->shared.metrics;
}

unsigned engine_lanes(struct engine *e)
{
	return e->lanes_count;
}

size_t engine_queue_depth(struct engine *e, unsigned lane)
{
	return queue_depth(e->queues[lane]);
}
