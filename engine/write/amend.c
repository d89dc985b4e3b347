/* amend.c - see amend.h. */
#include "engine/write/amend.h"
#include "engine/base/memory.h"
#include "engine/log/event.h"
#include "engine/write/fence.h"
#include "engine/promise/relocate.h"

static const struct line *line_before(const struct op *op, const struct line *line)
{
	return line_like(op->found->lines, op->found->lines_count, line);
}

/* Units that the order has where it had this line. */
static int64_t units_after(const struct op *op, const struct line *before)
{
	const struct line *line = line_like(op->lines, op->lines_count, before);

	return line ? line->granted : 0;
}

/* ---- the orders and their lines */

/* Writes the orders that a task had when they were read, or the others. */
static void orders_write(struct lane *l, bool claimed)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (op_writes(l->batch.ops[i], OP_AMEND) && reservations_claimed(&l->batch.ops[i]->found, 1) == claimed)
			reservations_as_read(&l->rows, &l->batch.ops[i]->found, 1);
	if (l->rows.count == 0)
		return;
	if (claimed)
		txn_run(&l->txn, TASK_LOSE, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, AMEND_ORDER, &(struct fill){.rows = &l->rows, .claimed = claimed});
	txn_expect(&l->txn, l->rows.rows, TXN_MOVED);
}

/* Holds that live on from now. */
static void times_write(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (op_writes(op, OP_AMEND) && op->reserve.ttl_s > 0 && op->found->state == HELD)
			values_row(&l->rows, V_INT(op->found->reservation_id), V_INT(op->reserve.ttl_s));
	}
	txn_rows(&l->txn, AMEND_TTL, &l->rows);
}

/* Removes the rows of shortages of best efforts: their lines are no more. */
static void shorts_drop(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (op_writes(l->batch.ops[i], OP_AMEND) &&
		    l->batch.ops[i]->found->noted & (NOTED_TEXTS | NOTED_SHORTS))
			values_row(&l->rows, V_INT(l->batch.ops[i]->found->reservation_id));
	txn_rows(&l->txn, AMEND_SHORTS_DROP, &l->rows);
}

static void lines_leave(struct lane *l)
{
	struct leaving out = {0};

	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op_writes(op, OP_AMEND) && k < op->found->lines_count; k++)
			if (units_after(op, &op->found->lines[k]) == 0)
				line_leaves(&out, op->found, &op->found->lines[k], op->found->lines[k].qty, true);
	}
	leaving_write(&l->txn, &out);
}

/* Lines that are new, or have other units than before or in another slot. */
static void lines_set(struct lane *l)
{
	size_t changed = 0;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op_writes(op, OP_AMEND) && k < op->lines_count; k++) {
			const struct line *line = &op->lines[k], *old = line_before(op, line);

			if (line->granted == 0 || (old && old->qty == line->granted && old->slot == line->slot))
				continue;
			values_row(&l->rows, V_INT(op->found->reservation_id), V_INT(sku_id(line->sku)),
			           V_INT(line->location->location_id), V_INT(line->slot), V_INT(line->granted));
			changed += old ? 2 : 1; /* as an upsert counts */
		}
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, AMEND_LINE_SET, &(struct fill){.rows = &l->rows});
	txn_expect(&l->txn, changed, TXN_MOVED);
}

void amends_change(struct lane *l)
{
	orders_write(l, false);
	orders_write(l, true);
	times_write(l);
	shorts_drop(l);
	lines_leave(l);
	lines_set(l);
}

/* ---- what is kept of it */

static void difference_row(struct values *rows, const struct op *op, const struct line *line, int64_t before,
                           int64_t after)
{
	if (before != after)
		values_row(rows, V_INT(op->found->reservation_id), V_INT(sku_id(line->sku)),
		           V_INT(line->location->location_id), V_INT(before), V_INT(after - before));
}

static void differences_list(struct values *rows, const struct op *op)
{
	for (size_t k = 0; k < op->found->lines_count; k++) {
		const struct line *old = &op->found->lines[k];

		difference_row(rows, op, old, old->qty, units_after(op, old));
	}
	for (size_t k = 0; k < op->lines_count; k++)
		if (op->lines[k].granted > 0 && !line_before(op, &op->lines[k]))
			difference_row(rows, op, &op->lines[k], 0, op->lines[k].granted);
}

/* The key that made the order holds its units. The row is written whatever the state and the limit of the key, as for a
 * split (part_holds_insert). */
static void key_holds_set(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];
		int64_t          units = 0;

		if (!op_writes(op, OP_AMEND) || !op->found->key_id)
			continue;
		for (size_t k = 0; k < op->lines_count; k++)
			units += op->lines[k].granted;
		values_row(&l->rows, V_INT(op->found->reservation_id), V_INT(op->found->key_id), V_INT(units));
	}
	txn_rows(&l->txn, KEY_HOLD_SET, &l->rows);
}

void amends_insert(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (op_writes(l->batch.ops[i], OP_AMEND))
			differences_list(&l->rows, l->batch.ops[i]);
	txn_run(&l->txn, AMEND_ADD, &(struct fill){.rows = &l->rows});
	key_holds_set(l);
}

/* ---- answered and told */

/* The order as it is then, without its lines. */
static void amended(struct reservation *r, const struct op *op, int64_t now)
{
	r->noted = (uint8_t)((r->noted & ~NOTED_SHORTS) | NOTED_AMENDED);
	if (r->state == HELD && op->reserve.ttl_s > 0)
		r->expires_at = now + (int64_t)op->reserve.ttl_s * 1000;
}

struct reservation *amend_made(const struct op *op, int64_t now)
{
	struct reservation *r = reservation_copy(op->found);

	r = mem_resize(r, sizeof(*r) + op->lines_count * sizeof(struct line));
	r->lines_count = 0;
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].granted > 0) {
			r->lines[r->lines_count] = op->lines[i];
			r->lines[r->lines_count++].qty = op->lines[i].granted;
		}
	amended(r, op, now);
	r->read_at = now;
	return r;
}

void amend_tell(struct text *to, const struct op *op)
{
	struct event_head  head = {.type = EVENT_CHANGED, .by = op->key_id};
	struct reservation r = *op->found;

	amended(&r, op, 0);
	event_changed(to, &head, &r, op->lines, op->lines_count, op->found->lines, op->found->lines_count);
}
