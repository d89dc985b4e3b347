/* event_walk.c - see event_walk.h.
 *
 * A snapshot of InnoDB may show one transaction without another that it has waited for. So each look is two: the first
 * says which rows are old, and what it has seen was preceded only by what the second one sees too. The merge ends at
 * the first row that the first look did not know. */
#include "engine/log/event_walk.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows of a page grow and shrink between these bytes. */
enum { PAGE_MIN = 1 << 16, PAGE_MAX = 1 << 18, ROWS_MAX = 1000 };

struct page_row {
	uint64_t event_no;
	int64_t  stamp, at;
	size_t   begin, len; /* in the bytes of the page */
};

struct source { /* a writer */
	int64_t          writer_id;
	uint64_t         passed_no;      /* the last row that was walked over */
	uint64_t         old_no, end_no; /* the last row as the first and the second look saw it */
	struct page_row *rows;
	size_t           count, max, next; /* of the page; next: the first that was not walked over */
	struct text      bytes;
	int64_t          limit; /* rows of the next page */
};

struct event_walk {
	struct db          *db;
	struct catalogue   *catalogue; /* names of numbers, made up: only the numbers matter */
	struct source      *sources;
	size_t              count, max;
	bool                second, overtaken;
	int64_t             passed;
	struct event_walked row;
	size_t              events_max;
	struct values       skus, locations;
};

struct event_walk *event_walk_new(struct db *db)
{
	struct event_walk *w = mem_alloc(sizeof(*w));

	w->db = db;
	w->catalogue = catalogue_new();
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
	for (size_t i = 0; i < w->count; i++) {
		free(w->sources[i].rows);
		text_fini(&w->sources[i].bytes);
	}
	free(w->sources);
	free(w->row.events);
	values_fini(&w->skus);
	values_fini(&w->locations);
	catalogue_free(w->catalogue);
	free(w);
}

static void log_read(void *arg, const struct db_row *row)
{
	*(struct event_log *)arg = (struct event_log){db_int(row, 0) != 0, db_int(row, 1), db_int(row, 2)};
}

enum db_result event_log_read(struct db *db, struct event_log *log)
{
	*log = (struct event_log){0};
	return db_ask(db, WALK_LOG, NULL, log_read, log);
}

/* ---- looks */

static struct source *source_find(struct event_walk *w, int64_t writer_id)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->sources[i].writer_id == writer_id)
			return &w->sources[i];
	return NULL;
}

static void head_read(void *arg, const struct db_row *row)
{
	struct event_walk *w = arg;
	struct source     *s = source_find(w, db_int(row, 0));
	uint64_t           end_no = (uint64_t)db_int(row, 1), floor_no = (uint64_t)db_int(row, 2);

	if (!s) {
		w->sources = mem_reach(w->sources, w->count, &w->max, sizeof(*w->sources));
		s = &w->sources[w->count++];
		*s = (struct source){.writer_id = db_int(row, 0), .passed_no = floor_no, .limit = 16};
		s->old_no = w->second ? floor_no : 0;
	}
	w->overtaken |= floor_no > s->passed_no;
	s->end_no = end_no;
	if (!w->second)
		s->old_no = end_no;
}

enum db_result event_walk_look(struct event_walk *w)
{
	enum db_result result;

	w->passed = INT64_MAX;
	w->second = false;
	result = db_ask(w->db, WALK_HEADS, NULL, head_read, w);
	w->second = true;
	return result == DB_OK ? db_ask(w->db, WALK_HEADS, NULL, head_read, w) : result;
}

/* ---- pages */

static void page_read(void *arg, const struct db_row *row)
{
	struct source *s = arg;

	s->rows = mem_reach(s->rows, s->count, &s->max, sizeof(*s->rows));
	s->rows[s->count++] = (struct page_row){(uint64_t)db_int(row, 0), db_int(row, 1), time_parse(row->col[2]),
	                                         s->bytes.len, row->len[3]};
	text_bytes(&s->bytes, row->col[3], row->len[3]);
}

static enum db_result page_fill(struct event_walk *w, struct source *s)
{
	enum db_result result;

	s->count = s->next = 0;
	text_reset(&s->bytes);
	result = db_ask(w->db, WALK_PAGE,
	                 &(struct fill){.writer = s->writer_id,
	                                .after_id = (int64_t)s->passed_no,
	                                .until_id = (int64_t)s->end_no,
	                                .limit = s->limit},
	                 page_read, s);
	if (s->bytes.len < PAGE_MIN && s->limit < ROWS_MAX)
		s->limit *= 2;
	else if (s->bytes.len > PAGE_MAX && s->limit > 1)
		s->limit /= 2;
	return result;
}

static void floor_read(void *arg, const struct db_row *row)
{
	struct event_walk *w = arg;
	struct source     *s = source_find(w, db_int(row, 0));

	w->overtaken |= s && (uint64_t)db_int(row, 2) > s->passed_no;
}

/* The source's next row is there, or the source is at its end; *missing: the row behind passed_no is neither there nor
 * was it removed. */
static enum db_result source_ready(struct event_walk *w, struct source *s, bool *missing)
{
	enum db_result result = DB_OK;

	*missing = false;
	if (s->next == s->count && s->passed_no < s->end_no)
		result = page_fill(w, s);
	if (result != DB_OK || s->passed_no >= s->end_no)
		return result;
	if (s->next < s->count && s->rows[s->next].event_no == s->passed_no + 1)
		return DB_OK;
	*missing = true;
	return db_ask(w->db, WALK_HEADS, NULL, floor_read, w);
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
		snprintf(name, sizeof(name), "%lld", (long long)w->locations.list[i].number);
		catalogue_location_enter(w->catalogue, (uint32_t)w->locations.list[i].number, name, strlen(name));
	}
}

static bool row_decode(struct event_walk *w, const struct source *s)
{
	const struct page_row *page = &s->rows[s->next];
	const struct event_row row = {(uint32_t)s->writer_id,      page->event_no, page->stamp, page->at,
	                              s->bytes.data + page->begin, page->len};
	bool                   whole;

	do {
		numbers_name(w);
		row_clear(w);
		values_reset(&w->skus);
		values_reset(&w->locations);
		whole = event_decode(w->catalogue, &row, NULL, &w->row.events, &w->row.count, &w->events_max, &w->skus,
		                     &w->locations);
	} while (whole && w->skus.rows + w->locations.rows > 0);
	return whole;
}

/* The source whose next row is the first by (stamp, writer); a missing row comes at once. */
static enum db_result source_next(struct event_walk *w, struct source **first, bool *missing)
{
	enum db_result result;

	*first = NULL;
	for (size_t i = 0; i < w->count; i++) {
		struct source *s = &w->sources[i];

		result = source_ready(w, s, missing);
		if (result != DB_OK || w->overtaken)
			return result;
		if (*missing) {
			*first = s;
			return DB_OK;
		}
		if (s->next < s->count && (!*first || s->rows[s->next].stamp < (*first)->rows[(*first)->next].stamp ||
		                           (s->rows[s->next].stamp == (*first)->rows[(*first)->next].stamp &&
		                            s->writer_id < (*first)->writer_id)))
			*first = s;
	}
	return DB_OK;
}

enum db_result event_walk_next(struct event_walk *w, const struct event_walked **row)
{
	struct source *s;
	bool           missing = false;
	enum db_result result = source_next(w, &s, &missing);

	*row = NULL;
	if (result != DB_OK || w->overtaken || !s)
		return result;
	if (s->passed_no >= s->old_no) {
		w->passed = missing ? 0 : s->rows[s->next].stamp;
		return DB_OK;
	}
	row_clear(w);
	w->row.writer_id = (uint32_t)s->writer_id;
	w->row.event_no = s->passed_no + 1;
	w->row.trouble = NULL;
	if (missing) {
		w->row.trouble = "the row is missing";
		s->passed_no = s->next < s->count ? s->rows[s->next].event_no - 1 : s->end_no;
	} else {
		w->row.stamp = s->rows[s->next].stamp;
		if (!row_decode(w, s)) {
			row_clear(w);
			w->row.trouble = "the row cannot be read";
		}
		s->passed_no++;
		s->next++;
	}
	*row = &w->row;
	return DB_OK;
}

int64_t event_walk_passed(const struct event_walk *w)
{
	return w->passed;
}

bool event_walk_overtaken(const struct event_walk *w)
{
	return w->overtaken;
}
