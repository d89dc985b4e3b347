/* balance.c - see balance.h. Lines of a batch meet in balances. A balance starts from the hint of an earlier batch or
 * from a read. A hint is never trusted further than the guard in stock_deduct: a wrong one costs a round trip. Quotas
 * start from nothing: customer_raise guards them, and most customers are far from their limit. They are read before a
 * batch while rows are locked by strangers and for QUOTAS_MET_MS after the guard has refused one, and behind every
 * refusal (`guard_alone` is false). */
#include "engine/lane/balance.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/lane/quota.h"
#include "engine/write/fence.h"

/* BALANCES and MAP: enough for a batch within BATCH_LINES. The first operation of a batch is never cut: hand-outs and
 * losses add lines to its orders, without a bound, and then the batch has more balances. */
enum {
	BALANCES = BATCH_LINES + 3000,
	HINTS = 1 << 16,
	MAP = 1 << 14,
};

_Static_assert(2 * BALANCES <= MAP, "the map is never more than half full");

/* A hint: the last known balance of a sku at a location. The table is direct-mapped: a hint that was pushed out is read
 * again. */
struct hint {
	uint32_t sku_id, location_id;
	int64_t  own, total;
	uint32_t slots;
	bool     own_row, known, waited;
};

struct hints {
	struct hint list[HINTS];
	uint32_t   *map; /* balance index + 1 by hash of sku and location; map_size places, a power of two */
	size_t      map_size;
	size_t      balances_max; /* room in the batch's balances and their order: half of map_size at most */
};

/* Makes room for so many balances; what was in the map is not there any more. */
static void balances_resize(struct lane *l, size_t balances_max, size_t map_size)
{
	struct hints *h = l->hints;

	free(h->map);
	h->map = mem_alloc(map_size * sizeof(*h->map));
	h->map_size = map_size;
	assert(2 * balances_max <= map_size);
	h->balances_max = balances_max;
	l->batch.balances = mem_resize(l->batch.balances, balances_max * sizeof(*l->batch.balances));
	l->batch.order = mem_resize(l->batch.order, balances_max * sizeof(*l->batch.order));
}

void balances_open(struct lane *l)
{
	l->hints = mem_alloc(sizeof(*l->hints));
	l->batch.quotas = mem_alloc(sizeof(*l->batch.quotas));
	balances_resize(l, BALANCES, MAP);
}

void balances_close(struct lane *l)
{
	free(l->hints->map);
	free(l->hints);
	free(l->batch.quotas->list);
	free(l->batch.quotas);
	free(l->batch.balances);
	free(l->batch.order);
}

void hints_forget(struct lane *l)
{
	memset(l->hints->list, 0, sizeof(l->hints->list));
}

/* ---- balances */

static struct hint *hint_place(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	return &l->hints->list[(sku_id * UINT32_C(2654435761) ^ location_id * UINT32_C(40503)) & (HINTS - 1)];
}

static struct hint *hint_find(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	struct hint *h = hint_place(l, sku_id, location_id);

	return h->known && h->sku_id == sku_id && h->location_id == location_id ? h : NULL;
}

/* Units as decide() believes them, whatever a row says: what it adds to them stays within 64 bits, and not below zero.
 */
static int64_t units_bound(int64_t units)
{
	return units < 0 ? 0 : units > QTY_MAX ? QTY_MAX : units;
}

/* The place of a balance in the map, or a free place for it. */
static uint32_t *balance_place(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	size_t mask = l->hints->map_size - 1, at = (sku_id * UINT32_C(2654435761) ^ location_id * UINT32_C(97)) & mask;

	for (;; at = (at + 1) & mask) {
		const struct balance *p = l->hints->map[at] ? &l->batch.balances[l->hints->map[at] - 1] : NULL;

		if (!p || (p->sku_id == sku_id && p->location_id == location_id))
			return &l->hints->map[at];
	}
}

struct balance *balance_find(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	uint32_t index = *balance_place(l, sku_id, location_id);

	return index ? &l->batch.balances[index - 1] : NULL;
}

/* A batch of one very large order: twice the room, and the map is built again. */
static void balances_grow(struct lane *l)
{
	struct hints *h = l->hints;

	balances_resize(l, 2 * h->balances_max, 2 * h->map_size);
	for (size_t i = 0; i < l->batch.balances_count; i++)
		*balance_place(l, l->batch.balances[i].sku_id, l->batch.balances[i].location_id) = (uint32_t)i + 1;
}

static void balance_enter(struct lane *l, struct line *line, bool wanted)
{
	struct batch *b = &l->batch;
	uint32_t      sku, location, *place;
	struct hint  *h;

	if (!line->sku || !line->location) {
		b->needs |= line->location ? 0 : NEEDS_LOCATION;
		return;
	}
	sku = sku_id(line->sku);
	location = line->location->location_id;
	place = balance_place(l, sku, location);
	if (*place == 0 && b->balances_count == l->hints->balances_max) {
		balances_grow(l);
		place = balance_place(l, sku, location);
	}
	if (*place == 0) {
		struct balance *p = &b->balances[b->balances_count++];

		*p = (struct balance){
			.sku_id = sku, .location_id = location, .waits_at = location_waits_at(line->location)};
		h = hint_find(l, sku, location);
		if (h) {
			p->known = true;
			p->own = units_bound(h->own);
			p->total = units_bound(h->total);
			p->slots = h->slots;
			p->own_row = h->own_row;
			p->waited = h->waited && p->waits_at;
		}
		if (p->waits_at)
			b->needs |= NEEDS_WAITED;
		if (!location_is_open(line->location))
			b->needs |= NEEDS_LOCATION | (location_sells(line->location) ? 0U : (unsigned)NEEDS_QUEUE);
		*place = (uint32_t)b->balances_count;
	}
	b->balances[*place - 1].wanted |= wanted;
	if (wanted && !b->balances[*place - 1].known)
		b->needs |= NEEDS_BALANCE;
	line->balance = *place - 1;
}

static int balance_order(const void *a, const void *b, void *arg)
{
	const struct balance *balances = arg, *x = &balances[*(const uint32_t *)a],
			     *y = &balances[*(const uint32_t *)b];

	return pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);
}

/* ---- quotas */

static void lines_limited(struct quotas *q, const char *customer, const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].sku && sku_per_customer(lines[i].sku) > 0 && (i == 0 || lines[i].sku != lines[i - 1].sku))
			quota_enter(q, customer, sku_id(lines[i].sku));
}

/* The quotas of orders that are not made yet, or acquired again. A whole order that names its customer needs none where
 * the guard alone judges it. */
static void quotas_meet(struct lane *l)
{
	struct batch *b = &l->batch;

	for (size_t i = 0; i < b->count; i++) {
		const struct op          *op = b->ops[i];
		const struct reservation *found = op->found;
		const char               *customer = quota_customer(op);

		if (op_asks(op) && op_trait(op)->makes == !found &&
		    !(b->guard_alone && customer && op->reserve.mode != BEST_EFFORT))
			lines_limited(b->quotas, customer, op->lines, op->lines_count);
		if (op->kind == OP_CONFIRM && op->change.reacquire && found && found->customer &&
		    reservation_reads(found) == EXPIRED)
			lines_limited(b->quotas, found->customer, found->lines, found->lines_count);
	}
	quotas_sort(b->quotas);
	if (b->quotas->count > 0)
		b->needs |= NEEDS_QUOTA;
}

static void quota_read(void *arg, const struct db_row *row)
{
	struct quotas *q = arg;
	struct quota  *quota;
	int64_t        at = db_int(row, 0), limit = db_int(row, 1), has = qty_read(row, 2);

	if (at < 0 || at >= (int64_t)q->count) {
		db_other(row);
		return;
	}
	quota = &q->list[at];
	quota->agreed = quota->limit == limit && quota->has == has;
	quota->limit = limit;
	quota->has = has;
}

static enum db_result quotas_load(struct lane *l, enum which which)
{
	struct quotas *q = l->batch.quotas;

	values_reset(&l->rows);
	for (size_t i = 0; i < q->count; i++) {
		struct quota *quota = &q->list[i];

		if (which == DOUBTED ? !quota->doubted : quota->read_seq > 0)
			continue;
		if (quota->read_seq == 0)
			quota->has = -1; /* nothing that the first read could agree with */
		quota->read_seq = l->batch.read_seq;
		values_row(&l->rows, V_INT(i), V_TEXT(quota->customer), V_INT(quota->sku_id));
	}
	if (l->rows.count == 0)
		return DB_OK;
	return lane_ask(l, CUSTOMER_QUOTAS, &(struct fill){.rows = &l->rows}, quota_read, q);
}

/* ---- both */

/* Takes the balances of the batch before out of the map, the last one first: on the way to it stand those that were
 * entered before it. A batch of one order has one of thousands of places. */
static void balances_clear(struct lane *l)
{
	struct batch *b = &l->batch;

	while (b->balances_count > 0) {
		const struct balance *p = &b->balances[b->balances_count - 1];

		*balance_place(l, p->sku_id, p->location_id) = 0;
		b->balances_count--;
	}
	if (l->hints->map_size > MAP)
		balances_resize(l, BALANCES, MAP);
}

void balances_find(struct lane *l)
{
	l->batch.quotas->count = 0;
	l->batch.guard_alone = !clock_before(&l->shared->locks_until_ms) &&
	                       (l->limits_ms == 0 || clock_ms() - l->limits_ms > QUOTAS_MET_MS);
	balances_clear(l);
	balances_meet(l);
}

void balances_meet(struct lane *l)
{
	struct batch *b = &l->batch;
	unsigned      any = catalogue_limits_any(l->catalogue);

	for (size_t i = 0; i < b->count; i++) {
		struct op          *op = b->ops[i];
		struct reservation *touched = b->needs & NEEDS_ROW ? op_touches(op) : NULL;

		for (size_t k = 0; !op_trait(op)->divides && k < op->lines_count; k++)
			balance_enter(l, &op->lines[k], true);
		for (size_t k = 0; touched && k < touched->lines_count; k++)
			balance_enter(l, &touched->lines[k], op->kind == OP_CONFIRM);
	}
	if (any & ANY_LIMIT)
		quotas_meet(l);
	if (any & ANY_STOP)
		b->needs |= NEEDS_LOCATION;
	for (size_t i = 0; i < b->balances_count; i++)
		b->order[i] = (uint32_t)i;
	qsort_r(b->order, b->balances_count, sizeof(b->order[0]), balance_order, b->balances);
}

static void balance_read(void *arg, const struct db_row *row)
{
	struct balance *p = balance_find(arg, (uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1));

	if (!p) {
		db_other(row);
		return;
	}
	p->own = units_bound(db_int(row, 2));
	p->total = units_bound(db_int(row, 3));
	p->own_row = db_int(row, 4) != 0;
	p->slots = (unsigned)db_int(row, 5);
	p->waited = row->col[6] != NULL;
	p->kept = p->waited ? units_bound(db_int(row, 6)) : 0;
}

static bool balance_is_due(const struct balance *p, enum which which)
{
	return which == DOUBTED ? p->doubted : p->wanted && !p->known;
}

/* The last read gave what was known before. Where nothing is left, nothing is kept. */
static bool balance_agrees(const struct balance *p)
{
	return p->total == p->before && p->waited == p->waited_before &&
	       (!p->waited || p->total == 0 || p->kept == p->kept_before);
}

static enum db_result read_balances(struct lane *l, enum which which)
{
	struct batch  *b = &l->batch;
	enum db_result result;

	values_reset(&l->rows);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		if (!balance_is_due(p, which))
			continue;
		p->before = p->known ? p->total : -1;
		p->waited_before = p->waited;
		p->kept_before = p->read_seq > 0 ? p->kept : -1;
		p->waited = false;
		p->kept = 0;
		p->own = p->total = 0;
		p->slots = 0;
		p->own_row = false;
		p->known = true;
		p->read_seq = b->read_seq;
		values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id), V_INT(p->waits_at));
	}
	if (l->rows.count == 0)
		return DB_OK;
	result = lane_ask(l, STOCK_BALANCE, &(struct fill){.rows = &l->rows, .slot = l->slot}, balance_read, l);
	for (size_t i = 0; i < b->balances_count; i++)
		if (b->balances[i].read_seq == b->read_seq)
			b->balances[i].agreed = balance_agrees(&b->balances[i]);
	return result;
}

enum db_result balances_load(struct lane *l, enum which which)
{
	enum db_result result;

	l->batch.read_seq++;
	result = read_balances(l, which);
	return result == DB_OK && l->batch.quotas->count > 0 ? quotas_load(l, which) : result;
}

/* ---- hints */

void balances_learn(struct lane *l)
{
	struct shares given = {0};

	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[i];

		*hint_place(l, p->sku_id, p->location_id) = (struct hint){
			.sku_id = p->sku_id,
			.location_id = p->location_id,
			.known = p->known,
			.own = p->own + p->add - p->take,
			.total = p->total + p->add - p->take,
			.own_row = p->own_row || p->add > 0,
			.waited = p->waited,
			.slots = p->slots + (!p->own_row && p->add > 0),
		};
	}
	if (!(l->batch.writes & NEEDS_BACK))
		return;
	batch_gives(&l->batch, &given);
	for (size_t i = 0; i < given.count; i++) {
		struct hint *h = hint_find(l, given.list[i].sku_id, given.list[i].location_id);

		if (h) {
			h->total += given.list[i].back;
			h->own += given.list[i].slot == l->slot ? given.list[i].back : 0;
		}
	}
	shares_fini(&given);
}

void balances_forget(struct lane *l)
{
	for (size_t i = 0; i < l->batch.balances_count; i++)
		hint_place(l, l->batch.balances[i].sku_id, l->batch.balances[i].location_id)->known = false;
}
