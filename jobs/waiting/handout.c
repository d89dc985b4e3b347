/* handout.c - see handout.h. */
#include "jobs/waiting/handout.h"
#include "engine/base/memory.h"
#include "engine/log/event.h"
#include "engine/past.h"

#include <stdlib.h>
#include <string.h>

static void found_free(struct handout *h)
{
	free(h->list);
	free(h->by_id);
	free(h->lapsed);
	reservations_free(h->read, h->read_count);
	values_fini(&h->front);
	shares_fini(&h->at_from);
	shares_fini(&h->at_to);
	h->list = NULL;
	h->by_id = NULL;
	h->lapsed = h->read = NULL;
	h->front = (struct values){0};
	h->count = h->lapsed_count = h->read_count = h->waiting = 0;
	h->given = h->stamp_min = 0;
	h->at_from = h->at_to = (struct shares){0};
}

void handout_fini(struct handout *h)
{
	found_free(h);
}

void handout_done(struct handout *h, bool committed)
{
	h->orders_max = committed ? h->orders_max * 2 : h->orders_max / 2;
	h->orders_max = h->orders_max > HANDOUT_MAX   ? HANDOUT_MAX
	                : h->orders_max < HANDOUT_MIN ? HANDOUT_MIN
	                                              : h->orders_max;
}

/* ---- read and decided */

static int id_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = (*(struct reservation *const *)b)->reservation_id;

	return (x > y) - (x < y);
}

static int served_order(const void *a, const void *b)
{
	return id_order(&(*(struct served *const *)a)->reservation->reservation_id,
	                &(*(struct served *const *)b)->reservation);
}

static const struct line *line_at(const struct reservation *r, uint32_t sku, uint32_t location)
{
	for (size_t i = 0; i < r->lines_count; i++)
		if (sku_id(r->lines[i].sku) == sku && r->lines[i].location->location_id == location)
			return &r->lines[i];
	return NULL;
}

static void line_serve(struct handout *h, struct reservation *r, const struct line *line, int64_t qty)
{
	const struct line *beside = line_at(r, h->sku_id, h->to_id);

	h->list[h->count++] = (struct served){r, line, beside, h, qty};
	h->given += qty;
	h->stamp_min = h->stamp_min > r->changed ? h->stamp_min : r->changed + 1;
	share_add(&h->at_from, h->sku_id, h->from_id, line->slot, qty, qty);
	share_add(&h->at_to, h->sku_id, h->to_id, beside ? beside->slot : line->slot, qty, 0);
}

/* Gives units in queue order; the orders that get none stay as they are. is_free: of each that was read, no other
 * transaction has locked it. */
static void decide(struct handout *h, const struct reservation_reader *in, const bool *is_free)
{
	int64_t left = h->units;

	for (size_t i = 0; i < h->front.count && left > 0; i++) {
		uint64_t             id = (uint64_t)h->front.list[i].number;
		struct reservation **at = bsearch(&id, in->list, in->count, sizeof(struct reservation *), id_order);
		const struct line   *line = at ? line_at(*at, h->sku_id, h->from_id) : NULL;
		int64_t              qty;

		if (!line || line->qty < 1 || !reservation_is_live((*at)->state))
			continue; /* it has left the queue since */
		qty = line->qty < left ? line->qty : left;
		if (reservation_reads(*at) != EXPIRED)
			left -= qty;
		if (!is_free[at - in->list] && !h->passes)
			break;
		if (!is_free[at - in->list])
			continue;
		if (reservation_reads(*at) == EXPIRED)
			h->lapsed[h->lapsed_count++] = *at;
		else
			line_serve(h, *at, line, qty);
	}
}

/* Both lists are sorted by number. */
static void mark_free(const struct reservation_reader *in, const struct values *unlocked, bool *is_free)
{
	for (size_t i = 0, k = 0; i < in->count && k < unlocked->count; i++) {
		while (k < unlocked->count && (uint64_t)unlocked->list[k].number < in->list[i]->reservation_id)
			k++;
		is_free[i] = k < unlocked->count && (uint64_t)unlocked->list[k].number == in->list[i]->reservation_id;
	}
}

static void front_meet(struct handout *h, const struct reservation_reader *in, const bool *is_free)
{
	h->list = mem_alloc((h->front.count + 1) * sizeof(*h->list));
	h->lapsed = mem_alloc((h->front.count + 1) * sizeof(struct reservation *));
	decide(h, in, is_free);
	shares_sum(&h->at_from);
	shares_sum(&h->at_to);
	h->by_id = mem_alloc((h->count + 1) * sizeof(struct served *));
	for (size_t i = 0; i < h->count; i++)
		h->by_id[i] = &h->list[i];
	qsort(h->by_id, h->count, sizeof(struct served *), served_order);
}

/* The front of the queue; its ids are added to those of all. */
static enum db_result front_find(struct db *db, struct handout *h, struct values *all)
{
	struct fill    fill = {.sku = h->sku_id, .location = h->from_id};
	enum db_result result;

	assert(h->units > 0);
	h->orders_max = h->orders_max ? h->orders_max : HANDOUT_FIRST;
	fill.limit = h->units < (int64_t)h->orders_max ? h->units : (int64_t)h->orders_max;
	result = db_ask(db, WAITING_FRONT, &fill, db_numbers, &h->front);
	h->waiting = h->front.count;
	for (size_t i = 0; i < h->front.count; i++)
		values_row(all, h->front.list[i]);
	return result;
}

/* DB_ERROR: there is no such location, by damage. */
static enum db_result to_find(struct db *db, struct catalogue *c, struct handout *h)
{
	enum db_result result = catalogue_location_by_id(c, h->to_id) ? DB_OK : past_locations(db, c);

	h->to = catalogue_location_by_id(c, h->to_id);
	return result == DB_OK && !h->to ? DB_ERROR : result;
}

enum db_result handouts_read(struct db *db, struct catalogue *c, struct handout *list, size_t count)
{
	struct reservation_reader in = {.catalogue = c};
	struct values             all = {0}, unlocked = {0};
	enum db_result            result = DB_OK;

	for (size_t i = 0; i < count; i++)
		found_free(&list[i]);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		result = front_find(db, &list[i], &all);
	if (result == DB_OK && all.count > 0)
		result = db_ask(db, RESERVATION_PROBE, &(struct fill){.rows = &all}, db_numbers, &unlocked);
	if (result == DB_OK && all.count > 0)
		result = reservations_ask(db, RESERVATION_BY_ID, &(struct fill){.rows = &all}, &in);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		result = to_find(db, c, &list[i]);
	if (result == DB_OK) {
		bool *is_free = mem_alloc(in.count + 1);

		mark_free(&in, &unlocked, is_free);
		for (size_t i = 0; i < count; i++)
			front_meet(&list[i], &in, is_free);
		free(is_free);
	}
	list[0].read = in.list;
	list[0].read_count = in.count;
	values_fini(&all);
	values_fini(&unlocked);
	return result;
}

enum db_result handout_read(struct db *db, struct catalogue *c, struct handout *h)
{
	return handouts_read(db, c, h, 1);
}

/* ---- written */

/* An order that gets units, of one sku or of several. */
struct taker {
	struct reservation *reservation;
	struct served     **served; /* what it gets; in the list of all */
	size_t              count;
	bool                told;
};

struct takers {
	struct served **served;
	struct taker   *list; /* in the order of locks */
	size_t          count;
};

static void takers_fini(struct takers *all)
{
	free(all->served);
	free(all->list);
}

static void takers_find(struct takers *all, const struct handout *list, size_t count)
{
	size_t lines = 0;

	for (size_t i = 0; i < count; i++)
		lines += list[i].count;
	all->served = mem_alloc((lines + 1) * sizeof(struct served *));
	all->list = mem_alloc((lines + 1) * sizeof(*all->list));
	lines = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < list[i].count; k++)
			all->served[lines++] = list[i].by_id[k];
	qsort(all->served, lines, sizeof(struct served *), served_order);
	for (size_t i = 0; i < lines; i++) {
		struct reservation *r = all->served[i]->reservation;

		if (all->count == 0 || all->list[all->count - 1].reservation != r)
			all->list[all->count++] = (struct taker){r, &all->served[i], 0, false};
		all->list[all->count - 1].count++;
	}
}

/* It is confirmed, and none of its lines waits any more. */
static bool is_last(const struct taker *taker)
{
	const struct reservation *r = taker->reservation;
	size_t                    waiting = 0;

	for (size_t i = 0; i < r->lines_count; i++)
		waiting += line_waits(&r->lines[i]);
	for (size_t i = 0; i < taker->count; i++)
		waiting -= taker->served[i]->qty == taker->served[i]->line->qty;
	return r->state == CONFIRMED && waiting == 0;
}

static void orders_write(struct txn *t, const struct takers *all, struct values *rows, bool last)
{
	values_reset(rows);
	for (size_t i = 0; i < all->count; i++)
		if (is_last(&all->list[i]) == last)
			reservations_as_read(rows, &all->list[i].reservation, 1);
	if (rows->rows == 0)
		return;
	txn_run(t, last ? RESERVATION_SERVE_LAST : RESERVATION_SERVE, &(struct fill){.rows = rows});
	txn_expect(t, rows->rows, TXN_MOVED);
}

/* Lines that leave whole go, and so do their positions in the queue; the last one may leave in part. */
static void lines_leave(struct txn *t, const struct handout *h, struct values *rows)
{
	const struct served *last = &h->list[h->count - 1];

	values_reset(rows);
	for (size_t i = 0; i < h->count; i++)
		if (h->by_id[i]->qty == h->by_id[i]->line->qty)
			values_row(rows, V_INT(h->by_id[i]->reservation->reservation_id));
	if (rows->rows > 0) {
		txn_run(t, WAITING_SERVED, &(struct fill){.rows = rows, .sku = h->sku_id, .location = h->from_id});
		txn_expect(t, 2 * rows->rows, TXN_MOVED);
	}
	if (rows->rows == h->count)
		return;
	values_reset(rows);
	values_row(rows, V_INT(last->reservation->reservation_id), V_INT(h->sku_id), V_INT(h->from_id),
	           V_INT(last->line->slot), V_INT(last->qty));
	txn_run(t, SPLIT_LINE_TAKE, &(struct fill){.rows = rows});
	txn_expect(t, 2, TXN_MOVED);
}

static void lines_come(struct txn *t, const struct handout *h, struct values *rows)
{
	size_t counted = 0;

	values_reset(rows);
	for (size_t i = 0; i < h->count; i++) {
		const struct served *s = h->by_id[i];

		values_row(rows, V_INT(s->reservation->reservation_id), V_INT(h->sku_id), V_INT(h->to_id),
		           V_INT(s->beside ? s->beside->slot : s->line->slot), V_INT(s->qty));
		counted += s->beside ? 2 : 1;
	}
	txn_run(t, RESERVATION_LINE_ARRIVE, &(struct fill){.rows = rows});
	txn_expect(t, counted, TXN_MOVED);
}

static void slots_reserve(struct txn *t, const struct handout *h, const struct shares *taken, struct values *rows)
{
	values_reset(rows);
	for (size_t i = 0; i < h->at_to.count; i++)
		values_row(rows, V_INT(h->sku_id), V_INT(h->to_id), V_INT(h->at_to.list[i].slot), V_INT(0),
		           V_INT(h->at_to.list[i].qty));
	txn_run(t, STOCK_RESERVE, &(struct fill){.rows = rows});
	if (!taken)
		return;
	values_reset(rows);
	for (size_t i = 0; i < taken->count; i++)
		values_row(rows, V_INT(h->sku_id), V_INT(h->to_id), V_INT(taken->list[i].slot),
		           V_INT(taken->list[i].qty), V_INT(0));
	txn_run(t, STOCK_TAKE, &(struct fill){.rows = rows});
	txn_expect(t, 2 * taken->count, TXN_SHORT);
}

/* The order as it is then. */
static void arrived_tell(struct taker *taker, const char *cause, struct text *changes)
{
	const struct reservation *r = taker->reservation;
	struct line              *lines = mem_alloc((r->lines_count + taker->count) * sizeof(*lines));
	size_t                    count = r->lines_count;

	memcpy(lines, r->lines, count * sizeof(*lines));
	for (size_t i = 0; i < count; i++)
		lines[i].granted = lines[i].qty;
	for (size_t i = 0; i < taker->count; i++) {
		const struct served *s = taker->served[i];

		lines[s->line - r->lines].granted -= s->qty;
		if (s->beside) {
			lines[s->beside - r->lines].granted += s->qty;
			continue;
		}
		lines[count] = *s->line;
		lines[count].location = s->handout->to;
		lines[count].location_code = s->handout->to->code;
		lines[count++].granted = s->qty;
	}
	if (count > r->lines_count)
		lines_sort(lines, count);
	event_reservation(changes, &(struct event_head){.type = EVENT_ARRIVED, .cause = cause}, r, lines, count, true);
	free(lines);
	taker->told = true;
}

static int taker_order(const void *a, const void *b)
{
	return id_order(a, &((const struct taker *)b)->reservation);
}

/* In queue order. */
static void takers_tell(const struct takers *all, const struct handout *h, const char *cause, struct text *changes)
{
	for (size_t i = 0; i < h->count; i++) {
		const uint64_t *id = &h->list[i].reservation->reservation_id;
		struct taker   *taker = bsearch(id, all->list, all->count, sizeof(*all->list), taker_order);

		if (!taker->told)
			arrived_tell(taker, cause, changes);
	}
}

static void units_write(struct txn *t, const struct handout *h, enum statement from, const struct shares *taken,
                        struct values *rows)
{
	bool to_first = h->to_id < h->from_id; /* the order of locks */

	lines_leave(t, h, rows);
	lines_come(t, h, rows);
	if (to_first)
		slots_reserve(t, h, taken, rows);
	shares_write(t, rows, &h->at_from, from, TXN_MISPLACED);
	if (!to_first)
		slots_reserve(t, h, taken, rows);
}

static void all_write(struct txn *t, const struct handout *list, size_t count, enum statement from,
                      const struct shares *taken, const char *cause, struct text *changes)
{
	struct values rows = {0};
	struct takers all = {0};

	takers_find(&all, list, count);
	assert(all.count > 0);
	orders_write(t, &all, &rows, false);
	orders_write(t, &all, &rows, true);
	for (size_t i = 0; i < count; i++)
		if (list[i].count > 0)
			units_write(t, &list[i], from, taken, &rows);
	for (size_t i = 0; i < count; i++)
		takers_tell(&all, &list[i], cause, changes);
	takers_fini(&all);
	values_fini(&rows);
}

void handout_write(struct txn *t, const struct handout *h, enum statement from, const struct shares *taken,
                   const char *cause, struct text *changes)
{
	all_write(t, h, 1, from, taken, cause, changes);
}

void handouts_write(struct txn *t, const struct handout *list, size_t count, enum statement from, const char *cause,
                    struct text *changes)
{
	all_write(t, list, count, from, NULL, cause, changes);
}

enum db_result handout_sweep(struct db *db, const struct handout *h)
{
	struct text      changes = {0};
	enum txn_verdict verdict;
	enum db_result   result = holds_expire(db, h->lapsed, h->lapsed_count, &changes, &verdict);

	text_fini(&changes);
	return result == DB_OK && verdict != TXN_DONE ? DB_RETRY : result;
}
