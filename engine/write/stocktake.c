/* stocktake.c - see stocktake.h. A stocktake must see every slot of its skus at one time, and so must an addition
 * that comes near the limit of a total. The transaction locks the slots, C decides, and the transaction writes. */
#include "engine/write/stocktake.h"
#include "engine/base/memory.h"
#include "engine/lane/fence.h"
#include "engine/write/changes.h"
#include "engine/write/customers.h"
#include "engine/write/movement.h"
#include "engine/write/note.h"
#include "engine/write/reservation.h"
#include "engine/write/stock.h"

#include <stdlib.h>

struct slot_row {
	uint32_t sku_id, location_id;
	uint16_t slot;
	int64_t  available, reserved;
	int64_t  change; /* change of available */
	int64_t  booked; /* of a sum of promises, which stands among the slots: units that are booked */
};

struct slot_rows {
	struct slot_row *list;
	size_t           count, max;
};

static void slot_read(void *arg, const struct db_row *row)
{
	struct slot_rows *s = arg;

	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct slot_row){
		.sku_id = (uint32_t)db_int(row, 0),
		.location_id = (uint32_t)db_int(row, 1),
		.slot = (uint16_t)db_int(row, 2),
		.available = db_int(row, 3),
		.reserved = db_int(row, 4),
	};
}

static void promise_read(void *arg, const struct db_row *row)
{
	struct slot_rows *s = arg;

	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct slot_row){
		.sku_id = (uint32_t)db_int(row, 0), .location_id = (uint32_t)db_int(row, 1), .booked = db_int(row, 2)};
}

/* Locks the sums of promises that the lines change. */
static void promises_lock(struct lane *l, const struct op *op, struct slot_rows *s)
{
	struct values sums = {0};

	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++) {
		const struct line *line = &op->lines[k];

		if (!line->location || location_in_house(line->location))
			continue;
		values_row(&l->rows, V_INT(sku_id(line->sku)), V_INT(line->location->location_id), V_INT(0), V_INT(1));
		values_row(&sums, V_INT(sku_id(line->sku)), V_INT(line->location->location_id));
	}
	if (sums.count > 0) {
		txn_run(&l->txn, PROMISE_ENTER, &(struct fill){.rows = &l->rows});
		txn_read(&l->txn, PROMISE_READ, &(struct fill){.rows = &sums}, promise_read, s);
	}
	values_fini(&sums);
}

static bool row_is_of(const struct slot_row *r, const struct line *line)
{
	return r->sku_id == sku_id(line->sku) && line->location && r->location_id == line->location->location_id;
}

/* The change that a line makes, now that its slots are locked. What is booked of a promise is nobody else's. */
static enum outcome counted_decide(const struct op *op, struct line *line, const struct slot_rows *s)
{
	int64_t on_hand, booked = 0;

	line->available = line->reserved = 0;
	for (size_t i = 0; i < s->count; i++)
		if (row_is_of(&s->list[i], line)) {
			line->available += s->list[i].available;
			line->reserved += s->list[i].reserved;
			booked += s->list[i].booked;
		}
	on_hand = line->available + line->reserved;
	if (line->available > on_hand - booked)
		line->available = on_hand - booked;
	line->granted = op->move.kind == STOCKTAKE ? line->qty - on_hand : line->qty;
	line->fault = true;
	if (op->move.kind == STOCKTAKE && line->expected >= 0 && line->expected != on_hand)
		return COUNT_MISMATCH;
	if (line->available + line->granted < 0 || (op->move.kind == TRANSFER && line->available < line->expected))
		return SHORT;
	line->fault = false;
	return OUTCOME_OK;
}

static bool passes_limit(const struct op *op, const struct slot_rows *s)
{
	for (size_t k = 0; k < op->lines_count; k++) {
		int64_t total = 0;

		for (size_t i = 0; i < s->count; i++)
			if (s->list[i].sku_id == sku_id(op->lines[k].sku))
				total += s->list[i].available + s->list[i].reserved;
		for (size_t i = 0; i < op->lines_count; i++)
			if (op->lines[i].sku == op->lines[k].sku)
				total += op->lines[i].granted;
		if (total > QTY_MAX)
			return true;
	}
	return false;
}

/* The outcome that stands first in outcome.def; the lines keep their fault only where it is theirs. */
static enum outcome stocktake_decide(struct op *op, const struct slot_rows *s)
{
	enum outcome out = OUTCOME_OK;

	for (size_t k = 0; k < op->lines_count; k++) {
		enum outcome of_line = counted_decide(op, &op->lines[k], s);

		if (of_line != OUTCOME_OK && (out == OUTCOME_OK || of_line < out))
			out = of_line;
	}
	for (size_t k = 0; out == COUNT_MISMATCH && k < op->lines_count; k++)
		op->lines[k].fault = counted_decide(op, &op->lines[k], s) == COUNT_MISMATCH;
	if (out == OUTCOME_OK && passes_limit(op, s))
		out = LIMIT;
	return out;
}

/* Additions go to the own slot, whose row may have to be made; units that leave are taken from slots that have them. */
static void line_spread(struct lane *l, const struct op *op, const struct line *line, struct slot_rows *s,
                        struct values *lines)
{
	int64_t left = -line->granted;

	if (left <= 0) {
		movement_line_row(lines, op, line, l->slot, line->granted);
		if (left < 0)
			values_row(&l->rows, V_INT(sku_id(line->sku)), V_INT(line->location->location_id),
			           V_INT(l->slot), V_INT(-left), V_INT(0));
		return;
	}
	for (size_t i = 0; i < s->count && left > 0; i++) {
		struct slot_row *r = &s->list[i];

		if (!row_is_of(r, line) || r->available == 0)
			continue;
		r->change = r->available < left ? -r->available : -left;
		left += r->change;
		movement_line_row(lines, op, line, r->slot, r->change);
	}
	assert(left == 0);
}

static void stocktake_write(struct lane *l, struct op *op, struct slot_rows *s)
{
	struct values lines = {0};
	struct shares given = {0};

	op->new_id = lane_new_id(l);
	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++)
		line_spread(l, op, &op->lines[k], s, &lines);
	if (l->rows.count > 0)
		txn_run(&l->txn, STOCK_ADD, &(struct fill){.rows = &l->rows});
	values_reset(&l->rows);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].change < 0)
			values_row(&l->rows, V_INT(-s->list[i].change), V_INT(0), V_INT(s->list[i].sku_id),
			           V_INT(s->list[i].location_id), V_INT(s->list[i].slot));
	if (l->rows.count > 0)
		stock_deduct(l);
	batch_gives(&l->batch, &given);
	customers_write(l, &given.customers);
	if (op->other)
		returns_write(l);
	shares_fini(&given);
	values_reset(&l->rows);
	movement_row(&l->rows, op);
	txn_run(&l->txn, MOVEMENT_ADD, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, MOVEMENT_LINE_ADD, &(struct fill){.rows = &lines});
	transfers_insert(l);
	values_fini(&lines);
	if (!l->writer->logs)
		return;
	txn_run(&l->txn, LANE_LOGS, &(struct fill){.writer = l->writer->writer_id});
	changes_write(l);
	lane_log(l);
}

/* Looks for a twin that was committed before our locks were given: it is why the balances are not as expected, and the
 * id tells. */
static void stocktake_look_again(struct lane *l, struct op *op)
{
	op->lookup_due = true;
	txn_fail(&l->txn, movements_look_up(l));
	if (txn_goes_on(&l->txn) && op->move.found)
		op->outcome = movement_outcome(op);
}

enum db_result stocktake_run(struct lane *l, struct op *op, enum txn_verdict *verdict, int64_t *now)
{
	struct slot_rows s = {0};

	lane_begin(l, REPEATABLE_READ, false);
	promises_lock(l, op, &s);
	reservations_lock(l);
	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++)
		values_row(&l->rows, V_INT(sku_id(op->lines[k].sku)));
	txn_read(&l->txn, STOCK_EVERY_SLOT, &(struct fill){.rows = &l->rows}, slot_read, &s);
	op->writes = false;
	if (txn_goes_on(&l->txn)) {
		op->outcome = stocktake_decide(op, &s);
		op->writes = op->outcome == OUTCOME_OK;
		if (op->writes)
			stocktake_write(l, op, &s); /* the batch is this operation alone */
		else
			stocktake_look_again(l, op);
	}
	free(s.list);
	return lane_commit(l, verdict, now);
}
