/* event_walk.h - a walk over the log of events by those who check it: the rows of all writers, merged by their stamps.
 * The walk goes as far as it is certain to have passed nothing, and goes on from there later. Memory holds a page of
 * each writer. One thread, on the caller's connection. */
#ifndef EVENT_WALK_H
#define EVENT_WALK_H

#include "engine/db/db.h"
#include "engine/log/event.h"

struct event_walk;
struct event_walk *event_walk_new(struct db *db);
void               event_walk_free(struct event_walk *w); /* NULL is fine */

/* What the log says of itself. */
struct event_log {
	bool    on;
	int64_t era;
	int64_t since; /* every change with a later stamp has its event in the log */
};
enum db_result event_log_read(struct db *db, struct event_log *log) MUST_CHECK;

/* Looks how far the writers are. At first the walk begins behind what was removed. */
enum db_result event_walk_look(struct event_walk *w) MUST_CHECK;

/* A row; its events live until the next call. */
struct event_walked {
	uint32_t            writer_id;
	uint64_t            event_no;
	int64_t             stamp;
	const char         *trouble; /* the row is missing, or cannot be read; NULL: neither */
	struct feed_event **events;
	size_t              count;
};
/* The next row, or NULL in *row at the end of what the last look allows. */
enum db_result event_walk_next(struct event_walk *w, const struct event_walked **row) MUST_CHECK;
/* At the end: what was committed before the last look began with a smaller stamp was walked over. INT64_MAX: all. */
int64_t event_walk_passed(const struct event_walk *w);
/* Rows were removed that the walk had not come to: begin anew. */
bool event_walk_overtaken(const struct event_walk *w);

#endif
