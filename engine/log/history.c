/* history.c - see history.h. */
#include "engine/log/history.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/log/feed.h"
#include "engine/catalogue/past.h"

/* A row of the log, copied. */
struct row {
	struct event_row is;
	char            *changes; /* owned; NULL: the row is not there */
};

static void row_read(void *arg, const struct db_row *row)
{
	struct row *to = arg;

	if (to->changes)
		return;
	to->is.stamp = db_int(row, 2);
	to->is.at = time_parse(row->col[3]);
	to->is.len = row->len[4];
	to->changes = mem_alloc(to->is.len + 1);
	if (row->col[4])
		memcpy(to->changes, row->col[4], to->is.len);
	to->is.changes = to->changes;
}

struct last {
	bool     found;
	uint64_t link;
};

static void last_read(void *arg, const struct db_row *row)
{
	*(struct last *)arg = (struct last){true, (uint64_t)db_int(row, 0)};
}

static void sku_read(void *arg, const struct db_row *row)
{
	catalogue_sku_enter(arg, (uint32_t)db_int(row, 0), db_word(row, 1), row->len[1]);
}

/* Drops the records behind the first `kept`. */
static void events_drop(struct history *h, size_t kept)
{
	assert(kept <= h->count);
	while (h->count > kept)
		feed_event_free(h->events[--h->count]);
}

/* Adds the order's records of a row. The function reads names that the catalogue lacks, and decodes the row again. A
 * record that still lacks a name is damaged. */
static enum db_result row_decode(struct db *db, struct history *h, const struct event_row *row)
{
	struct catalogue *c = past_catalogue(db);
	struct values     skus = {0}, locations = {0};
	size_t            kept = h->count;
	bool whole = event_decode(c, row, NULL, h->order_id, &h->events, &h->count, &h->max, &skus, &locations);
	bool lacks = skus.count + locations.count > 0;
	enum db_result result = DB_OK;

	if (skus.count > 0)
		result = db_ask(db, SKU_NAMES, &(struct fill){.rows = &skus}, sku_read, c);
	if (result == DB_OK && locations.count > 0)
		result = past_locations(db);
	if (lacks) {
		events_drop(h, kept);
		values_reset(&skus);
		values_reset(&locations);
		whole = event_decode(c, row, NULL, h->order_id, &h->events, &h->count, &h->max, &skus, &locations);
	}
	for (size_t i = kept; i < h->count; i++)
		whole &= !h->events[i]->nameless;
	if (!whole) {
		feed_damaged(row->writer_id, row->event_no);
		events_drop(h, kept);
	}
	values_fini(&skus);
	values_fini(&locations);
	return result;
}

/* The records of a row come in the order in which they happened. */
static void records_turn(struct history *h, size_t from)
{
	for (size_t i = from, k = h->count; i + 1 < k; i++) {
		struct feed_event *e = h->events[i];

		h->events[i] = h->events[--k];
		h->events[k] = e;
	}
}

/* Takes the records of one row that have room, the newest first, and goes on to the row before. */
static enum db_result row_take(struct db *db, struct history *h, size_t limit)
{
	struct row  row = {.is = {.writer_id = event_link_writer(h->at.link), .event_no = event_link_no(h->at.link)}};
	struct fill fill = {.writer = row.is.writer_id, .from_id = (int64_t)row.is.event_no};
	size_t      from = h->count, kept = h->count;
	uint64_t    before = 0;
	enum db_result result;

	result = db_ask(db, HISTORY_ROW, &fill, row_read, &row);
	if (result == DB_OK && row.changes)
		result = row_decode(db, h, &row.is);
	free(row.changes);
	if (result != DB_OK)
		return result;
	for (size_t i = from; i < h->count; i++)
		if (h->events[i]->reservation->last_event && !before)
			before = h->events[i]->reservation->last_event;
	records_turn(h, from);
	for (size_t i = from; i < h->count; i++) {
		struct feed_event *e = h->events[i];

		if (e->place < h->at.place)
			h->events[kept++] = e;
		else
			feed_event_free(e);
	}
	h->count = kept;
	if (h->count > limit) {
		h->at.place = h->events[limit - 1]->place;
		events_drop(h, limit);
	} else {
		/* rows of one order have different stamps, so only damage leads back to the same row */
		h->at = (struct history_place){before == h->at.link ? 0 : before, UINT32_MAX};
	}
	return DB_OK;
}

static void key_read(void *arg, const struct db_row *row)
{
	struct history *h = arg;
	uint32_t        key_id = (uint32_t)db_int(row, 0);

	for (size_t i = 0; i < h->count; i++) {
		struct feed_event *e = h->events[i];

		if (e->by_key == key_id && !e->by)
			e->by = mem_copy(db_word(row, 1));
		if (e->made_by == key_id && !e->made_by_name)
			e->made_by_name = mem_copy(db_word(row, 1));
	}
}

static enum db_result keys_read(struct db *db, struct history *h)
{
	struct values  ids = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < h->count; i++) {
		if (h->events[i]->by_key)
			values_row(&ids, V_INT(h->events[i]->by_key));
		if (h->events[i]->made_by)
			values_row(&ids, V_INT(h->events[i]->made_by));
	}
	if (ids.count > 0)
		result = db_ask(db, KEY_NAMES, &(struct fill){.rows = &ids}, key_read, h);
	values_fini(&ids);
	return result;
}

/* A row that is no longer there, or has nothing of the order, is the end. */
enum db_result history_read(struct db *db, struct history *h, size_t limit, enum outcome *outcome)
{
	enum { ROWS_MAX = 2 * HISTORY_LIMIT_MAX }; /* a damaged log may lead in circles */
	struct values  id = {0};
	struct last    last = {0};
	enum db_result result;

	assert(limit > 0 && limit <= HISTORY_LIMIT_MAX);
	events_drop(h, 0);
	values_row(&id, V_TEXT(h->order_id));
	result = db_ask(db, HISTORY_LAST, &(struct fill){.rows = &id}, last_read, &last);
	values_fini(&id);
	*outcome = last.found ? OUTCOME_OK : NO_ORDER;
	if (!h->begun)
		h->at = (struct history_place){last.link, UINT32_MAX};
	for (size_t rows = 0; result == DB_OK && last.found && h->at.link && h->count < limit && rows < ROWS_MAX;
	     rows++)
		result = row_take(db, h, limit);
	return result == DB_OK ? keys_read(db, h) : result;
}

void history_fini(struct history *h)
{
	events_drop(h, 0);
	free(h->events);
	h->events = NULL;
}
