/* window.h - the events of one webhook that are under way: read from the feed, and not all delivered.
 *
 *   delivered │ oldest ─ ─ ─ ─ up to `max` events ─ ─ ─ ─ newest │ not read yet
 *             place: the cursor that is kept
 *
 * An event waits for every earlier one of the same order, movement or sku that is not delivered; a split and a
 * replacement are of two orders. The window holds `max` events, so none is further ahead of the oldest one. Pure; one
 * thread. */
#ifndef WINDOW_H
#define WINDOW_H

#include "engine/read/feed.h"

/* Failed attempts in a row. Times by clock_ms. */
struct failing {
	unsigned count;
	int64_t  since_ms, due_ms; /* the first of them; when the next attempt may be */
};

struct window_event {
	struct feed_event *event; /* its page's */
	struct failing     failing;
	enum { EVENT_WAITS, EVENT_FLIES, EVENT_DELIVERED } state;
	int64_t begun_ms; /* its attempt, and whose it is: the owner's */
	void   *owner;
	/* ---- private */
	bool        fresh;    /* no attempt was made */
	unsigned    blockers; /* events that it waits for */
	size_t      ties_count;
	struct tie *ties;
};

struct window;
struct window *window_new(size_t max, const char *place); /* place: the cursor behind which the first page is read */
void           window_free(struct window *w);

/* Takes the page over: it is empty behind the call. At most window_room events. */
void   window_add(struct window *w, struct feed_page *page);
size_t window_room(const struct window *w);
size_t window_fresh(const struct window *w); /* events without an attempt */
/* The events from the oldest on, by i from 0; NULL: behind the newest. Good until the next window_delivered. */
struct window_event *window_at(struct window *w, size_t i);
/* The first event whose time has come; NULL: there is none. in_order: the oldest or none. *due_ms falls to the time at
 * which the next one comes. */
struct window_event *window_next(struct window *w, bool in_order, int64_t now_ms, int64_t *due_ms);
void                 window_delivered(struct window *w, struct window_event *e);
const char          *window_place(struct window *w);     /* good until the next call */
const char          *window_end(const struct window *w); /* the cursor from which the next page is read */

#endif
