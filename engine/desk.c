/* desk.c - the thread that answers lists and totals on a connection of its own, so that a long list holds up no
 * reservation. */
#include "list.h"

#include <stdlib.h>
#include <unistd.h>

enum { DESK_OPS = 64 };

struct desk {
	struct engine *engine;
	pthread_t      thread;
	struct queue   queue;
	struct db     *db;
	_Atomic bool   connected;
};

static enum db_result (*const answers[OP_KINDS])(struct db *db, struct catalogue *c, struct op *op) = {
	[OP_LIST_SKUS] = list_skus,
	[OP_LIST_MOVEMENTS] = list_movements,
	[OP_LIST_RESERVATIONS] = list_reservations,
	[OP_COUNTS] = list_counts,
};

/* Reads change nothing, so whatever went wrong is tried once more on a new connection. */
static enum db_result desk_try(struct desk *d, struct op **ops, size_t count)
{
	if (!db_connected(d->db) && !db_connect(d->db))
		return DB_AWAY;
	if (ops[0]->kind == OP_TOTALS)
		return list_totals(d->db, d->engine->catalogue, ops, count);
	if (ops[0]->kind == OP_RUN) {
		ops[0]->outcome = OUTCOME_OK;
		return ops[0]->run(d->db, d->engine->catalogue, ops[0]->run_arg);
	}
	return answers[ops[0]->kind](d->db, d->engine->catalogue, ops[0]);
}

static void desk_answer(struct desk *d, struct op **ops, size_t count)
{
	enum db_result result = DB_AWAY;

	while (result != DB_OK && clock_ms() - ops[0]->arrived_ms < WAIT_MS) {
		result = desk_try(d, ops, count);
		atomic_store(&d->connected, db_connected(d->db));
		for (size_t i = 0; result != DB_OK && i < count; i++)
			op_forget(ops[i]);
		if (result != DB_OK)
			usleep(50000);
	}
	for (size_t i = 0; i < count; i++) {
		if (result != DB_OK)
			ops[i]->outcome = result == DB_UNKNOWN ? OUTCOME_UNKNOWN : DATABASE_AWAY;
		loop_give(ops[i]);
	}
}

static bool desk_takes(struct op *op)
{
	int queued = STAGE_QUEUED;

	if (atomic_compare_exchange_strong(&op->stage, &queued, STAGE_TAKEN))
		return true;
	op->outcome = DATABASE_AWAY;
	loop_give(op);
	return false;
}

/* Readiness should tell the truth when nobody asks for lists. */
static void desk_idle(struct desk *d)
{
	if (!db_connected(d->db) || db_text(d->db, "DO 1", NULL, NULL) != DB_OK)
		atomic_store(&d->connected, db_connect(d->db));
}

static void *desk_main(void *arg)
{
	struct desk *d = arg;
	struct op   *taken[DESK_OPS], *totals[DESK_OPS];

	atomic_store(&d->connected, db_connect(d->db));
	for (;;) {
		size_t count = queue_take(&d->queue, taken, DESK_OPS, IDLE_MS), totals_count = 0;

		if (count == 0 && queue_closed(&d->queue))
			return NULL;
		if (count == 0)
			desk_idle(d);
		for (size_t i = 0; i < count; i++) {
			if (!desk_takes(taken[i]))
				taken[i] = NULL;
			else if (taken[i]->kind == OP_TOTALS) {
				totals[totals_count++] = taken[i];
				taken[i] = NULL;
			}
		}
		if (totals_count > 0)
			desk_answer(d, totals, totals_count);
		for (size_t i = 0; i < count; i++)
			if (taken[i])
				desk_answer(d, &taken[i], 1);
	}
}

struct desk *desk_open(struct engine *e)
{
	struct desk *d = mem_alloc(sizeof(*d));
	int          error;

	d->engine = e;
	d->db = db_new(&e->options.target);
	queue_init(&d->queue);
	error = pthread_create(&d->thread, NULL, desk_main, d);
	assert(error == 0);
	return d;
}

void desk_close(struct desk *d)
{
	queue_close(&d->queue);
	pthread_join(d->thread, NULL);
	queue_fini(&d->queue);
	db_free(d->db);
	free(d);
}

bool desk_connected(struct desk *d)
{
	return atomic_load(&d->connected);
}

struct queue *desk_queue(struct desk *d)
{
	return &d->queue;
}
