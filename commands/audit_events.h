/* audit_events.h - the invariant "the events add up to the tables": what the log of events says of each reservation and
 * movement, from the first event kept on, is what their rows say. */
#ifndef AUDIT_EVENTS_H
#define AUDIT_EVENTS_H

#include "engine/db/db.h"

struct event_finding {
	const char *about; /* order_id, movement_id, or writer of a row */
	const char *id;    /* of a writer with the number of the row: 3/17 */
	const char *why;
};

/* Also while the service is at work. Plain reads, in pages. Memory is bounded: where there are more orders and
 * movements than subjects_max, the log is walked several times. `found` is called for each finding, of which there may
 * be any number, and must not use the connection. One thread. */
enum { AUDIT_SUBJECTS = 250000 }; /* some 100 MB */
enum db_result audit_events(struct db *db, size_t subjects_max, void (*found)(void *arg, const struct event_finding *f),
                            void *arg) MUST_CHECK;

#endif
