/* fuzz_event.c - any bytes as a row of the log of events, of any time. What is read, and names nothing unknown, can be
 * told, and its JSON is short enough; written again it reads the same. */
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "input.h"

#include <stdlib.h>
#include <string.h>

struct read {
	struct feed_event **events;
	size_t              count, max;
	struct values       skus, locations;
};

static int64_t row_at; /* the time of the row, ms */

/* The bytes of the row decide on its time as well: today, at an edge, or any. */
static int64_t at_of(const uint8_t *data, size_t size)
{
	static const int64_t times[] = {INT64_C(1795000000123), INT64_C(1795000000123), 0, -1, EVENT_TIME_MAX - 1,
	                                EVENT_TIME_MAX, TIME_NONE, INT64_MIN, INT64_MAX};
	uint64_t             h = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 1099511628211u;
	return h % 12 < LENGTH(times) ? times[h % 12] : (int64_t)(h >> h % 64);
}

static bool row_read(struct read *to, struct catalogue *c, const void *changes, size_t len)
{
	const struct event_row row = {.writer_id = 7, .stamp = 1, .at = row_at, .changes = changes, .len = len};

	return event_decode(c, &row, NULL, &to->events, &to->count, &to->max, &to->skus, &to->locations);
}

static void read_fini(struct read *r)
{
	for (size_t i = 0; i < r->count; i++)
		feed_event_free(r->events[i]);
	free(r->events);
	values_fini(&r->skus);
	values_fini(&r->locations);
}

static void event_write(struct text *to, const struct feed_event *e)
{
	const struct event_head   head = {e->type, e->by_key, e->cause, e->task_id};
	const struct reservation *r = e->reservation;
	const struct movement    *m = e->movement;
	const struct event_level *level = &e->level;
	struct event_units       *units = mem_alloc((e->units_count + 1) * sizeof(*units));

	for (size_t i = 0; i < e->units_count; i++)
		units[i] = (struct event_units){sku_id(e->units[i].sku), e->units[i].available, e->units[i].reserved,
		                                e->units[i].on_hand};
	if (r)
		event_reservation(to, &head, r, r->lines, r->lines_count, false);
	else if (m)
		event_movement(to, &head, m, e->made_by, m->lines, m->lines_count);
	else if (level->sku)
		event_level(to, e->type, sku_id(level->sku), level->location ? level->location->location_id : 0,
		            level->available, level->low);
	else
		event_stock(to, units, e->units_count);
	free(units);
}

/* Whether the writers can say all that the record says. */
static bool is_written(const struct feed_event *e)
{
	return !e->cut && (e->reservation || e->movement || (!e->task_id && !*e->cause));
}

static void event_check(struct catalogue *c, const struct feed_event *e)
{
	struct text row = {0}, json = {0}, again = {0};
	struct read r = {0};
	size_t      lines = e->reservation ? e->reservation->lines_count : e->movement ? e->movement->lines_count : 0;

	event_json(&json, e);
	assert(json.len <= EVENT_SIZE_MAX || e->units_count > EVENT_UNITS_MAX);
	if (is_written(e) && lines <= EVENT_LINES_MAX) {
		event_write(&row, e);
		assert(row_read(&r, c, row.data, row.len) && r.count == 1);
		r.events[0]->place = e->place;
		event_json(&again, r.events[0]);
		assert(strcmp(json.data, again.data) == 0);
	}
	read_fini(&r);
	text_fini(&row);
	text_fini(&json);
	text_fini(&again);
}

/* A reader of one type gets what the others of that type are, in the same places. */
static void filter_check(struct catalogue *c, const struct read *all, const uint8_t *data, size_t size)
{
	const struct event_row row = {.writer_id = 7, .stamp = 1, .at = row_at, .changes = data, .len = size};
	struct event_filter    filter = {0};
	struct read            r = {0};
	size_t                 k = 0;

	if (all->count == 0)
		return;
	filter.wanted[all->events[all->count / 2]->type] = true;
	assert(event_decode(c, &row, &filter, &r.events, &r.count, &r.max, &r.skus, &r.locations));
	for (size_t i = 0; i < all->count; i++)
		if (event_is_wanted(&filter, all->events[i]->type)) {
			assert(k < r.count && r.events[k]->place == all->events[i]->place);
			k++;
		}
	assert(k == r.count);
	read_fini(&r);
}

static void line_heard(void *arg, const struct event_touch *t)
{
	*(size_t *)arg += t->sku_id ? 1 : t->id_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct catalogue *c;
	struct read              r = {0};
	struct event_row         row = {.changes = data, .len = size};
	size_t                   heard = 0;
	bool                     good;

	if (!c) {
		c = catalogue_new();
		for (uint32_t id = 1; id < 9; id++) {
			catalogue_sku_enter(c, id, &"-ABCDEFGH"[id], 1);
			catalogue_location_enter(c, id, &"-abcdefgh"[id], 1);
		}
	}
	row_at = at_of(data, size);
	good = row_read(&r, c, data, size);
	assert(good || size == 0 || r.count < size);
	assert((event_touches(&row, line_heard, &heard) || !good) && heard <= size);
	if (good)
		filter_check(c, &r, data, size);
	if (r.skus.rows == 0 && r.locations.rows == 0)
		for (size_t i = 0; i < r.count; i++)
			event_check(c, r.events[i]);
	read_fini(&r);
	return 0;
}
