/* sku_list.c - see sku_list.h. A page is found in looks: each finds the next skus of the order, reads their totals and
 * details, and applies the filters. */
#include "engine/read/sku_list.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/ids.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"
#include "engine/read/cursor.h"
#include "engine/read/search.h"
#include "engine/read/totals.h"

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
	char                   after[SKU_MAX + 1];                 /* the last code that was looked at .. */
	bool                   exact;                              /* .. and whether it is what a search looks for */
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

	return pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);
}

/* The levels of one sku are a range of those of all. */
static const struct level_row *levels_of(const struct listing *in, uint32_t sku_id, size_t *count)
{
	return mem_range(in->levels, in->levels_count, sizeof(*in->levels), sku_id, count);
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

/* Finds the next skus, `count` at most. */
static enum db_result listing_find(struct db *db, struct listing *in, size_t count)
{
	const struct query *q = in->op->query;
	const struct page  *page = &q->page;

	in->skus_count = 0;
	if (page->text) {
		if (in->skus_max < count)
			in->skus = mem_resize(in->skus, (in->skus_max = count) * sizeof(struct sku *));
		return search_find(db, q->search, page->text, in->after, in->exact, in->skus, count, &in->skus_count);
	}
	return db_ask(db, page->barcode ? SKU_LIST_BARCODE : SKU_LIST,
	              &(struct fill){.after_code = in->after,
	                             .prefix = page->prefix ? page->prefix : "",
	                             .barcode = page->barcode,
	                             .limit = (int64_t)count},
	              listed_read, in);
}

/* Looks at the next skus, `count` at most. */
static enum db_result listing_look(struct db *db, struct listing *in, size_t count)
{
	struct page   *page = &in->op->query->page;
	struct values  ids = {0};
	unsigned       past = catalogue_past(in->catalogue);
	enum db_result result;

	in->levels_count = 0;
	result = listing_find(db, in, count);
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
	if (result == DB_OK && page->text && in->skus_count > 0)
		in->exact = search_exact(in->op->query->search, page->text, in->skus[in->skus_count - 1]);
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
	if (page->text)
		text_format(&filter, "\n\n%s", page->text);
	if (page->prefix || page->location || page->low || page->barcode || page->text)
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

static void listing_fini(struct listing *in)
{
	free(in->skus);
	free(in->levels);
	sku_details_fini(&in->details);
}

/* The list of a cursor that goes on behind a sku: by code, or of a search behind an exact one or another. */
static char list_of(const struct query *q, bool exact)
{
	return !q->page.text ? 's' : exact ? 'e' : 'q';
}

static bool cursor_take(struct listing *in, uint32_t filter)
{
	const struct query *q = in->op->query;
	size_t              len;
	bool                taken;

	in->exact = q->page.text && q->page.cursor[0] == list_of(q, true);
	taken = cursor_read_code(q->page.cursor, list_of(q, in->exact), filter, in->after, SKU_MAX, &len);
	in->after[taken ? len : 0] = '\0';
	return taken;
}

/* Behind the last sku of a full page, or behind the last one that was looked at. */
static void cursor_give(struct listing *in, uint32_t filter, bool more)
{
	struct op    *op = in->op;
	struct query *q = op->query;

	q->page.cursor[0] = '\0';
	if (op->lines_count > q->page.limit) {
		const struct line *last = &op->lines[--op->lines_count - 1];
		bool               exact = q->page.text && search_exact(q->search, q->page.text, last->sku);

		cursor_write_code(q->page.cursor, list_of(q, exact), filter, last->sku_code);
	} else if (more) {
		cursor_write_code(q->page.cursor, list_of(q, in->exact), filter, in->after);
	}
}

/* What a search needs first. False: `result` and the op's outcome say why. */
static bool search_begin(struct db *db, struct op *op, enum db_result *result)
{
	bool large;

	*result = search_read(db, op->query->search, &large);
	if (*result == DB_OK && large)
		op->outcome = SEARCH_TOO_LARGE;
	return *result == DB_OK && !large;
}

enum db_result sku_list_page(struct db *db, struct op *op)
{
	struct query  *q = op->query;
	struct listing in = {.catalogue = past_catalogue(db), .op = op};
	uint32_t       filter = filter_of(&q->page);
	bool           nowhere, more;
	enum db_result result;

	op->lines_count = 0;
	op->outcome = cursor_take(&in, filter) ? OUTCOME_OK : BAD_CURSOR;
	if (op->outcome != OUTCOME_OK)
		return DB_OK;
	result = listing_begin(db, &in, &nowhere);
	if (result != DB_OK || nowhere || (q->page.text && !search_begin(db, op, &result)))
		return result;
	in.totals_max = q->page.limit + 1;
	q->totals = mem_alloc(in.totals_max * sizeof(*q->totals));
	q->totals_of = mem_alloc((q->page.limit + 1) * sizeof(*q->totals_of));
	q->lows_of = mem_alloc((q->page.limit + 1) * sizeof(*q->lows_of));
	result = listing_walk(db, &in, &more);
	listing_fini(&in);
	if (result != DB_OK)
		return result;
	sku_details_sort(&q->details);
	cursor_give(&in, filter, more);
	return DB_OK;
}
