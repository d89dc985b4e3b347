/* intake.c - see intake.h.
 *
 *   queue ─▶ pending ─▶ batch ─▶ answered          pending: taken from the queue; keeps the order of arrival
 *               ▲          │                        parked: another program has locked a row of it, or it met
 *               │          │                                conflict after conflict
 *               └──────────┴─▶ parked ─▶ pending */
#include "engine/lane/intake.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/memory.h"
#include "engine/busy.h"

#include <unistd.h>

enum {
	SHARE_MIN = 16,   /* operations under way in a batch; fewer are not divided */
	LOCKED_MS = 4000, /* longest wait of an operation for a row that another program holds */
	PARKED_MS = 100,  /* longest pause between tries of a parked operation; the first pause is shorter: */
	PARKED_MIN_MS = 10,
	APART_MS = 400,       /* .. longest pause of an operation that is tried by itself */
	CONFLICT_MS = 30,     /* .. its pause behind a conflict, which is over sooner than a lock */
	SPREAD_MS = 13,       /* from one lane's looks to the next one's: at one time they would see each other's */
	PARKED_IDS = 1 << 16, /* places for the ids of parked operations: few of thousands share one */
};

struct intake {
	struct op  *ops[BATCH_OPS];          /* memory of batch.ops */
	struct op  *pending, **pending_last; /* taken from the queue, or put back: the next batch comes from these */
	size_t      pending_count;
	struct op  *parked;                 /* set aside until their times (again_ms) */
	int64_t     parked_ms;              /* earliest time at which a parked operation is tried again */
	uint16_t    parked_ids[PARKED_IDS]; /* by hash of an id: how many parked operations name one */
	struct op **returned;               /* memory of parked_return */
	size_t      returned_max;
	uint64_t    turns; /* operations taken from the queue so far */
	size_t      last;  /* operations that the last batch has answered */
};

void intake_open(struct lane *l)
{
	batch_open(&l->batch);
	l->intake = mem_alloc(sizeof(*l->intake));
	l->intake->pending_last = &l->intake->pending;
	l->batch.ops = l->intake->ops;
	l->batch_max = l->lookups_max = BATCH_OPS;
	outbox_init(&l->outbox);
}

void intake_close(struct lane *l)
{
	batch_close(&l->batch);
	free(l->intake->returned);
	free(l->intake);
}

void lane_answer(struct lane *l, struct op *op, enum outcome outcome)
{
	assert(l->parked > 0 || op->busy_since_ms == 0);
	op->outcome = outcome;
	l->parked -= op->busy_since_ms != 0;
	if (outcome != OUTCOME_OK && outcome_is_repeat(outcome))
		atomic_fetch_add_explicit(&l->shared->metrics.replays, 1, memory_order_relaxed);
	outbox_put(&l->outbox, op);
}

void batch_answered(struct lane *l)
{
	l->intake->last = l->batch.count;
	l->batch.count = 0;
	l->batch_max = l->batch_max * 2 < BATCH_OPS ? l->batch_max * 2 : BATCH_OPS;
}

static void pending_append(struct lane *l, struct op *op)
{
	assert(!*l->intake->pending_last);
	op->next = NULL;
	*l->intake->pending_last = op;
	l->intake->pending_last = &op->next;
	l->intake->pending_count++;
}

/* Puts operations before the pending ones, in their order. Nothing was done for them. */
static void pending_prepend(struct lane *l, struct op **ops, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		ops[i]->next = l->intake->pending;
		if (!l->intake->pending)
			l->intake->pending_last = &ops[i]->next;
		l->intake->pending = ops[i];
		l->intake->pending_count++;
		op_queue(ops[i]);
	}
}

void batch_put_back(struct lane *l)
{
	pending_prepend(l, l->batch.ops, l->batch.count);
	l->batch.count = 0;
}

void batch_put_back_cut(struct lane *l)
{
	struct batch *b = &l->batch;

	if (b->cut > 0)
		pending_prepend(l, b->ops + b->count, b->cut);
	b->cut = 0;
}

/* The pause before the next try. The first pause is short, because one of ours may hold the row for a short time. Later
 * tries of all parked operations come together, so that they take few rounds. An operation that is tried by itself
 * costs a round: these rounds take half of the lane's time at most. */
static int64_t park_ms(const struct lane *l, const struct op *op, bool twin, int64_t now_ms)
{
	int64_t apart_ms = PARKED_MS + 2 * (int64_t)l->parked;

	if (op->tried_alone)
		return apart_ms < APART_MS ? apart_ms : APART_MS;
	if (twin || op->busy_since_ms == 0)
		return PARKED_MIN_MS;
	return PARKED_MS - (now_ms + SPREAD_MS * l->slot) % PARKED_MS;
}

static uint16_t *parked_id(struct lane *l, uint64_t hash)
{
	return &l->intake->parked_ids[hash % PARKED_IDS];
}

static void parked_count(struct lane *l, const struct op *op, int by)
{
	assert(by > 0 || *parked_id(l, op->id_hash) > 0);
	*parked_id(l, op->id_hash) += (uint16_t)by;
	if (op->other_id)
		*parked_id(l, op_id_hash(false, op->other_id)) += (uint16_t)by;
}

/* Keeps the operation until then, and those behind it that name its order. The items of an atomic call have one
 * `now_ms` and one pause, so they return together. */
static void op_set_aside(struct lane *l, struct op *op, int64_t now_ms, int64_t pause_ms)
{
	if (op->busy_since_ms == 0) {
		op->busy_since_ms = now_ms;
		l->parked++;
	}
	op_queue(op);
	op->again_ms = now_ms + pause_ms;
	if (!l->intake->parked || op->again_ms < l->intake->parked_ms)
		l->intake->parked_ms = op->again_ms;
	op->next = l->intake->parked;
	l->intake->parked = op;
	parked_count(l, op, 1);
}

static void unit_answer(struct lane *l, struct op *const *ops, size_t count, enum outcome outcome)
{
	for (size_t i = 0; i < count; i++)
		lane_answer(l, ops[i], outcome);
}

static void unit_set_aside(struct lane *l, struct op *const *ops, size_t count, int64_t now_ms, int64_t pause_ms)
{
	for (size_t i = 0; i < count; i++)
		op_set_aside(l, ops[i], now_ms, pause_ms);
}

static void unit_park(struct lane *l, struct op *const *ops, size_t count, bool twin)
{
	const struct op *op = ops[0];
	int64_t          now_ms = clock_ms(), locked_ms = op->busy_since_ms == 0 ? 0 : now_ms - op->busy_since_ms;

	if (locked_ms >= STUCK_MS)
		clock_extend(&l->shared->locks_until_ms, LOCKS_MS);
	if (locked_ms >= STUCK_MS && now_ms - op->arrived_ms >= LOCKED_MS) {
		busy_count(BUSY_ROW_LOCKED, op->id);
		unit_answer(l, ops, count, BUSY);
		return;
	}
	unit_set_aside(l, ops, count, now_ms, park_ms(l, op, twin, now_ms));
}

void batch_park(struct lane *l, struct op *const *ops, size_t count)
{
	unit_park(l, ops, count, false);
}

static int turn_order(const void *a, const void *b)
{
	const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

	return x->turn < y->turn ? -1 : 1;
}

/* Puts the first `count` of `returned` among the pending ones, each behind those that arrived before it. */
static void pending_merge(struct lane *l, size_t count)
{
	struct op **at = &l->intake->pending, **returned = l->intake->returned;

	if (count > 0)
		qsort(returned, count, sizeof(*returned), turn_order);
	for (size_t i = 0; i < count; i++) {
		while (*at && (*at)->turn < returned[i]->turn)
			at = &(*at)->next;
		returned[i]->next = *at;
		*at = returned[i];
		at = &returned[i]->next;
	}
	if (count > 0 && !*at)
		l->intake->pending_last = at;
	l->intake->pending_count += count;
}

/* Returns each parked operation in its own time, whatever else is parked. */
static void parked_return(struct lane *l)
{
	struct intake *in = l->intake;
	int64_t        now_ms = clock_ms();
	struct op    **last = &in->parked;
	size_t         count = 0;

	if (!in->parked || now_ms < in->parked_ms)
		return;
	in->parked_ms = INT64_MAX;
	while (*last) {
		struct op *op = *last;

		if (op->again_ms <= now_ms) {
			*last = op->next;
			parked_count(l, op, -1);
			in->returned = mem_reach(in->returned, count, &in->returned_max, sizeof(*in->returned));
			in->returned[count++] = op;
			continue;
		}
		if (op->again_ms < in->parked_ms)
			in->parked_ms = op->again_ms;
		last = &op->next;
	}
	assert(!in->parked || in->parked_ms > now_ms);
	pending_merge(l, count);
}

static int parked_wait_ms(const struct lane *l)
{
	int64_t left_ms = l->intake->parked_ms - clock_ms();

	return left_ms > 0 ? (int)left_ms : 0;
}

static bool op_names(const struct op *op, bool movement, const char *id)
{
	return (op_trait(op)->of_movement == movement && strcmp(op->id, id) == 0) ||
	       (op->other_id && !movement && strcmp(op->other_id, id) == 0);
}

/* True: a parked operation that arrived earlier names an order of this one, which has to wait behind it. */
static bool parked_names(struct lane *l, const struct op *op)
{
	if (*parked_id(l, op->id_hash) == 0 && (!op->other_id || *parked_id(l, op_id_hash(false, op->other_id)) == 0))
		return false;
	for (const struct op *p = l->intake->parked; p; p = p->next)
		if (p->turn < op->turn && (op_names(p, op_trait(op)->of_movement, op->id) ||
		                           (op->other_id && op_names(p, false, op->other_id))))
			return true;
	return false;
}

static void batch_index(struct batch *b)
{
	batch_unname(b);
	for (size_t i = 0; i < b->count; i++)
		batch_name(b, i);
}

/* Keeps the first `count` operations, after others were taken out. */
static void batch_keep(struct lane *l, size_t count)
{
	assert(count <= l->batch.count);
	l->batch.count = count;
	batch_index(&l->batch);
}

/* After the look-up: a release or a reacquired order brings lines along that were not known when the batch was filled.
 */
void batch_trim(struct lane *l)
{
	struct batch *b = &l->batch;
	size_t        lines = 0, kept = 0;

	for (size_t end; kept < b->count; kept = end) {
		end = kept + op_unit(b->ops + kept, b->count - kept);
		for (size_t i = kept; i < end; i++) {
			const struct reservation *touched = op_touches(b->ops[i]);

			lines += b->ops[i]->lines_count + (touched ? touched->lines_count : 0);
		}
		if (kept > 0 && lines > BATCH_LINES)
			break;
	}
	batch_cut(b, kept);
	batch_put_back_cut(l);
}

void batch_postpone(struct lane *l, bool (*waits)(const struct op *op, const struct batch *b))
{
	struct batch *b = &l->batch;
	struct op    *waiting[BATCH_OPS] UNZEROED;
	size_t        kept = 0, count = 0;
	bool          behind = false; /* behind a waiting operation of its call, which is judged in order */

	for (size_t i = 0, end; i < b->count; i = end) {
		end = i + op_unit(b->ops + i, b->count - i);
		for (size_t k = i; k < end; k++)
			behind = behind || waits(b->ops[k], b);
		for (size_t k = i; k < end; k++)
			if (behind)
				waiting[count++] = b->ops[k];
			else
				b->ops[kept++] = b->ops[k];
		behind = behind && waiting[count - 1]->more_follow;
	}
	pending_prepend(l, waiting, count);
	batch_keep(l, kept);
}

bool batch_park_where(struct lane *l, bool (*is)(struct lane *l, const struct op *op))
{
	struct batch *b = &l->batch;
	struct op    *parked[BATCH_OPS] UNZEROED;
	size_t        kept = 0, count = 0;

	for (size_t i = 0, end; i < b->count; i = end) {
		bool parks = false;

		end = i + op_unit(b->ops + i, b->count - i);
		for (size_t k = i; k < end; k++)
			parks = parks || is(l, b->ops[k]);
		for (size_t k = i; k < end; k++)
			if (parks)
				parked[count++] = b->ops[k];
			else
				b->ops[kept++] = b->ops[k];
	}
	if (count == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		parked[i]->suspects_lock = false; /* the cause is found */
	for (size_t i = 0, unit; i < count; i += unit) {
		unit = op_unit(parked + i, count - i);
		batch_park(l, parked + i, unit);
	}
	batch_keep(l, kept);
	return true;
}

unsigned batch_tries(const struct batch *b)
{
	unsigned tries = 0;

	for (size_t i = 0; i < b->count; i++)
		tries = b->ops[i]->tries > tries ? b->ops[i]->tries : tries;
	return tries;
}

static bool may_try_again(const struct op *op)
{
	return op->errors < ERRORS_MAX && (op->tries <= TRIES_MAX || clock_ms() - op->arrived_ms < CONFLICTS_MS);
}

void batch_retry(struct lane *l)
{
	struct batch *b = &l->batch;
	size_t        kept = 0;

	counter_add(COUNT_RETRIES, 1);
	if (batch_tries(b) > 0)
		l->batch_max = b->count > 1 ? b->count / 2 : 1;
	for (size_t i = 0, count; i < b->count; i += count) {
		struct op **ops = b->ops + i;

		count = op_unit(ops, b->count - i);
		for (size_t k = 0; k < count; k++)
			ops[k]->tries++;
		if (!may_try_again(ops[0])) {
			busy_count(BUSY_CONFLICTS, ops[0]->id);
			unit_answer(l, ops, count, BUSY);
		} else if (count == b->count && ops[0]->tries > TRIES_APART) {
			for (size_t k = 0; k < count; k++)
				ops[k]->tried_alone = true;
			unit_set_aside(l, ops, count, clock_ms(), CONFLICT_MS);
		} else {
			memmove(b->ops + kept, ops, count * sizeof(*ops));
			kept += count;
		}
	}
	b->count = kept;
	batch_put_back(l);
}

/* Told to an operation that is not begun. */
static enum outcome unwanted(const struct lane *l)
{
	return db_connected(l->db) ? BUSY : DATABASE_AWAY;
}

/* False: the operation, or the atomic call that it begins, was cancelled or waited too long, or it waits for a database
 * that is another program's by now. */
static bool is_wanted(struct lane *l, struct op *op)
{
	bool    taken = op_take(op), hopes = db_connected(l->db) || !db_other_schema(l->db);
	int64_t now_ms = clock_ms();

	op_begun(op, now_ms);
	if (taken && hopes && now_ms - op->arrived_ms <= WAIT_MS)
		return true;
	if (taken && db_connected(l->db))
		busy_count(BUSY_WAITED, op->id);
	return false;
}

static size_t op_bytes(const struct op *op)
{
	size_t bytes = 400 + 80 * op->lines_count;

	if (op->reference)
		bytes += 2 * strlen(op->reference);
	if (op->customer)
		bytes += (2 * strlen(op->customer) + 40) * (op->lines_count + 1);
	if (op->kind == OP_MOVE && op->move.reason)
		bytes += 2 * strlen(op->move.reason);
	return bytes;
}

/* A batch takes at most half of the active requests (waiting, or answered last), so that the other half is answered
 * and sends its next calls meanwhile: +13 to 20 % at 64 connections (tests/bench/README.md). A call of many is not
 * divided, because it waits for all. */
static bool batch_has_its_share(const struct lane *l, size_t waiting)
{
	const struct batch *b = &l->batch;

	return b->count >= SHARE_MIN && 2 * b->count >= waiting + l->intake->last && !b->ops[b->count - 1]->more_follow;
}

static bool by_itself(const struct op *op)
{
	return op->exclusive || op->tried_alone;
}

/* What becomes of a unit while a batch is filled. */
enum way { UNIT_TAKEN, UNIT_WAITS, UNIT_PARKED, UNIT_PARKED_BEHIND, UNIT_UNWANTED };

/* A batch while it is filled, and the unit that is at the door. */
struct filling {
	size_t lines, bytes, waiting;
	bool   full;
	size_t unit_count, unit_lines, unit_bytes;
	bool   twin, behind; /* the batch, or a parked operation that came earlier, names an order of the unit */
};

/* False: some items of the unit are still in the queue, behind all that was taken. */
static bool unit_measure(struct lane *l, struct filling *f, const struct op *op)
{
	f->unit_count = f->unit_lines = f->unit_bytes = 0;
	f->twin = f->behind = false;
	for (;; op = op->next) {
		f->twin = f->twin || batch_names(&l->batch, op);
		f->behind = f->behind || parked_names(l, op);
		f->unit_count++;
		f->unit_lines += op->lines_count;
		f->unit_bytes += f->full ? 0 : op_bytes(op);
		if (!op->atomic || !op->more_follow)
			return true;
		if (!op->next)
			return false;
	}
}

/* True: the unit does not fit in beside what was taken. There is always room for the first one. */
static bool batch_is_full(const struct lane *l, const struct filling *f, const struct op *first)
{
	const struct batch *b = &l->batch;

	return (f->twin && !f->behind && !first->busy_since_ms) || batch_has_its_share(l, f->waiting) ||
	       (b->count > 0 && (b->count + f->unit_count > l->batch_max || by_itself(first) || by_itself(b->ops[0]) ||
	                         f->lines + f->unit_lines > BATCH_LINES || f->bytes + f->unit_bytes > BATCH_BYTES));
}

/* Two operations that name one order, as their own or as the one they replace or split, do not meet in a batch: the
 * second ends the batch, so that it is judged after the first and before any that came later. A parked second ends
 * nothing: it stays parked until the first has had its turn. Behind a parked first, the second is parked, too. */
static enum way unit_way(struct lane *l, struct filling *f, struct op *first)
{
	bool whole = unit_measure(l, f, first);

	f->full = f->full || !whole || batch_is_full(l, f, first);
	if (whole && f->behind)
		return UNIT_PARKED_BEHIND;
	if (whole && f->twin && first->busy_since_ms)
		return UNIT_PARKED;
	if (f->full)
		return UNIT_WAITS;
	if (!is_wanted(l, first))
		return UNIT_UNWANTED;
	f->lines += f->unit_lines;
	f->bytes += f->unit_bytes;
	return UNIT_TAKEN;
}

static void batch_enter(struct batch *b, struct op *op)
{
	op->lookup_seq = op->looks = 0;
	op->needs = op_needs(op);
	b->needs |= op->needs;
	b->ops[b->count++] = op;
	batch_name(b, b->count - 1);
}

static void unit_go(struct lane *l, enum way way, struct op *const *ops, size_t count)
{
	if (way == UNIT_PARKED || way == UNIT_PARKED_BEHIND) {
		unit_park(l, ops, count, way == UNIT_PARKED);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (way == UNIT_WAITS) {
			pending_append(l, ops[i]);
			continue;
		}
		if (i > 0)
			op_begun(ops[i], clock_ms());
		if (way == UNIT_TAKEN)
			batch_enter(&l->batch, ops[i]);
		else
			lane_answer(l, ops[i], unwanted(l));
	}
}

static void batch_fill(struct lane *l)
{
	struct batch  *b = &l->batch;
	struct op     *op = l->intake->pending, *unit[ITEMS_MAX] UNZEROED;
	struct filling f = {.waiting = l->intake->pending_count};

	assert(b->count == 0 && b->cut == 0 && l->batch_max >= 1 && l->batch_max <= BATCH_OPS);
	batch_unname(b);
	b->needs = 0;
	l->intake->pending = NULL;
	l->intake->pending_last = &l->intake->pending;
	l->intake->pending_count = 0;
	while (op) {
		enum way way = unit_way(l, &f, op);

		assert(f.unit_count <= ITEMS_MAX);
		for (size_t i = 0; i < f.unit_count; i++, op = op->next)
			unit[i] = op;
		unit_go(l, way, unit, f.unit_count);
	}
	assert(b->count == 0 || op_unit(b->ops, b->count) == b->count ||
	       (b->count <= l->batch_max && f.lines <= BATCH_LINES && f.bytes <= BATCH_BYTES && !by_itself(b->ops[0])));
}

bool batch_take(struct lane *l)
{
	struct op *taken[BATCH_OPS] UNZEROED;
	size_t     count = 0, room = BATCH_OPS > l->intake->pending_count ? BATCH_OPS - l->intake->pending_count : 0;
	int        wait_ms = l->intake->pending ? 0 : l->intake->parked ? parked_wait_ms(l) : IDLE_MS;

	assert(!l->intake->pending == (l->intake->pending_count == 0));
	if (l->parked != l->queue.parked)
		queue_park(&l->queue, l->parked);
	if (!l->intake->pending && (l->intake->parked || queue_depth(&l->queue) == 0))
		outbox_send(&l->outbox); /* the lane may have to wait */
	if (l->intake->parked && !l->intake->pending && queue_closed(&l->queue))
		usleep(PARKED_MS * 1000); /* a closed queue does not wait */
	if (room > 0)
		count = queue_take(&l->queue, taken, room, wait_ms);
	for (size_t i = 0; i < count; i++) {
		taken[i]->turn = l->intake->turns++;
		pending_append(l, taken[i]);
	}
	parked_return(l);
	batch_fill(l);
	if (l->batch.count == 0 || l->last_failed)
		outbox_send(&l->outbox);
	return l->batch.count > 0 || l->intake->pending || l->intake->parked || !queue_closed(&l->queue);
}
