/* event_walk.c - see event_walk.h.
 *
 * A snapshot of InnoDB may show one transaction without another that it has waited for. So the walk looks twice: the
 * first look says which rows are old, and what it has seen was preceded only by what the snapshots of the pages see,
 * too. The walk ends at the first row that the first look did not know. */
#include "engine/log/event_walk.h"
#include "engine/base/memory.h"

#include <stdio.h>

enum { BATCH_ROWS = 256, PAGE_ROWS = 64 * BATCH_ROWS, PAGE_BYTES = 4 << 20 };

struct event_walk *event_walk_new(struct db *db, void (*each)(void *arg, const struct event_walked *row), void *arg)
{
	struct event_walk *w = mem_alloc(sizeof(*w));

	assert(each);
	*w = (struct event_walk){.db = db, .each = each, .arg = arg, .catalogue = catalogue_new()};
	w->start.checks = true;
	return w;
}

static void row_clear(struct event_walk *w)
{
	for (size_t i = 0; i < w->row.count; i++)
		feed_event_free(w->row.events[i]);
	w->row.count = 0;
}

void event_walk_free(struct event_walk *w)
{
	if (!w)
		return;
	row_clear(w);
	free(w->row.events);
	feed_place_fini(&w->start.place);
	feed_place_fini(&w->look);
	values_fini(&w->skus);
	values_fini(&w->locations);
	catalogue_free(w->catalogue);
	free(w);
}

enum db_result event_log_read(struct db *db, struct event_log *log)
{
	*log = (struct event_log){0};
	return db_ask(db, WALK_LOG, NULL, db_ints, log);
}

/* ---- rows */

static void numbers_name(struct event_walk *w)
{
	char name[24];

	for (size_t i = 0; i < w->skus.rows; i++) {
		snprintf(name, sizeof(name), "%lld", (long long)w->skus.list[i].number);
		catalogue_sku_enter(w->catalogue, (uint32_t)w->skus.list[i].number, name, strlen(name));
	}
	for (size_t i = 0; i < w->locations.rows; i++) {
		struct location made = {.location_id = (uint32_t)w->locations.list[i].number};

		snprintf(made.code, sizeof(made.code), "%u", made.location_id);
		catalogue_locations_enter(w->catalogue, catalogue_locations_ask(w->catalogue), 1, &made, 1);
	}
}

static void row_decode(struct event_walk *w, const struct event_row *r)
{
	bool whole;

	do {
		numbers_name(w);
		row_clear(w);
		values_reset(&w->skus);
		values_reset(&w->locations);
		whole = event_decode(w->catalogue, r, NULL, NULL, &w->row.events, &w->row.count, &w->events_max,
		                     &w->skus, &w->locations);
	} while (whole && w->skus.rows + w->locations.rows > 0);
	if (whole)
		return;
	row_clear(w);
	w->row.trouble = "the row cannot be read";
}

/* Whether the look knew the row, which comes next. The walk ends at one that it did not know. */
static bool row_begin(struct event_walk *w, uint32_t writer_id, uint64_t event_no, int64_t stamp)
{
	const struct feed_writer *known = feed_place_find(&w->look, writer_id);

	row_clear(w);
	w->row.writer_id = writer_id;
	w->row.event_no = event_no;
	w->row.stamp = stamp;
	w->row.trouble = NULL;
	if (known && event_no <= known->event_no)
		return true;
	w->passed = stamp;
	return false;
}

/* Names the missing row that has stopped the merge, and goes behind it and those that are missing behind it. */
static bool gap_pass(struct event_walk *w, struct feed_merge *m)
{
	const struct feed_writer *gap = m->result == DB_OK ? feed_merge_gap(m) : NULL;
	struct feed_writer       *to = gap ? feed_place_find(&w->start.place, gap->writer_id) : NULL;
	int64_t                   there = INT64_MAX;

	if (!gap || !row_begin(w, to->writer_id, to->event_no + 1, 0))
		return false;
	w->row.trouble = "the row is missing";
	w->each(w->arg, &w->row);
	m->result = db_ask(w->db, WALK_BEHIND,
	                   &(struct fill){.writer = to->writer_id, .after_id = (int64_t)to->event_no}, db_ints, &there);
	to->event_no = (uint64_t)there <= gap->last ? (uint64_t)there - 1 : gap->last;
	return true;
}

/* Walks over the rows of a page. false: nothing comes behind it. */
static bool rows_walk(struct event_walk *w, struct feed_merge *m)
{
	const struct event_row *r = NULL;
	size_t                  bytes = 0;

	while (m->taken < PAGE_ROWS && bytes < PAGE_BYTES && (r = feed_merge_take(m))) {
		if (!row_begin(w, r->writer_id, r->event_no, r->stamp))
			return false;
		row_decode(w, r);
		w->each(w->arg, &w->row);
		feed_place_pass(&w->start.place, r->writer, r->event_no, r->stamp, 0);
		bytes += r->len;
	}
	return r || gap_pass(w, m);
}

static enum db_result page_walk(struct event_walk *w, bool *more)
{
	struct feed_merge m;
	struct feed_rows  rest = {0};

	*more = false;
	if (feed_merge_begin(&m, w->db, &w->start, &rest, BATCH_ROWS)) {
		feed_place_fini(&w->start.place);
		feed_place_copy(&w->start.place, &m.place);
		w->start.kind = FROM_PLACE;
		*more = rows_walk(w, &m);
	}
	w->overtaken |= m.outcome != OUTCOME_OK;
	feed_merge_end(&m);
	feed_merge_fini(&m, 0);
	feed_rows_fini(&rest);
	return m.result;
}

/* ---- the walk */

static void head_read(void *arg, const struct db_row *row)
{
	feed_place_add(arg, (uint32_t)db_int(row, 0))->event_no = (uint64_t)db_int(row, 1);
}

enum db_result event_walk(struct event_walk *w)
{
	enum db_result result;
	bool           more = true;

	w->passed = INT64_MAX;
	feed_place_fini(&w->look);
	result = db_ask(w->db, FEED_WRITERS, NULL, head_read, &w->look);
	while (result == DB_OK && more)
		result = page_walk(w, &more);
	return result;
}
