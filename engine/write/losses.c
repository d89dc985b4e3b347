/* losses.c - see losses.h. It is a hand-out backwards: units leave a line of an order at a location in the house, and
 * as many are promised at an incoming one, where the order waits from then on. */
#include "engine/write/losses.h"
#include "engine/base/memory.h"
#include "engine/log/event.h"
#include "engine/promise/relocate.h"
#include "engine/promise/shares.h"

/* ---- which order loses which units */

static int id_order(const void *a, const void *b)
{
	uint64_t x = (*(struct loser *const *)a)->reservation->reservation_id,
		 y = (*(struct loser *const *)b)->reservation->reservation_id;

	return (x > y) - (x < y);
}

struct locking {
	struct loser **list;
	size_t         count;
};

static void locked_read(void *arg, const struct db_row *row)
{
	const struct locking *in = arg;
	struct reservation    key = {.reservation_id = (uint64_t)db_int(row, 0)};
	struct loser          loser = {.reservation = &key}, *wanted = &loser;
	struct loser        **at = bsearch(&wanted, in->list, in->count, sizeof(*in->list), id_order);

	if (at)
		(*at)->locked = true;
}

void losers_lock(struct lane *l, const struct op *op)
{
	struct losses *losses = op->losses;
	struct locking in;

	if (losses->losers_count == 0)
		return;
	in.list = mem_alloc(losses->losers_count * sizeof(struct loser *));
	in.count = losses->losers_count;
	for (size_t i = 0; i < in.count; i++)
		in.list[i] = &losses->losers[i];
	qsort(in.list, in.count, sizeof(struct loser *), id_order);
	values_reset(&l->rows);
	for (size_t i = 0; i < in.count; i++) {
		in.list[i]->locked = false;
		reservations_as_read(&l->rows, &in.list[i]->reservation, 1);
	}
	txn_read(&l->txn, LOSERS_LOCK, &(struct fill){.rows = &l->rows}, locked_read, &in);
	free(in.list);
}

/* The order's line of this sku at a location; its lines are sorted. */
static const struct line *line_at(const struct reservation *r, const struct line *of, const struct location *at)
{
	const struct line key = {.sku_code = of->sku_code, .location_code = at->code};

	return bsearch(&key, r->lines, r->lines_count, sizeof(key), line_order);
}

static void line_lose(struct losses *losses, struct reservation *r, const struct line *line, struct loss *loss)
{
	int64_t left = loss->needed - loss->found, qty = line->qty < left ? line->qty : left;

	assert(left > 0 && qty > 0);
	loss->found += qty;
	losses->lost = mem_reach(losses->lost, losses->lost_count, &losses->lost_max, sizeof(*losses->lost));
	losses->lost[losses->lost_count++] = (struct relocation){
		.of = r, .line = line, .beside = line_at(r, line, loss->to), .to = loss->to, .qty = qty};
}

/* The movement takes promised units of the line's sku and location; NULL: it does not. */
static struct loss *loss_of(const struct op *op, const struct line *line)
{
	const struct line *of = line_like(op->lines, op->lines_count, line);

	return of ? of->loss : NULL;
}

/* False: it would lose more than there is room for; *orders counts those that lose some. */
static bool order_loses(const struct op *op, struct reservation *r, size_t *orders)
{
	struct losses *losses = op->losses;
	bool           loses = false;

	for (size_t k = 0; k < r->lines_count; k++) {
		struct loss *loss = loss_of(op, &r->lines[k]);

		if (!loss || loss->found == loss->needed || r->lines[k].qty < 1)
			continue;
		if (losses->lost_count == LOST_MAX || (!loses && *orders == LOSERS_MAX))
			return false;
		*orders += !loses;
		loses = true;
		line_lose(losses, r, &r->lines[k], loss);
	}
	return true;
}

enum outcome losers_decide(struct op *op)
{
	struct losses *losses = op->losses;
	size_t         orders = 0;
	bool           room = true;
	enum outcome   out = OUTCOME_OK;

	losses->lost_count = 0;
	losses->passed = losses->missed;
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].loss)
			op->lines[i].loss->found = 0;
	for (size_t i = 0; i < losses->losers_count && room; i++) {
		losses->passed |= !losses->losers[i].locked;
		if (losses->losers[i].locked)
			room = order_loses(op, losses->losers[i].reservation, &orders);
	}
	for (size_t i = 0; i < op->lines_count; i++) {
		const struct loss *loss = op->lines[i].loss;

		op->lines[i].fault = loss && loss->found < loss->needed;
		if (op->lines[i].fault)
			out = room ? SHORT : LOSES_TOO_MANY;
	}
	return out;
}

/* ---- written */

/* Their positions in the queue, and the promises of it. */
static void queue_join(struct lane *l, const struct losses *losses, struct shares *at_to)
{
	struct values waited = {0}; /* of lines that wait there already, in a position that may be a later one */

	values_reset(&l->rows);
	for (size_t i = 0; i < losses->lost_count; i++) {
		const struct relocation *lost = &losses->lost[i];
		uint32_t                 sku = sku_id(lost->line->sku);

		values_row(&l->rows, V_INT(lost->of->reservation_id), V_INT(sku), V_INT(lost->to->location_id),
		           V_INT(lost->qty));
		if (lost->beside && lost->of->noted & NOTED_AMENDED)
			values_row(&waited, V_INT(lost->of->reservation_id), V_INT(sku), V_INT(lost->to->location_id),
			           V_INT(lost->qty));
		share_add(at_to, sku, lost->to->location_id, lost->slot, lost->qty, 0);
	}
	txn_rows(&l->txn, WAITING_LOSE_AHEAD, &waited);
	txn_run(&l->txn, WAITING_LOSE, &(struct fill){.rows = &l->rows});
	values_fini(&waited);
	shares_sum(at_to);
}

/* The promises grow by what was lost. */
static void promises_grow(struct lane *l, const struct op *op, const struct shares *at_to)
{
	struct values lines = {0};

	values_reset(&l->rows);
	for (size_t i = 0; i < at_to->count; i++) {
		const struct share *s = &at_to->list[i];

		values_row(&l->rows, V_INT(s->sku_id), V_INT(s->location_id), V_INT(s->slot), V_INT(0), V_INT(s->qty));
		values_row(&lines, V_INT(op->new_id), V_INT(s->sku_id), V_INT(s->location_id), V_INT(s->slot),
		           V_INT(s->qty));
	}
	txn_run(&l->txn, STOCK_RESERVE, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, MOVEMENT_LINE_MORE, &(struct fill){.rows = &lines});
	values_fini(&lines);
}

static void backorders_insert(struct lane *l, const struct op *op)
{
	const struct losses *losses = op->losses;

	values_reset(&l->rows);
	for (size_t i = 0; i < losses->lost_count; i++) {
		const struct relocation *lost = &losses->lost[i];

		values_row(&l->rows, V_INT(op->new_id), V_INT(lost->of->reservation_id), V_INT(sku_id(lost->line->sku)),
		           V_INT(lost->line->location->location_id), V_INT(lost->to->location_id),
		           V_TEXT(lost->of->order_id), V_INT(lost->qty));
	}
	txn_run(&l->txn, MOVEMENT_BACKORDER_ADD, &(struct fill){.rows = &l->rows});
}

void losses_write(struct lane *l, const struct op *op)
{
	const struct losses *losses = op->losses;
	struct relocations   all = {0};
	struct shares        at_to = {0};

	if (losses->lost_count == 0)
		return;
	for (size_t i = 0; i < losses->lost_count; i++) /* joins those that wait there; new ones are in the own slot */
		losses->lost[i].slot = losses->lost[i].beside ? losses->lost[i].beside->slot : (uint16_t)l->slot;
	relocations_add(&all, losses->lost, losses->lost_count);
	relocations_sort(&all);
	relocations_orders(&l->txn, &all, &l->rows);
	relocations_write(&l->txn, all.list, all.count, false, &l->rows);
	queue_join(l, losses, &at_to);
	promises_grow(l, op, &at_to);
	backorders_insert(l, op);
	values_reset(&l->rows);
	for (size_t i = 0; i < all.orders_count; i++)
		values_row(&l->rows, V_INT(all.orders[i].reservation->reservation_id));
	txn_run(&l->txn, RESERVATION_WAIT, &(struct fill){.rows = &l->rows});
	shares_fini(&at_to);
	relocations_fini(&all);
}

/* ---- told */

void losses_tell(struct text *to, const struct op *op)
{
	const struct losses    *losses = op->losses;
	const struct event_head head = {.type = EVENT_BACKORDERED, .by = op->key_id, .cause = op->id};
	struct relocations      all = {0};

	relocations_add(&all, losses->lost, losses->lost_count);
	relocations_sort(&all);
	relocations_tell(&all, losses->lost, losses->lost_count, &head, to);
	relocations_fini(&all);
}

struct line *losses_lines(const struct op *op, size_t *count)
{
	const struct losses *losses = op->losses;
	struct line         *lines = mem_alloc((op->lines_count + losses->lost_count) * sizeof(*lines));

	*count = op->lines_count;
	memcpy(lines, op->lines, *count * sizeof(*lines));
	for (size_t i = 0; i < losses->lost_count; i++)
		line_come(lines, count, &losses->lost[i]);
	*count = lines_join(lines, *count);
	return lines;
}

void losses_answer(const struct op *op, struct movement *m)
{
	const struct losses *losses = op->losses;

	m->backorders = mem_alloc((losses->lost_count + 1) * sizeof(*m->backorders));
	for (size_t i = 0; i < losses->lost_count; i++) {
		struct backorder *b = &m->backorders[m->backorders_count++];

		memcpy(b->order_id, losses->lost[i].of->order_id, sizeof(b->order_id));
		b->sku_code = losses->lost[i].line->sku_code;
		b->qty = losses->lost[i].qty;
	}
	backorders_sum(m);
}
