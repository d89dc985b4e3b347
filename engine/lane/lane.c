/* lane.c - the batch loop: one thread, one connection, one slot.
 *
 * While one batch is in the database the next collects in the queue: no timer, a lone request takes one commit, and
 * batches grow with the load. A round is one straight line: take, look up, decide, make sure of refusals, write,
 * answer. Whatever goes wrong puts the operations back with what was learned, and the next round begins.
 *
 * Shared with other threads, and how: the queue (its own lock), the catalogue (its own lock), the metrics (atomic). The
 * order in which every transaction locks rows stands in docs/developer.md, `Locks in one order`. */
#include "engine/lane/lane.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/busy.h"
#include "engine/db/retry.h"
#include "engine/db/storage.h"
#include "engine/lane/balance.h"
#include "engine/lane/batch_codes.h"
#include "engine/lane/blocked.h"
#include "engine/lane/certain.h"
#include "engine/lane/decide.h"
#include "engine/lane/intake.h"
#include "engine/lane/kinds.h"
#include "engine/lane/quota.h"
#include "engine/lane/reclaim.h"
#include "engine/catalogue/past.h"
#include "engine/catalogue/sku_limits.h"
#include "engine/write/amend.h"
#include "engine/write/changes.h"
#include "engine/write/fence.h"
#include "engine/write/movement.h"
#include "engine/write/note.h"
#include "engine/write/on_hold.h"
#include "engine/write/reservation.h"
#include "engine/write/settle.h"
#include "engine/write/split.h"
#include "engine/write/stock.h"
#include "engine/write/stocktake.h"
#include "engine/write/waits.h"

#include <unistd.h>

enum {
	RECENTS = 1 << 15,
	DOUBT_ROUNDS = 8,
	HUNG_MS = 4000, /* the database does not answer: not ready */
};

/* ---- a round */

/* Marks the operations with ids that are looked up before anything is sent: changes of state, possible replays, and
 * operations that are refused unless they are replays. */
static void batch_mark_known(struct lane *l)
{
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		op->may_exist |= op->exclusive || op->other_id || (op->needs & NEEDS_HOLD && op_is_over_held(op)) ||
		                 l->recents[(op->id_hash >> 1) % RECENTS] == op->id_hash ||
		                 (op->kind == OP_MOVE && op_makes_codes(op));
		op->lookup_due = op->may_exist || !op_trait(op)->makes;
		l->batch.needs |= op->lookup_due ? NEEDS_LOOK : 0;
		l->batch.needs |= op->found || op->other ? NEEDS_OF_ROWS : 0; /* of a round before */
	}
}

/* Reads all that a batch needs before it is decided. */
static enum db_result batch_look_up(struct lane *l)
{
	static const struct {
		unsigned needs;
		enum db_result (*look)(struct lane *l);
	} looks[] = {
		{NEEDS_LOOK, reservations_look_up},
		{NEEDS_ROW, notes_look_up},
		{NEEDS(OP_SETTLE) | NEEDS(OP_AMEND) | NEEDS(OP_ON_HOLD) | NEEDS_OTHER, claims_look_up},
		{NEEDS(OP_MOVE), movements_look_up},
	};
	enum db_result result = DB_OK;

	l->batch.read_seq++;
	for (size_t i = 0; result == DB_OK && i < LENGTH(looks); i++)
		if (l->batch.needs & looks[i].needs)
			result = looks[i].look(l);
	batch_put_back_cut(l);
	return result;
}

/* Forgets: the memory is of another past, or of a connection that is gone. A lane that has just begun has noted nothing
 * yet, and the kernel has given none of these 2.5 MB: it is not touched. */
static void lane_forget(struct lane *l)
{
	if (l->past != 0) {
		hints_forget(l);
		reclaim_forget(l);
		if (l->past != catalogue_past(l->catalogue))
			memset(l->recents, 0, RECENTS * sizeof(*l->recents));
	}
	l->past = catalogue_past(l->catalogue);
	l->reconnected = false;
}

/* Reads limits again where a reader has not done so in time, or the guard of one that was not known has refused. */
static enum db_result limits_keep(struct lane *l)
{
	int64_t since_ms = clock_ms() - LIMITS_OLD_MS;

	since_ms = since_ms > l->limits_ms ? since_ms : l->limits_ms;
	if (catalogue_limits_known(l->catalogue, since_ms))
		return DB_OK;
	outbox_send(&l->outbox);
	return sku_limits_read(l->db);
}

/* A movement that is not exclusive yet and changes what is promised. */
static bool changes_promises(const struct op *op, const struct batch *b)
{
	(void)b;
	for (size_t i = 0; op->kind == OP_MOVE && !op->exclusive && i < op->lines_count; i++)
		if (op->lines[i].location && !location_in_house(op->lines[i].location))
			return true;
	return false;
}

/* A movement that changes a sum of promises is decided under the lock of that sum: by itself, in another batch. */
static void promises_part(struct lane *l)
{
	struct op *parted[BATCH_OPS] UNZEROED;
	size_t     count = 0;

	for (size_t i = 0; i < l->batch.count; i++)
		if (changes_promises(l->batch.ops[i], &l->batch))
			parted[count++] = l->batch.ops[i];
	if (count > 0)
		batch_postpone(l, changes_promises);
	for (size_t i = 0; i < count; i++)
		parted[i]->exclusive = true;
}

static enum db_result batch_prepare(struct lane *l)
{
	enum db_result result;

	if (l->reconnected || l->past != catalogue_past(l->catalogue))
		lane_forget(l); /* perhaps another lane found that the database is another one */
	l->batch.kinds_read = false;
	result = codes_resolve(l);
	if (result == DB_OK)
		result = limits_keep(l);
	l->batch.read_seq = 0;
	batch_mark_known(l);
	if (result == DB_OK)
		result = batch_look_up(l);
	if (l->batch.needs & NEEDS_ROW)
		batch_trim(l);
	if (result == DB_OK && l->batch.needs & NEEDS(OP_MOVE))
		result = codes_make(l);
	if (l->batch.needs & NEEDS(OP_MOVE))
		promises_part(l);
	balances_find(l);
	if (result == DB_OK && l->batch.needs & (NEEDS_BALANCE | NEEDS_QUOTA))
		result = balances_load(l, WANTED);
	return result;
}

static void lines_doubt(struct batch *b, const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].sku && lines[i].location)
			b->balances[lines[i].balance].doubted = true;
}

static void quota_doubt(struct quota *quota, void *arg)
{
	(void)arg;
	quota->doubted = true;
}

static bool is_uncertain(const struct op *op, const struct batch *b)
{
	return op_is_refused(op) && !op_is_certain(op, b);
}

/* Marks the balances that the refusal of an operation rests on, and its id, which is to be looked up. An item that was
 * granted is only looked up: it may take no units, because it exists. */
static void op_doubt(struct batch *b, struct op *op)
{
	op->lookup_due = true;
	b->needs |= NEEDS_LOOK;
	op->looks++;
	quotas_at_fault(b->quotas, op, quota_doubt, NULL);
	if (!op_is_refused(op) || op_is_beyond(op) || op_is_of_kinds_alone(op))
		return; /* it rests on no balance */
	lines_doubt(b, op->lines, op->lines_count);
	if (op_takes_again(op))
		lines_doubt(b, op->found->lines, op->found->lines_count);
}

/* Marks the balances that uncertain refusals rest on, and the ids to be looked up. False: no refusal is uncertain. */
static bool batch_doubt(struct lane *l)
{
	struct batch *b = &l->batch;
	bool          any = false;

	for (size_t i = 0; i < b->balances_count; i++)
		b->balances[i].doubted = false;
	for (size_t i = 0; i < b->quotas->count; i++)
		b->quotas->list[i].doubted = false;
	for (size_t i = 0, end; i < b->count; i = end) {
		end = i + op_unit(b->ops + i, b->count - i);
		if (unit_is_certain(b->ops + i, end - i, b))
			continue;
		any = true;
		for (size_t k = i; k < end; k++)
			op_doubt(b, b->ops[k]);
	}
	return any;
}

/* Memory may have an older kind of a location than the database, and stops that have ended. */
static enum db_result kinds_make_sure(struct lane *l)
{
	enum db_result result = DB_OK;

	for (size_t i = 0; result == DB_OK && !l->batch.kinds_read && i < l->batch.count; i++)
		if (op_is_of_kinds(l->batch.ops[i]) ||
		    (l->batch.needs & NEEDS_LOCATION && op_meets_stop(l->batch.ops[i]))) {
			outbox_send(&l->outbox);
			result = past_locations(l->db);
			if (result == DB_OK)
				result = sku_limits_read(l->db);
			l->batch.kinds_read = result == DB_OK;
		}
	return result;
}

/* An order that is refused for want of units may be beyond a limit, which is said first. */
static enum db_result quotas_make_sure(struct lane *l)
{
	struct batch  *b = &l->batch;
	enum db_result result;
	bool           refused = false;

	for (size_t i = 0; b->guard_alone && i < b->count; i++)
		refused |= op_is_refused(b->ops[i]) && quota_customer(b->ops[i]);
	if (!refused)
		return DB_OK;
	b->guard_alone = false;
	balances_meet(l);
	result = balances_load(l, WANTED);
	decide(b);
	return result;
}

static bool is_held_up(struct lane *l, const struct op *op)
{
	return is_uncertain(op, &l->batch) && reclaim_holds_up(l, op);
}

/* Asks the database, later than the request came in, before it answers `short`, `unknown_sku` or a part: first for
 * kinds of locations and expired holds, which are given back, then for the balances, then for the id. Where the look
 * for expired holds takes another batch, the operations that rest on it are put into that batch. Operations that rest
 * on holds which other transactions have locked are parked. */
static enum db_result batch_make_sure(struct lane *l)
{
	enum db_result result = quotas_make_sure(l);

	for (int round = 0; result == DB_OK && batch_doubt(l); round++) {
		if (round == DOUBT_ROUNDS)
			return DB_RETRY; /* the stock moves faster than we read it */
		result = kinds_make_sure(l);
		if (result == DB_OK)
			result = reclaim_run(l);
		if (result == DB_OK && batch_park_where(l, is_held_up))
			decide(&l->batch);
		if (l->batch.count == 0)
			break;
		if (result == DB_OK)
			result = balances_load(l, DOUBTED);
		if (result == DB_OK)
			result = batch_look_up(l);
		balances_meet(l); /* lines of rows that were found again have no balance yet */
		decide(&l->batch);
		if (result == DB_OK && reclaim_goes_on(l)) {
			batch_postpone(l, is_uncertain);
			decide(&l->batch);
		}
	}
	return result;
}

/* The most misses of a guard for units that one of the operations has met. */
static unsigned batch_guard_misses(const struct batch *b)
{
	unsigned misses = 0;

	for (size_t i = 0; i < b->count; i++)
		misses = b->ops[i]->guard_misses > misses ? b->ops[i]->guard_misses : misses;
	return misses;
}

/* The steps of a transaction, in the order of locks, and what needs them. */
static const struct {
	unsigned needs;
	void (*write)(struct lane *l);
} steps[] = {
	{NEEDS_ROW, reservations_change},
	{NEEDS(OP_ON_HOLD) | NEEDS(OP_OFF_HOLD), on_hold_change},
	{NEEDS(OP_SPLIT), splits_change},
	{NEEDS(OP_AMEND), amends_change},
	{NEEDS_UNITS, stock_write},
	{NEEDS_RETURN, returns_write},
	{NEEDS(OP_RESERVE), reservations_insert},
	{NEEDS(OP_SPLIT), splits_insert},
	{NEEDS(OP_AMEND), amends_insert},
	{NEEDS_NOTE, notes_insert},
	{NEEDS(OP_ON_HOLD) | NEEDS_ON_HOLD, on_hold_write},
	{NEEDS(OP_MOVE), movements_insert},
	{NEEDS(OP_SETTLE) | NEEDS(OP_SPLIT), settlements_insert},
	{NEEDS_QUEUE, waits_write},
};

/* The first tries gather in a transaction of their own, which cannot deadlock with others for long. Where that was not
 * enough, the gather names every balance of the batch and stands in one transaction with the deduction. */
static enum db_result batch_write(struct lane *l, enum txn_verdict *verdict, int64_t *now)
{
	struct batch  *b = &l->batch;
	bool           gathers = b->needs & NEEDS_GATHER;
	enum db_result result = DB_OK;

	b->gathers_inside = gathers && batch_guard_misses(b) >= 2;
	if (gathers)
		result = stock_gather(l, !b->gathers_inside);
	if (result == DB_OK && gathers && !b->gathers_inside)
		result = balances_load(l, WANTED);
	if (result != DB_OK)
		return result == DB_UNKNOWN ? DB_AWAY : result; /* units only changed slots */
	lane_begin(l, READ_COMMITTED, true);
	for (size_t i = 0; i < LENGTH(steps); i++)
		if (b->writes & steps[i].needs)
			steps[i].write(l);
	if (l->writer->logs)
		changes_write(l);
	lane_log(l);
	return lane_commit(l, verdict, now);
}

/* Runs a movement that is decided under its locks. A refusal for want of units is true only when no expired hold has
 * them. */
static enum db_result batch_exclusive(struct lane *l, enum txn_verdict *verdict, int64_t *now)
{
	struct op     *op = l->batch.ops[0];
	enum db_result result = stocktake_run(l, op, verdict, now);

	if (result != DB_OK || *verdict != TXN_DONE || op->outcome != SHORT)
		return result;
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		l->batch.balances[i].doubted = true;
		l->batch.balances[i].swept = false;
	}
	result = reclaim_run(l);
	if (result == DB_OK && reclaim_goes_on(l))
		batch_put_back(l); /* the look for expired holds goes on with the next batch */
	else if (result == DB_OK && !batch_park_where(l, reclaim_holds_up))
		return stocktake_run(l, op, verdict, now);
	return result == DB_UNKNOWN ? DB_AWAY : result;
}

static enum db_result batch_run(struct lane *l, enum txn_verdict *verdict, int64_t *now)
{
	struct batch  *b = &l->batch;
	enum db_result result;

	b->writing = false;
	result = batch_prepare(l);
	*verdict = TXN_DONE;
	if (result == DB_OK)
		decide(b);
	if (result == DB_OK && clock_before(&l->shared->locks_until_ms))
		result = lane_look_out(l);
	if (result == DB_OK && b->needs & NEEDS_CERTAINTY)
		result = batch_make_sure(l);
	if (result == DB_OK && b->needs & NEEDS_RETURN)
		result = parts_look_up(l);
	if (result != DB_OK)
		return result == DB_UNKNOWN ? DB_AWAY : result; /* only reads so far: nothing was done */
	if (l->past != catalogue_past(l->catalogue))
		return DB_RETRY; /* the numbers are of another past; what the batch lacks may be there in this one */
	if (!b->writes)
		return DB_OK;
	b->writing = true;
	return b->ops[0]->exclusive ? batch_exclusive(l, verdict, now) : batch_write(l, verdict, now);
}

/* ---- what comes of a round */

/* Reports an operation that would change a reservation in a state that this version does not know. */
static void unknown_tell(const struct op *op)
{
	const struct reservation *r = op_changes(op);

	busy_count(BUSY_UNKNOWN_STATE, op->id);
	log_event(LOG_ERROR, "state_unknown", "order_id=%s state=%d", r->order_id, (int)r->state);
}

static void batch_answer(struct lane *l, int64_t now)
{
	balances_learn(l);
	l->failures = 0;
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op->writes || outcome_is_repeat(op->outcome))
			l->recents[(op->id_hash >> 1) % RECENTS] = op->id_hash;
		if (op->outcome == BUSY)
			unknown_tell(op);
		if (op_trait(op)->of_movement)
			movement_answer(op, now);
		else
			reservation_answer(op, now, l->txn.stamp);
		lane_answer(l, op, op->outcome);
	}
	batch_answered(l);
}

/* Answers the operations that the batch could not write, all of them where it did not come so far. Those that write
 * nothing, replays and refusals, are decided again. */
static void writers_answer(struct lane *l, enum outcome outcome)
{
	struct batch *b = &l->batch;
	size_t        kept = 0;

	for (size_t i = 0, end; i < b->count; i = end) {
		bool told = !b->writing;

		end = i + op_unit(b->ops + i, b->count - i);
		for (size_t k = i; k < end; k++)
			told |= b->ops[k]->writes;
		for (size_t k = i; k < end; k++)
			if (told)
				lane_answer(l, b->ops[k], outcome);
			else
				b->ops[kept++] = b->ops[k];
	}
	b->count = kept;
	batch_put_back(l);
}

static void batch_undone(struct lane *l, enum txn_verdict verdict)
{
	switch (verdict) {
	case TXN_FENCED: /* locations, stops of sales or the log have changed, or the connection has lost its writer */
		if (!lane_enter_again(l))
			break;
		l->last_failed = false;
		batch_put_back(l);
		return;
	case TXN_LIMIT:
		for (size_t i = 0; i < l->batch.count; i++)
			l->batch.ops[i]->exclusive |= l->batch.ops[i]->kind == OP_MOVE;
		break;
	case TXN_BEYOND:
		l->limits_ms = clock_ms();
		break;
	case TXN_SHORT:
		for (size_t i = 0; i < l->batch.count; i++)
			l->batch.ops[i]->guard_misses++;
		balances_forget(l);
		break;
	default:
		break; /* a row was not in the state that was read: it is read again */
	}
	batch_retry(l);
}

static void batch_failed(struct lane *l, enum db_result result)
{
	struct batch *b = &l->batch;

	switch (result) {
	case DB_DUPLICATE: /* another process wrote one of these ids: look all of them up. It may be an id of ours, of a
	                    * lane with the same number modulo 1,024: not again */
		random_bytes(&l->id_maker.owner, sizeof(l->id_maker.owner));
		for (size_t i = 0; i < b->count; i++)
			b->ops[i]->may_exist = true;
		batch_retry(l);
		break;
	case DB_RETRY:
		retry_pause(result, batch_tries(b));
		balances_forget(l);
		batch_retry(l);
		break;
	case DB_LOCKED:
		lane_set_aside(l);
		break;
	case DB_AWAY: /* nothing was done. Operations that cannot be written for want of room are told so at once. The
	               * first failure is tried again at once: it may be the connection alone */
		if (db_full(l->db)) {
			writers_answer(l, STORAGE_FULL);
			break;
		}
		if (l->failures == 0)
			log_event(LOG_WARN, "database_away", "writer=%lld requests=%zu errno=%u why=\"%s\"",
			          (long long)l->writer->writer_id, b->count, db_errno(l->db), db_error(l->db));
		retry_pause(result, l->failures++);
		batch_put_back(l);
		break;
	case DB_UNKNOWN:
		writers_answer(l, OUTCOME_UNKNOWN);
		break;
	default:
		log_event(LOG_ERROR, "statement_failed", "writer=%lld requests=%zu errno=%u why=\"%s\"",
		          (long long)l->writer->writer_id, b->count, db_errno(l->db), db_error(l->db));
		for (size_t i = 0; i < b->count && op_unit(b->ops, b->count) == b->count; i++)
			b->ops[i]->errors++; /* a culprit by itself fails again */
		batch_retry(l);
	}
}

static void round_count(struct lane *l, size_t requests, int64_t began_us)
{
	struct lane_metrics *f = &l->shared->metrics;
	size_t               bucket = 0;

	while (bucket < LENGTH(f->batch_requests_bucket) - 1 && (size_t)1 << bucket < requests)
		bucket++;
	atomic_fetch_add_explicit(&f->batch_requests_bucket[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&f->batch_count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&f->batch_requests, (int64_t)requests, memory_order_relaxed);
	atomic_fetch_add_explicit(&f->batch_us, clock_us() - began_us, memory_order_relaxed);
}

static void lane_round(struct lane *l)
{
	int64_t          began_us = clock_us(), now = TIME_NONE;
	size_t           requests = l->batch.count;
	enum txn_verdict verdict;
	enum db_result   result;

	l->no_wait = false;
	if (l->wait_s != LOCK_WAIT_S || clock_before(&l->shared->locks_until_ms))
		lock_wait_choose(l);
	result = batch_run(l, &verdict, &now);
	round_count(l, requests, began_us);
	l->last_failed = result != DB_OK || verdict != TXN_DONE;
	if (result != DB_OK)
		batch_failed(l, result);
	else if (verdict != TXN_DONE)
		batch_undone(l, verdict);
	else
		batch_answer(l, now);
}

/* Tries whether the database can write again. The batch waits for it, which is over before its own try would be. */
static void storage_probe(struct lane *l)
{
	if (atomic_load_explicit(&l->storage->full, memory_order_relaxed) && db_connected(l->db) &&
	    storage_probe_due(l->shared->source) &&
	    lane_ask(l, STORAGE_PROBE, &(struct fill){.writer = l->writer->writer_id}, NULL, NULL) == DB_OK)
		storage_recovered(l->shared->source);
}

enum { CONNECT_TRIES = 5 }; /* for retry_pause: 50 ms between two tries to connect */

static void connected_tell(struct lane *l)
{
	bool is = db_connected(l->db);

	if (is != atomic_load(&l->connected))
		shared_connected(l->shared, &l->connected, is);
}

static void *lane_main(void *arg)
{
	struct lane *l = arg;
	bool         connected;

	if (!lane_connect(l))
		log_event(LOG_WARN, "lane_waits", "slot=%u why=\"%s\"", l->slot, db_error(l->db));
	connected_tell(l);
	while (batch_take(l)) {
		atomic_store(&l->working_since_ms, clock_ms());
		storage_probe(l);
		connected = db_connected(l->db) || lane_connect(l);
		if (!connected && (db_full(l->db) || storage_is_full(l->shared->source))) {
			l->batch.writing = false;
			writers_answer(l, STORAGE_FULL);
		} else if (!connected) {
			batch_put_back(l);
			retry_pause(DB_AWAY, CONNECT_TRIES);
		} else if (l->batch.count > 0) {
			lane_round(l);
		} else if (!lane_check(l)) {
			log_event(LOG_WARN, "connection_lost", "writer=%lld why=\"%s\"",
			          (long long)l->writer->writer_id, db_error(l->db));
		}
		connected_tell(l);
		atomic_store(&l->working_since_ms, 0);
	}
	lane_leave(l);
	return NULL;
}

bool lane_connected(struct lane *l)
{
	int64_t since_ms = atomic_load(&l->working_since_ms);

	return atomic_load(&l->connected) && (since_ms == 0 || clock_ms() - since_ms < HUNG_MS);
}

struct queue *lane_queue(struct lane *l)
{
	return &l->queue;
}

struct lane *lane_open(struct shared *shared, unsigned slot)
{
	struct lane *l = mem_alloc(sizeof(*l));

	l->shared = shared;
	l->catalogue = shared->catalogue;
	l->slot = l->batch.slot = slot;
	l->recents = mem_alloc(RECENTS * sizeof(*l->recents));
	intake_open(l);
	balances_open(l);
	reclaim_open(l);
	blocked_open(l);
	l->db = db_new(shared->source);
	l->writer = db_writer(l->db);
	l->storage = source_storage(shared->source);
	db_silence_set(l->db, SILENCE_S);
	queue_init(&l->queue);
	thread_start(&l->thread, lane_main, l);
	return l;
}

void lane_close(struct lane *l)
{
	queue_close(&l->queue);
	pthread_join(l->thread, NULL);
	queue_fini(&l->queue);
	db_free(l->db);
	assert(l->batch.count == 0);
	intake_close(l);
	balances_close(l);
	reclaim_close(l);
	blocked_close(l);
	free(l->recents);
	txn_fini(&l->txn);
	values_fini(&l->fence.values);
	values_fini(&l->rows);
	text_fini(&l->wanted);
	text_fini(&l->changes);
	free(l);
}
