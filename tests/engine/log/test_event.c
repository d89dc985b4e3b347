/* test_event.c - rows of the log of events: what was written is what is read; damaged bytes; which types there are. No
 * database. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "tests/kit/events.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The times of a reservation in a row that is written: from the row's own, or of their own. */
static int64_t told(int64_t ms)
{
	return ms == TIME_NONE ? ms : ms < EVENT_TIME_MAX ? AT + ms : ms;
}

/* ---- what was written is what is read */

static void reservation_compare(const struct feed_event *e, const struct reservation *r)
{
	const struct reservation *found = e->reservation;

	cr_assert(found && !e->movement && !e->level.sku && !e->units);
	cr_expect_str_eq(found->order_id, r->order_id);
	cr_expect(found->state == r->state && found->attempts == r->attempts && found->key_id == r->key_id);
	cr_expect(e->made_by == r->key_id);
	cr_expect(found->created_at == told(r->created_at) && found->expires_at == told(r->expires_at));
	cr_expect(found->confirmed_at == told(r->confirmed_at) && found->released_at == told(r->released_at));
	cr_expect(found->settled_at == told(r->settled_at));
	cr_expect(same(found->last_error, r->last_error) && same(found->reference, r->reference));
	cr_expect(same(found->replaced_by, r->replaced_by) && !found->by);
	cr_expect(r->waits_since > 0 ? found->waits_since == told(r->waits_since) : found->waits_since <= 0);
	if (reservation_on_hold(r) && reservation_is_live(r->state))
		cr_expect(found->hold_until == told(r->hold_until) && same(found->hold_reason, r->hold_reason));
	else
		cr_expect(!reservation_on_hold(found) && !found->hold_reason);
}

static void head_compare(const struct feed_event *e, const struct event_head *head, uint32_t place)
{
	cr_expect(e->type == head->type && e->by_key == head->by && e->task_id == head->task_id);
	cr_expect(same(e->cause, head->cause && !head->task_id ? head->cause : ""));
	cr_expect(e->writer_id == 7 && e->event_no == 42 && e->stamp == 0x1a2b3c && e->at == AT && e->place == place);
	cr_expect(!e->by && !e->made_by_name);
}

static void line_compare(const struct line *found, const struct line *line, int64_t units)
{
	cr_expect(found->sku == line->sku && found->location == line->location);
	cr_expect(found->qty == units && found->granted == units);
	cr_expect_str_eq(found->sku_code, sku_code(line->sku));
	cr_expect_str_eq(found->location_code, line->location->code);
}

Test(event, reservation_with_any_members)
{
	struct events     log = events_new();
	const struct line lines[] = {events_line(&log, 1, 300, 1, 0), events_line(&log, 300, 2, 1000000000, 64),
	                             events_line(&log, 2, 1, 5, 5)};

	for (unsigned has = 0; has < 1 << BITS; has++) {
		const struct reservation r = reservation_of(has);
		const struct event_head  head = {.type = EVENT_HELD + has % 10,
		                                 .by = has % 4 * 1000,
		                                 .cause = has % 7 == 1   ? "reacquired"
		                                          : has % 7 == 2 ? "a"
		                                          : has % 7 == 3 ? ""
		                                                         : NULL,
		                                 .task_id = has % 7 == 4 ? (UINT64_C(1) << 63) - 1 : 0};

		events_reset(&log);
		event_reservation(&log.row, &head, &r, lines, 3, true);
		event_reservation(&log.row, &head, &r, lines, 3, false);
		event_reservation(&log.row, &head, &r, lines, 0, false);
		cr_assert(events_read(&log));
		cr_assert_eq(log.count, 3);
		for (uint32_t i = 0; i < 3; i++) {
			head_compare(log.events[i], &head, i);
			reservation_compare(log.events[i], &r);
			cr_expect(!log.events[i]->cut);
		}
		cr_assert(log.events[0]->reservation->lines_count == 2, "a line of 0 units is none");
		line_compare(&log.events[0]->reservation->lines[0], &lines[1], 64);
		line_compare(&log.events[0]->reservation->lines[1], &lines[2], 5);
		cr_assert(log.events[1]->reservation->lines_count == 3);
		line_compare(&log.events[1]->reservation->lines[0], &lines[0], 1);
		line_compare(&log.events[1]->reservation->lines[1], &lines[1], 1000000000);
		cr_assert(log.events[2]->reservation->lines_count == 0);
	}
	events_free(&log);
}

Test(event, movement_with_any_members)
{
	struct events     log = events_new();
	const struct line lines[] = {events_line(&log, 1, 1, 9, -QTY_MAX), events_line(&log, 2, 300, 9, 0),
	                             events_line(&log, 300, 2, 9, QTY_MAX)};

	for (unsigned has = 0; has < 8; has++)
		for (enum movement_kind kind = RECEIPT; kind < KINDS; kind++) {
			struct movement         m = {.movement_id = "M1", .kind = kind};
			const struct event_head head = {
				.type = EVENT_RECEIPT + kind - RECEIPT, .by = has, .cause = "R9"};
			const struct movement *found;

			m.created_at = has ? AT - 1 : 0;
			m.reason = has & 2 ? "moth \xc3\xa9" : NULL;
			m.reference = has & 4 ? "PO 1" : NULL;
			events_reset(&log);
			event_movement(&log.row, &head, &m, has & 1 ? 77 : 0, lines, 3);
			cr_assert(events_read(&log) && log.count == 1);
			head_compare(log.events[0], &head, 0);
			found = log.events[0]->movement;
			cr_assert(found && !log.events[0]->reservation);
			cr_expect_str_eq(found->movement_id, "M1");
			cr_expect(found->kind == kind && found->created_at == told(m.created_at));
			cr_expect(same(found->reason, m.reason) && same(found->reference, m.reference) && !found->by);
			cr_expect(log.events[0]->made_by == (has & 1 ? 77 : 0) && !log.events[0]->cut);
			cr_assert_eq(found->lines_count, 3);
			for (size_t i = 0; i < 3; i++)
				line_compare(&found->lines[i], &lines[i], lines[i].granted);
		}
	events_free(&log);
}

Test(event, levels_and_units)
{
	struct events             log = events_new();
	const int64_t             numbers[] = {0, 1, 63, 64, 8191, 8192, QTY_MAX, INT64_MAX};
	const struct event_units  units[] = {{1, 5, 2, 7}, {300, 0, QTY_MAX, QTY_MAX}};
	const struct feed_event  *e;
	const struct event_level *level;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		events_reset(&log);
		event_level(&log.row, EVENT_LOW, 300, i % 2 ? 2 : 0, numbers[i], i % 3 ? numbers[i] : -1);
		cr_assert(events_read(&log) && log.count == 1);
		level = &log.events[0]->level;
		cr_expect(log.events[0]->type == EVENT_LOW && !log.events[0]->by_key);
		cr_expect(level->sku == catalogue_sku_by_id(log.catalogue, 300));
		cr_expect(level->location == (i % 2 ? catalogue_location_by_id(log.catalogue, 2) : NULL));
		cr_expect(level->available == numbers[i] && level->low == (i % 3 ? numbers[i] : -1));
		cr_expect(log.locations.rows == 0, "no location is none that the catalogue lacks");
	}
	events_reset(&log);
	event_stock(&log.row, units, 2);
	event_stock(&log.row, units, 0);
	cr_assert(events_read(&log) && log.count == 2);
	e = log.events[0];
	cr_assert(e->type == EVENT_STOCK && e->units_count == 2 && log.events[1]->units_count == 0);
	for (size_t i = 0; i < 2; i++)
		cr_expect(sku_id(e->units[i].sku) == units[i].sku_id && e->units[i].available == units[i].available &&
		          e->units[i].reserved == units[i].reserved && e->units[i].on_hand == units[i].on_hand);
	events_free(&log);
}

Test(event, more_lines_than_an_event_has_room_for_are_left_out)
{
	struct events            log = events_new();
	const struct reservation r = reservation_of(0);
	const struct movement    m = {.movement_id = "M1", .kind = RECEIPT};
	struct line             *lines = mem_alloc((2 * EVENT_LINES_MAX + 2) * sizeof(*lines));

	for (size_t i = 0; i < 2 * EVENT_LINES_MAX + 2; i++) /* every other one was not granted */
		lines[i] = events_line(&log, 1, 1, (int64_t)i + 1, i % 2 ? (int64_t)i + 1 : 0);
	for (size_t count = EVENT_LINES_MAX; count <= EVENT_LINES_MAX + 1; count++) {
		events_reset(&log);
		event_reservation(&log.row, &(struct event_head){.type = EVENT_HELD}, &r, lines, count, false);
		event_reservation(&log.row, &(struct event_head){.type = EVENT_HELD}, &r, lines, 2 * count, true);
		event_movement(&log.row, &(struct event_head){.type = EVENT_RECEIPT}, &m, 0, lines, count);
		event_level(&log.row, EVENT_OUT, 1, 1, 0, -1);
		cr_assert(events_read(&log) && log.count == 4, "what follows is read, too");
		for (size_t i = 0; i < 3; i++) {
			const struct feed_event *e = log.events[i];

			cr_expect(e->cut == (count > EVENT_LINES_MAX));
			cr_expect_eq(i < 2 ? e->reservation->lines_count : e->movement->lines_count, EVENT_LINES_MAX);
		}
		cr_expect_eq(log.events[0]->reservation->lines[EVENT_LINES_MAX - 1].qty, EVENT_LINES_MAX);
		cr_expect_eq(log.events[1]->reservation->lines[EVENT_LINES_MAX - 1].qty, 2 * EVENT_LINES_MAX);
	}
	free(lines);
	events_free(&log);
}

/* ---- what the catalogue lacks */

static bool list_is(const struct values *list, const char *numbers)
{
	struct text found = {0};
	bool        is;

	text_add(&found, "");
	values_write(list, &found, false);
	is = strcmp(found.data, numbers) == 0;
	text_fini(&found);
	return is;
}

Test(event, numbers_that_the_catalogue_lacks)
{
	struct events             log = events_new();
	struct events             other = events_new(); /* knows more */
	const struct reservation  r = reservation_of(0);
	const struct event_units  units[] = {{1, 0, 0, 0}, {900, 0, 0, 0}};
	struct line               line;
	const struct event_head   head = {.type = EVENT_HELD};
	const struct feed_event **events;

	events_codes(other.catalogue, 500, "E");
	events_codes(other.catalogue, 600, "F");
	line = events_line(&other, 500, 600, 1, 1);
	event_reservation(&log.row, &head, &r, &line, 1, true);
	event_level(&log.row, EVENT_OUT, 700, 800, 0, 1);
	event_stock(&log.row, units, 2);
	cr_assert(events_read(&log) && log.count == 3);
	cr_expect(list_is(&log.skus, "500,700,900"));
	cr_expect(list_is(&log.locations, "600,800"));

	for (size_t i = 0; i < log.count; i++)
		feed_event_free(log.events[i]);
	log.count = 0;
	values_reset(&log.skus);
	values_reset(&log.locations);
	events_codes(log.catalogue, 500, "E");
	events_codes(log.catalogue, 600, "F");
	events_codes(log.catalogue, 700, "G");
	events_codes(log.catalogue, 800, "H");
	events_codes(log.catalogue, 900, "I");
	cr_assert(events_read(&log) && log.skus.rows == 0 && log.locations.rows == 0);
	events = (const struct feed_event **)log.events;
	cr_expect_str_eq(events[0]->reservation->lines[0].sku_code, "E");
	cr_expect_str_eq(events[0]->reservation->lines[0].location_code, "F");
	cr_expect_str_eq(sku_code(events[1]->level.sku), "G");
	cr_expect_str_eq(events[1]->level.location->code, "H");
	cr_expect_str_eq(sku_code(events[2]->units[1].sku), "I");
	events_free(&log);
	events_free(&other);
}

/* ---- damaged bytes */

/* A row of every kind of record; ends[i]: where record i ends. */
enum { RECORDS = 5 };
static void rows_write(struct events *log, size_t ends[RECORDS])
{
	const struct reservation r = reservation_of((1 << BITS) - 1), plain = reservation_of(0);
	const struct movement    m = {.movement_id = "M1", .kind = SETTLEMENT, .reason = "a", .reference = "b"};
	const struct line        lines[] = {events_line(log, 1, 300, 2, 1), events_line(log, 300, 2, 200, 64)};
	const struct event_units units[] = {{1, 5, 2, 7}, {300, 200, 100, 300}};

	event_reservation(&log->row, &(struct event_head){EVENT_SPLIT, 400, "R2", 0}, &r, lines, 2, true);
	ends[0] = log->row.len;
	event_reservation(&log->row, &(struct event_head){EVENT_SETTLED, 0, NULL, 300}, &plain, lines, 2, false);
	ends[1] = log->row.len;
	event_movement(&log->row, &(struct event_head){EVENT_SETTLEMENT, 1, NULL, 1}, &m, 400, lines, 2);
	ends[2] = log->row.len;
	event_level(&log->row, EVENT_LOW, 300, 2, 200, 300);
	ends[3] = log->row.len;
	event_stock(&log->row, units, 2);
	ends[4] = log->row.len;
}

/* A reader of one type gets the records of it, with their places, and asks for no name that stands in others. */
Test(event, what_is_not_wanted_is_passed_over)
{
	static const struct {
		const char *types;
		unsigned    places; /* bits */
	} lists[] = {
		{"reservation.split", 1},
		{"reservation.settled", 2},
		{"movement.settlement", 4},
		{"stock.low", 8},
		{"stock.changed", 16},
		{"reservation.held", 0},
		{"reservation.split,stock.changed", 17},
	};
	struct events       log = events_new();
	struct event_filter filter;
	size_t              ends[RECORDS];

	rows_write(&log, ends);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct event_row row = {.at = AT, .changes = log.row.data, .len = log.row.len};
		struct catalogue      *empty = catalogue_new();
		unsigned               places = 0;

		cr_assert(event_filter_read(lists[i].types, &filter));
		cr_expect(event_decode(empty, &row, &filter, NULL, &log.events, &log.count, &log.max, &log.skus,
		                       &log.locations));
		for (size_t k = 0; k < log.count; k++) {
			places |= 1U << log.events[k]->place;
			cr_expect(strstr(lists[i].types, event_trait(log.events[k]->type)->word));
			feed_event_free(log.events[k]);
		}
		cr_expect_eq(places, lists[i].places, "%s: %x", lists[i].types, places);
		cr_expect_eq(log.skus.rows > 0, places > 0, "%s", lists[i].types);
		log.count = 0;
		values_reset(&log.skus);
		values_reset(&log.locations);
		catalogue_free(empty);
	}
	events_free(&log);
}

Test(event, rows_cut_short)
{
	struct events log = events_new();
	size_t        ends[RECORDS], whole = 0;
	struct text   row;

	rows_write(&log, ends);
	row = log.row;
	log.row = (struct text){0};
	for (size_t len = 0; len <= row.len; len++) {
		char *bytes = mem_alloc(len ? len : 1); /* memory that ends there */
		bool  between = len == 1 || (whole < RECORDS && len == ends[whole]);

		memcpy(bytes, row.data, len);
		events_reset(&log);
		cr_expect_eq(events_read_bytes(&log, bytes, len), between, "of %zu bytes", len);
		whole += between && len > 1;
		cr_expect_eq(log.count, whole, "of %zu bytes %zu records", len, log.count);
		free(bytes);
	}
	cr_expect_eq(whole, RECORDS);
	text_fini(&row);
	events_free(&log);
}

/* One byte is another; what is read all the same can be told, unless a number is unknown. */
Test(event, rows_with_a_wrong_byte)
{
	struct events log = events_new();
	size_t        ends[RECORDS], refused = 0;
	char          old;

	rows_write(&log, ends);
	for (size_t i = 0; i < log.row.len; i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			struct text row = log.row;

			old = row.data[i];
			row.data[i] = (char)byte;
			refused += !events_read(&log);
			if (log.skus.rows == 0 && log.locations.rows == 0)
				for (size_t k = 0; k < log.count; k++)
					cr_assert_leq(strlen(json_of(&log, log.events[k])), EVENT_SIZE_MAX);
			row.data[i] = old;
			log.row = (struct text){0};
			events_reset(&log);
			log.row = row;
		}
	cr_expect_gt(refused, log.row.len);
	events_free(&log);
}

Test(event, any_bytes)
{
	struct events log = events_new();
	unsigned char bytes[64];
	size_t        good = 0;

	srandom(25);
	for (size_t i = 0; i < 200000; i++) {
		size_t len = (size_t)random() % sizeof(bytes);

		for (size_t k = 0; k < len; k++)
			bytes[k] = (unsigned char)(random() % 4 ? random() % 8 : random());
		bytes[0] = 1;
		good += events_read_bytes(&log, bytes, len);
		events_reset(&log);
	}
	cr_expect(good > 0 && good < 100000, "%zu are good", good);
	events_free(&log);
}

/* Whether the row that was written is refused. Empties it. */
static bool refused(struct events *log)
{
	bool good = events_read(log);
	bool asks = log->skus.rows > 0 || log->locations.rows > 0;

	events_reset(log);
	return !good && !asks;
}

static bool reservation_refused(struct events *log, const struct reservation *r)
{
	event_reservation(&log->row, &(struct event_head){.type = EVENT_HELD}, r, NULL, 0, false);
	return refused(log);
}

/* States and kinds of a later version, or damaged: no bit of them is taken for another member. */
Test(event, what_no_version_knows_is_unknown)
{
	static const unsigned unknown[] = {0, 7, 8, 9, 99, 128, 255, 256, 1U << 30, UINT_MAX};
	struct events         log = events_new();

	for (size_t i = 0; i < LENGTH(unknown); i++) {
		struct reservation r = reservation_of(0);
		struct movement    m = {.movement_id = "M1",
		                        .kind = (enum movement_kind)(unknown[i] ? unknown[i] + 1 : 0)};

		r.state = (enum reservation_state)unknown[i];
		events_reset(&log);
		event_reservation(&log.row, &(struct event_head){.type = EVENT_HELD}, &r, NULL, 0, false);
		event_movement(&log.row, &(struct event_head){.type = EVENT_RECEIPT}, &m, 0, NULL, 0);
		cr_assert(events_read(&log) && log.count == 2, "%u", unknown[i]);
		cr_expect_str_eq(reservation_state_name(log.events[0]->reservation->state), "unknown");
		cr_expect_str_eq(movement_kind_name(log.events[1]->movement->kind), "unknown");
		r.state = log.events[0]->reservation->state;
		reservation_compare(log.events[0], &r);
	}
	events_free(&log);
}

Test(event, a_time_behind_all_is_the_last)
{
	static const int64_t late[] = {TIME_LAST, TIME_LAST + 1, INT64_MAX >> 1, INT64_MAX};
	struct events        log = events_new();

	for (size_t i = 0; i < LENGTH(late); i++) {
		struct reservation r = reservation_of(0);

		r.expires_at = r.settled_at = late[i];
		events_reset(&log);
		event_reservation(&log.row, &(struct event_head){.type = EVENT_HELD}, &r, NULL, 0, false);
		cr_assert(events_read(&log) && log.count == 1);
		r.expires_at = r.settled_at = TIME_LAST;
		reservation_compare(log.events[0], &r);
	}
	events_free(&log);
}

Test(event, values_that_no_column_can_hold)
{
	struct events              log = events_new();
	const struct reservation   good = reservation_of(0);
	struct reservation         r;
	char                       longer[502] = "";
	const struct location      nowhere = {0};
	struct line                line = events_line(&log, 1, 1, 1, 1);
	static const unsigned char endless[] = {1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1};
	static const unsigned char large[] = {1, 65, 0, 0, 0x81, 0x80, 0x80, 0x80, 0x10, 0, 0, 0}; /* sku 2^32 + 1 */
	static const char *const   words[] = {"", "\1", "\2", "\1\1", "\1\xb", "\1\x3f", "\1\x44", "\1\x7f"};
	const enum event_type      none[] = {0, EVENT_REPLACED + 1, EVENT_RECEIPT - 1, EVENT_TYPES};

	cr_expect(!reservation_refused(&log, &good));
	memset(longer, 'x', 500);
	r = good, r.last_error = r.reference = longer;
	cr_expect(!reservation_refused(&log, &r));
	longer[500] = 'x';
	r = good, r.last_error = longer;
	cr_expect(reservation_refused(&log, &r));
	r = good, r.reference = longer;
	cr_expect(reservation_refused(&log, &r));
	longer[ID_MAX + 1] = '\0';
	r = good, r.replaced_by = longer;
	cr_expect(reservation_refused(&log, &r));
	line.location = &nowhere;
	event_reservation(&log.row, &(struct event_head){.type = EVENT_HELD}, &good, &line, 1, false);
	cr_expect(refused(&log), "location 0");
	event_level(&log.row, EVENT_OUT, 0, 1, 0, 0);
	cr_expect(refused(&log), "sku 0");
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		event_level(&log.row, none[i], 1, 1, 0, 0);
		cr_expect(refused(&log), "type %d", (int)none[i]);
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i], "\1") == 0)
			continue; /* a row without records */
		text_add(&log.row, words[i]);
		cr_expect(refused(&log), "bytes %zu", i);
	}
	text_bytes(&log.row, endless, sizeof(endless));
	cr_expect(refused(&log));
	text_bytes(&log.row, large, sizeof(large));
	cr_expect(refused(&log));
	events_free(&log);
}

/* ---- which types */

/* A row of the largest transaction has its records; one of nothing but short records ends where they grow too many. */
Test(event, records_are_bounded)
{
	struct events log = events_new();

	for (size_t i = 0; i < 20000; i++)
		event_stock(&log.row, NULL, 0);
	cr_expect(events_read(&log) && log.count == 20000);
	for (size_t i = 0; i < log.count; i++)
		feed_event_free(log.events[i]);
	log.count = 0;
	event_stock(&log.row, NULL, 0);
	cr_expect(!events_read(&log) && log.count == 20000);
	events_free(&log);
}

Test(event, types)
{
	const struct event_filter all = {.all = true};

	for (unsigned t = 0; t < EVENT_TYPES + 2; t++) {
		const char *name = event_trait((enum event_type)t)->word;

		cr_expect_eq(!name, event_trait((enum event_type)t)->about == NOTHING);
		cr_expect(!name || !*name || event_type_find(name, strlen(name)) == (enum event_type)t);
		cr_expect_eq(event_is_wanted(&all, (enum event_type)t), name && *name);
	}
	cr_expect(event_type_find("", 0) == 0 && event_type_find("reservation", 11) == 0);
}

Test(event, filter)
{
	static const struct {
		const char *list;
		bool        good, held, out;
	} cases[] = {
		{NULL, true, true, true},
		{"", true, true, true},
		{"reservation.held", true, true, false},
		{"stock.out,movement.count", true, false, true},
		{"stock.out,reservation.held,stock.out", true, true, true},
		{"movement.count", true, false, false},
		{",", false, false, false},
		{"stock.out,", false, false, false},
		{",stock.out", false, false, false},
		{"stock.out,,stock.low", false, false, false},
		{"stock.out, stock.low", false, false, false},
		{"stock", false, false, false},
		{"stock.*", false, false, false},
		{"STOCK.OUT", false, false, false},
		{"stock.outstock.outstock.outstock.outstock.outstock.outstock.outstock.out", false, false, false},
	};
	struct event_filter filter;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect_eq(event_filter_read(cases[i].list, &filter), cases[i].good, "%s", cases[i].list);
		if (!cases[i].good)
			continue;
		cr_expect_eq(event_is_wanted(&filter, EVENT_HELD), cases[i].held, "%s", cases[i].list);
		cr_expect_eq(event_is_wanted(&filter, EVENT_OUT), cases[i].out, "%s", cases[i].list);
	}
}
