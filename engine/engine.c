/* engine.c - opens lanes and readers, and brings each operation to one of them. */
#include "engine/engine.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/lane/lane.h"

#include <stdlib.h>

struct engine *engine_open(const struct engine_options *options)
{
	struct engine *e = mem_alloc(sizeof(*e));

	e->options = *options;
	e->catalogue = catalogue_new();
	e->lanes = mem_alloc(options->lanes * sizeof(*e->lanes));
	for (unsigned i = 0; i < options->lanes; i++)
		e->lanes[i] = lane_open(e, options->slot + i);
	e->reader = reader_open(e, SILENCE_S);
	e->background = reader_open(e, COUNT_S);
	e->census = reader_open(e, COUNT_S);
	return e;
}

void engine_close(struct engine *e)
{
	for (unsigned i = 0; i < e->options.lanes; i++)
		lane_close(e->lanes[i]);
	reader_close(e->reader);
	reader_close(e->background);
	reader_close(e->census);
	catalogue_free(e->catalogue);
	free(e->lanes);
	free(e);
}

struct catalogue *engine_catalogue(struct engine *e)
{
	return e->catalogue;
}

static struct queue *queue_of(struct engine *e, const struct op *op)
{
	if (op->kind < OP_GET)
		return &e->lanes[(op->id_hash >> 1) % e->options.lanes]->queue;
	if (op->kind == OP_RUN)
		return reader_queue(e->background);
	return reader_queue(op->kind >= OP_COUNTS ? e->census : e->reader);
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
	int64_t now_ms = clock_ms();

	for (struct op *op = first; op; op = op->next) {
		op_begin(op, loop, done, arg, now_ms);
		op->goes_on = op->next != NULL;
	}
	return queue_push(queue_of(e, first), first, count);
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
	queue_wake(reader_queue(e->reader));
	queue_wake(reader_queue(e->background));
	queue_wake(reader_queue(e->census));
}

bool engine_ready(struct engine *e)
{
	for (unsigned i = 0; i < e->options.lanes; i++)
		if (!lane_connected(e->lanes[i]))
			return false;
	return reader_connected(e->reader);
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
