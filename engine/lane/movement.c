/* movement.c - changes of on_hand: found, made in a batch, or made alone.
 *
 * Receipts, returns and adjustments go many to a batch. A count must see every slot of its skus at one moment, and so
 * must an addition that comes near the limit of a total: those go alone, in a transaction that locks the slots, lets C
 * think, and writes. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/lane/lane.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading */

enum column {
	MOVEMENT_ID,
	MOVEMENT_NO,
	LINES_HASH,
	KIND,
	CREATED_AT,
	REASON,
	REFERENCE,
	LINE_SKU_ID,
	LINE_SKU,
	LINE_LOCATION_ID,
	LINE_LOCATION,
	LINE_SLOT,
	LINE_QTY
};

void movement_free(struct movement *m)
{
	if (m) {
		free(m->reason);
		free(m->reference);
	}
	free(m);
}

static char *copy_or_null(const char *s)
{
	return s ? mem_copy(s) : NULL;
}

static struct movement *movement_begin(const struct db_row *row, size_t lines_max)
{
	struct movement *m = mem_alloc(sizeof(*m) + lines_max * sizeof(struct line));

	assert(row->len[MOVEMENT_ID] < sizeof(m->movement_id) && row->len[LINES_HASH] == sizeof(m->lines_hash));
	memcpy(m->movement_id, row->col[MOVEMENT_ID], row->len[MOVEMENT_ID]);
	memcpy(m->lines_hash, row->col[LINES_HASH], sizeof(m->lines_hash));
	m->movement_no = (uint64_t)db_int(row, MOVEMENT_NO);
	m->kind = (enum movement_kind)db_int(row, KIND);
	m->created_at = time_parse(row->col[CREATED_AT]);
	m->reason = copy_or_null(row->col[REASON]);
	m->reference = copy_or_null(row->col[REFERENCE]);
	return m;
}

void movement_read(void *arg, const struct db_row *row)
{
	struct movement_reader *in = arg;
	struct movement        *m = in->count ? in->list[in->count - 1] : NULL;

	if (!m || m->movement_no != (uint64_t)db_int(row, MOVEMENT_NO)) {
		in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
		in->lines_max = 4;
		m = in->list[in->count++] = movement_begin(row, in->lines_max);
	}
	if (!row->col[LINE_SKU_ID])
		return;
	if (m->lines_count == in->lines_max) {
		in->lines_max *= 2;
		m = in->list[in->count - 1] = mem_resize(m, sizeof(*m) + in->lines_max * sizeof(struct line));
	}
	m->lines[m->lines_count] = (struct line){0};
	line_read(in->catalogue, &m->lines[m->lines_count++], row, LINE_SKU_ID);
}

static int newest_first(const void *a, const void *b)
{
	const struct movement *x = *(struct movement *const *)a, *y = *(struct movement *const *)b;

	return (x->movement_no < y->movement_no) - (x->movement_no > y->movement_no);
}

static struct movement *lines_append(struct movement *m, struct movement *piece)
{
	m = mem_resize(m, sizeof(*m) + (m->lines_count + piece->lines_count) * sizeof(struct line));
	memcpy(m->lines + m->lines_count, piece->lines, piece->lines_count * sizeof(struct line));
	m->lines_count += piece->lines_count;
	movement_free(piece);
	return m;
}

/* A count that took from several slots has a line for each; to its reader they are one. */
static void lines_join(struct movement *m)
{
	size_t kept = 0;

	lines_sort(m->lines, m->lines_count);
	for (size_t i = 0; i < m->lines_count; i++) {
		if (kept > 0 && m->lines[kept - 1].sku == m->lines[i].sku &&
		    m->lines[kept - 1].location == m->lines[i].location)
			m->lines[kept - 1].granted += m->lines[i].granted;
		else
			m->lines[kept++] = m->lines[i];
	}
	m->lines_count = kept;
}

void movements_join(struct movement_reader *in)
{
	struct movement **list = in->list;
	size_t            kept = 0;

	if (in->count > 0)
		qsort(list, in->count, sizeof(list[0]), newest_first);
	for (size_t i = 0; i < in->count; i++) {
		if (kept > 0 && newest_first(&list[kept - 1], &list[i]) == 0)
			list[kept - 1] = lines_append(list[kept - 1], list[i]);
		else
			list[kept++] = list[i];
	}
	in->count = kept;
	for (size_t i = 0; i < kept; i++)
		lines_join(list[i]);
}

static bool wants_look_up(const struct op *op)
{
	return op->kind == OP_MOVE && op->look_up;
}

enum db_result movement_look_up(struct lane *l)
{
	struct movement_reader in = {.catalogue = l->catalogue};
	enum db_result         result;

	values_begin(&l->rows, 1);
	for (size_t i = 0; i < l->batch.count; i++)
		if (wants_look_up(l->batch.ops[i])) {
			movement_free(l->batch.ops[i]->found_movement);
			l->batch.ops[i]->found_movement = NULL;
			l->batch.ops[i]->look_up = false;
			l->batch.ops[i]->looked_at = l->batch.moment;
			values_text(&l->rows, l->batch.ops[i]->id);
		}
	if (l->rows.count == 0)
		return DB_OK;
	result = lane_ask(l, MOVEMENT_FIND, &(struct fill){.rows = &l->rows}, movement_read, &in);
	movements_join(&in);
	for (size_t i = 0; i < in.count; i++) {
		struct op *op = result == DB_OK ? batch_find(l, true, in.list[i]->movement_id) : NULL;

		if (op && !op->found_movement)
			op->found_movement = in.list[i];
		else
			movement_free(in.list[i]);
	}
	free(in.list);
	return result;
}

/* ---- writing */

static void movement_row(struct values *rows, const struct op *op)
{
	values_int(rows, (int64_t)op->new_id);
	values_text(rows, op->id);
	values_int(rows, op->movement_kind);
	values_bytes(rows, op->lines_hash, sizeof(op->lines_hash));
	values_now(rows);
	values_text(rows, op->reason);
	values_text(rows, op->reference);
}

static void line_row(struct values *rows, const struct op *op, const struct line *line, unsigned slot, int64_t qty)
{
	values_int(rows, (int64_t)op->new_id);
	values_int(rows, sku_id(line->sku));
	values_int(rows, line->location->location_id);
	values_int(rows, slot);
	values_int(rows, qty);
}

void movement_insert(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	values_begin(&l->rows, 7);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op->writes && op->kind == OP_MOVE) {
			op->new_id = lane_new_id(l);
			movement_row(&l->rows, op);
		}
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, MOVEMENT_ADD, &(struct fill){.rows = &l->rows});
	values_begin(&l->rows, 5);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op->writes && op->kind == OP_MOVE && k < op->lines_count; k++)
			line_row(&l->rows, op, &op->lines[k], l->slot, op->lines[k].granted);
	}
	txn_run(&l->txn, MOVEMENT_LINE_ADD, &(struct fill){.rows = &l->rows});
}

void movement_answer(struct op *op, int64_t now)
{
	struct movement *m;

	if (!op->writes) {
		op->movement = op->found_movement;
		op->found_movement = NULL;
		return;
	}
	m = mem_alloc(sizeof(*m) + op->lines_count * sizeof(struct line));
	m->movement_no = op->new_id;
	m->kind = op->movement_kind;
	m->created_at = now;
	m->reason = copy_or_null(op->reason);
	m->reference = copy_or_null(op->reference);
	memcpy(m->movement_id, op->id, sizeof(op->id));
	m->lines_count = op->lines_count;
	memcpy(m->lines, op->lines, op->lines_count * sizeof(struct line));
	op->movement = m;
}

/* ---- alone */

struct slot_row {
	uint32_t sku_id, location_id;
	uint16_t slot;
	int64_t  available, reserved;
	int64_t  change; /* of available */
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

static bool row_is_of(const struct slot_row *r, const struct line *line)
{
	return r->sku_id == sku_id(line->sku) && line->location && r->location_id == line->location->location_id;
}

/* What a line will change, now that its slots are locked. */
static enum outcome line_decide(const struct op *op, struct line *line, const struct slot_rows *s)
{
	int64_t on_hand;

	line->available = line->reserved = 0;
	for (size_t i = 0; i < s->count; i++)
		if (row_is_of(&s->list[i], line)) {
			line->available += s->list[i].available;
			line->reserved += s->list[i].reserved;
		}
	on_hand = line->available + line->reserved;
	line->granted = op->movement_kind == STOCKTAKE ? line->qty - on_hand : line->qty;
	line->fault = true;
	if (op->movement_kind == STOCKTAKE && line->expected >= 0 && line->expected != on_hand)
		return COUNT_MISMATCH;
	if (line->available + line->granted < 0)
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
static enum outcome alone_decide(struct op *op, const struct slot_rows *s)
{
	enum outcome out = OUTCOME_OK;

	for (size_t k = 0; k < op->lines_count; k++) {
		enum outcome of_line = line_decide(op, &op->lines[k], s);

		if (of_line != OUTCOME_OK && (out == OUTCOME_OK || of_line < out))
			out = of_line;
	}
	for (size_t k = 0; out == COUNT_MISMATCH && k < op->lines_count; k++)
		op->lines[k].fault = line_decide(op, &op->lines[k], s) == COUNT_MISMATCH;
	if (out == OUTCOME_OK && passes_limit(op, s))
		out = LIMIT;
	return out;
}

static void slot_change_row(struct lane *l, const struct slot_row *r, int64_t units)
{
	stock_row(&l->rows, r->sku_id, r->location_id, r->slot, units, 0);
}

/* Additions go to the own slot, whose row may have to be made; what leaves is taken from slots that have it. */
static void line_spread(struct lane *l, const struct op *op, const struct line *line, struct slot_rows *s,
                        struct values *lines)
{
	int64_t left = -line->granted;

	if (left <= 0) {
		struct slot_row own = {sku_id(line->sku), line->location->location_id, (uint16_t)l->slot, 0, 0, 0};

		line_row(lines, op, line, l->slot, line->granted);
		if (left < 0)
			slot_change_row(l, &own, -left);
		return;
	}
	for (size_t i = 0; i < s->count && left > 0; i++) {
		struct slot_row *r = &s->list[i];

		if (!row_is_of(r, line) || r->available == 0)
			continue;
		r->change = r->available < left ? -r->available : -left;
		left += r->change;
		line_row(lines, op, line, r->slot, r->change);
	}
	assert(left == 0);
}

static void alone_write(struct lane *l, struct op *op, struct slot_rows *s)
{
	struct values lines = {.columns = 5};

	op->new_id = lane_new_id(l);
	values_begin(&l->rows, 5);
	for (size_t k = 0; k < op->lines_count; k++)
		line_spread(l, op, &op->lines[k], s, &lines);
	if (l->rows.count > 0)
		txn_run(&l->txn, STOCK_ADD, &(struct fill){.rows = &l->rows});
	values_begin(&l->rows, 5);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].change < 0)
			slot_change_row(l, &s->list[i], -s->list[i].change);
	if (l->rows.count > 0) {
		txn_run(&l->txn, STOCK_TAKE_SLOTS, &(struct fill){.rows = &l->rows});
		txn_expect(&l->txn, 2 * values_rows(&l->rows), TXN_SHORT);
	}
	values_begin(&l->rows, 7);
	movement_row(&l->rows, op);
	txn_run(&l->txn, MOVEMENT_ADD, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, MOVEMENT_LINE_ADD, &(struct fill){.rows = &lines});
	values_fini(&lines);
}

/* A twin that was committed before our locks were given is why the balances are not as expected: the id tells. */
static void alone_look_again(struct lane *l, struct op *op)
{
	op->look_up = true;
	txn_fail(&l->txn, movement_look_up(l));
	if (txn_goes_on(&l->txn) && op->found_movement)
		op->outcome = movement_outcome(op);
}

enum db_result movement_alone(struct lane *l, struct op *op, enum txn_verdict *verdict, int64_t *now)
{
	struct slot_rows s = {0};

	lane_begin(l, REPEATABLE_READ);
	values_begin(&l->rows, 1);
	for (size_t k = 0; k < op->lines_count; k++)
		values_int(&l->rows, sku_id(op->lines[k].sku));
	txn_read(&l->txn, STOCK_EVERY_SLOT, &(struct fill){.rows = &l->rows}, slot_read, &s);
	op->writes = false;
	if (txn_goes_on(&l->txn)) {
		op->outcome = alone_decide(op, &s);
		op->writes = op->outcome == OUTCOME_OK;
		if (op->writes)
			alone_write(l, op, &s);
		else
			alone_look_again(l, op);
	}
	free(s.list);
	return lane_commit(l, verdict, now);
}
