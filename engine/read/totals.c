/* totals.c - see totals.h. */
#include "engine/read/totals.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/ids.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/past.h"
#include "engine/read/cursor.h"
#include "engine/read/kept.h"
#include "engine/sku_limits.h"

#include <stdlib.h>
#include <string.h>

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

/* Adds the totals of a sku that the catalogue has behind the `used` totals of a query, which has room for *max. Returns
 * their number. */
static size_t totals_append(struct catalogue *c, struct query *q, struct sku *sku, size_t used, size_t *max)
{
	size_t  count = 0;
	int64_t age_ms;

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

/* Reads the totals of these skus into the catalogue, whose numbers are of `past`, and their details. */
static enum db_result totals_read(struct db *db, unsigned past, const struct values *ids, bool detailed,
                                  struct sku_details *details)
{
	struct catalogue    *c = past_catalogue(db);
	struct totals_reader in = {.catalogue = c, .details = details, .detailed = detailed};
	int64_t              read_ms = clock_boot_ms();
	enum db_result       result;

	if (ids->count == 0)
		return DB_OK;
	result = totals_ask(db, ids, &in);
	if (in.lacks && result == DB_OK)
		result = past_locations(db);
	if (in.lacks && result == DB_OK)
		result = totals_ask(db, ids, &in);
	sku_details_sort(details);
	if (result == DB_OK)
		result = stops_learn(db, ids, details);
	if (result == DB_OK && past != catalogue_past(c))
		result = DB_RETRY; /* the catalogue has forgotten the findings: the database is another one */
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

/* The rows of one sku are a range of those that were read, which are sorted. */
static size_t total_rows_of(const struct totals_reader *in, uint32_t sku_id, const struct total_row **first)
{
	size_t from = 0, to = in->count, count = 0;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (in->list[middle].sku_id < sku_id)
			from = middle + 1;
		else
			to = middle;
	}
	*first = in->list + from;
	while (from + count < in->count && in->list[from + count].sku_id == sku_id)
		count++;
	return count;
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
		size_t                  count;

		op->lines[i].sku = catalogue_sku(in->catalogue, op->lines[i].sku_code);
		count = op->lines[i].sku && in->count > 0 ? total_rows_of(in, sku_id(op->lines[i].sku), &rows) : 0;
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
	if (result == DB_OK && ids.count > 0)
		result = totals_ask(db, &ids, &in);
	if (in.lacks && result == DB_OK)
		result = past_locations(db);
	if (in.lacks && result == DB_OK)
		result = totals_ask(db, &ids, &in);
	sku_details_sort(&q->details);
	if (result == DB_OK)
		result = stops_learn(db, &ids, &q->details);
	if (result == DB_OK && past != catalogue_past(c))
		result = DB_RETRY;
	totals_keep(in.list, in.count);
	if (result == DB_OK)
		op->outcome = in.count <= ANSWER_ROWS_MAX && rows_give(&in, op) ? OUTCOME_OK : ANSWER_TOO_LARGE;
	free(in.list);
	text_fini(&places);
	values_fini(&ids);
	return result;
}

/* ---- skus by code */

/* One page looks at so many skus at most, whatever the filters leave of them: the rest is for the next page. */
enum { WALK_MAX = 4000 };
/* So long ago a sku had units where it counts as out. */
#define LATELY_MS (INT64_C(30) * 86400 * 1000)

/* The level of a sku at a location (0: over all). */
struct level_row {
	uint32_t sku_id, location_id;
	int64_t  low;    /* the threshold; below 0: there is none */
	bool     lately; /* units were there within 30 days */
};

struct listing {
	struct catalogue      *catalogue;
	struct op             *op;
	const struct location *location; /* the filter; NULL: any */
	struct sku           **skus;     /* of this look, by code */
	size_t                 skus_count, skus_max;
	struct level_row      *levels; /* of this look, sorted */
	size_t                 levels_count, levels_max;
	struct sku_details     details;                            /* of this look */
	size_t                 totals, totals_max, lows, lows_max; /* of the query */
	char                   after[SKU_MAX + 1];                 /* the last code that was looked at */
};

static void listed_read(void *arg, const struct db_row *row)
{
	struct listing *in = arg;

	in->skus = mem_reach(in->skus, in->skus_count, &in->skus_max, sizeof(struct sku *));
	in->skus[in->skus_count++] =
		catalogue_sku_enter(in->catalogue, (uint32_t)db_int(row, 1), db_word(row, 0), row->len[0]);
}

static void level_add(struct listing *in, struct level_row level)
{
	in->levels = mem_reach(in->levels, in->levels_count, &in->levels_max, sizeof(*in->levels));
	assert(in->levels_count < in->levels_max);
	in->levels[in->levels_count++] = level;
}

static void level_read(void *arg, const struct db_row *row)
{
	level_add(arg, (struct level_row){(uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1),
	                                  row->col[2] ? db_int(row, 2) : -1, db_int(row, 3) != 0});
}

static void moved_read(void *arg, const struct db_row *row)
{
	level_add(arg, (struct level_row){(uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1), -1, db_int(row, 2) != 0});
}

static int level_order(const void *a, const void *b)
{
	const struct level_row *x = a, *y = b;

	if (x->sku_id != y->sku_id)
		return x->sku_id < y->sku_id ? -1 : 1;
	return (x->location_id > y->location_id) - (x->location_id < y->location_id);
}

/* The levels of one sku are a range of those of all. */
static const struct level_row *levels_of(const struct listing *in, uint32_t sku_id, size_t *count)
{
	size_t from = 0, to = in->levels_count;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (in->levels[middle].sku_id < sku_id)
			from = middle + 1;
		else
			to = middle;
	}
	for (*count = 0; from + *count < in->levels_count && in->levels[from + *count].sku_id == sku_id;)
		++*count;
	return *count > 0 ? in->levels + from : NULL;
}

/* NULL: its level has not been looked at yet. */
static const struct level_row *level_at(const struct listing *in, uint32_t sku_id, const struct location *location)
{
	const struct level_row key = {sku_id, location->location_id, 0, false};

	return in->levels_count > 0 ? bsearch(&key, in->levels, in->levels_count, sizeof(key), level_order) : NULL;
}

/* Nothing is left there, and no order has units. */
static bool is_empty(const struct total *t)
{
	return location_sells(t->location) && t->available <= 0 && t->reserved <= 0;
}

/* The level of a sku is looked at a moment after its last unit has left, and never without events. Until then the
 * movements of the place tell whether units were there. */
static enum db_result levels_complete(struct db *db, struct listing *in)
{
	struct query  *q = in->op->query;
	struct values  places = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < in->skus_count; i++) {
		uint32_t id = sku_id(in->skus[i]);
		size_t   count = totals_append(in->catalogue, q, in->skus[i], in->totals, &in->totals_max);

		for (size_t k = 0; k < count; k++) {
			const struct total *t = &q->totals[in->totals + k];

			if (is_empty(t) && !level_at(in, id, t->location))
				values_row(&places, V_INT(id), V_INT(t->location->location_id));
		}
	}
	if (places.count > 0) {
		const struct fill fill = {.rows = &places, .after_id = (int64_t)id_first(clock_wall_ms() - LATELY_MS)};

		result = db_ask(db, MOVED_LATELY, &fill, moved_read, in);
		qsort(in->levels, in->levels_count, sizeof(*in->levels), level_order);
	}
	values_fini(&places);
	return result;
}

static void low_add(struct listing *in, const struct location *at, int64_t low, int64_t available)
{
	struct query *q = in->op->query;

	if (available > low)
		return;
	q->lows = mem_reach(q->lows, in->lows, &in->lows_max, sizeof(*q->lows));
	q->lows[in->lows++] = (struct low){at, low, available};
}

static int low_order(const void *a, const void *b)
{
	const struct low *x = a, *y = b;

	return !x->location || !y->location ? !!x->location - !!y->location
	                                    : strcmp(x->location->code, y->location->code);
}

/* Where a sku with these totals is low or out: at a location that sells, with a threshold, or where it had units
 * lately; also where it never was, if a threshold is there; and over all, if a threshold is. Returns at how many. */
static size_t lows_find(struct listing *in, uint32_t sku_id, const struct total *totals, size_t count)
{
	size_t                  before = in->lows, of;
	const struct level_row *t = levels_of(in, sku_id, &of);
	int64_t                 all = 0;

	for (size_t i = 0; i < count; i++) {
		const struct level_row *level = level_at(in, sku_id, totals[i].location);
		bool                    has_low = level && level->low >= 0;

		if (!location_sells(totals[i].location))
			continue;
		all += totals[i].available;
		if ((!in->location || totals[i].location == in->location) &&
		    (has_low || !is_empty(&totals[i]) || (level && level->lately)))
			low_add(in, totals[i].location, has_low ? level->low : 0, totals[i].available);
	}
	for (size_t k = 0; k < of && !in->location; k++) {
		const struct location *at = catalogue_location_by_id(in->catalogue, t[k].location_id);
		bool                   was = false;

		if (t[k].low < 0)
			continue;
		for (size_t i = 0; i < count; i++)
			was |= totals[i].location == at;
		if (t[k].location_id == 0)
			low_add(in, NULL, t[k].low, all);
		else if (at && !was && location_sells(at))
			low_add(in, at, t[k].low, 0);
	}
	if (in->lows > before)
		qsort(in->op->query->lows + before, in->lows - before, sizeof(struct low), low_order);
	return in->lows - before;
}

/* Makes a line of the op of a sku that the filters leave, unless the page has all that it needs. */
static void sku_list(struct listing *in, struct sku *sku)
{
	struct op    *op = in->op;
	struct query *q = op->query;
	size_t        count, lows = 0, k = op->lines_count;
	bool          stays = !in->location;

	if (op->lines_count > q->page.limit)
		return;
	count = totals_append(in->catalogue, q, sku, in->totals, &in->totals_max);
	for (size_t i = 0; i < count; i++)
		stays |= q->totals[in->totals + i].location == in->location;
	if (stays && q->page.low)
		stays = (lows = lows_find(in, sku_id(sku), q->totals + in->totals, count)) > 0;
	if (!stays)
		return;
	op->lines[k].sku = sku;
	op->lines[k].sku_code = sku_code(sku);
	q->totals_of[k] = count;
	q->lows_of[k] = lows;
	sku_details_copy(&q->details, &in->details, sku_id(sku));
	in->totals += count;
	op->lines_count++;
}

/* Looks at the next skus, `count` at most. */
static enum db_result listing_look(struct db *db, struct listing *in, size_t count)
{
	struct page   *page = &in->op->query->page;
	struct values  ids = {0};
	unsigned       past = catalogue_past(in->catalogue);
	enum db_result result;

	in->skus_count = in->levels_count = 0;
	result = db_ask(db, page->barcode ? SKU_LIST_BARCODE : SKU_LIST,
	                &(struct fill){.after_code = in->after,
	                               .prefix = page->prefix ? page->prefix : "",
	                               .barcode = page->barcode,
	                               .limit = (int64_t)count},
	                listed_read, in);
	for (size_t i = 0; i < in->skus_count; i++)
		values_row(&ids, V_INT(sku_id(in->skus[i])));
	if (result == DB_OK)
		result = totals_read(db, past, &ids, true, &in->details);
	if (result == DB_OK && page->low && ids.count > 0)
		result = db_ask(db, LEVELS_OF_SKUS, &(struct fill){.rows = &ids}, level_read, in);
	if (result == DB_OK && page->low && ids.count > 0)
		result = levels_complete(db, in);
	values_fini(&ids);
	for (size_t i = 0; result == DB_OK && i < in->skus_count; i++) {
		sku_list(in, in->skus[i]);
		strcpy(in->after, sku_code(in->skus[i]));
	}
	return result;
}

/* Until the page and one more are found, the skus end, or the walk is long enough. As many as the page lacks come
 * first, because nearly always all of them belong to it. */
static enum db_result listing_walk(struct db *db, struct listing *in, bool *more)
{
	const struct op *op = in->op;
	size_t           walked = 0, count = op->query->page.limit + 1;
	enum db_result   result = DB_OK;

	*more = true;
	while (result == DB_OK && *more && op->lines_count <= op->query->page.limit && walked < WALK_MAX) {
		count = count < WALK_MAX - walked ? count : WALK_MAX - walked;
		result = listing_look(db, in, count);
		walked += in->skus_count;
		*more = in->skus_count == count;
		count *= 4;
	}
	return result;
}

/* For cursors. 0: none, as cursors of lists without filters ever had it. */
static uint32_t filter_of(const struct page *page)
{
	struct text filter = {0};
	uint32_t    hash = 0;

	text_format(&filter, "%s\n%s\n%d", page->prefix ? page->prefix : "", page->location ? page->location : "",
	            page->low);
	if (page->barcode)
		text_format(&filter, "\n%s", page->barcode);
	if (page->prefix || page->location || page->low || page->barcode)
		hash = hash_stable(filter.data, filter.len);
	text_fini(&filter);
	return hash;
}

/* *nowhere: there is no location of this code. */
static enum db_result listing_begin(struct db *db, struct listing *in, bool *nowhere)
{
	const struct page *page = &in->op->query->page;
	enum db_result     result = DB_OK;

	*nowhere = false;
	if (!page->location)
		return DB_OK;
	if (!catalogue_location(in->catalogue, page->location))
		result = past_locations(db);
	in->location = catalogue_location(in->catalogue, page->location);
	*nowhere = !in->location;
	return result;
}

enum db_result totals_page(struct db *db, struct op *op)
{
	struct catalogue *c = past_catalogue(db);
	struct query     *q = op->query;
	struct listing    in = {.catalogue = c, .op = op};
	uint32_t          filter = filter_of(&q->page);
	size_t            len;
	bool              nowhere, more;
	enum db_result    result;

	op->lines_count = 0;
	op->outcome = cursor_read_code(q->page.cursor, 's', filter, in.after, SKU_MAX, &len) ? OUTCOME_OK : BAD_CURSOR;
	if (op->outcome != OUTCOME_OK)
		return DB_OK;
	in.after[len] = '\0';
	result = listing_begin(db, &in, &nowhere);
	if (result != DB_OK || nowhere)
		return result;
	in.totals_max = q->page.limit + 1;
	q->totals = mem_alloc(in.totals_max * sizeof(*q->totals));
	q->totals_of = mem_alloc((q->page.limit + 1) * sizeof(*q->totals_of));
	q->lows_of = mem_alloc((q->page.limit + 1) * sizeof(*q->lows_of));
	result = listing_walk(db, &in, &more);
	free(in.skus);
	free(in.levels);
	sku_details_fini(&in.details);
	if (result != DB_OK)
		return result;
	sku_details_sort(&q->details);
	q->page.cursor[0] = '\0';
	if (op->lines_count > q->page.limit)
		cursor_write_code(q->page.cursor, 's', filter, op->lines[--op->lines_count - 1].sku_code);
	else if (more)
		cursor_write_code(q->page.cursor, 's', filter, in.after);
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

enum db_result totals_of_customer(struct db *db, struct op *op)
{
	op->outcome = NO_SKU;
	return db_ask(db, CUSTOMER_HAS, &(struct fill){.customer = op->id, .code = op->lines[0].sku_code}, has_read,
	              op);
}
