/* movement.c - see movement.h. Receipts, returns and adjustments go many to a batch. */
#include "engine/write/movement.h"
#include "engine/base/memory.h"
#include "engine/write/fence.h"
#include "engine/write/losses.h"

enum { ARRIVAL_OWN_S = 2 }; /* so long an arrival is left to the call that has booked it */

static bool wants_look_up(const struct op *op)
{
	return op_trait(op)->of_movement && op->lookup_due;
}

enum db_result movements_look_up(struct lane *l)
{
	struct movement_reader in = {.catalogue = l->catalogue};
	enum db_result         result;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (wants_look_up(l->batch.ops[i])) {
			movement_free(l->batch.ops[i]->move.found);
			l->batch.ops[i]->move.found = NULL;
			l->batch.ops[i]->lookup_due = false;
			l->batch.ops[i]->lookup_seq = l->batch.read_seq;
			values_row(&l->rows, V_TEXT(l->batch.ops[i]->id));
		}
	if (l->rows.count == 0)
		return DB_OK;
	outbox_send(&l->outbox);
	result = movements_ask(l->db, MOVEMENT_FIND, &(struct fill){.rows = &l->rows}, &in);
	for (size_t i = 0; i < in.count; i++) {
		struct op *op = result == DB_OK ? batch_find(&l->batch, true, in.list[i]->movement_id) : NULL;

		if (op && !op->move.found)
			op->move.found = in.list[i];
		else
			movement_free(in.list[i]);
	}
	free(in.list);
	return result;
}

/* ---- writing */

void movement_row(struct values *rows, const struct op *op)
{
	values_row(rows, V_INT(op->new_id), V_TEXT(op->id), V_INT(op->move.kind),
	           V_BYTES(op->lines_hash, sizeof(op->lines_hash)), V_NOW, V_TEXT(op->move.reason),
	           V_TEXT(op->reference), op->key_id ? V_INT(op->key_id) : V_TEXT(NULL), V_TEXT(op->other_id),
	           op->other ? V_INT(op->other->reservation_id) : V_TEXT(NULL));
}

void movement_line_row(struct values *rows, const struct op *op, const struct line *line, unsigned slot, int64_t qty)
{
	values_row(rows, V_INT(op->new_id), V_INT(sku_id(line->sku)), V_INT(line->location->location_id), V_INT(slot),
	           V_INT(qty));
}

void transfers_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op->writes && op_trait(op)->of_movement && k < op->move.transfers_count; k++) {
			struct transfer *t = &op->move.transfers[k];

			assert(t->from_line < op->lines_count && t->to_line < op->lines_count);
			t->sku = op->lines[t->from_line].sku;
			t->from = op->lines[t->from_line].location;
			t->to = op->lines[t->to_line].location;
			values_row(&l->rows, V_INT(op->new_id), V_INT(sku_id(t->sku)), V_INT(t->from->location_id),
			           V_INT(t->to->location_id), V_INT(t->qty));
		}
	}
	txn_rows(&l->txn, MOVEMENT_TRANSFER_ADD, &l->rows);
}

/* While sales are stopped the call hands nothing out. Then any service may, as soon as they go on. */
void arrivals_insert(struct lane *l, const struct op *op)
{
	struct values open = {0};

	values_reset(&l->rows);
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].expected > 0)
			values_row(&l->rows, V_INT(sku_id(op->lines[i].sku)), V_INT(op->lines[i].location->location_id),
			           V_INT(op->lines[i].expected), V_INT(1));
	for (size_t i = 0; i < op->move.transfers_count; i++) {
		const struct transfer *t = &op->move.transfers[i];
		bool                   stopped = sku_stopped(t->sku) || location_stopped(t->to);

		values_row(&open, V_INT(op->new_id), V_INT(sku_id(t->sku)), V_INT(t->from->location_id),
		           V_INT(t->to->location_id), V_INT(t->qty), V_INT(stopped ? 0 : ARRIVAL_OWN_S));
	}
	txn_run(&l->txn, PROMISE_BOOK, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, ARRIVAL_OPEN_ADD, &(struct fill){.rows = &open});
	values_fini(&open);
}

void movements_insert(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op->writes && op_trait(op)->of_movement) {
			op->new_id = lane_new_id(l);
			movement_row(&l->rows, op);
		}
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, MOVEMENT_ADD, &(struct fill){.rows = &l->rows});
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op->writes && op_trait(op)->of_movement && k < op->lines_count; k++)
			movement_line_row(&l->rows, op, &op->lines[k], l->slot, op->lines[k].granted);
	}
	txn_run(&l->txn, MOVEMENT_LINE_ADD, &(struct fill){.rows = &l->rows});
	transfers_insert(l);
}

bool movement_passes_limit(struct op *op, const struct shares *totals)
{
	bool passes = false;

	for (size_t k = 0, end = 0; k < op->lines_count; k = end) {
		const struct sku *sku = op->lines[k].sku;
		int64_t           total = sku ? shares_of_sku(totals, sku_id(sku)) : 0;

		for (end = k; end < op->lines_count && op->lines[end].sku == sku; end++)
			total += sku ? op->lines[end].granted : 0;
		for (size_t i = k; i < end; i++)
			op->lines[i].fault = total > QTY_MAX;
		passes |= total > QTY_MAX;
	}
	return passes;
}

void movement_answer(struct op *op, int64_t now)
{
	struct line     *lines = op->lines;
	size_t           count = op->lines_count;
	struct movement *m;

	if (!op->writes) {
		op->move.movement = op->move.found;
		op->move.found = NULL;
		return;
	}
	if (op->losses)
		lines = losses_lines(op, &count);
	m = mem_alloc(sizeof(*m) + count * sizeof(struct line));
	m->movement_no = op->new_id;
	m->kind = op->move.kind;
	m->created_at = now;
	m->reason = mem_copy(op->move.reason);
	m->reference = mem_copy(op->reference);
	m->by = mem_copy(op->by);
	m->order_id = mem_copy(op->other_id);
	memcpy(m->movement_id, op->id, sizeof(op->id));
	m->lines_count = count;
	memcpy(m->lines, lines, count * sizeof(struct line));
	if (op->losses) {
		losses_answer(op, m);
		free(lines);
	}
	if (op->move.transfers_count > 0) {
		m->transfers_count = op->move.transfers_count;
		m->transfers = mem_alloc(m->transfers_count * sizeof(*m->transfers));
		memcpy(m->transfers, op->move.transfers, m->transfers_count * sizeof(*m->transfers));
	}
	op->move.movement = m;
}
