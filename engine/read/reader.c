/* reader.c - a thread that runs other things than batches, on a connection of its own: one answers totals, reservations
 * and lists, another (the background reader) does what jobs have it do, a third (the census) counts, so that none of
 * them holds up a reservation, and no read and no lease waits behind a count. */
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/retry.h"
#include "engine/lane/lane.h"
#include "engine/read/list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DESK_OPS = 64 };

struct reader {
	struct engine *engine;
	pthread_t      thread;
	struct queue   queue;
	struct db     *db;
	_Atomic bool   connected;
};

static enum db_result run_op(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	(void)count;
	ops[0]->outcome = OUTCOME_OK;
	return ops[0]->run(db, c, ops[0]->run_arg);
}

/* Those that stand first are answered together, as many as were taken; the others one by one. */
static const struct {
	enum op_kind kind;
	bool         together;
	enum db_result (*answer)(struct db *db, struct catalogue *c, struct op **ops, size_t count);
} answers[] = {
	{OP_GET, true, list_found},
	{OP_TOTALS, true, list_totals},
	{OP_LIST_SKUS, false, list_skus},
	{OP_LIST_MOVEMENTS, false, list_movements},
	{OP_LIST_RESERVATIONS, false, list_reservations},
	{OP_COUNTS, true, list_counts},
	{OP_TALLY, false, run_op},
	{OP_RUN, false, run_op},
};

/* What could not be done: nothing, unless it may have been done and is not only read. */
static enum outcome reader_outcome(const struct op *op, enum db_result result, bool unknown)
{
	if (op->kind == OP_RUN && unknown)
		return OUTCOME_UNKNOWN;
	return result == DB_AWAY || result == DB_UNKNOWN ? DATABASE_AWAY : BUSY;
}

static bool reader_connect(struct reader *d)
{
	if (!db_connect(d->db))
		return false;
	if (past_check(&d->engine->past, d->db, d->engine->catalogue) != DB_OK)
		db_close(d->db);
	return db_connected(d->db);
}

/* Tries once at least, then until the first of them has waited too long. Every answer may be asked for twice. */
static void reader_answer(struct reader *d, size_t how, struct op **ops, size_t count)
{
	struct retry   retry = {.results = RETRY_ALL, .until_ms = ops[0]->arrived_ms + WAIT_MS};
	enum db_result result;
	bool           unknown = false;

	do {
		for (size_t i = 0; i < count && retry.tries > 0; i++)
			op_forget(ops[i]);
		result = DB_AWAY;
		if (db_connected(d->db) || reader_connect(d))
			result = answers[how].answer(d->db, d->engine->catalogue, ops, count);
		atomic_store(&d->connected, db_connected(d->db));
		unknown |= result == DB_UNKNOWN;
	} while (retry_again(&retry, result));
	if (result == DB_ERROR || result == DB_AWAY)
		log_event(LOG_ERROR, "statement_failed", "errno=%u why=\"%s\"", db_errno(d->db), db_error(d->db));
	for (size_t i = 0; i < count; i++) {
		if (result != DB_OK)
			ops[i]->outcome = reader_outcome(ops[i], result, unknown);
		loop_give(ops[i]);
	}
}

static bool reader_takes(struct op *op)
{
	int queued = STAGE_QUEUED;

	if (atomic_compare_exchange_strong(&op->stage, &queued, STAGE_TAKEN))
		return true;
	op->outcome = DATABASE_AWAY;
	loop_give(op);
	return false;
}

static void reader_serve(struct reader *d, struct op **taken, size_t count)
{
	struct op *same[DESK_OPS];

	for (size_t how = 0; how < LENGTH(answers); how++) {
		size_t n = 0;

		for (size_t i = 0; i < count; i++) {
			if (!taken[i] || taken[i]->kind != answers[how].kind)
				continue;
			if (reader_takes(taken[i]))
				same[n++] = taken[i];
			taken[i] = NULL;
			if (n > 0 && !answers[how].together) {
				reader_answer(d, how, same, 1);
				n = 0;
			}
		}
		if (n > 0)
			reader_answer(d, how, same, n);
	}
}

/* Readiness should tell the truth when nobody asks for lists. It does not rest on the census. */
static void reader_idle(struct reader *d)
{
	if (d == d->engine->census)
		return;
	if (!db_connected(d->db) || db_text(d->db, "DO 1", NULL, NULL) != DB_OK)
		atomic_store(&d->connected, reader_connect(d));
}

static void *reader_main(void *arg)
{
	struct reader *d = arg;
	struct op     *taken[DESK_OPS];

	atomic_store(&d->connected, reader_connect(d));
	for (;;) {
		size_t count = queue_take(&d->queue, taken, DESK_OPS, IDLE_MS);

		if (count == 0 && queue_closed(&d->queue))
			return NULL;
		if (count == 0)
			reader_idle(d);
		reader_serve(d, taken, count);
	}
}

struct reader *reader_open(struct engine *e, unsigned silence_s)
{
	struct reader *d = mem_alloc(sizeof(*d));
	int            error;

	d->engine = e;
	d->db = db_new(&e->options.target);
	db_silence_set(d->db, silence_s);
	queue_init(&d->queue);
	error = pthread_create(&d->thread, NULL, reader_main, d);
	assert(error == 0);
	return d;
}

void reader_close(struct reader *d)
{
	queue_close(&d->queue);
	pthread_join(d->thread, NULL);
	queue_fini(&d->queue);
	db_free(d->db);
	free(d);
}

bool reader_connected(struct reader *d)
{
	return atomic_load(&d->connected);
}

struct queue *reader_queue(struct reader *d)
{
	return &d->queue;
}
