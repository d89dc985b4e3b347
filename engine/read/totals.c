/* totals.c - see totals.h. */
#include "engine/read/totals.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/past.h"
#include "engine/read/cursor.h"

#include <stdlib.h>
#include <string.h>

/* ---- totals */

struct total_row {
	uint32_t     sku_id;
	struct total total;
};

struct totals_reader {
	struct catalogue *catalogue;
	struct total_row *list;
	size_t            count, max;
	bool lacks; /* a row names a location that the catalogue lacks, or of which it knows something else */
};

static void total_read(void *arg, const struct db_row *row)
{
	struct totals_reader  *in = arg;
	const struct location *location = catalogue_location_by_id(in->catalogue, (uint32_t)db_int(row, 1));

	in->lacks |= !location || location_kind(location) != (enum location_kind)db_int(row, 4) ||
	             location->expected_at != time_parse(row->col[5]);
	if (!location)
		return;
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	in->list[in->count++] =
		(struct total_row){(uint32_t)db_int(row, 0), {location, qty_read(row, 2), qty_read(row, 3)}};
}

static int total_order(const void *a, const void *b)
{
	const struct total_row *x = a, *y = b;

	return (x->sku_id > y->sku_id) - (x->sku_id < y->sku_id);
}

/* Puts totals into the catalogue sku by sku, whatever the order of the rows. */
static void totals_put(struct totals_reader *in, int64_t read_ms)
{
	struct total *totals;
	size_t        count = 0;

	if (in->count == 0)
		return;
	totals = mem_alloc(in->count * sizeof(*totals));
	qsort(in->list, in->count, sizeof(in->list[0]), total_order);
	for (size_t i = 0; i < in->count; i++) {
		uint32_t    id = in->list[i].sku_id;
		struct sku *sku;

		totals[count++] = in->list[i].total;
		if (i + 1 < in->count && in->list[i + 1].sku_id == id)
			continue;
		sku = catalogue_sku_by_id(in->catalogue, id); /* NULL: forgotten meanwhile, as all is */
		if (sku)
			catalogue_totals_put(in->catalogue, sku, read_ms, totals, count);
		count = 0;
	}
	free(totals);
}

static void code_read(void *arg, const struct db_row *row)
{
	catalogue_sku_enter(arg, (uint32_t)db_int(row, 1), row->col[0], row->len[0]);
}

enum db_result skus_find(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct values  codes = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ops[i]->lines_count; k++)
			if (!catalogue_sku(c, ops[i]->lines[k].sku_code))
				values_row(&codes, V_TEXT(ops[i]->lines[k].sku_code));
	if (codes.count > 0)
		result = db_ask(db, SKU_FIND, &(struct fill){.rows = &codes}, code_read, c);
	values_fini(&codes);
	return result;
}

/* Takes the totals of one operation's skus from the catalogue, into which they were just read. */
static void totals_give(struct catalogue *c, struct op *op)
{
	size_t used = 0, max = op->lines_count;

	op->query->totals = mem_alloc(max * sizeof(*op->query->totals));
	op->query->totals_of = mem_alloc(op->lines_count * sizeof(*op->query->totals_of));
	for (size_t k = 0; k < op->lines_count; k++) {
		struct line *line = &op->lines[k];
		struct sku  *sku = catalogue_sku(c, line->sku_code);
		size_t       count = 0;
		int64_t      age_ms;

		line->sku = sku;
		while (sku && !(catalogue_totals_get(c, sku, INT64_MAX, op->query->totals + used, max - used, &count,
		                                     &age_ms) &&
		                count <= max - used)) {
			max = max * 2 + count;
			op->query->totals = mem_resize(op->query->totals, max * sizeof(*op->query->totals));
		}
		op->query->totals_of[k] = count;
		used += count;
	}
	op->outcome = OUTCOME_OK;
}

/* Reads the totals of these skus into the catalogue, whose numbers are of `past`. */
static enum db_result totals_read(struct db *db, struct catalogue *c, unsigned past, const struct values *ids)
{
	struct totals_reader in = {.catalogue = c};
	int64_t              read_ms = clock_boot_ms();
	enum db_result       result;

	if (ids->count == 0)
		return DB_OK;
	result = db_ask(db, STOCK_TOTALS, &(struct fill){.rows = ids}, total_read, &in);
	if (in.lacks && result == DB_OK)
		result = past_locations(db, c);
	if (in.lacks && result == DB_OK) {
		in.count = 0;
		result = db_ask(db, STOCK_TOTALS, &(struct fill){.rows = ids}, total_read, &in);
	}
	if (result == DB_OK && past != catalogue_past(c))
		result = DB_RETRY; /* the catalogue has forgotten the findings: the database is another one */
	if (result == DB_OK)
		totals_put(&in, read_ms);
	free(in.list);
	return result;
}

enum db_result totals_answer(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct values  ids = {0};
	unsigned       past = catalogue_past(c);
	enum db_result result = skus_find(db, c, ops, count);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ops[i]->lines_count; k++) {
			struct sku *sku = catalogue_sku(c, ops[i]->lines[k].sku_code);

			if (sku)
				values_row(&ids, V_INT(sku_id(sku)));
		}
	if (result == DB_OK)
		result = totals_read(db, c, past, &ids);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		totals_give(c, ops[i]);
	values_fini(&ids);
	return result;
}

/* ---- skus by code */

struct page_reader {
	struct catalogue *catalogue;
	struct op        *op;
	struct values    *ids;
};

/* A line of the op for every sku of the page, the one beyond it too. */
static void listed_read(void *arg, const struct db_row *row)
{
	struct page_reader *in = arg;
	struct op          *op = in->op;

	op->lines[op->lines_count++].sku =
		catalogue_sku_enter(in->catalogue, (uint32_t)db_int(row, 1), row->col[0], row->len[0]);
	values_row(in->ids, V_INT(db_int(row, 1)));
}

enum db_result totals_page(struct db *db, struct catalogue *c, struct op *op)
{
	struct values      ids = {0};
	struct page_reader in = {c, op, &ids};
	char               code[SKU_MAX + 1];
	size_t             len;
	unsigned           past = catalogue_past(c);
	enum db_result     result;

	if (!cursor_read_code(op->query->page.cursor, code, &len)) {
		op->outcome = BAD_CURSOR;
		return DB_OK;
	}
	code[len] = '\0';
	op->lines_count = 0;
	result = db_ask(db, SKU_LIST, &(struct fill){.after_code = code, .limit = op->query->page.limit + 1},
	                listed_read, &in);
	if (result == DB_OK)
		result = totals_read(db, c, past, &ids);
	values_fini(&ids);
	if (result != DB_OK)
		return result;
	op->query->page.cursor[0] = '\0';
	if (op->lines_count > op->query->page.limit) {
		op->lines_count = op->query->page.limit;
		cursor_write_code(op->query->page.cursor, sku_code(op->lines[op->lines_count - 1].sku));
	}
	for (size_t i = 0; i < op->lines_count; i++)
		op->lines[i].sku_code = sku_code(op->lines[i].sku);
	totals_give(c, op);
	return DB_OK;
}

/* ---- of a customer */

static void has_read(void *arg, const struct db_row *row)
{
	struct op *op = arg;

	op->has.per_customer = db_int(row, 0);
	op->has.units = qty_read(row, 1);
	op->outcome = OUTCOME_OK;
}

enum db_result totals_of_customer(struct db *db, struct catalogue *c, struct op *op)
{
	(void)c;
	op->outcome = NO_SKU;
	return db_ask(db, CUSTOMER_HAS, &(struct fill){.customer = op->id, .code = op->lines[0].sku_code}, has_read,
	              op);
}
