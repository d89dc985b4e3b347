/* held.c - the limit of units that reservations of a key hold open.
 *
 * What is held is counted in the database at the start and every two seconds; in between this process adds what it
 * holds for the key and takes off what it confirms or releases. What other processes and workers do meanwhile is seen
 * with the next count. A reservation that would pass the limit is not refused here: the lane looks whether it is there
 * already, and refuses it if it is new. */
#include "api/http.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_EVERY_MS = 2000, COUNT_SHARE = 20 /* at most a twentieth of the time is spent on counting */ };

static int64_t units_of(const struct line *lines, size_t count)
{
	int64_t units = 0;

	for (size_t i = 0; i < count; i++)
		units += lines[i].qty;
	return units;
}

/* As far as this process knows. */
static int64_t held_open(const struct key *key)
{
	return key->held + key->grown - key->shrunk;
}

static void op_judge(struct key *key, struct op *op)
{
	int64_t units = units_of(op->lines, op->lines_count);

	op->reserve.key_id = key->line.key_id;
	if (key->line.held == 0)
		return;
	op->reserve.over_held = !key->counted || held_open(key) + key->flying + units > key->line.held;
	if (op->reserve.over_held)
		return;
	op->reserve.held_units = units;
	key->flying += units;
}

void held_begin(struct request *r, struct op *first)
{
	for (struct op *op = first; r->key && op; op = op->next)
		if (op->kind == OP_RESERVE)
			op_judge(r->key, op);
}

/* ---- what came of it */

static void reservation_ended(struct key *key, const struct op *op)
{
	key->flying -= op->reserve.held_units;
	if (op->outcome == OUTCOME_OK)
		key->grown += units_of(op->reservation->lines, op->reservation->lines_count);
	else if (op->outcome == OUTCOME_UNKNOWN)
		key->grown += op->reserve.held_units; /* the next count knows */
}

/* A hold was confirmed or released: not one that had expired, nor a confirmed or buried one. */
static bool ends_hold(const struct op *op)
{
	if (op->outcome != OUTCOME_OK || (op->kind != OP_CONFIRM && op->kind != OP_RELEASE))
		return false;
	return op->kind == OP_CONFIRM ? !op->change.reacquired : op->reservation->confirmed_at == TIME_NONE;
}

static struct key *key_by_number(const struct keys *k, uint32_t key_id)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->all[i]->line.key_id == key_id)
			return k->all[i];
	return NULL;
}

/* Any key that may may end a hold; the units are given back to the one that made it. */
void held_end(struct request *r, const struct op *op)
{
	struct keys *k = service_options(request_service(r))->keys;
	struct key  *key;
	int64_t      units;

	if (op->kind == OP_RESERVE && op->reserve.held_units > 0)
		reservation_ended(r->key, op);
	if (!k || k->limited == 0 || !ends_hold(op) || op->arrived_ms <= k->taken_ms)
		return; /* what was under way when a count came may be in it */
	key = key_by_number(k, op->reservation->key_id);
	units = units_of(op->reservation->lines, op->reservation->lines_count);
	if (key) /* never below nothing: another process may have made it since the count */
		key->shrunk += units < held_open(key) ? units : held_open(key);
}

/* ---- counting */

/* What became held or free before the count was asked for is in it. What did since may be in it or not: until the next
 * count it is counted as held. */
static void count_take(struct keys *k, const struct key_count *count)
{
	for (size_t i = 0; i < count->count; i++) {
		struct key *key = key_by_number(k, count->keys[i].key_id);

		if (!count->keys[i].limited || key->line.held == 0)
			continue;
		key->held = count->keys[i].units;
		key->grown -= key->grown_asked;
		key->shrunk = 0;
		key->counted = true;
	}
}

static void held_count_done(void *arg, struct op *op)
{
	struct keys            *k = arg;
	const struct key_count *count = op->job.arg;
	int64_t                 now_ms = clock_ms(), pause_ms = (now_ms - k->asked_ms) * COUNT_SHARE;

	k->counting = false;
	k->taken_ms = now_ms;
	if (op->outcome == OUTCOME_OK) {
		count_take(k, count);
		k->next = count->next;
	} else {
		k->anew |= count->anew;
	}
	pause_ms = pause_ms < COUNT_EVERY_MS ? COUNT_EVERY_MS : pause_ms;
	if (!k->anew && !count->more)
		k->count_next_ms = now_ms + pause_ms;
	op_free(op);
}

static struct key_count *count_new(struct keys *k)
{
	struct key_count *count = mem_alloc(sizeof(*count) + k->count * sizeof(count->keys[0]));

	count->anew = k->anew;
	count->next = k->next;
	for (size_t i = 0; i < k->count; i++) {
		struct key         *key = k->all[i];
		struct counted_key *to = &count->keys[count->count];

		if (!key->active)
			continue;
		to->key_id = key->line.key_id;
		strcpy(to->name, key->line.name);
		to->limited = key->line.held > 0;
		key->grown_asked = key->grown;
		count->count++;
	}
	return count;
}

void held_count(struct keys *k)
{
	struct op *op = k->counting ? NULL : op_new(OP_TALLY, 0, 0);

	if (!op)
		return; /* the next tick tries again */
	op->job.run = key_count_run;
	op->job.run_free = free;
	op->job.arg = count_new(k);
	k->asked_ms = clock_ms();
	k->counting = engine_start(k->engine, op, k->loop, held_count_done, k);
	if (!k->counting) {
		op_free(op);
		return;
	}
	engine_wake(k->engine);
	k->anew = false;
}
