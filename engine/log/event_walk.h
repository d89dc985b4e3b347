/* event_walk.h - a walk over the log of events by its checks: the rows of all writers in the order of the feed
 * (feed_merge.h). The walk goes as far as it is certain to have passed nothing, and goes on from there later. Memory
 * holds a page. One thread, on the caller's connection. */
#ifndef EVENT_WALK_H
#define EVENT_WALK_H

#include "engine/log/event.h"
#include "engine/log/feed_merge.h"

/* The state of the log. */
struct event_log {
	int64_t on; /* 1; 0: no events are written */
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
struct event_walk {
	/* Of the last event_walk: what was committed before it began with a smaller stamp was walked over. INT64_MAX:
	 * all. */
	int64_t passed;
	bool    overtaken; /* rows were removed that the walk had not come to: begin again */
	/* private */
	struct db          *db;
	struct catalogue   *catalogue; /* names of numbers, made up: only the numbers matter */
	struct feed_start   start;     /* of the next page */
	struct feed_place   look;      /* the last row of each writer, as the look saw it */
	struct event_walked row;
	size_t              events_max;
	struct values       skus, locations;
	void (*each)(void *arg, const struct event_walked *row);
	void *arg;
};
/* each: is told of every row, which lives until it returns. It asks the database for nothing. */
struct event_walk *event_walk_new(struct db *db, void (*each)(void *arg, const struct event_walked *row), void *arg);
void               event_walk_free(struct event_walk *w); /* NULL is fine */

/* Looks how far the writers are, and walks on to where that look allows. At first the walk begins behind what was
 * removed. */
enum db_result event_walk(struct event_walk *w) MUST_CHECK;

#endif
