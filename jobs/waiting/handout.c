/* handout.c - see handout.h. */
#include "jobs/waiting/handout.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"
#include "engine/promise/relocate.h"

static void found_free(struct handout *h)
{
	free(h->list);
	free(h->lapsed);
	reservations_free(h->read, h->read_count);
	free(h->front);
	shares_fini(&h->at_from);
	shares_fini(&h->at_to);
	h->list = NULL;
	h->lapsed = h->read = NULL;
	h->front = NULL;
	h->front_count = h->front_max = 0;
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

/* ---- reading and deciding */

static int id_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = (*(struct reservation *const *)b)->reservation_id;

	return (x > y) - (x < y);
}

static const struct line *line_at(const struct reservation *r, uint32_t sku, uint32_t location)
{
	for (size_t i = 0; i < r->lines_count; i++)
		if (sku_id(r->lines[i].sku) == sku && r->lines[i].location->location_id == location)
			return &r->lines[i];
	return NULL;
}

/* The relocation of a line that was served at an earlier position; NULL: it was not. */
static struct relocation *line_served(const struct handout *h, const struct line *line)
{
	for (size_t i = h->count; i-- > 0;)
		if (h->list[i].line == line)
			return &h->list[i];
	return NULL;
}

static void line_serve(struct handout *h, struct reservation *r, const struct line *line, const struct position *p,
                       int64_t qty)
{
	const struct line *beside = line_at(r, h->sku_id, h->to_id);
	struct relocation *served = p->units >= 0 ? line_served(h, line) : NULL;

	if (!served) {
		served = &h->list[h->count++];
		*served = (struct relocation){.of = r,
		                              .line = line,
		                              .beside = beside,
		                              .to = h->to,
		                              .slot = beside ? beside->slot : line->slot,
		                              .parted = p->units >= 0 || p->newer > 0};
	}
	served->qty += qty;
	h->given += qty;
	h->stamp_min = h->stamp_min > r->changed ? h->stamp_min : r->changed + 1;
	share_add(&h->at_from, h->sku_id, h->from_id, line->slot, qty, qty);
	share_add(&h->at_to, h->sku_id, h->to_id, served->slot, qty, 0);
}

/* Units of the line at this position. */
static int64_t units_at(const struct line *line, const struct position *p)
{
	int64_t left = line->qty - p->newer;

	return p->units >= 0 && p->units < left ? p->units : left;
}

static void lapsed_add(struct handout *h, struct reservation *r)
{
	for (size_t i = 0; i < h->lapsed_count; i++)
		if (h->lapsed[i] == r)
			return;
	h->lapsed[h->lapsed_count++] = r;
}

/* Gives units in queue order; the orders that get none stay as they are. is_free: for each order that was read, whether
 * no other transaction has locked it. */
static void decide(struct handout *h, const struct reservation_reader *in, const bool *is_free)
{
	int64_t left = h->units;

	for (size_t i = 0; i < h->front_count && left > 0; i++) {
		const struct position *p = &h->front[i];
		struct reservation   **at = in->count > 0 ? bsearch(&p->reservation_id, in->list, in->count,
		                                                    sizeof(struct reservation *), id_order)
		                                          : NULL;
		const struct line     *line = at ? line_at(*at, h->sku_id, h->from_id) : NULL;
		int64_t                qty = line ? units_at(line, p) : 0;

		if (qty < 1 || !reservation_is_live((*at)->state))
			continue; /* the line has left the queue since */
		qty = qty < left ? qty : left;
		if (reservation_reads(*at) != EXPIRED)
			left -= qty;
		if (!is_free[at - in->list] && !h->passes)
			break;
		if (!is_free[at - in->list])
			continue;
		if (reservation_reads(*at) == EXPIRED)
			lapsed_add(h, *at);
		else
			line_serve(h, *at, line, p, qty);
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
	h->list = mem_alloc((h->front_count + 1) * sizeof(*h->list));
	h->lapsed = mem_alloc((h->front_count + 1) * sizeof(struct reservation *));
	decide(h, in, is_free);
	shares_sum(&h->at_from);
	shares_sum(&h->at_to);
}

static void position_read(void *arg, const struct db_row *row)
{
	struct handout *h = arg;

	h->front = mem_reach(h->front, h->front_count, &h->front_max, sizeof(*h->front));
	h->front[h->front_count++] = (struct position){(uint64_t)db_int(row, 0), db_int(row, 1), qty_read(row, 2)};
}

/* Reads the front of the queue, and adds its ids to those of all. */
static enum db_result front_find(struct db *db, struct handout *h, struct values *all)
{
	struct fill    fill = {.sku = h->sku_id, .location = h->from_id};
	enum db_result result;

	assert(h->units > 0); /* is_left_out and front_serve make sure of it */
	h->orders_max = h->orders_max ? h->orders_max : HANDOUT_FIRST;
	fill.limit = h->units < (int64_t)h->orders_max ? h->units : (int64_t)h->orders_max;
	result = db_ask(db, WAITING_FRONT, &fill, position_read, h);
	h->waiting = h->front_count;
	for (size_t i = 0; i < h->front_count; i++)
		values_row(all, V_INT(h->front[i].reservation_id));
	return result;
}

/* DB_ERROR: the location does not exist, so the data is damaged. */
static enum db_result to_find(struct db *db, struct handout *h)
{
	struct catalogue *c = past_catalogue(db);
	enum db_result    result = catalogue_location_by_id(c, h->to_id) ? DB_OK : past_locations(db);

	h->to = catalogue_location_by_id(c, h->to_id);
	return result == DB_OK && !h->to ? DB_ERROR : result;
}

enum db_result handouts_read(struct db *db, struct handout *list, size_t count)
{
	struct reservation_reader in = {.catalogue = past_catalogue(db)};
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
		result = to_find(db, &list[i]);
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

enum db_result handout_read(struct db *db, struct handout *h)
{
	return handouts_read(db, h, 1);
}

/* ---- writing */

/* Units leave `available` by way of one slot, into which they are gathered. So it does not matter in which slots the
 * units are: an order that takes what the queue leaves over may have moved them meanwhile. */
static void units_draw(struct txn *t, const struct handout *h, struct values *rows)
{
	values_reset(rows);
	values_row(rows, V_INT(h->sku_id), V_INT(h->to_id), V_INT(h->given));
	txn_run(t, STOCK_GATHER, &(struct fill){.rows = rows, .slot = h->slot});
	values_reset(rows);
	values_row(rows, V_INT(h->sku_id), V_INT(h->to_id), V_INT(h->slot), V_INT(h->given), V_INT(0));
	txn_run(t, STOCK_TAKE, &(struct fill){.rows = rows});
	txn_expect(t, 2, TXN_SHORT);
}

static void slots_reserve(struct txn *t, const struct handout *h, struct values *rows)
{
	if (h->draws)
		units_draw(t, h, rows);
	values_reset(rows);
	for (size_t i = 0; i < h->at_to.count; i++)
		values_row(rows, V_INT(h->sku_id), V_INT(h->to_id), V_INT(h->at_to.list[i].slot), V_INT(0),
		           V_INT(h->at_to.list[i].qty));
	txn_run(t, STOCK_RESERVE, &(struct fill){.rows = rows});
}

static void units_write(struct txn *t, const struct handout *h, enum statement from, struct values *rows)
{
	struct relocations one = {0};
	bool               to_first = h->to_id < h->from_id; /* the order of locks */

	relocations_add(&one, h->list, h->count);
	relocations_sort(&one);
	relocations_write(t, one.list, one.count, true, rows);
	relocations_fini(&one);
	if (to_first)
		slots_reserve(t, h, rows);
	shares_write(t, rows, &h->at_from, from, TXN_MISPLACED);
	if (!to_first)
		slots_reserve(t, h, rows);
}

void handouts_write(struct txn *t, const struct handout *list, size_t count, enum statement from, const char *cause,
                    struct text *changes)
{
	const struct event_head head = {.type = EVENT_ARRIVED, .cause = cause};
	struct values           rows = {0};
	struct relocations      all = {0};

	for (size_t i = 0; i < count; i++)
		relocations_add(&all, list[i].list, list[i].count);
	relocations_sort(&all);
	assert(all.count > 0); /* at least one handout of the list has a count */
	relocations_orders(t, &all, &rows);
	for (size_t i = 0; i < count; i++)
		if (list[i].count > 0)
			units_write(t, &list[i], from, &rows);
	for (size_t i = 0; i < count; i++)
		relocations_tell(&all, list[i].list, list[i].count, &head, changes);
	relocations_fini(&all);
	values_fini(&rows);
}

enum db_result handout_sweep(struct db *db, const struct handout *h)
{
	struct text      changes = {0};
	enum txn_verdict verdict;
	enum db_result   result = holds_expire(db, h->lapsed, h->lapsed_count, &changes, &verdict);

	text_fini(&changes);
	return result == DB_OK && verdict != TXN_DONE ? DB_RETRY : result;
}
