/* event_walk.h - a walk over the log of events by those who check it: the rows of all writers in the order of the feed
 * (feed_merge.h). The walk goes as far as it is certain to have passed nothing, and goes on from there later. Memory
 * holds a page. One thread, on the caller's connection. */
#ifndef EVENT_WALK_H
#define EVENT_WALK_H

#include "engine/db/db.h"
#include "engine/log/event.h"

/* What the log says of itself. */
struct event_log {
	bool    on;
	int64_t era;
	int64_t since; /* every change with a later stamp has its event in the log */
};
enum db_result event_log_read(struct db *db, struct event_log *log) MUST_CHECK;

struct event_walked { /* a row */
	uint32_t            writer_id;
	uint64_t            event_no;
	int64_t             stamp;
	const char         *trouble; /* the row is missing, or cannot be read; NULL: neither */
	struct feed_event **events;
	size_t              count;
};
struct event_walk;
/* each: is told of every row, which lives until it returns. It asks the database for nothing. */
struct event_walk *event_walk_new(struct db *db, void (*each)(void *arg, const struct event_walked *row), void *arg);
void               event_walk_free(struct event_walk *w); /* NULL is fine */

/* Looks how far the writers are, and walks on to where that look allows. At first the walk begins behind what was
 * removed. */
enum db_result event_walk(struct event_walk *w) MUST_CHECK;
/* Behind event_walk: what was committed before it began with a smaller stamp was walked over. INT64_MAX: all. */
int64_t event_walk_passed(const struct event_walk *w);
/* Rows were removed that the walk had not come to: begin anew. */
bool event_walk_overtaken(const struct event_walk *w);

#endif
