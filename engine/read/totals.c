/* totals.c - see totals.h. */
#include "engine/read/totals.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/catalogue/past.h"
#include "engine/read/kept.h"
#include "engine/catalogue/sku_limits.h"

/* ---- totals */

struct totals_reader {
	struct catalogue   *catalogue;
	struct sku_details *details;  /* .. */
	bool                detailed; /* .. all of them; false: stops alone */
	bool                by_place; /* of STOCK_TOTALS_THERE: .. */
	const char         *places;   /* .. the numbers of the locations; NULL: all */
	struct total_row   *list;
	size_t              count, max;
	bool lacks; /* a row names a location that the catalogue lacks, or of which it knows something else */
};

static void total_read(void *arg, const struct db_row *row)
{
	struct totals_reader  *in = arg;
	const struct location *location;
	struct total_row      *to;

	if (!row->col[1]) {
		sku_details_read(in->details, row);
		return;
	}
	location = catalogue_location_by_id(in->catalogue, (uint32_t)db_int(row, 1));
	in->lacks |= !location || location_says(location) != db_int(row, 4) ||
	             location->expected_at != time_parse(row->col[5]);
	if (!location)
		return;
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	to = &in->list[in->count++];
	*to = (struct total_row){(uint32_t)db_int(row, 0),
	                         location->location_id,
	                         (uint32_t)db_int(row, 6),
	                         {location, qty_read(row, 2), qty_read(row, 3)}};
}

/* Puts totals into the catalogue sku by sku, whatever the order of the rows. */
static void totals_put(struct totals_reader *in, int64_t read_ms)
{
	struct total *totals;
	size_t        count = 0;

	if (in->count == 0)
		return;
	totals = mem_alloc(in->count * sizeof(*totals));
	totals_keep(in->list, in->count);
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

enum db_result skus_find(struct db *db, struct op **ops, size_t count)
{
	struct catalogue *c = past_catalogue(db);
	struct values     codes = {0};
	enum db_result    result = DB_OK;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ops[i]->lines_count; k++)
			if (!catalogue_sku(c, ops[i]->lines[k].sku_code))
				values_row(&codes, V_TEXT(ops[i]->lines[k].sku_code));
	if (codes.count > 0)
		result = db_ask(db, SKU_FIND, &(struct fill){.rows = &codes}, sku_row_read, c);
	values_fini(&codes);
	return result;
}

size_t totals_append(struct catalogue *c, struct query *q, struct sku *sku, size_t used, size_t *max)
{
	size_t  count = 0;
	int64_t age_ms;

	assert(used <= *max);
	while (sku && !(catalogue_totals_get(c, sku, INT64_MAX, q->totals + used, *max - used, &count, &age_ms) &&
	                count <= *max - used)) {
		*max = *max * 2 + count;
		q->totals = mem_resize(q->totals, *max * sizeof(*q->totals));
	}
	return count;
}

/* Takes the totals of one operation's skus from the catalogue, into which they were just read. */
static void totals_give(struct catalogue *c, struct op *op, const struct sku_details *details)
{
	size_t used = 0, max = op->lines_count;

	op->query->totals = mem_alloc(max * sizeof(*op->query->totals));
	op->query->totals_of = mem_alloc(op->lines_count * sizeof(*op->query->totals_of));
	for (size_t k = 0; k < op->lines_count; k++) {
		op->lines[k].sku = catalogue_sku(c, op->lines[k].sku_code);
		op->query->totals_of[k] =
			totals_append(c, op->query, catalogue_sku(c, op->lines[k].sku_code), used, &max);
		used += op->query->totals_of[k];
		if (op->query->page.detailed && op->lines[k].sku)
			sku_details_copy(&op->query->details, details, sku_id(op->lines[k].sku));
	}
	op->outcome = OUTCOME_OK;
}

static enum db_result totals_ask(struct db *db, const struct values *ids, struct totals_reader *in)
{
	in->count = 0;
	sku_details_reset(in->details);
	return db_ask(db,
	              in->by_place   ? STOCK_TOTALS_THERE
	              : in->detailed ? STOCK_TOTALS_DETAILED
	                             : STOCK_TOTALS_TOLD,
	              &(struct fill){.rows = ids, .places = in->places, .limit = ANSWER_ROWS_MAX + 1}, total_read, in);
}

/* Memory learns at once of stops that a read has seen, and of those that have ended: answers tell what memory knows. */
static enum db_result stops_learn(struct db *db, const struct values *ids, const struct sku_details *details)
{
	struct catalogue *c = past_catalogue(db);
	bool              differs = false;

	if (details->count == 0 && !(catalogue_limits_any(c) & ANY_STOP))
		return DB_OK;
	for (size_t i = 0; i < ids->count; i++) {
		uint32_t id = (uint32_t)ids->list[i].number;

		differs |= sku_details_stopped(details, id) != sku_stopped(catalogue_sku_by_id(c, id));
	}
	return differs ? sku_limits_read(db) : DB_OK;
}

/* Reads the totals; once more, where the catalogue lacked a location. DB_RETRY: the catalogue has forgotten the
 * findings, because the database is another one. */
static enum db_result totals_look(struct db *db, unsigned past, const struct values *ids, struct totals_reader *in)
{
	enum db_result result = ids->count > 0 ? totals_ask(db, ids, in) : DB_OK;

	if (in->lacks && result == DB_OK)
		result = past_locations(db);
	if (in->lacks && result == DB_OK)
		result = totals_ask(db, ids, in);
	sku_details_sort(in->details);
	if (result == DB_OK)
		result = stops_learn(db, ids, in->details);
	return result == DB_OK && past != catalogue_past(in->catalogue) ? DB_RETRY : result;
}

enum db_result totals_read(struct db *db, unsigned past, const struct values *ids, bool detailed,
                           struct sku_details *details)
{
	struct totals_reader in = {.catalogue = past_catalogue(db), .details = details, .detailed = detailed};
	int64_t              read_ms = clock_boot_ms();
	enum db_result       result;

	if (ids->count == 0)
		return DB_OK;
	result = totals_look(db, past, ids, &in);
	if (result == DB_OK)
		totals_put(&in, read_ms);
	free(in.list);
	return result;
}

enum db_result totals_answer(struct db *db, struct op **ops, size_t count)
{
	struct catalogue  *c = past_catalogue(db);
	struct values      ids = {0};
	struct sku_details details = {0};
	bool               detailed = false;
	unsigned           past = catalogue_past(c);
	enum db_result     result = skus_find(db, ops, count);

	for (size_t i = 0; i < count; i++)
		detailed |= ops[i]->query->page.detailed;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ops[i]->lines_count; k++) {
			struct sku *sku = catalogue_sku(c, ops[i]->lines[k].sku_code);

			if (sku)
				values_row(&ids, V_INT(sku_id(sku)));
		}
	if (result == DB_OK)
		result = totals_read(db, past, &ids, detailed, &details);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		totals_give(c, ops[i], &details);
	sku_details_fini(&details);
	values_fini(&ids);
	return result;
}

/* ---- many skus, by place */

/* The numbers of the op's places, with commas. Locations that do not exist are left out; *any: some exist. */
static enum db_result places_find(struct db *db, const struct page *page, struct text *places, bool *any)
{
	struct catalogue *c = past_catalogue(db);
	enum db_result    result = DB_OK;

	*any = page->places_count == 0;
	for (size_t i = 0; i < page->places_count; i++) {
		const struct location *at = catalogue_location(c, page->places[i]);

		if (!at && result == DB_OK)
			result = past_locations(db);
		at = catalogue_location(c, page->places[i]);
		if (!at)
			continue;
		text_format(places, "%s%u", *any ? "," : "", at->location_id);
		*any = true;
	}
	return result;
}

static bool page_names(const struct page *page, const struct location *location)
{
	bool named = page->places_count == 0;

	for (size_t i = 0; !named && i < page->places_count; i++)
		named = strcmp(page->places[i], location->code) == 0;
	return named;
}

/* Gives each line of the op its rows. False: these are too many. */
static bool rows_give(struct totals_reader *in, struct op *op)
{
	struct query *q = op->query;
	size_t        used = 0, max = in->count + 1;

	q->totals = mem_alloc(max * sizeof(*q->totals));
	q->totals_of = mem_alloc(op->lines_count * sizeof(*q->totals_of));
	for (size_t i = 0; i < op->lines_count; i++) {
		const struct total_row *rows = NULL;
		size_t                  count = 0;

		op->lines[i].sku = catalogue_sku(in->catalogue, op->lines[i].sku_code);
		if (op->lines[i].sku)
			rows = mem_range(in->list, in->count, sizeof(*rows), sku_id(op->lines[i].sku), &count);
		if (used + count > ANSWER_ROWS_MAX)
			return false;
		while (used + count > max)
			q->totals = mem_resize(q->totals, (max *= 2) * sizeof(*q->totals));
		for (size_t k = 0; k < count; k++)
			if (page_names(&q->page, rows[k].total.location)) {
				q->totals[used++] = rows[k].total;
				q->totals_of[i]++;
			}
	}
	return true;
}

enum db_result totals_by_place(struct db *db, struct op *op)
{
	struct catalogue    *c = past_catalogue(db);
	struct query        *q = op->query;
	struct totals_reader in = {.catalogue = c, .details = &q->details, .by_place = true};
	struct values        ids = {0};
	struct text          places = {0};
	unsigned             past = catalogue_past(c);
	bool                 any = true;
	enum db_result       result = skus_find(db, &op, 1);

	q->page.detailed = true;
	for (size_t i = 0; i < op->lines_count; i++) {
		struct sku *sku = catalogue_sku(c, op->lines[i].sku_code);

		if (sku)
			values_row(&ids, V_INT(sku_id(sku)));
	}
	if (result == DB_OK)
		result = places_find(db, &q->page, &places, &any);
	in.places = any ? places.data : "";
	if (result == DB_OK)
		result = totals_look(db, past, &ids, &in);
	totals_keep(in.list, in.count);
	if (result == DB_OK)
		op->outcome = in.count <= ANSWER_ROWS_MAX && rows_give(&in, op) ? OUTCOME_OK : ANSWER_TOO_LARGE;
	free(in.list);
	text_fini(&places);
	values_fini(&ids);
	return result;
}

/* ---- of a customer */

static void has_read(void *arg, const struct db_row *row)
{
	struct op *op = arg;

	op->has.per_customer = db_int(row, 0);
	op->has.units = qty_read(row, 1);
	op->outcome = OUTCOME_OK;
}

enum db_result totals_of_customer(struct db *db, struct op *op)
{
	op->outcome = NO_SKU;
	return db_ask(db, CUSTOMER_HAS, &(struct fill){.customer = op->id, .code = op->lines[0].sku_code}, has_read,
	              op);
}
