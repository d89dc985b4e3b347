/* handout.c - see handout.h. */
#include "jobs/locations/handout.h"
#include "engine/base/memory.h"
#include "engine/log/event.h"
#include "engine/past.h"

#include <stdlib.h>
#include <string.h>

static void found_free(struct handout *h)
{
	for (size_t i = 0; i < h->count; i++)
		reservation_free(h->list[i].reservation);
	free(h->list);
	free(h->by_id);
	reservations_free(h->lapsed, h->lapsed_count);
	shares_fini(&h->at_from);
	shares_fini(&h->at_to);
	h->list = NULL;
	h->by_id = NULL;
	h->lapsed = NULL;
	h->count = h->lapsed_count = h->waiting = 0;
	h->given = h->stamp_min = 0;
	h->at_from = h->at_to = (struct shares){0};
}

void handout_fini(struct handout *h)
{
	found_free(h);
}

void handout_done(struct handout *h, bool committed)
{
	h->limit = committed ? h->limit * 2 : h->limit / 2;
	h->limit = h->limit > HANDOUT_MAX ? HANDOUT_MAX : h->limit < HANDOUT_MIN ? HANDOUT_MIN : h->limit;
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

	h->list[h->count++] = (struct served){r, line, beside, qty};
	h->given += qty;
	h->stamp_min = h->stamp_min > r->changed ? h->stamp_min : r->changed + 1;
	share_add(&h->at_from, h->sku_id, h->from_id, line->slot, qty, qty);
	share_add(&h->at_to, h->sku_id, h->to_id, beside ? beside->slot : line->slot, qty, 0);
}

/* What became of a reservation that was read. */
enum mark { LOCKED, FREE, KEPT };

/* Who gets what, in the order of `ids`; the others stay as they are. */
static void decide(struct handout *h, const struct values *ids, const struct reservation_reader *in, enum mark *marks)
{
	int64_t left = h->units;

	for (size_t i = 0; i < ids->count && left > 0; i++) {
		uint64_t             id = (uint64_t)ids->list[i].number;
		struct reservation **at = bsearch(&id, in->list, in->count, sizeof(struct reservation *), id_order);
		const struct line   *line = at ? line_at(*at, h->sku_id, h->from_id) : NULL;
		int64_t              qty;

		if (!line || line->qty < 1 || !reservation_is_live((*at)->state))
			continue; /* it has left the line since */
		qty = line->qty < left ? line->qty : left;
		if (reservation_reads(*at) != EXPIRED)
			left -= qty;
		if (marks[at - in->list] == LOCKED && !h->passes)
			break;
		if (marks[at - in->list] == LOCKED)
			continue;
		marks[at - in->list] = KEPT;
		if (reservation_reads(*at) == EXPIRED)
			h->lapsed[h->lapsed_count++] = *at;
		else
			line_serve(h, *at, line, qty);
	}
}

/* Both lists are sorted by number. */
static void mark_free(const struct reservation_reader *in, const struct values *unlocked, enum mark *marks)
{
	for (size_t i = 0, k = 0; i < in->count && k < unlocked->count; i++) {
		while (k < unlocked->count && (uint64_t)unlocked->list[k].number < in->list[i]->reservation_id)
			k++;
		if (k < unlocked->count && (uint64_t)unlocked->list[k].number == in->list[i]->reservation_id)
			marks[i] = FREE;
	}
}

static void front_meet(struct handout *h, const struct values *ids, struct reservation_reader *in,
                       const struct values *unlocked)
{
	enum mark *marks = mem_alloc((in->count + 1) * sizeof(*marks));

	h->list = mem_alloc((in->count + 1) * sizeof(*h->list));
	h->lapsed = mem_alloc((in->count + 1) * sizeof(struct reservation *));
	mark_free(in, unlocked, marks);
	decide(h, ids, in, marks);
	for (size_t i = 0; i < in->count; i++)
		if (marks[i] != KEPT)
			reservation_free(in->list[i]);
	free(in->list);
	free(marks);
	shares_sum(&h->at_from);
	shares_sum(&h->at_to);
	h->by_id = mem_alloc((h->count + 1) * sizeof(struct served *));
	for (size_t i = 0; i < h->count; i++)
		h->by_id[i] = &h->list[i];
	qsort(h->by_id, h->count, sizeof(struct served *), served_order);
}

enum db_result handout_read(struct db *db, struct catalogue *c, struct handout *h)
{
	struct reservation_reader in = {.catalogue = c};
	struct values             ids = {0}, unlocked = {0};
	struct fill               fill = {.sku = h->sku_id, .location = h->from_id};
	enum db_result            result;

	assert(h->units > 0);
	found_free(h);
	h->limit = h->limit ? h->limit : HANDOUT_FIRST;
	fill.limit = h->units < (int64_t)h->limit ? h->units : (int64_t)h->limit;
	result = db_ask(db, WAITING_FRONT, &fill, db_numbers, &ids);
	h->waiting = ids.count;
	if (result == DB_OK && ids.count > 0)
		result = db_ask(db, RESERVATION_PROBE, &(struct fill){.rows = &ids}, db_numbers, &unlocked);
	if (result == DB_OK && ids.count > 0)
		result = reservations_ask(db, RESERVATION_BY_ID, &(struct fill){.rows = &ids}, &in);
	if (result == DB_OK && !catalogue_location_by_id(c, h->to_id))
		result = past_locations(db, c);
	if (result == DB_OK) {
		front_meet(h, &ids, &in, &unlocked);
		h->to = catalogue_location_by_id(c, h->to_id);
	} else {
		reservations_free(in.list, in.count);
	}
	values_fini(&ids);
	values_fini(&unlocked);
	return result;
}

/* ---- written */

/* It is confirmed, and none of its lines waits any more. */
static bool is_last(const struct served *s)
{
	size_t waiting = 0;

	for (size_t i = 0; i < s->reservation->lines_count; i++)
		waiting += line_waits(&s->reservation->lines[i]);
	return s->reservation->state == CONFIRMED && waiting == 1 && s->qty == s->line->qty;
}

static void orders_write(struct txn *t, const struct handout *h, struct values *rows, bool last)
{
	values_reset(rows);
	for (size_t i = 0; i < h->count; i++)
		if (is_last(h->by_id[i]) == last)
			reservations_as_read(rows, &h->by_id[i]->reservation, 1);
	if (rows->rows == 0)
		return;
	txn_run(t, last ? RESERVATION_SERVE_LAST : RESERVATION_SERVE, &(struct fill){.rows = rows});
	txn_expect(t, rows->rows, TXN_MOVED);
}

/* Lines that leave whole go, and so does their place in the line; the last one may leave in part. */
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
static void arrived_tell(const struct handout *h, const struct served *s, const char *cause, struct text *changes)
{
	const struct reservation *r = s->reservation;
	struct line              *lines = mem_alloc((r->lines_count + 1) * sizeof(*lines));
	size_t                    count = r->lines_count;

	memcpy(lines, r->lines, count * sizeof(*lines));
	for (size_t i = 0; i < count; i++)
		lines[i].granted = lines[i].qty - (&r->lines[i] == s->line ? s->qty : 0) +
		                   (&r->lines[i] == s->beside ? s->qty : 0);
	if (!s->beside) {
		lines[count] = *s->line;
		lines[count].location = h->to;
		lines[count].location_code = h->to->code;
		lines[count++].granted = s->qty;
		lines_sort(lines, count);
	}
	event_reservation(changes, &(struct event_head){.type = EVENT_ARRIVED, .cause = cause}, r, lines, count, true);
	free(lines);
}

void handout_write(struct txn *t, const struct handout *h, enum statement from, const struct shares *taken,
                   const char *cause, struct text *changes)
{
	struct values rows = {0};
	bool          to_first = h->to_id < h->from_id; /* the order of locks */

	assert(h->count > 0 && h->to);
	orders_write(t, h, &rows, false);
	orders_write(t, h, &rows, true);
	lines_leave(t, h, &rows);
	lines_come(t, h, &rows);
	if (to_first)
		slots_reserve(t, h, taken, &rows);
	shares_write(t, &rows, &h->at_from, from, TXN_MISPLACED);
	if (!to_first)
		slots_reserve(t, h, taken, &rows);
	values_fini(&rows);
	for (size_t i = 0; i < h->count; i++)
		arrived_tell(h, &h->list[i], cause, changes);
}

enum db_result handout_sweep(struct db *db, const struct handout *h)
{
	struct text      changes = {0};
	enum txn_verdict verdict;
	enum db_result   result = holds_expire(db, h->lapsed, h->lapsed_count, &changes, &verdict);

	text_fini(&changes);
	return result == DB_OK && verdict != TXN_DONE ? DB_RETRY : result;
}
