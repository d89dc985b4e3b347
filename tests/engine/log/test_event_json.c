/* test_event_json.c - the JSON of events, which never gets too long. No database. */
#include "engine/base/json.h"
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "tests/kit/events.h"

#include <criterion/criterion.h>
#include <string.h>

static size_t times(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

/* The event's JSON with ' for ", as the tables have it. */
static const char *quoted_of(struct events *log, const struct feed_event *e)
{
	json_of(log, e);
	for (char *at = log->json.data; *at; at++)
		*at = *at == '"' ? '\'' : *at;
	return log->json.data;
}

Test(event_json, json_of_each_kind)
{
	struct events            log = events_new();
	struct reservation       r = reservation_of((1 << BITS) - 1), plain = reservation_of(1 << BITS);
	const struct movement    m = {.movement_id = "M 1", .kind = STOCKTAKE, .reason = "moth", .reference = "PO"};
	const struct line        lines[] = {events_line(&log, 1, 300, 2, -1), events_line(&log, 2, 1, 3, 0)};
	const struct event_units units[] = {{1, 5, 2, 7}, {2, 0, 1, 1}};
	static const char *const json[] = {
		"{'id':'7-1a2b3c-0','type':'reservation.split','at':'2026-11-18T11:06:40.123Z','by':'shop','data':{"
		"'order_id':'R 1','state':'released','lines':[{'sku':'A','location':'C','qty':2},"
		"{'sku':'B','location':'A','qty':3}],'created_at':'2026-11-18T11:06:40.123Z',"
		"'expires_at':'2026-11-18T11:21:40.123Z','attempts':130,'version':1715004,'confirmed_at':'2026-11-"
		"18T11:06:40.123Z',"
		"'released_at':'2026-11-18T11:06:40.118Z','settled_at':'2026-11-18T11:06:40.250Z',"
		"'last_error':'away \\'\\u0001','reference':'','replaced_by':'R2','by':'web','cause':'R2'}}",

		"{'id':'7-1a2b3c-1','type':'reservation.extended','at':'2026-11-18T11:06:40.123Z','data':{"
		"'order_id':'R 1','state':'held','lines':[],'created_at':'2026-11-17T11:06:40.123Z',"
		"'expires_at':'2026-11-18T11:06:40.124Z','attempts':0,'version':1715004,'cause':300}}",

		"{'id':'7-1a2b3c-2','type':'movement.count','at':'2026-11-18T11:06:40.123Z','data':{"
		"'movement_id':'M 1','kind':'count','created_at':'2026-11-18T11:06:40.123Z','reason':'moth',"
		"'reference':'PO','by':'till','lines':[{'sku':'A','location':'C','qty':-1},"
		"{'sku':'B','location':'A','qty':0}]}}",

		"{'id':'7-1a2b3c-3','type':'stock.low','at':'2026-11-18T11:06:40.123Z','data':{"
		"'sku':'A','location':'B','available':3,'low':5}}",

		"{'id':'7-1a2b3c-4','type':'stock.out','at':'2026-11-18T11:06:40.123Z','data':{"
		"'sku':'A','available':0}}",

		"{'id':'7-1a2b3c-5','type':'stock.back','at':'2026-11-18T11:06:40.123Z','data':{"
		"'sku':'A','available':1,'low':0}}",

		"{'id':'7-1a2b3c-6','type':'stock.changed','at':'2026-11-18T11:06:40.123Z','data':{'items':["
		"{'sku':'A','available':5,'reserved':2,'on_hand':7},"
		"{'sku':'B','available':0,'reserved':1,'on_hand':1}]}}",
	};
	enum { COUNT = sizeof(json) / sizeof(*json) };

	plain.state = HELD; /* reads so, although its time is up by now */
	event_reservation(&log.row, &(struct event_head){EVENT_SPLIT, 4, "R2", 0}, &r, lines, 2, false);
	event_reservation(&log.row, &(struct event_head){EVENT_EXTENDED, 0, NULL, 300}, &plain, lines, 0, false);
	event_movement(&log.row, &(struct event_head){.type = EVENT_STOCKTAKE}, &m, 5, lines, 2);
	event_level(&log.row, EVENT_LOW, 1, 2, 3, 5);
	event_level(&log.row, EVENT_OUT, 1, 0, 0, -1);
	event_level(&log.row, EVENT_BACK, 1, 0, 1, 0);
	event_stock(&log.row, units, 2);
	cr_assert(events_read(&log) && log.count == COUNT);
	log.events[0]->by = mem_copy("shop");
	log.events[0]->made_by_name = mem_copy("web");
	log.events[2]->made_by_name = mem_copy("till");
	for (size_t i = 0; i < COUNT; i++)
		cr_expect_str_eq(quoted_of(&log, log.events[i]), json[i]);
	text_reset(&log.json);
	event_json(&log.json, log.events[4]);
	event_json(&log.json, log.events[4]);
	cr_expect_eq(times(log.json.data, "\"type\":\"stock.out\""), 2, "an event is appended");
	events_free(&log);
}

Test(event_json, longest_id)
{
	const struct feed_event e = {.writer_id = UINT32_MAX, .stamp = INT64_MAX, .place = UINT32_MAX};
	char                    id[EVENT_ID_SIZE];

	event_id(id, &e);
	cr_expect_str_eq(id, "4294967295-7fffffffffffffff-4294967295");
}

/* The event is JSON of EVENT_SIZE_MAX bytes at most. Lines are equal: `count` of them, of `size` bytes with a comma. As
 * many are told as fit. */
static void cut_check(struct events *log, const struct feed_event *e, size_t count, size_t size)
{
	const char       *json = json_of(log, e);
	size_t            len = log->json.len, lines = times(json, "\"qty\":");
	bool              cut = strstr(json, ",\"lines_cut\":true}}");
	struct json_fault fault;
	struct json_doc  *doc = json_parse(json, len, &fault);

	cr_assert(doc, "%s: %s", fault.field, fault.detail);
	json_free(doc);
	cr_expect(len <= EVENT_SIZE_MAX && len == strlen(json), "%zu bytes", len);
	cr_expect_eq(cut, lines < count);
	cr_expect(!cut || len + size > EVENT_SIZE_MAX, "%zu bytes with %zu lines of %zu", len, lines, size);
	cr_expect(!cut || e->cut || len - strlen(",\"lines_cut\":true") + (count - lines) * size > EVENT_SIZE_MAX,
	          "all lines fit");
}

/* Events around the greatest size, byte by byte: lines that are just too many, with longer and longer references. */
Test(event_json, lines_are_left_out_until_it_fits)
{
	struct events log = events_new();
	struct line   lines[EVENT_LINES_MAX];
	char          reference[501] = "";
	size_t        cut = 0;

	for (size_t i = 0; i < EVENT_LINES_MAX; i++)
		lines[i] = events_line(&log, LONG, LONG, 1, 1);
	for (size_t len = 0; len < 500; len++) {
		struct reservation r = reservation_of(0);
		struct movement    m = {.movement_id = "M1", .kind = RECEIPT, .reference = reference};

		reference[len] = 'x';
		r.reference = reference;
		events_reset(&log);
		event_reservation(&log.row, &(struct event_head){.type = EVENT_HELD}, &r, lines, 87, false);
		event_movement(&log.row, &(struct event_head){.type = EVENT_RECEIPT}, &m, 0, lines, 87);
		cr_assert(events_read(&log));
		for (size_t i = 0; i < 2; i++) {
			cut_check(&log, log.events[i], 87, strlen(",{\"sku\":\"\",\"location\":\"\",\"qty\":1}") + 192);
			cut += times(log.json.data, "lines_cut");
		}
	}
	cr_expect(cut > 100 && cut < 900, "%zu of 1,000 are cut", cut);
	events_free(&log);
}

/* A thousand lines and texts that escapes make six times as long: no other member is lost. */
Test(event_json, the_longest_of_all)
{
	struct events      log = events_new();
	static struct line lines[1000];
	char               escapes[501] = "", id[ID_MAX + 1] = "", moved[ID_MAX + 33] = "";
	struct reservation r = reservation_of((1 << BITS) - 1);
	struct movement    m = {.kind = SETTLEMENT, .reason = escapes, .reference = escapes, .created_at = AT};
	const uint32_t     codes[] = {1, LONG, QUOTES};

	memset(escapes, '\x01', 500);
	memset(id, '"', ID_MAX);
	memset(moved, '"', ID_MAX + 32);
	strcpy(r.order_id, id);
	strcpy(m.movement_id, moved);
	r.state = BURIED;
	r.last_error = r.reference = r.hold_reason = escapes;
	r.replaced_by = id;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		size_t size = strlen(",{\"sku\":\"\",\"location\":\"\",\"qty\":1}") + (i == 0 ? 2 : i == 1 ? 192 : 384);

		for (size_t k = 0; k < 1000; k++)
			lines[k] = events_line(&log, codes[i], codes[i], 1, 1);
		events_reset(&log);
		event_reservation(&log.row, &(struct event_head){EVENT_BURIED, 1, id, 0}, &r, lines, 1000, true);
		event_movement(&log.row, &(struct event_head){EVENT_SETTLEMENT, 1, id, 0}, &m, 1, lines, 1000);
		cr_assert(events_read(&log) && log.count == 2);
		for (size_t k = 0; k < 2; k++) {
			log.events[k]->by = mem_copy("shop");
			log.events[k]->made_by_name = mem_copy("web");
			cut_check(&log, log.events[k], 1000, size);
			cr_expect_eq(times(log.json.data, "\\u0001"), k == 0 ? 1500 : 1000);
			cr_expect(strstr(log.json.data, "\"cause\":\"\\\""));
			cr_expect(strstr(log.json.data, "\"by\":\"shop\"") && strstr(log.json.data, "\"by\":\"web\""));
			cr_expect_gt(times(log.json.data, "\"qty\":"), 0);
		}
	}
	events_free(&log);
}

Test(event_json, so_many_units_always_fit)
{
	struct events      log = events_new();
	struct event_units units[EVENT_UNITS_MAX];

	for (size_t i = 0; i < EVENT_UNITS_MAX; i++)
		units[i] = (struct event_units){QUOTES, QTY_MAX, QTY_MAX, QTY_MAX};
	event_stock(&log.row, units, EVENT_UNITS_MAX);
	cr_assert(events_read(&log) && log.count == 1);
	log.events[0]->writer_id = log.events[0]->place = UINT32_MAX;
	log.events[0]->stamp = INT64_MAX;
	cr_expect_eq(times(json_of(&log, log.events[0]), "\"on_hand\":"), EVENT_UNITS_MAX);
	cr_expect_leq(log.json.len, EVENT_SIZE_MAX);
	events_free(&log);
}
