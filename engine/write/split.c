/* split.c - see split.h. A split moves lines and touches no slot: the lines of the part name the slots of the first.
 * Units go back to their slots only where the part is released in the same step (batch_gives). */
#include "engine/write/split.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/write/fence.h"
#include "engine/write/note.h"
#include "engine/promise/relocate.h"

#include <stdio.h>

static bool splits(const struct op *op)
{
	return op->writes && op_trait(op)->divides;
}

/* ---- the first */

static void lines_leave(struct lane *l)
{
	struct leaving out = {0};

	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; splits(op) && k < op->lines_count; k++) {
			const struct line *line = &op->lines[k];

			line_leaves(&out, op->other, line, line->qty, line->qty == line->available);
		}
	}
	leaving_write(&l->txn, &out);
}

/* Writes the firsts that a task had when they were read, or the others. */
static void firsts_write(struct lane *l, bool claimed)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (splits(l->batch.ops[i]) && reservations_claimed(&l->batch.ops[i]->other, 1) == claimed)
			reservations_as_read(&l->rows, &l->batch.ops[i]->other, 1);
	if (l->rows.count == 0)
		return;
	if (claimed)
		txn_run(&l->txn, TASK_LOSE, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, SPLIT_FIRST, &(struct fill){.rows = &l->rows, .claimed = claimed});
	txn_expect(&l->txn, l->rows.rows, TXN_MOVED);
}

void splits_change(struct lane *l)
{
	firsts_write(l, false);
	firsts_write(l, true);
	lines_leave(l);
}

/* ---- the part */

static void parts_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (!splits(op))
			continue;
		op->new_id = lane_new_id(l);
		values_row(&l->rows, V_INT(op->new_id), V_TEXT(op->id), V_BYTES(op->lines_hash, sizeof(op->lines_hash)),
		           V_INT(op_state(op)), V_INT(op->other->reservation_id), V_INT(op_notes(op)));
	}
	txn_rows(&l->txn, SPLIT_PART_ADD, &l->rows);
}

static void part_lines_insert(struct lane *l)
{
	struct values moved = {0};

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; splits(op) && k < op->lines_count; k++) {
			const struct line *line = &op->lines[k];
			int64_t            sku = sku_id(line->sku), location = line->location->location_id;

			values_row(&l->rows, V_INT(op->new_id), V_INT(sku), V_INT(location), V_INT(line->slot),
			           V_INT(line->qty));
			values_row(&moved, V_INT(op->other->reservation_id), V_INT(op->new_id), V_INT(sku),
			           V_INT(location), V_INT(line->available), V_INT(line->qty));
		}
	}
	txn_run(&l->txn, RESERVATION_LINE_ADD, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, SPLIT_ADD, &(struct fill){.rows = &moved});
	values_fini(&moved);
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (splits(l->batch.ops[i]) && !reservation_is_live(op_state(l->batch.ops[i])))
			values_row(&l->rows, V_INT(l->batch.ops[i]->new_id));
	txn_rows(&l->txn, RESERVATION_LINE_END, &l->rows);
}

/* The key that made the first holds the part, too. Both rows are written whatever the first's state and its key's
 * limit. Without a row of the first, a count that has read it before the split would enter its old units afterwards
 * (key_hold_enter passes over orders that have one). */
static void part_holds_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];
		int64_t          units;

		if (!splits(op) || !op->other->key_id)
			continue;
		units = lines_units(op->lines, op->lines_count);
		values_row(&l->rows, V_INT(op->other->reservation_id), V_INT(op->other->key_id),
		           V_INT(lines_units(op->other->lines, op->other->lines_count) - units));
		if (op_state(op) == HELD)
			values_row(&l->rows, V_INT(op->new_id), V_INT(op->other->key_id), V_INT(units));
	}
	txn_rows(&l->txn, KEY_HOLD_SET, &l->rows);
}

void splits_insert(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	parts_insert(l);
	if (l->rows.count == 0)
		return;
	part_lines_insert(l);
	part_holds_insert(l);
}

void split_parted(struct reservation *r, const struct op *op, enum reservation_state state, int64_t now)
{
	assert(op->other && op->new_id);
	memset(r, 0, sizeof(*r));
	r->reservation_id = op->new_id;
	memcpy(r->order_id, op->id, sizeof(r->order_id));
	r->state = state;
	r->key_id = op->other->key_id;
	r->created_at = op->other->created_at;
	r->expires_at = op->other->expires_at;
	r->ship_after = op->other->ship_after;
	r->waits_since = op->other->waits_since;
	r->hold_until = op->other->hold_until;
	r->hold_reason = op->other->hold_reason;
	r->read_at = now;
	r->confirmed_at = r->state == CONFIRMED && op->other->state == HELD ? now : op->other->confirmed_at;
	r->released_at = r->state == RELEASED ? now : TIME_NONE;
	r->settled_at = r->state == SETTLED ? now : TIME_NONE;
}

struct reservation *split_made(const struct op *op, int64_t now)
{
	struct reservation *r = mem_alloc(sizeof(*r) + op->lines_count * sizeof(struct line));

	split_parted(r, op, op_state(op), now);
	r->by = mem_copy(op->other->by);
	r->customer = mem_copy(op->other->customer);
	r->hold_reason = mem_copy(op->other->hold_reason);
	r->lines_count = op->lines_count;
	memcpy(r->lines, op->lines, op->lines_count * sizeof(struct line));
	return r;
}

/* ---- parts that have what the first has not */

/* A part comes as often as it has lines of the skus. */
static void part_name(struct move *move, const char *order_id)
{
	if (!move->parts)
		move->parts = mem_alloc(PARTS_MAX * sizeof(*move->parts));
	for (size_t i = 0; i < move->parts_count; i++)
		if (strcmp(move->parts[i], order_id) == 0)
			return;
	if (move->parts_count < PARTS_MAX)
		snprintf(move->parts[move->parts_count++], sizeof(*move->parts), "%s", order_id);
}

static void part_read(void *arg, const struct db_row *row)
{
	const struct lane *l = arg;

	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op->outcome == OVER_RETURNED && op->other->reservation_id == (uint64_t)db_int(row, 0))
			part_name(&op->move, db_word(row, 1));
	}
}

enum db_result parts_look_up(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op->outcome != OVER_RETURNED)
			continue;
		op->move.parts_count = 0;
		for (size_t k = 0; k < op->lines_count; k++)
			if (op->lines[k].fault)
				values_row(&l->rows, V_INT(op->other->reservation_id), V_INT(sku_id(op->lines[k].sku)));
	}
	if (l->rows.count == 0)
		return DB_OK;
	return lane_ask(l, PARTS_SETTLED, &(struct fill){.rows = &l->rows}, part_read, l);
}
