/* audit_events.h - the invariant "the events add up to the tables": the log of events, from the first event kept on,
 * and the rows of the tables agree on each reservation and movement. */
#ifndef AUDIT_EVENTS_H
#define AUDIT_EVENTS_H

#include "engine/db/db.h"

struct event_finding {
	const char *about; /* order_id, movement_id, or writer of a row */
	const char *id;    /* for a writer also the number of the row: 3/17 */
	const char *why;
};

/* May run while the service is at work. Plain reads, in pages. Memory is bounded: where there are more orders and
 * movements than subjects_max, the log is walked several times. `found` is called for each finding, of which there may
 * be any number, and must not use the connection. One thread. */
enum { AUDIT_SUBJECTS = 250000 }; /* some 100 MB */
enum db_result audit_events(struct db *db, size_t subjects_max, void (*found)(void *arg, const struct event_finding *f),
                            void *arg) MUST_CHECK;

#endif
