/* note.c - see note.h. */
#include "engine/write/note.h"
#include "engine/write/fence.h"
#include "engine/write/on_hold.h"
#include "engine/write/waits.h"

/* ---- written */

/* The customer of the new reservation: a part has that of the first; NULL: none. */
static const char *op_customer(const struct op *op)
{
	return op_trait(op)->divides ? op->other->customer : op->customer;
}

/* A reference, or an order that the new one replaces. */
static bool has_text(const struct op *op)
{
	return op->kind == OP_RESERVE && (op->reference || op->other_id);
}

unsigned op_notes(const struct op *op)
{
	bool divides = op_trait(op)->divides;

	if (!op->writes)
		return 0;
	return (has_text(op) || op_customer(op) || op_waits_since(op) > 0 ? NOTED_TEXTS : 0) |
	       (op->kind == OP_RESERVE && op_has_faults(op) ? NOTED_SHORTS : 0) | (divides ? NOTED_PARTS : 0) |
	       (op->other ? op->other->noted & NOTED_AMENDED : 0) | (op_hold_from(op) ? NOTED_ON_HOLD : 0);
}

/* True: the note has a customer alone, as most notes have. */
static bool notes_customer_alone(const struct op *op)
{
	return op->writes && op_customer(op) && !has_text(op);
}

static void customers_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (notes_customer_alone(l->batch.ops[i]))
			values_row(&l->rows, V_INT(l->batch.ops[i]->new_id), V_TEXT(op_customer(l->batch.ops[i])),
			           V_INT(op_state(l->batch.ops[i])));
	txn_rows(&l->txn, RESERVATION_NOTE_CUSTOMER, &l->rows);
}

/* Writes references and customers, and which order has replaced another: in the notes of both. */
static void texts_insert(struct lane *l)
{
	customers_insert(l);
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (op_notes(op) & NOTED_TEXTS && !notes_customer_alone(op))
			values_row(&l->rows, V_INT(op->new_id), V_TEXT(op->reference), V_TEXT(NULL),
			           V_TEXT(op_customer(op)), V_TEXT(op_trait(op)->divides ? NULL : op->other_id),
			           V_INT(op_state(op)));
		if (op_writes(op, OP_RESERVE) && op->other)
			values_row(&l->rows, V_INT(op->other->reservation_id), V_TEXT(NULL), V_TEXT(op->id),
			           V_TEXT(NULL), V_TEXT(NULL), V_INT(RELEASED));
	}
	txn_rows(&l->txn, RESERVATION_NOTE_ADD, &l->rows);
}

static bool ships_later(const struct op *op)
{
	return op_writes(op, OP_RESERVE) && op_not_before(op) > 0;
}

static void ship_after_write(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (ships_later(l->batch.ops[i]))
			values_row(&l->rows, V_INT(l->batch.ops[i]->new_id), V_INT(op_not_before(l->batch.ops[i])));
	txn_run(&l->txn, RESERVATION_SHIP_AFTER, &(struct fill){.rows = &l->rows});
	txn_expect(&l->txn, l->rows.rows, TXN_MOVED);
}

static void shorts_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (!(op_notes(op) & NOTED_SHORTS))
			continue;
		for (size_t k = 0; k < op->lines_count; k++)
			if (op->lines[k].fault)
				values_row(&l->rows, V_INT(op->new_id), V_INT(k), V_INT(sku_id(op->lines[k].sku)),
				           V_INT(op->lines[k].qty), V_INT(op->lines[k].granted),
				           V_INT(op->lines[k].limited));
		for (size_t k = 0; k < op->choices_count; k++)
			if (op->choices[k].fault)
				values_row(&l->rows, V_INT(op->new_id), V_INT(op->lines_count + k),
				           V_INT(sku_id(op->lines[op->choices[k].line[0]].sku)),
				           V_INT(op->choices[k].qty), V_INT(op->choices[k].granted),
				           V_INT(op->choices[k].limited));
	}
	txn_rows(&l->txn, RESERVATION_SHORT_ADD, &l->rows);
}

void notes_insert(struct lane *l)
{
	unsigned notes = 0;
	bool     later = false;

	if (!txn_goes_on(&l->txn))
		return;
	for (size_t i = 0; i < l->batch.count; i++) {
		notes |= op_notes(l->batch.ops[i]);
		later |= ships_later(l->batch.ops[i]);
	}
	if (notes & NOTED_TEXTS || l->batch.writes & NEEDS_OTHER)
		texts_insert(l);
	if (notes & NOTED_SHORTS)
		shorts_insert(l);
	if (later)
		ship_after_write(l);
}

static bool returns(const struct op *op)
{
	return op->writes && op_trait(op)->of_movement && op->other;
}

/* Lists in l->rows the units that come back, by order and sku. */
static void returned_rows(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];
		int64_t          units = 0;

		for (size_t k = 0; returns(op) && k < op->lines_count; k++) {
			units += op->lines[k].qty;
			if (k + 1 < op->lines_count && op->lines[k + 1].sku == op->lines[k].sku)
				continue;
			values_row(&l->rows, V_INT(op->other->reservation_id), V_INT(sku_id(op->lines[k].sku)),
			           V_INT(units));
			units = 0;
		}
	}
}

void returns_write(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (returns(l->batch.ops[i]) && !(l->batch.ops[i]->other->noted & NOTED_RETURNS))
			values_row(&l->rows, V_INT(l->batch.ops[i]->other->reservation_id));
	txn_rows(&l->txn, RETURNED_NOTE, &l->rows);
	returned_rows(l);
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, RETURNED_MAKE, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, RETURNED_ADD, &(struct fill){.rows = &l->rows});
	txn_expect(&l->txn, 2 * l->rows.rows, TXN_MOVED);
}

/* ---- read */

static void short_read(void *arg, const struct db_row *row)
{
	struct lane *l = arg;

	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];
		uint64_t   line = (uint64_t)db_int(row, 1);

		if (!op->found || op->found->reservation_id != (uint64_t)db_int(row, 0))
			continue;
		if (line < op->lines_count) {
			op->lines[line].fault = true;
			op->lines[line].available = db_int(row, 2);
			op->lines[line].limited = db_int(row, 3) != 0;
		} else if (line - op->lines_count < op->choices_count) {
			op->choices[line - op->lines_count].fault = true;
			op->choices[line - op->lines_count].available = db_int(row, 2);
			op->choices[line - op->lines_count].limited = db_int(row, 3) != 0;
		}
	}
}

/* A line or a choice has the same place in every request with the same fingerprint. */
enum db_result notes_look_up(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op->kind != OP_RESERVE || !op->found)
			continue;
		for (size_t k = 0; k < op->lines_count; k++)
			op->lines[k].fault = false;
		for (size_t k = 0; k < op->choices_count; k++)
			op->choices[k].fault = false;
		if (op->found->noted & (NOTED_TEXTS | NOTED_SHORTS) &&
		    memcmp(op->found->lines_hash, op->lines_hash, sizeof(op->lines_hash)) == 0)
			values_row(&l->rows, V_INT(op->found->reservation_id));
	}
	if (l->rows.count == 0)
		return DB_OK;
	return lane_ask(l, RESERVATION_SHORT_FIND, &(struct fill){.rows = &l->rows}, short_read, l);
}
