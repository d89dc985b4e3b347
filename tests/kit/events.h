/* events.h - a row of the log of events in memory, for tests: written with the calls of engine/log/event.h, read,
 * turned into JSON. No database. */
#ifndef TESTS_EVENTS_H
#define TESTS_EVENTS_H

#include "engine/log/event.h"

#define AT INT64_C(1795000000123) /* the time of every row: 2026-11-18T11:06:40.123Z */
enum { LONG = 10, QUOTES = 11 };  /* numbers of long codes; 1 is A, 2 is B, 300 is C */

/* A row, the events that were read from it, and the JSON of the last one. */
struct events {
	struct catalogue   *catalogue;
	struct text         row, json;
	struct feed_event **events;
	size_t              count, max;
	struct values       skus, locations; /* codes that the catalogue lacks */
};
struct events events_new(void);
void          events_reset(struct events *log); /* empties the row, and frees the events */
void          events_free(struct events *log);
bool          events_read(struct events *log);
bool          events_read_bytes(struct events *log, const void *changes, size_t len);
const char   *json_of(struct events *log, const struct feed_event *e);

void        events_codes(struct catalogue *c, uint32_t id, const char *code); /* of a sku and of a location */
struct line events_line(struct events *log, uint32_t sku, uint32_t location, int64_t qty, int64_t granted);
/* A reservation with the optional members that the bits of `has` name. */
enum { BITS = 8 };
struct reservation reservation_of(unsigned has);

#endif
