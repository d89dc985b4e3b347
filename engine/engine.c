/* engine.c - opens lanes and the desk, and brings each operation to one of them. */
#include "lane.h"

#include <stdlib.h>

struct engine *engine_open(const struct engine_options *options)
{
	struct engine *e = mem_alloc(sizeof(*e));

	e->options = *options;
	e->catalogue = catalogue_new();
	e->lanes = mem_alloc(options->lanes * sizeof(*e->lanes));
	for (unsigned i = 0; i < options->lanes; i++)
		e->lanes[i] = lane_open(e, options->slot + i);
	e->desk = desk_open(e, SILENCE_S);
	e->clerk = desk_open(e, COUNT_S);
	return e;
}

void engine_close(struct engine *e)
{
	for (unsigned i = 0; i < e->options.lanes; i++)
		lane_close(e->lanes[i]);
	desk_close(e->desk);
	desk_close(e->clerk);
	catalogue_free(e->catalogue);
	free(e->lanes);
	free(e);
}

struct catalogue *engine_catalogue(struct engine *e)
{
	return e->catalogue;
}

static void op_begin(struct op *op, struct loop *loop, void (*done)(void *arg, struct op *op), void *arg,
                     int64_t now_ms)
{
	assert(op->magic == OP_MAGIC);
	op->loop = loop;
	op->done = done;
	op->arg = arg;
	op->arrived_ms = now_ms;
	op->id_hash = op_id_hash(op->kind == OP_MOVE, op->id);
	atomic_store(&op->stage, STAGE_QUEUED);
}

/* The lane is chosen by the id, so that twins meet; the operations of a batch call go to the lane of the first, in
 * their order. */
bool engine_start_batch(struct engine *e, struct op *first, size_t count, struct loop *loop,
                        void (*done)(void *arg, struct op *op), void *arg)
{
	int64_t       now_ms = clock_ms();
	struct queue *queue;

	for (struct op *op = first; op; op = op->next) {
		op_begin(op, loop, done, arg, now_ms);
		op->goes_on = op->next != NULL;
	}
	if (first->kind < OP_GET)
		queue = &e->lanes[(first->id_hash >> 1) % e->options.lanes]->queue;
	else
		queue = desk_queue(first->kind >= OP_COUNTS ? e->clerk : e->desk);
	return queue_push(queue, first, count);
}

bool engine_start(struct engine *e, struct op *op, struct loop *loop, void (*done)(void *arg, struct op *op), void *arg)
{
	op->next = NULL;
	return engine_start_batch(e, op, 1, loop, done, arg);
}

void engine_wake(struct engine *e)
{
	for (unsigned i = 0; i < e->options.lanes; i++)
		queue_wake(&e->lanes[i]->queue);
	queue_wake(desk_queue(e->desk));
	queue_wake(desk_queue(e->clerk));
}

bool engine_ready(struct engine *e)
{
	for (unsigned i = 0; i < e->options.lanes; i++)
		if (!lane_connected(e->lanes[i]))
			return false;
	return desk_connected(e->desk);
}

const struct engine_figures *engine_figures(struct engine *e)
{
	return &e->figures;
}

unsigned engine_lanes(struct engine *e)
{
	return e->options.lanes;
}

size_t engine_queue_depth(struct engine *e, unsigned lane)
{
	return queue_depth(&e->lanes[lane]->queue);
}
