/* history.h - what happened to one order: its events, the newest first, as long as they are kept. The order names the
 * row of its last event, and each record the row of the event before. So a history is a few rows by their primary key,
 * however long the log is. */
#ifndef HISTORY_H
#define HISTORY_H

#include "engine/log/event.h"
#include "engine/outcome.h"

enum { HISTORY_LIMIT_MAX = 1000 };
/* Where a history goes on: in this row (event_link), with the records ahead of `place`. */
struct history_place {
	uint64_t link;
	uint32_t place;
};
/* Zero-initialised is empty. */
struct history {
	const char          *order_id;
	bool                 begun; /* asked: from `at` on; false: from the last event on */
	struct history_place at;    /* .. and in the answer where it goes on; link 0: it is at its end */
	struct feed_event  **events;
	size_t               count, max;
};
/* Reads `limit` events at most, with the names of their keys. *outcome: NO_ORDER, or OUTCOME_OK. */
enum db_result history_read(struct db *db, struct history *h, size_t limit, enum outcome *outcome) MUST_CHECK;
void           history_fini(struct history *h);

#endif
