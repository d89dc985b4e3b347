/* reader.c - see reader.h. One thread answers totals, reservations and lists, another (the background reader) runs the
 * work of jobs, a third (the census) counts, a fourth searches skus. So none of them holds up a reservation, and no
 * read and no lease waits behind a count or a search. The fourth connects when it is first asked. */
#include "engine/read/reader.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/busy.h"
#include "engine/db/retry.h"
#include "engine/db/writer.h"
#include "engine/loop.h"
#include "engine/read/census.h"
#include "engine/read/list.h"
#include "engine/read/search.h"
#include "engine/read/sku_list.h"
#include "engine/read/totals.h"
#include "engine/catalogue/sku_limits.h"

enum {
	READER_OPS = 64, /* operations taken together */
	COUNT_S = 30,    /* longest silence of the server for jobs and counts; SILENCE_S for the others */
	PARKED_MS = 50,  /* pause between two looks at what is parked and not due */
	LIMITS_MS =
		250, /* pause between two looks for limits that have changed; the rest of LIMITS_OLD_MS is for reads */
};

struct reader {
	struct shared *shared;
	enum answerer  by;
	pthread_t      thread;
	struct queue   queue;
	struct db     *db;
	_Atomic bool   connected;
	struct outbox  outbox;
	struct op     *parked; /* to be answered again: JOB_AGAIN, and lists that look on */
	struct search *search; /* BY_SEARCH; otherwise NULL */
};

static enum db_result job_run(struct db *db, struct op *op)
{
	op->outcome = OUTCOME_OK;
	return op->job.run(db, op->job.arg);
}

/* Kinds that stand first are answered first: `all` as many as were taken, `one` one by one. */
static const struct {
	enum op_kind kind;
	enum db_result (*all)(struct db *db, struct op **ops, size_t count);
	enum db_result (*one)(struct db *db, struct op *op);
} answers[] = {
	{OP_GET, list_found, NULL},
	{OP_FIND, NULL, list_by_ids},
	{OP_GET_MOVEMENT, NULL, list_movement},
	{OP_GET_CUSTOMER, NULL, totals_of_customer},
	{OP_TOTALS, totals_answer, NULL},
	{OP_STOCK, NULL, totals_by_place},
	{OP_LIST_SKUS, NULL, sku_list_page},
	{OP_SEARCH_SKUS, NULL, sku_list_page},
	{OP_LIST_MOVEMENTS, NULL, list_movements},
	{OP_LIST_RESERVATIONS, NULL, list_reservations},
	{OP_COUNTS, NULL, census_answer},
	{OP_TALLY, NULL, job_run},
	{OP_RUN, NULL, job_run},
};

/* The outcome of an operation that failed: nothing was done, unless the operation writes and may have been done. */
static enum outcome reader_outcome(const struct op *op, enum db_result result, bool unknown, bool full)
{
	if (op->kind == OP_RUN && unknown)
		return OUTCOME_UNKNOWN;
	if (full)
		return STORAGE_FULL;
	if (result == DB_AWAY || result == DB_UNKNOWN)
		return DATABASE_AWAY;
	busy_count(BUSY_READER_FAILED, op->id);
	return BUSY;
}

/* True: there is a connection. What a search has in memory ends with its connection. */
static bool reader_connects(struct reader *r)
{
	if (db_connected(r->db))
		return true;
	if (r->search)
		search_forget(r->search);
	return db_connect(r->db);
}

/* Where the catalogue forgot its names in the midst, what was not found may be there. */
static enum db_result reader_ask(struct reader *r, size_t how, struct op **ops, size_t count)
{
	struct catalogue *c = r->shared->catalogue;
	unsigned          past;
	enum db_result    result;

	if (!reader_connects(r))
		return db_has_answered_other(r->db) ? DB_ERROR : DB_AWAY;
	past = catalogue_past(c);
	result = answers[how].all ? answers[how].all(r->db, ops, count) : answers[how].one(r->db, ops[0]);
	if (result == DB_OK && past != catalogue_past(c) && answers[how].one != job_run /* a job's work is done */)
		result = DB_RETRY;
	return result;
}

/* True: the page is empty and not the last one. The list looks on behind it, a page at a time, and others are answered
 * in between. */
static bool looks_on(const struct op *op)
{
	size_t rows;

	switch (op->kind) {
	case OP_LIST_SKUS:
	case OP_SEARCH_SKUS:
		rows = op->lines_count;
		break;
	case OP_LIST_RESERVATIONS:
		rows = op->query->items;
		break;
	default:
		return false;
	}
	return rows == 0 && op->outcome == OUTCOME_OK && op->query->page.cursor[0] && !op_cancelled(op) &&
	       clock_ms() < op->arrived_ms + LOOK_ON_MS;
}

/* True: it does not come back now. */
static bool goes_on(struct reader *r, struct op *op)
{
	enum onward onward = op->kind == OP_RUN && op->job.onward ? op->job.onward(op->job.arg, op) : JOB_ENDS;

	if (onward == JOB_TAKEN)
		return true; /* the operation may have been freed by now */
	if (looks_on(op)) {
		op_forget(op);
		op->again_ms = clock_ms();
		onward = JOB_AGAIN;
	}
	if (onward == JOB_AGAIN) {
		op->next = r->parked;
		r->parked = op;
	}
	return onward != JOB_ENDS;
}

/* Tries once at least, then until the first of them has waited too long. Every answer may be asked for twice. */
static void reader_answer(struct reader *r, size_t how, struct op **ops, size_t count)
{
	struct retry   retry = {.results = RETRY_ALL, .until_ms = ops[0]->arrived_ms + WAIT_MS};
	enum db_result result;
	bool           unknown = false, full;

	do {
		for (size_t i = 0; i < count && retry.tries > 0; i++)
			op_forget(ops[i]);
		result = reader_ask(r, how, ops, count);
		atomic_store(&r->connected, db_connected(r->db));
		unknown |= result == DB_UNKNOWN;
		full = result != DB_OK && db_full(r->db);
	} while (!full && (db_connected(r->db) || !db_other_schema(r->db)) && retry_again(&retry, result));
	if (result == DB_ERROR || result == DB_AWAY)
		log_event(LOG_ERROR, "statement_failed", "errno=%u why=\"%s\"", db_errno(r->db), db_error(r->db));
	for (size_t i = 0; i < count; i++) {
		if (result != DB_OK)
			ops[i]->outcome = reader_outcome(ops[i], result, unknown, full);
		if (result != DB_OK || !goes_on(r, ops[i]))
			outbox_put(&r->outbox, ops[i]);
	}
	outbox_send(&r->outbox);
}

static bool reader_takes(struct reader *r, struct op *op)
{
	op_begun(op, clock_ms());
	if (op->kind == OP_SEARCH_SKUS)
		op->query->search = r->search;
	if (op_take(op))
		return true;
	op->outcome = DATABASE_AWAY;
	outbox_put(&r->outbox, op);
	outbox_send(&r->outbox);
	return false;
}

static bool comes_together(const struct op *op)
{
	return op->kind == OP_RUN && op->job.together;
}

/* Runs jobs that were taken from the queue together, all with a `together`. */
static void jobs_answer(struct reader *r, size_t how, struct op **ops, size_t count)
{
	void *args[READER_OPS];

	assert(count <= READER_OPS);
	for (size_t i = 0; i < count; i++) {
		assert(ops[i]->job.together == ops[0]->job.together);
		args[i] = ops[i]->job.arg;
	}
	if (count > 1 && db_connected(r->db))
		ops[0]->job.together(r->db, args, count);
	for (size_t i = 0; i < count; i++)
		reader_answer(r, how, &ops[i], 1);
}

static void reader_serve(struct reader *r, struct op **taken, size_t count)
{
	struct op *same[READER_OPS];

	for (size_t how = 0; how < LENGTH(answers); how++) {
		size_t n = 0;

		for (size_t i = 0; i < count; i++) {
			if (!taken[i] || taken[i]->kind != answers[how].kind)
				continue;
			if (reader_takes(r, taken[i]))
				same[n++] = taken[i];
			taken[i] = NULL;
			if (n > 0 && answers[how].one && !comes_together(same[n - 1]))
				reader_answer(r, how, &same[--n], 1);
		}
		if (n > 0 && answers[how].all)
			reader_answer(r, how, same, n);
		else if (n > 0)
			jobs_answer(r, how, same, n);
	}
}

/* Answers again what is parked and has been due for longest. */
static void reader_unpark(struct reader *r)
{
	struct op **due = NULL, *op;
	size_t      how = 0;

	for (struct op **at = &r->parked; *at; at = &(*at)->next)
		if ((*at)->again_ms <= clock_ms() && (!due || (*at)->again_ms <= (*due)->again_ms))
			due = at;
	if (!due)
		return;
	op = *due;
	*due = op->next;
	while (answers[how].kind != op->kind)
		how++;
	assert(how < LENGTH(answers));
	reader_answer(r, how, &op, 1);
}

/* At the end all that is parked comes back as it is. */
static void reader_give_back(struct reader *r)
{
	for (struct op *op = r->parked, *next; op; op = next) {
		next = op->next;
		outbox_put(&r->outbox, op);
	}
	outbox_send(&r->outbox);
}

/* The ms for which there is nothing to do unless an operation comes. */
static int pause_ms(const struct reader *r)
{
	for (const struct op *op = r->parked; op; op = op->next)
		if (op->again_ms <= clock_ms())
			return 0;
	return r->parked ? PARKED_MS : IDLE_MS;
}

/* Checks an idle connection, so that readiness is right while no operation comes. Readiness does not rest on the
 * census. */
static void reader_idle(struct reader *r)
{
	if (r->by == BY_CENSUS)
		return;
	if (r->search) {
		if (db_connected(r->db) && search_keep(r->db, r->search) != DB_OK)
			db_close(r->db); /* the next search reads all texts */
		return;
	}
	if (!db_connected(r->db) || !db_check(r->db))
		shared_connected(r->shared, &r->connected, db_connect(r->db));
}

/* One of the readers keeps the limits of skus as they are. */
static void reader_limits(struct reader *r)
{
	if (r->by == BY_READER && db_connected(r->db) &&
	    !catalogue_limits_known(r->shared->catalogue, clock_ms() - LIMITS_MS) && sku_limits_read(r->db) != DB_OK)
		atomic_store(&r->connected, db_connected(r->db));
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct op     *taken[READER_OPS];

	if (!r->search)
		shared_connected(r->shared, &r->connected, db_connect(r->db));
	for (;;) {
		size_t count = queue_take(&r->queue, taken, READER_OPS, pause_ms(r));

		if (count == 0 && queue_closed(&r->queue)) {
			reader_give_back(r);
			writer_leave(r->db); /* of the work of jobs */
			if (r->by == BY_CENSUS)
				location_sums_forget();
			return NULL;
		}
		if (count == 0 && !r->parked)
			reader_idle(r);
		reader_serve(r, taken, count);
		reader_unpark(r);
		reader_limits(r);
	}
}

struct reader *reader_open(struct shared *shared, enum answerer by)
{
	struct reader *r = mem_alloc(sizeof(*r));

	r->shared = shared;
	r->by = by;
	r->db = db_new(shared->source);
	db_silence_set(r->db, by == BY_READER ? SILENCE_S : COUNT_S);
	queue_init(&r->queue);
	outbox_init(&r->outbox);
	r->search = by == BY_SEARCH ? search_new(SEARCH_BYTES_MAX) : NULL;
	thread_start(&r->thread, reader_main, r);
	return r;
}

void reader_close(struct reader *r)
{
	queue_close(&r->queue);
	pthread_join(r->thread, NULL);
	queue_fini(&r->queue);
	db_free(r->db);
	search_free(r->search);
	free(r);
}

bool reader_connected(struct reader *r)
{
	return atomic_load(&r->connected);
}

struct queue *reader_queue(struct reader *r)
{
	return &r->queue;
}
