/* key_limit.c - see key_limit.h. The count also brings the names of keys and the time of their last use into the
 * database.
 *
 * The units are counted in the database at the start and every two seconds; in between this process adds the units that
 * it holds for the key and subtracts the units that it confirms or releases. The next count includes the work of other
 * processes and workers. A reservation that would pass the limit is not refused here: the lane looks whether the order
 * exists already (a replay), and refuses it if it is new. */
#include "api/key_limit.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/loop.h"
#include "engine/read/key.h"

#include <poll.h>

enum {
	COUNT_EVERY_MS = 2000,
	COUNT_SHARE = 20, /* at most a twentieth of the time is spent on counting */
	COUNT_WAIT_MS = 10000,
	USE_EVERY_MS = 60000, /* the database notes the last use of a key at most once in this time */
	POLL_MS = 100,
};

struct key_limit {
	struct keys      *keys; /* keys->lock guards them and taken_ms; all else is the first loop's alone */
	struct engine    *engine;
	struct loop      *loop;     /* of the counts */
	unsigned          reads;    /* number of the reading of the keys' file that gave the last count its names */
	bool              full;     /* the next count notes names and enters all open holds */
	struct hold_place next;     /* the place in the holds at which another count goes on */
	bool              counting; /* true: a count is under way */
	int64_t           asked_ms; /* time at which that count was asked for */
	int64_t           taken_ms; /* time at which the last count came back */
	int64_t           count_next_ms; /* time at which the next count is due; clock_ms */
};

/* The units that the key holds open, as far as this process knows. */
static int64_t held_open(const struct key *key)
{
	return key->held + key->grown - key->shrunk;
}

static void op_judge(struct key *key, struct op *op)
{
	int64_t units = op_units(op), room;

	if (key->line.held == 0)
		return;
	room = key->counted ? key->line.held - held_open(key) - key->flying : 0;
	op->reserve.limited = true;
	op->reserve.room = room > 0 ? room : 0;
	if (units > op->reserve.room && ((!op->other_id && op->kind == OP_RESERVE) || key->flying > QTY_MAX))
		return; /* refused, or a replay; a replacement and an amendment are judged with the units that they
		           replace */
	op->reserve.held_units = units;
	key->flying += units;
}

void key_limit_begin(struct key_limit *l, struct key *key, struct op *first)
{
	pthread_mutex_lock(&l->keys->lock);
	for (struct op *op = first; op; op = op->next) {
		op->key_id = key->key_id;
		op->by = key->name;
		if (op_asks(op))
			op_judge(key, op);
	}
	pthread_mutex_unlock(&l->keys->lock);
}

/* ---- outcomes */

static void reservation_ended(struct key *key, const struct op *op)
{
	key->flying -= op->reserve.held_units;
	assert(key->flying >= 0);
	if (op->becomes == CONFIRMED)
		return; /* never held open */
	if (op->outcome == OUTCOME_OK && op->kind == OP_RESERVE)
		key->grown += lines_units(op->reservation->lines, op->reservation->lines_count);
	else if (op->outcome == OUTCOME_UNKNOWN)
		key->grown += op->reserve.held_units; /* the next count sees these units */
}

/* The reservation that the operation ended as an open hold: it was confirmed, released or replaced, or split off and
 * one of these. NULL: there is none. The end of an expired, confirmed or buried reservation does not count. */
static const struct reservation *hold_ended(const struct op *op)
{
	if (op->outcome != OUTCOME_OK)
		return NULL;
	switch (op->kind) {
	case OP_CONFIRM:
		return op->change.reacquired ? NULL : op->reservation;
	case OP_RELEASE:
		return op->reservation->confirmed_at == TIME_NONE ? op->reservation : NULL;
	case OP_SPLIT:
		return op->becomes && op->other->state == HELD ? op->reservation : NULL;
	case OP_RESERVE:
		return op->other && op->other->state == HELD ? op->other : NULL; /* the replaced one */
	default:
		return NULL;
	}
}

static struct key *key_by_number(const struct keys *k, uint32_t key_id)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->all[i]->key_id == key_id)
			return k->all[i];
	return NULL;
}

/* A key holds so many units less. Never below 0: another process may have made the hold since the count. */
static void key_shrink(struct key *holder, int64_t units)
{
	holder->shrunk += units < held_open(holder) ? units : held_open(holder);
}

/* A hold that got other lines counts for the key that made it, whichever key asked for them. */
static void hold_amended(struct key_limit *l, const struct op *op)
{
	struct key *holder = op->found && op->found->state == HELD ? key_by_number(l->keys, op->found->key_id) : NULL;
	int64_t     more;

	if (!holder || op->outcome != OUTCOME_OK)
		return;
	more = lines_units(op->reservation->lines, op->reservation->lines_count) -
	       lines_units(op->found->lines, op->found->lines_count);
	if (more > 0)
		holder->grown += more;
	else if (op->arrived_ms > l->taken_ms) /* otherwise it may be in the count */
		key_shrink(holder, -more);
}

/* Any key of a fitting role may end a hold; the units are given back to the key that made it. */
static void op_end(struct key_limit *l, struct key *key, const struct op *op)
{
	const struct reservation *ended = hold_ended(op);
	struct key               *holder;
	int64_t                   units;

	if (op_asks(op) && op->reserve.held_units > 0)
		reservation_ended(key, op);
	if (op->kind == OP_AMEND)
		hold_amended(l, op);
	if (l->keys->limited == 0 || !ended || op->arrived_ms <= l->taken_ms)
		return; /* the count that came meanwhile may include the operation */
	holder = key_by_number(l->keys, ended->key_id);
	units = lines_units(ended->lines, ended->lines_count);
	if (holder)
		key_shrink(holder, units);
}

void key_limit_end(struct key_limit *l, struct key *key, const struct op *op)
{
	pthread_mutex_lock(&l->keys->lock);
	op_end(l, key, op);
	pthread_mutex_unlock(&l->keys->lock);
}

/* ---- counting */

static bool use_is_due(const struct key *key)
{
	return key->active && key->used - key->used_noted >= USE_EVERY_MS;
}

static bool uses_are_due(struct keys *k)
{
	bool due = false;

	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->count; i++)
		due |= use_is_due(k->all[i]);
	pthread_mutex_unlock(&k->lock);
	return due;
}

/* Takes over a count. The count has the units that were held or given back before it was asked for. It may or may not
 * have later ones: until the next count these count as held. */
static void count_take(struct keys *k, const struct key_count *count)
{
	for (size_t i = 0; i < count->count; i++) {
		struct key *key = key_by_number(k, count->keys[i].key_id);

		if (count->keys[i].used)
			key->used_noted = key->used_asked;
		if (!count->keys[i].limited || key->line.held == 0)
			continue;
		key->held = count->keys[i].units;
		key->grown -= key->grown_asked;
		key->shrunk = 0;
		key->counted = true;
	}
}

static void limit_count_done(void *arg, struct op *op)
{
	struct key_limit       *l = arg;
	const struct key_count *count = op->job.arg;
	int64_t                 now_ms = clock_ms(), pause_ms = (now_ms - l->asked_ms) * COUNT_SHARE;

	pthread_mutex_lock(&l->keys->lock);
	l->counting = false;
	l->taken_ms = now_ms;
	if (op->outcome == OUTCOME_OK) {
		count_take(l->keys, count);
		l->next = count->next;
	} else {
		l->full |= count->full;
	}
	pause_ms = pause_ms < COUNT_EVERY_MS ? COUNT_EVERY_MS : pause_ms;
	if (!l->full && !count->more)
		l->count_next_ms = now_ms + pause_ms;
	pthread_mutex_unlock(&l->keys->lock);
	op_free(op);
}

static struct key_count *count_new(const struct key_limit *l)
{
	struct key_count *count = mem_alloc(sizeof(*count) + l->keys->count * sizeof(count->keys[0]));

	count->full = l->full;
	count->next = l->next;
	pthread_mutex_lock(&l->keys->lock);
	for (size_t i = 0; i < l->keys->count; i++) {
		struct key         *key = l->keys->all[i];
		struct counted_key *to = &count->keys[count->count];

		if (!key->active)
			continue;
		to->key_id = key->key_id;
		strcpy(to->name, key->name);
		to->limited = key->line.held > 0;
		to->used = use_is_due(key);
		key->used_asked = key->used;
		key->grown_asked = key->grown;
		count->count++;
	}
	pthread_mutex_unlock(&l->keys->lock);
	return count;
}

/* Asks for a count, unless one is under way. If the engine does not take it, the next tick asks again. */
static void limit_count(struct key_limit *l)
{
	struct op *op;

	if (l->counting)
		return;
	op = op_new(OP_TALLY, 0, 0);
	op->job = (struct job){.run = key_count_run, .run_free = free, .arg = count_new(l)};
	l->asked_ms = clock_ms();
	l->counting = engine_start(l->engine, op, l->loop, limit_count_done, l);
	if (!l->counting) {
		op_free(op);
		return;
	}
	engine_wake(l->engine);
	l->full = false;
}

struct key_limit *key_limit_open(struct keys *k, struct engine *e, struct loop *loop)
{
	struct key_limit *l = mem_alloc(sizeof(*l));
	int64_t           until = clock_ms() + COUNT_WAIT_MS;

	*l = (struct key_limit){.keys = k, .engine = e, .loop = loop, .reads = k->reads, .full = true};
	limit_count(l);
	while (l->counting && clock_ms() < until) {
		struct pollfd p = {.fd = loop_fd(loop), .events = POLLIN};

		poll(&p, 1, POLL_MS);
		loop_run(loop);
	}
	return l;
}

void key_limit_tick(struct key_limit *l)
{
	if (!l)
		return;
	if (l->reads != l->keys->reads) {
		l->reads = l->keys->reads;
		l->full = true;
		l->count_next_ms = 0;
	}
	if (clock_ms() >= l->count_next_ms && (l->full || l->keys->limited || uses_are_due(l->keys)))
		limit_count(l);
}

void key_limit_free(struct key_limit *l)
{
	free(l);
}
