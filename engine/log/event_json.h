/* event_json.h - an event as its readers and webhooks get it: {"id","type","at","by"?,"data":{..}}. Pure; any thread.
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include "engine/base/text.h"
#include "engine/log/event.h"

/* An id: WRITER-STAMP-PLACE, the stamp in hexadecimal. No two events of a database have the same, nor do two pasts of
 * one. */
#define EVENT_ID_SIZE 48
void event_id(char to[EVENT_ID_SIZE], const struct feed_event *e);

/* Appends one object of at most EVENT_SIZE_MAX bytes: lines are left out from the end until it fits. Nothing else is;
 * up to EVENT_UNITS_MAX units fit, whatever their skus are. The catalogue knows every sku and location of the event. */
enum { EVENT_SIZE_MAX = 20000 };
void event_json(struct text *to, const struct feed_event *e);

#endif
