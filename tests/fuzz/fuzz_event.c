/* fuzz_event.c - any bytes as a row of the log of events, of any time and writer. What is read, and names nothing
 * unknown, can be told, and its JSON is short enough; written again it reads the same. And any reservation and
 * movement, with states, kinds and times that no version knows: what the writers make of them is read whole, as the
 * nearest time and as unknown, and nothing else of it changes. */
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "input.h"

#include <stdlib.h>
#include <string.h>

enum { SKUS = 8, LINES = 700 };

struct read {
	struct feed_event **events;
	size_t              count, max;
	struct values       skus, locations;
};

static bool row_read(struct read *to, struct catalogue *c, const struct event_row *of, const void *changes, size_t len)
{
	struct event_row row = *of;

	row.changes = changes;
	row.len = len;
	return event_decode(c, &row, NULL, NULL, &to->events, &to->count, &to->max, &to->skus, &to->locations);
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

/* Whether the writers take it for a time of its own. */
static bool is_time(int64_t ms)
{
	return ms == TIME_NONE || (ms >= EVENT_TIME_MAX && ms <= TIME_LAST);
}

/* Whether the writers can say all that the record says. */
static bool is_written(const struct feed_event *e)
{
	const struct reservation *r = e->reservation;

	if (e->cut || (r && !(is_time(r->created_at) && is_time(r->expires_at) && is_time(r->confirmed_at) &&
	                      is_time(r->released_at) && is_time(r->settled_at))))
		return false;
	return e->movement ? is_time(e->movement->created_at) : r || (!e->task_id && !*e->cause);
}

static void event_check(struct catalogue *c, const struct event_row *of, const struct feed_event *e)
{
	struct text row = {0}, json = {0}, again = {0};
	struct read r = {0};
	size_t      lines = e->reservation ? e->reservation->lines_count : e->movement ? e->movement->lines_count : 0;

	event_json(&json, e);
	assert(json.len <= EVENT_SIZE_MAX || e->units_count > EVENT_UNITS_MAX);
	if (is_written(e) && lines <= EVENT_LINES_MAX) {
		event_write(&row, e);
		assert(row_read(&r, c, of, row.data, row.len) && r.count == 1);
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
static void filter_check(struct catalogue *c, const struct event_row *row, const struct read *all)
{
	struct event_filter filter = {0};
	struct read         r = {0};
	size_t              k = 0;

	if (all->count == 0)
		return;
	filter.wanted[all->events[all->count / 2]->type] = true;
	assert(event_decode(c, row, &filter, NULL, &r.events, &r.count, &r.max, &r.skus, &r.locations));
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

/* ---- rows by chance */

struct chance {
	const uint8_t *at, *end;
};

/* The next `bytes` as a number; behind the end there are zeros. */
static uint64_t chance(struct chance *in, size_t bytes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < bytes && in->at < in->end; i++)
		n |= (uint64_t)*in->at++ << 8 * i;
	return n;
}

/* None, one that counts from the row's, one of the database, or any. */
static int64_t chance_time(struct chance *in)
{
	uint64_t n = chance(in, 8), ms = n >> 2;

	switch (n & 3) {
	case 0:
		return TIME_NONE;
	case 1:
		return (int64_t)(ms % EVENT_TIME_MAX);
	case 2:
		return (int64_t)(ms % TIME_LAST);
	default:
		return (int64_t)n;
	}
}

static void chance_code(struct chance *in, char *to, size_t max)
{
	size_t len = chance(in, 2) % (max + 1);

	for (size_t i = 0; i < len; i++)
		to[i] = (char)(chance(in, 1) | 1);
}

/* NULL: none. */
static char *chance_text(struct chance *in, size_t max)
{
	char *text = chance(in, 1) & 1 ? mem_alloc(max + 1) : NULL;

	if (text)
		chance_code(in, text, max);
	return text;
}

static size_t chance_lines(struct chance *in, struct catalogue *c, struct line *lines)
{
	size_t count = chance(in, 2) % (LINES + 1);

	for (size_t i = 0; i < count; i++) {
		lines[i].sku = catalogue_sku_by_id(c, 1 + chance(in, 1) % SKUS);
		lines[i].location = catalogue_location_by_id(c, 1 + chance(in, 1) % SKUS);
		lines[i].qty = lines[i].granted = (int64_t)chance(in, 8);
	}
	return count;
}

static void chance_head(struct chance *in, struct event_head *head, char cause[ID_MAX + 1])
{
	chance_code(in, cause, ID_MAX);
	head->cause = cause;
	head->by = (uint32_t)chance(in, 4);
	head->task_id = chance(in, 8);
}

static void chance_reservation(struct chance *in, struct reservation *r)
{
	r->state = (enum reservation_state)chance(in, 4);
	r->created_at = chance_time(in);
	r->expires_at = chance_time(in);
	r->confirmed_at = chance_time(in);
	r->released_at = chance_time(in);
	r->settled_at = chance_time(in);
	r->key_id = (uint32_t)chance(in, 4);
	r->attempts = (unsigned)chance(in, 4);
	r->last_error = chance_text(in, NOTE_MAX);
	r->reference = chance_text(in, NOTE_MAX);
	r->replaced_by = chance_text(in, ID_MAX);
	chance_code(in, r->order_id, ID_MAX);
}

static void chance_movement(struct chance *in, struct movement *m)
{
	m->kind = (enum movement_kind)chance(in, 4);
	m->created_at = chance_time(in);
	m->reason = chance_text(in, NOTE_MAX);
	m->reference = chance_text(in, NOTE_MAX);
	m->order_id = chance_text(in, ID_MAX);
	chance_code(in, m->movement_id, sizeof(m->movement_id) - 1);
}

/* The time that a reader is told. */
static int64_t told(int64_t ms, const struct event_row *row)
{
	if (ms < 0)
		return EVENT_TIME_MAX;
	return ms < EVENT_TIME_MAX ? row->at + ms : ms < TIME_LAST ? ms : TIME_LAST;
}

static int64_t told_if(int64_t ms, const struct event_row *row)
{
	return ms == TIME_NONE ? ms : told(ms, row);
}

static void head_check(const struct feed_event *e, const struct event_head *head)
{
	assert(e->type == head->type && e->by_key == head->by && e->task_id == head->task_id);
	assert(strcmp(e->cause, head->task_id ? "" : head->cause) == 0);
}

static void lines_check(const struct line *is, size_t is_count, const struct line *lines, size_t count)
{
	assert(is_count == (count > EVENT_LINES_MAX ? EVENT_LINES_MAX : count));
	for (size_t i = 0; i < is_count; i++)
		assert(is[i].sku == lines[i].sku && is[i].location == lines[i].location && is[i].qty == lines[i].qty);
}

/* ---- what the writers make of them */

static void reservation_check(const struct feed_event *e, const struct reservation *r, const struct event_row *row)
{
	const struct reservation *is = e->reservation;

	assert(strcmp(is->order_id, r->order_id) == 0 && is->attempts == r->attempts && e->made_by == r->key_id);
	assert(strcmp(reservation_state_name(is->state), reservation_state_name(r->state)) == 0);
	assert(is->created_at == told(r->created_at, row) && is->expires_at == told(r->expires_at, row));
	assert(is->confirmed_at == told_if(r->confirmed_at, row) && is->released_at == told_if(r->released_at, row));
	assert(is->settled_at == told_if(r->settled_at, row));
	assert(texts_equal(is->last_error, r->last_error) && texts_equal(is->reference, r->reference));
	assert(texts_equal(is->replaced_by, r->replaced_by));
}

static void movement_check(const struct feed_event *e, const struct movement *m, const struct event_row *row)
{
	const struct movement *is = e->movement;

	assert(strcmp(is->movement_id, m->movement_id) == 0 && is->created_at == told(m->created_at, row));
	assert(strcmp(movement_kind_name(is->kind), movement_kind_name(m->kind)) == 0);
	assert(texts_equal(is->reason, m->reason) && texts_equal(is->reference, m->reference));
	assert(texts_equal(is->order_id, m->order_id));
}

static void event_check_all(struct catalogue *c, const struct event_row *of, const struct read *r)
{
	for (size_t i = 0; i < r->count; i++)
		event_check(c, of, r->events[i]);
}

/* A reservation and a movement, both with these lines, as a row of the log. */
static void writers_check(struct catalogue *c, const struct event_row *of, struct chance in)
{
	static struct line lines[LINES];
	char               causes[2][ID_MAX + 1] = {"", ""};
	struct event_head  heads[] = {{.type = EVENT_EXTENDED}, {.type = EVENT_ADJUSTMENT}};
	struct reservation r = {0};
	struct movement    m = {0};
	struct text        row = {0};
	struct read        is = {0};
	size_t             count;

	chance_head(&in, &heads[0], causes[0]);
	chance_reservation(&in, &r);
	chance_head(&in, &heads[1], causes[1]);
	chance_movement(&in, &m);
	count = chance_lines(&in, c, lines);
	event_reservation(&row, &heads[0], &r, lines, count, false);
	event_movement(&row, &heads[1], &m, (uint32_t)count, lines, count);
	assert(row_read(&is, c, of, row.data, row.len) && is.count == 2);
	reservation_check(is.events[0], &r, of);
	lines_check(is.events[0]->reservation->lines, is.events[0]->reservation->lines_count, lines, count);
	movement_check(is.events[1], &m, of);
	lines_check(is.events[1]->movement->lines, is.events[1]->movement->lines_count, lines, count);
	for (size_t i = 0; i < is.count; i++) {
		head_check(is.events[i], &heads[i]);
		assert(is.events[i]->cut == (count > EVENT_LINES_MAX));
	}
	event_check_all(c, of, &is);
	free(r.last_error);
	free(r.reference);
	free(r.replaced_by);
	free(m.reason);
	free(m.reference);
	free(m.order_id);
	read_fini(&is);
	text_fini(&row);
}

static struct catalogue *catalogue_few(void)
{
	struct catalogue *c = catalogue_new();

	for (uint32_t id = 1; id <= SKUS; id++) {
		catalogue_sku_enter(c, id, &"-ABCDEFGH"[id], 1);
		catalogue_locations_enter(
			c, catalogue_locations_ask(c), 1,
			&(struct location){.location_id = id, .kind = LOCATION_STOCK, .code = {"-abcdefgh"[id]}}, 1);
	}
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct catalogue *c;
	struct read              r = {0};
	struct chance            in = {data, data + size};
	struct event_row         row = {.writer_id = (uint32_t)chance(&in, 4),
	                                .stamp = (int64_t)chance(&in, 8),
	                                .at = (int64_t)chance(&in, 8) % TIME_LAST};
	size_t                   heard = 0;
	bool                     good;

	c = c ? c : catalogue_few();
	row.changes = in.at;
	row.len = (size_t)(in.end - in.at);
	good = row_read(&r, c, &row, row.changes, row.len);
	assert(good || row.len == 0 || r.count < row.len);
	assert((event_touches(&row, line_heard, &heard) || !good) && heard <= row.len);
	if (good)
		filter_check(c, &row, &r);
	if (r.skus.rows == 0 && r.locations.rows == 0)
		event_check_all(c, &row, &r);
	read_fini(&r);
	writers_check(c, &row, in);
	return 0;
}
