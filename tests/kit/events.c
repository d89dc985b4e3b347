/* events.c - see events.h. */
#include "engine/base/clock.h"
#include "engine/log/event_json.h"
#include "tests/kit/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void events_codes(struct catalogue *c, uint32_t id, const char *code)
{
	struct location location = {.location_id = id};

	catalogue_sku_enter(c, id, code, strlen(code));
	snprintf(location.code, sizeof(location.code), "%s", code);
	catalogue_locations_enter(c, catalogue_locations_ask(c), 1, &location, 1);
}

struct events events_new(void)
{
	struct events log = {.catalogue = catalogue_new()};
	char          code[SKU_MAX + 1] = "";

	events_codes(log.catalogue, 1, "A");
	events_codes(log.catalogue, 2, "B");
	events_codes(log.catalogue, 300, "C");
	events_codes(log.catalogue, LONG, memset(code, 'X', SKU_MAX));
	events_codes(log.catalogue, QUOTES, memset(code, '"', SKU_MAX));
	return log;
}

/* Empties the row, and frees the events that were read. */
void events_reset(struct events *log)
{
	for (size_t i = 0; i < log->count; i++)
		feed_event_free(log->events[i]);
	log->count = 0;
	values_reset(&log->skus);
	values_reset(&log->locations);
	text_reset(&log->row);
}

void events_free(struct events *log)
{
	events_reset(log);
	free(log->events);
	values_fini(&log->skus);
	values_fini(&log->locations);
	text_fini(&log->row);
	text_fini(&log->json);
	catalogue_free(log->catalogue);
}

bool events_read_bytes(struct events *log, const void *changes, size_t len)
{
	const struct event_row row = {
		.writer_id = 7, .event_no = 42, .stamp = 0x1a2b3c, .at = AT, .changes = changes, .len = len};

	return event_decode(log->catalogue, &row, NULL, NULL, &log->events, &log->count, &log->max, &log->skus,
	                    &log->locations);
}

bool events_read(struct events *log)
{
	return events_read_bytes(log, log->row.data, log->row.len);
}

const char *json_of(struct events *log, const struct feed_event *e)
{
	text_reset(&log->json);
	event_json(&log->json, e);
	return log->json.data;
}

struct line events_line(struct events *log, uint32_t sku, uint32_t location, int64_t qty, int64_t granted)
{
	return (struct line){.sku = catalogue_sku_by_id(log->catalogue, sku),
	                     .location = catalogue_location_by_id(log->catalogue, location),
	                     .qty = qty,
	                     .granted = granted};
}

/* A reservation with the optional members that the bits of `has` name. */
struct reservation reservation_of(unsigned has)
{
	return (struct reservation){
		.order_id = "R 1",
		.state = (enum reservation_state)(HELD + has % (STATES - HELD)),
		.created_at = has % 3 ? AT - 86400000 : 0,
		.expires_at = has % 5 ? AT + 1 : 900000,
		.key_id = has & 1 ? UINT32_MAX : 0,
		.attempts = has & 2 ? 130 : 0,
		.confirmed_at = has & 4 ? 0 : TIME_NONE,
		.released_at = has & 8 ? AT - 5 : TIME_NONE,
		.settled_at = has & 16 ? 127 : TIME_NONE,
		.last_error = has & 32 ? "away \"\x01" : NULL,
		.reference = has & 64 ? "" : NULL,
		.replaced_by = has & 128 ? "R2" : NULL,
		.waits_since = has & 64 ? AT - 7 : 0,
		.hold_until = has & 4 ? has & 128 ? HOLD_NO_END : AT + 9 : 0,
		.hold_reason = has & 8 ? "look" : NULL,
	};
}
