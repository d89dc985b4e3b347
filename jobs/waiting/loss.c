/* loss.c - see loss.h. */
#include "jobs/waiting/loss.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"

#include <unistd.h>

/* PART: reservations in a step of the walk. SPARE: orders more than are needed, of all wants together, because some
 * change meanwhile. KEPT_MAX: orders that are kept of one want at most. LOOKS: picks in a row that find too little
 * before the caller is told, because an order may have been in transit; LOOKS_PASSED: the same if orders were skipped.
 * PAUSE_US: before the second pick, twice as long before each further one. */
enum {
	PART = 5000,
	SPARE = 200,
	SPARE_LEAST = 2,
	KEPT_MAX = LOSERS_MAX + SPARE,
	LOOKS = 2,
	LOOKS_PASSED = 7,
	PAUSE_US = 5000
};

/* An order in the queue of those that have units. */
struct may_lose {
	bool     held;
	int64_t  since;
	uint64_t reservation_id;
	int64_t  qty;
};

static const struct {
	enum statement         name;
	enum reservation_state state;
} walks[] = {{LOSERS_WALK, HELD}, {LOSERS_WALK, CONFIRMED}, {LOSERS_WALK_ASIDE, CONFIRMED}, {LOSERS_WALK, BURIED}};

void loss_pick_fini(struct loss_pick *p)
{
	for (size_t i = 0; i < p->wants_count; i++)
		free(p->wants[i].list);
	for (size_t i = 0; i < p->losers_count; i++)
		reservation_free(p->losers[i].reservation);
	free(p->wants);
	free(p->losers);
	*p = (struct loss_pick){0};
}

/* Sets the wants: the units that orders must lose, for each line. There are none if a line is short that takes no
 * promised units, or that has too few of them. */
bool loss_pick_begin(struct loss_pick *p, const struct op *op)
{
	const struct losses *losses = op->losses;

	assert(p->wants_count == 0);
	if (op->outcome != SHORT || !losses || losses->looks >= (losses->passed ? LOOKS_PASSED : LOOKS))
		return false;
	p->pause_us = losses->looks > 0 ? PAUSE_US << (losses->looks - 1) : 0;
	p->wants = mem_alloc((op->lines_count + 1) * sizeof(*p->wants));
	for (size_t i = 0; i < op->lines_count; i++) {
		const struct line *line = &op->lines[i];
		const struct loss *loss = line->loss;

		if (line->fault && (!loss || loss->needed == 0)) {
			p->wants_count = 0;
			break;
		}
		if (loss && loss->needed > 0)
			p->wants[p->wants_count++] = (struct loss_want){.sku_id = sku_id(line->sku),
			                                                .location_id = line->location->location_id,
			                                                .needed = loss->needed};
	}
	if (p->wants_count == 0)
		loss_pick_fini(p);
	return p->wants_count > 0;
}

void loss_pick_give(struct loss_pick *p, struct op *movement)
{
	struct losses *losses = movement->losses;

	losses_forget(losses);
	free(losses->losers);
	losses->losers = p->losers;
	losses->losers_count = p->losers_count;
	losses->missed = p->missed;
	losses->looks++;
	p->losers = NULL;
	p->losers_count = 0;
	loss_pick_fini(p);
	op_renew(movement);
}

/* Orders by position in the queue, the last one first. */
static int queue_end_order(bool held, int64_t since, uint64_t id, bool other_held, int64_t other_since,
                           uint64_t other_id)
{
	if (held != other_held)
		return held ? -1 : 1;
	if (since != other_since)
		return since > other_since ? -1 : 1;
	return (id < other_id) - (id > other_id);
}

static int may_lose_order(const void *a, const void *b)
{
	const struct may_lose *x = a, *y = b;

	return queue_end_order(x->held, x->since, x->reservation_id, y->held, y->since, y->reservation_id);
}

static int want_order(const void *a, const void *b)
{
	const struct loss_want *x = a, *y = b;

	return pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);
}

/* Keeps the orders that would lose units, and `spare` more. Returns the number without the spare ones. */
static size_t want_cut(struct loss_want *want, size_t spare)
{
	int64_t units = 0;
	size_t  kept = 0;

	if (want->count > 0)
		qsort(want->list, want->count, sizeof(*want->list), may_lose_order);
	for (; kept < want->count && kept < KEPT_MAX && units < want->needed; kept++)
		units += want->list[kept].qty;
	want->count = want->count < kept + spare ? want->count : kept + spare;
	return kept;
}

/* ---- the walk */

struct part {
	struct loss_pick      *pick;
	enum reservation_state state;
	size_t                 spare;
	uint64_t               last_id;
	int64_t                last_at;
	size_t                 orders;
};

static void part_read(void *arg, const struct db_row *row)
{
	struct part     *in = arg;
	uint64_t         id = (uint64_t)db_int(row, 1);
	struct loss_want key = {.sku_id = (uint32_t)db_int(row, 3), .location_id = (uint32_t)db_int(row, 4)}, *want;

	in->orders += in->orders == 0 || id != in->last_id;
	in->last_id = id;
	in->last_at = time_parse(row->col[0]);
	want = row->col[3] ? bsearch(&key, in->pick->wants, in->pick->wants_count, sizeof(key), want_order) : NULL;
	if (!want)
		return;
	if (want->count >= 2 * KEPT_MAX)
		want_cut(want, in->spare);
	want->list = mem_reach(want->list, want->count, &want->max, sizeof(*want->list));
	want->list[want->count++] = (struct may_lose){in->state == HELD, time_parse(row->col[2]), id, qty_read(row, 5)};
}

static enum db_result part_run(struct db *db, struct loss_pick *p, size_t spare)
{
	struct part    in = {.pick = p, .state = walks[p->walk].state, .spare = spare};
	struct values  rows = {0};
	enum db_result result;

	for (size_t i = 0; i < p->wants_count; i++)
		values_row(&rows, V_INT(p->wants[i].sku_id), V_INT(p->wants[i].location_id));
	result = db_ask(db, walks[p->walk].name,
	                &(struct fill){.rows = &rows,
	                               .state = walks[p->walk].state,
	                               .after_at = p->after_at,
	                               .after_id = p->after_id,
	                               .limit = PART},
	                part_read, &in);
	values_fini(&rows);
	if (result != DB_OK)
		return result;
	p->after_at = in.last_at;
	p->after_id = (int64_t)in.last_id;
	if (in.orders < PART) {
		p->walk++;
		p->after_at = p->after_id = 0;
	}
	return DB_OK;
}

/* ---- reading the orders found */

static int64_t since_of(const struct reservation *r)
{
	if (r->waits_since > 0)
		return r->waits_since;
	return r->state == HELD ? r->created_at : r->confirmed_at;
}

static int loser_order(const void *a, const void *b)
{
	const struct reservation *x = ((const struct loser *)a)->reservation;
	const struct reservation *y = ((const struct loser *)b)->reservation;

	return queue_end_order(x->state == HELD, since_of(x), x->reservation_id, y->state == HELD, since_of(y),
	                       y->reservation_id);
}

/* Lists the orders that may lose units. If they would lose more lines than a movement may have, the list stops where
 * that is certain, counted from the end of the queue and spares included. So thousands of large orders are not read
 * only to be refused. */
static void losers_list(struct loss_pick *p, size_t spare, struct values *ids)
{
	struct may_lose *all;
	size_t           needed = 0, count = 0, kept = 0;

	for (size_t i = 0; i < p->wants_count; i++) {
		needed += want_cut(&p->wants[i], spare);
		count += p->wants[i].count;
	}
	all = mem_alloc((count + 1) * sizeof(*all));
	for (size_t i = 0; i < p->wants_count; i++)
		for (size_t k = 0; k < p->wants[i].count; k++)
			all[kept++] = p->wants[i].list[k];
	if (needed > LOST_MAX) {
		qsort(all, count, sizeof(*all), may_lose_order);
		kept = count < 2 * LOST_MAX ? count : 2 * LOST_MAX;
	}
	for (size_t i = 0; i < kept; i++)
		if (i == 0 || all[i].reservation_id != all[i - 1].reservation_id)
			values_row(ids, V_INT(all[i].reservation_id));
	free(all);
}

/* Reads the orders again. Those that have ended or were claimed since the walk count as missed: for example a
 * replacement has the units now, and the walk may have passed its position. */
static enum db_result losers_read(struct db *db, struct loss_pick *p, size_t spare)
{
	struct reservation_reader in = {.catalogue = past_catalogue(db)};
	struct values             ids = {0};
	enum db_result            result = DB_OK;

	losers_list(p, spare, &ids);
	if (ids.count > 0)
		result = reservations_ask(db, RESERVATION_BY_ID, &(struct fill){.rows = &ids}, &in);
	p->missed = false;
	values_fini(&ids);
	if (result != DB_OK) {
		reservations_free(in.list, in.count);
		return result;
	}
	p->losers = mem_alloc((in.count + 1) * sizeof(*p->losers));
	for (size_t i = 0; i < in.count; i++) {
		struct reservation *r = in.list[i];

		if (r->task_id == 0 && reservation_is_live(reservation_reads(r))) {
			p->losers[p->losers_count++].reservation = r;
		} else {
			p->missed = true;
			reservation_free(r);
		}
	}
	free(in.list);
	qsort(p->losers, p->losers_count, sizeof(*p->losers), loser_order);
	return DB_OK;
}

enum db_result loss_pick_run(struct db *db, struct loss_pick *p, int64_t slice_ms, bool *more)
{
	int64_t        until_ms = clock_ms() + slice_ms;
	size_t         spare = SPARE_LEAST + SPARE / p->wants_count;
	enum db_result result = DB_OK;

	*more = true;
	if (p->walk == 0 && p->after_id == 0) {
		usleep(p->pause_us);
		qsort(p->wants, p->wants_count, sizeof(*p->wants), want_order);
	}
	while (result == DB_OK && p->walk < LENGTH(walks) && clock_ms() < until_ms)
		result = part_run(db, p, spare);
	if (result != DB_OK || p->walk < LENGTH(walks))
		return result;
	result = losers_read(db, p, spare);
	*more = result != DB_OK;
	return result;
}
