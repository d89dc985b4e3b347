/* balance.c - which balances a batch touches, and what is known of them.
 *
 * Codes become numbers (the catalogue first, the database for what it lacks), the lines of a batch meet in balances,
 * and balances take what the hints of earlier batches know or what is read now. A hint is never trusted further than
 * the guard in stock_deduct: one that was wrong costs a round trip. */
#include "engine/lane/lane.h"

#include <stdlib.h>
#include <string.h>

/* ---- codes to numbers */

struct finder {
	struct catalogue *catalogue;
	bool              locations;
};

static void code_read(void *arg, const struct db_row *row)
{
	struct finder *f = arg;

	if (f->locations)
		catalogue_location_enter(f->catalogue, (uint32_t)db_int(row, 1), row->col[0], row->len[0]);
	else
		catalogue_sku_enter(f->catalogue, (uint32_t)db_int(row, 1), row->col[0], row->len[0]);
}

/* Enters what the catalogue has into the lines; the codes that it lacks are listed in l->rows. */
static void lines_resolve(struct lane *l, bool locations)
{
	values_begin(&l->rows, 1);
	for (size_t i = 0; i < l->batch.count; i++)
		for (size_t k = 0; k < l->batch.ops[i]->lines_count; k++) {
			struct line *line = &l->batch.ops[i]->lines[k];
			const char  *code = locations ? line->location_code : line->sku_code;

			if (locations ? (void *)line->location : (void *)line->sku)
				continue;
			if (locations)
				line->location = catalogue_location(l->catalogue, code);
			else
				line->sku = catalogue_sku(l->catalogue, code);
			if (!(locations ? (void *)line->location : (void *)line->sku))
				values_text(&l->rows, code);
		}
}

/* Numbers of another past, and what was read there. */
static void numbers_forget(struct op *op, unsigned past)
{
	for (size_t k = 0; k < op->lines_count; k++) {
		op->lines[k].sku = NULL;
		op->lines[k].location = NULL;
	}
	reservation_free(op->found);
	movement_free(op->found_movement);
	op->found = NULL;
	op->found_movement = NULL;
	op->past = past;
}

enum db_result balances_resolve(struct lane *l)
{
	for (size_t i = 0; i < l->batch.count; i++)
		if (l->batch.ops[i]->past != l->past)
			numbers_forget(l->batch.ops[i], l->past);
	for (int locations = 0; locations <= 1; locations++) {
		struct finder  f = {l->catalogue, locations};
		enum statement name = locations ? LOCATION_FIND : SKU_FIND;
		enum db_result result;

		lines_resolve(l, locations);
		if (l->rows.count == 0)
			continue;
		result = lane_ask(l, name, &(struct fill){.rows = &l->rows}, code_read, &f);
		if (result != DB_OK)
			return result;
		lines_resolve(l, locations);
	}
	return DB_OK;
}

static bool makes_sku(const struct op *op, const struct line *line)
{
	return op->kind == OP_MOVE && op->movement_kind == RECEIPT && !line->sku;
}

static bool makes_location(const struct op *op, const struct line *line)
{
	return op->kind == OP_MOVE && line->qty >= 0 && !line->location;
}

/* Only of movements that the look-up found to be new; one that is refused later may leave a name behind, which is no
 * stock. */
static size_t list_new(struct lane *l, bool locations)
{
	values_begin(&l->rows, 1);
	for (size_t i = 0; i < l->batch.count; i++)
		for (size_t k = 0; k < l->batch.ops[i]->lines_count; k++) {
			struct op   *op = l->batch.ops[i];
			struct line *line = &op->lines[k];
			const char  *code = locations ? line->location_code : line->sku_code;

			if (op->found_movement || op->over_limit ||
			    !(locations ? makes_location(op, line) : makes_sku(op, line)))
				continue;
			values_text(&l->rows, code);
		}
	return l->rows.count;
}

bool op_makes_codes(const struct op *op)
{
	for (size_t k = 0; k < op->lines_count; k++)
		if (makes_sku(op, &op->lines[k]) || makes_location(op, &op->lines[k]))
			return true;
	return false;
}

static void total_add(void *arg, const struct db_row *row)
{
	struct lane *l = arg;

	for (size_t i = 0; i < l->batch.count; i++)
		for (size_t k = 0; k < l->batch.ops[i]->lines_count; k++) {
			struct line *line = &l->batch.ops[i]->lines[k];

			if (line->sku && sku_id(line->sku) == (uint32_t)db_int(row, 0))
				line->reserved += db_int(row, 3) + db_int(row, 4);
		}
}

static bool passes_limit(const struct op *op)
{
	for (size_t k = 0; k < op->lines_count; k++) {
		int64_t total = op->lines[k].reserved;

		for (size_t i = 0; i < op->lines_count && op->lines[k].sku; i++)
			if (op->lines[i].sku == op->lines[k].sku)
				total += op->lines[i].qty;
		if (total > QTY_MAX)
			return true;
	}
	return false;
}

static bool makes_skus(const struct op *op)
{
	for (size_t k = 0; k < op->lines_count; k++)
		if (makes_sku(op, &op->lines[k]))
			return true;
	return false;
}

/* Totals are summed in line->reserved, which is scratch here. */
static enum db_result receipts_sum(struct lane *l)
{
	values_begin(&l->rows, 1);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		for (size_t k = 0; makes_skus(op) && !op->found_movement && k < op->lines_count; k++) {
			op->lines[k].reserved = 0;
			if (op->lines[k].sku)
				values_int(&l->rows, sku_id(op->lines[k].sku));
		}
	}
	return l->rows.count ? lane_ask(l, STOCK_TOTALS, &(struct fill){.rows = &l->rows}, total_add, l) : DB_OK;
}

/* A receipt that names new skus and would pass the limit with another one is refused before it makes them: what was
 * never received is not known. It is refused when two looks say so, as every refusal (decide.h). */
static enum db_result receipts_limit(struct lane *l)
{
	enum db_result result = DB_OK;
	bool           over = true;

	for (int look = 0; look < 2 && over && result == DB_OK; look++) {
		result = receipts_sum(l);
		over = false;
		for (size_t i = 0; i < l->batch.count; i++) {
			struct op *op = l->batch.ops[i];

			op->over_limit = makes_skus(op) && passes_limit(op) && (look == 0 || op->over_limit);
			over |= op->over_limit;
		}
	}
	return result;
}

enum db_result balances_make_codes(struct lane *l)
{
	bool           made = false;
	enum db_result checked = receipts_limit(l);

	if (checked != DB_OK)
		return checked;

	for (int locations = 0; locations <= 1; locations++) {
		enum statement name = locations ? LOCATION_MAKE : SKU_MAKE;
		enum db_result result;

		if (list_new(l, locations) == 0)
			continue;
		result = lane_ask(l, name, &(struct fill){.rows = &l->rows}, NULL, NULL);
		if (result != DB_OK)
			return result;
		made = true;
	}
	return made ? balances_resolve(l) : DB_OK;
}

/* ---- balances */

static struct hint *hint_place(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	return &l->hints[(sku_id * UINT32_C(2654435761) ^ location_id * UINT32_C(40503)) & (HINTS - 1)];
}

static struct hint *hint_find(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	struct hint *h = hint_place(l, sku_id, location_id);

	return h->known && h->sku_id == sku_id && h->location_id == location_id ? h : NULL;
}

/* The place in the map of a balance, or where it would go. The map is never more than half full. */
static uint32_t *balance_place(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	uint32_t mask = LENGTH(l->map) - 1, at = (sku_id * UINT32_C(2654435761) ^ location_id * UINT32_C(97)) & mask;

	for (;; at = (at + 1) & mask) {
		const struct balance *p = l->map[at] ? &l->batch.balances[l->map[at] - 1] : NULL;

		if (!p || (p->sku_id == sku_id && p->location_id == location_id))
			return &l->map[at];
	}
}

struct balance *balance_find(struct lane *l, uint32_t sku_id, uint32_t location_id)
{
	uint32_t index = *balance_place(l, sku_id, location_id);

	return index ? &l->batch.balances[index - 1] : NULL;
}

static void balance_enter(struct lane *l, struct line *line, bool wanted)
{
	struct batch *b = &l->batch;
	uint32_t      sku, location, *place;
	struct hint  *h;

	if (!line->sku || !line->location)
		return;
	sku = sku_id(line->sku);
	location = line->location->location_id;
	place = balance_place(l, sku, location);
	if (*place == 0) {
		struct balance *p = &b->balances[b->balances_count++];

		assert(b->balances_count <= BALANCES_MAX);
		*p = (struct balance){.sku_id = sku, .location_id = location};
		h = hint_find(l, sku, location);
		if (h) {
			p->known = true;
			p->own = h->own;
			p->total = h->total;
			p->slots = h->slots;
			p->own_row = h->own_row;
		}
		*place = (uint32_t)b->balances_count;
	}
	b->balances[*place - 1].wanted |= wanted;
	line->balance = *place - 1;
}

static int balance_order(const void *a, const void *b, void *arg)
{
	const struct balance *balances = arg, *x = &balances[*(const uint32_t *)a],
			     *y = &balances[*(const uint32_t *)b];

	if (x->sku_id != y->sku_id)
		return x->sku_id < y->sku_id ? -1 : 1;
	return (x->location_id > y->location_id) - (x->location_id < y->location_id);
}

/* A release writes the slots of its lines, a confirmation that acquires anew takes their units again. */
size_t op_found_lines(const struct op *op)
{
	bool takes = op->kind == OP_RELEASE || (op->kind == OP_CONFIRM && op->reacquire);

	return takes && op->found ? op->found->lines_count : 0;
}

void balances_find(struct lane *l)
{
	l->batch.balances_count = 0;
	memset(l->map, 0, sizeof(l->map));
	balances_meet(l);
}

void balances_meet(struct lane *l)
{
	struct batch *b = &l->batch;

	for (size_t i = 0; i < b->count; i++) {
		struct op *op = b->ops[i];

		for (size_t k = 0; k < op->lines_count; k++)
			balance_enter(l, &op->lines[k], true);
		for (size_t k = 0; k < op_found_lines(op); k++)
			balance_enter(l, &op->found->lines[k], op->kind == OP_CONFIRM);
	}
	for (size_t i = 0; i < b->balances_count; i++)
		b->order[i] = (uint32_t)i;
	qsort_r(b->order, b->balances_count, sizeof(b->order[0]), balance_order, b->balances);
}

static void balance_read(void *arg, const struct db_row *row)
{
	struct balance *p = balance_find(arg, (uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1));

	p->own = db_int(row, 2);
	p->total = db_int(row, 3);
	p->own_row = db_int(row, 4) != 0;
	p->slots = (unsigned)db_int(row, 5);
}

static bool balance_is_due(const struct balance *p, enum which which)
{
	return which == DOUBTED ? p->doubted : p->wanted && !p->known;
}

enum db_result balances_load(struct lane *l, enum which which)
{
	struct batch  *b = &l->batch;
	enum db_result result;

	b->moment++;
	values_begin(&l->rows, 2);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		if (!balance_is_due(p, which))
			continue;
		p->before = p->known ? p->total : -1;
		p->own = p->total = 0;
		p->slots = 0;
		p->own_row = false;
		p->known = true;
		p->read_at = b->moment;
		values_int(&l->rows, p->sku_id);
		values_int(&l->rows, p->location_id);
	}
	if (l->rows.count == 0)
		return DB_OK;
	result = lane_ask(l, STOCK_BALANCE, &(struct fill){.rows = &l->rows, .slot = l->slot}, balance_read, l);
	for (size_t i = 0; i < b->balances_count; i++)
		if (b->balances[i].read_at == b->moment)
			b->balances[i].agreed = b->balances[i].total == b->balances[i].before;
	return result;
}

/* ---- hints */

void balances_learn(struct lane *l)
{
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[i];

		*hint_place(l, p->sku_id, p->location_id) = (struct hint){
			.sku_id = p->sku_id,
			.location_id = p->location_id,
			.known = p->known,
			.own = p->own + p->add - p->take,
			.total = p->total + p->add - p->take,
			.own_row = p->own_row || p->add > 0,
			.slots = p->slots + (!p->own_row && p->add > 0),
		};
	}
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op->writes && op->kind == OP_RELEASE && k < op->found->lines_count; k++) {
			const struct line *line = &op->found->lines[k];
			struct hint       *h = hint_find(l, sku_id(line->sku), line->location->location_id);

			if (h) {
				h->total += line->qty;
				h->own += line->slot == l->slot ? line->qty : 0;
			}
		}
	}
}

void balances_forget(struct lane *l)
{
	for (size_t i = 0; i < l->batch.balances_count; i++)
		hint_place(l, l->batch.balances[i].sku_id, l->batch.balances[i].location_id)->known = false;
}
