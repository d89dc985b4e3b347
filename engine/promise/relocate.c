/* relocate.c - see relocate.h. */
#include "engine/promise/relocate.h"
#include "engine/base/memory.h"
#include "engine/catalogue/locations.h"
#include "engine/promise/waiting.h"

/* ---- lines that units leave */

void line_leaves(struct leaving *out, const struct reservation *of, const struct line *line, int64_t qty, bool whole)
{
	int64_t id = (int64_t)of->reservation_id, sku = sku_id(line->sku), location = line->location->location_id;

	if (whole)
		values_row(&out->whole, V_INT(id), V_INT(sku), V_INT(location));
	else
		values_row(&out->parts, V_INT(id), V_INT(sku), V_INT(location), V_INT(line->slot), V_INT(qty));
}

void leaving_write(struct txn *t, struct leaving *out)
{
	if (out->parts.rows > 0) {
		txn_run(t, SPLIT_LINE_TAKE, &(struct fill){.rows = &out->parts});
		txn_expect(t, 2 * out->parts.rows, TXN_MOVED);
	}
	if (out->whole.rows > 0) {
		txn_run(t, SPLIT_LINE_DROP, &(struct fill){.rows = &out->whole});
		txn_expect(t, out->whole.rows, TXN_MOVED);
	}
	values_fini(&out->parts);
	values_fini(&out->whole);
}

/* ---- several orders together */

void relocations_fini(struct relocations *all)
{
	free(all->list);
	free(all->orders);
}

void relocations_add(struct relocations *all, struct relocation *list, size_t count)
{
	all->list = mem_resize(all->list, (all->count + count + 1) * sizeof(struct relocation *));
	for (size_t i = 0; i < count; i++)
		all->list[all->count++] = &list[i];
}

static int relocation_order(const void *a, const void *b)
{
	const struct relocation *x = *(struct relocation *const *)a, *y = *(struct relocation *const *)b;

	if (x->of->reservation_id != y->of->reservation_id)
		return x->of->reservation_id < y->of->reservation_id ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

void relocations_sort(struct relocations *all)
{
	qsort(all->list, all->count, sizeof(struct relocation *), relocation_order);
	all->orders = mem_alloc((all->count + 1) * sizeof(*all->orders));
	for (size_t i = 0; i < all->count; i++) {
		struct reservation *r = all->list[i]->of;

		if (all->orders_count == 0 || all->orders[all->orders_count - 1].reservation != r)
			all->orders[all->orders_count++] = (struct relocated){r, &all->list[i], 0, false};
		all->orders[all->orders_count - 1].count++;
	}
}

/* ---- written */

/* True: the order is confirmed, and none of its lines waits any more. */
static bool is_due(const struct relocated *order)
{
	const struct reservation *r = order->reservation;
	size_t                    waiting = 0;

	for (size_t i = 0; i < r->lines_count; i++)
		waiting += line_waits(&r->lines[i]);
	for (size_t i = 0; i < order->count; i++) {
		const struct relocation *m = order->list[i];

		waiting += !location_in_house(m->to);
		waiting -= line_waits(m->line) && m->qty == m->line->qty;
	}
	return r->state == CONFIRMED && waiting == 0;
}

static void orders_write(struct txn *t, const struct relocations *all, struct values *rows, bool due)
{
	values_reset(rows);
	for (size_t i = 0; i < all->orders_count; i++)
		if (is_due(&all->orders[i]) == due)
			reservations_as_read(rows, &all->orders[i].reservation, 1);
	txn_move(t, due ? RESERVATION_SERVE_LAST : RESERVATION_SERVE, &(struct fill){.rows = rows});
}

void relocations_orders(struct txn *t, const struct relocations *all, struct values *rows)
{
	orders_write(t, all, rows, false);
	orders_write(t, all, rows, true);
}

/* Lists the orders with a line that has several positions and leaves whole, or in part. */
static void positions_list(struct values *rows, struct relocation *const *list, size_t count, bool whole)
{
	values_reset(rows);
	for (size_t i = 0; i < count; i++)
		if (list[i]->parted && (list[i]->qty == list[i]->line->qty) == whole)
			values_row(rows, V_INT(list[i]->of->reservation_id));
}

/* Lines that wait and leave whole, with their positions in the queue. */
static void queue_leave(struct txn *t, struct relocation *const *list, size_t count, struct values *rows)
{
	const struct line *line = list[0]->line;
	const struct fill  fill = {.rows = rows, .sku = sku_id(line->sku), .location = line->location->location_id};

	positions_list(rows, list, count, true);
	if (rows->rows > 0)
		txn_run(t, WAITING_SERVED_MORE, &fill);
	values_reset(rows);
	for (size_t i = 0; i < count; i++)
		if (list[i]->qty == list[i]->line->qty)
			values_row(rows, V_INT(list[i]->of->reservation_id));
	if (rows->rows == 0)
		return;
	txn_run(t, WAITING_SERVED, &fill);
	txn_expect(t, 2 * rows->rows, TXN_MOVED);
}

/* The order has a line of the sku there by then: from before, or by another of these. */
static bool is_there(struct relocation *const *list, size_t i)
{
	const struct relocation *m = list[i];

	while (i-- > 0 && list[i]->of == m->of && list[i]->line->sku == m->line->sku)
		if (list[i]->to == m->to)
			return true;
	return m->beside;
}

static void lines_come(struct txn *t, struct relocation *const *list, size_t count, struct values *rows)
{
	size_t counted = 0;

	values_reset(rows);
	for (size_t i = 0; i < count; i++) {
		const struct relocation *m = list[i];

		values_row(rows, V_INT(m->of->reservation_id), V_INT(sku_id(m->line->sku)), V_INT(m->to->location_id),
		           V_INT(m->slot), V_INT(m->qty));
		counted += is_there(list, i) ? 2 : 1;
	}
	txn_run(t, RESERVATION_LINE_ARRIVE, &(struct fill){.rows = rows});
	txn_expect(t, counted, TXN_MOVED);
}

void relocations_write(struct txn *t, struct relocation *const *list, size_t count, bool from_queue,
                       struct values *rows)
{
	struct leaving out = {0};

	assert(count > 0);
	if (from_queue)
		queue_leave(t, list, count, rows);
	for (size_t i = 0; i < count; i++) {
		bool whole = list[i]->qty == list[i]->line->qty;

		assert(list[i]->qty > 0 && list[i]->qty <= list[i]->line->qty);
		if (!whole || !from_queue)
			line_leaves(&out, list[i]->of, list[i]->line, list[i]->qty, whole);
	}
	leaving_write(t, &out);
	lines_come(t, list, count, rows);
	positions_list(rows, list, count, false);
	if (rows->rows > 0)
		waiting_trim(t, rows);
}

/* ---- told */

void line_come(struct line *lines, size_t *count, const struct relocation *m)
{
	struct line *line = &lines[(*count)++];

	*line = *m->line;
	line->location = m->to;
	line->location_code = m->to->code;
	line->granted = m->qty;
}

static void order_tell(const struct relocated *order, const struct event_head *head, struct text *changes)
{
	const struct reservation *r = order->reservation;
	struct line              *lines = mem_alloc((r->lines_count + order->count) * sizeof(*lines));
	size_t                    count = r->lines_count;

	memcpy(lines, r->lines, r->lines_count * sizeof(*lines));
	for (size_t i = 0; i < r->lines_count; i++)
		lines[i].granted = lines[i].qty;
	for (size_t i = 0; i < order->count; i++) {
		const struct relocation *m = order->list[i];

		lines[m->line - r->lines].granted -= m->qty;
		if (m->beside)
			lines[m->beside - r->lines].granted += m->qty;
		else
			line_come(lines, &count, m);
	}
	if (count > r->lines_count)
		count = lines_join(lines, count);
	event_reservation(changes, head, r, lines, count, true);
	free(lines);
}

static int relocated_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = ((const struct relocated *)b)->reservation->reservation_id;

	return (x > y) - (x < y);
}

void relocations_tell(const struct relocations *all, const struct relocation *list, size_t count,
                      const struct event_head *head, struct text *changes)
{
	for (size_t i = 0; i < count; i++) {
		struct relocated *order = bsearch(&list[i].of->reservation_id, all->orders, all->orders_count,
		                                  sizeof(*all->orders), relocated_order);

		if (!order->told)
			order_tell(order, head, changes);
		order->told = true;
	}
}
