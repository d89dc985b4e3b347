/* window.h - the events of one webhook that are under way: read from the feed, and not all delivered.
 *
 *   delivered │ oldest ─ ─ ─ ─ up to `max` events ─ ─ ─ ─ newest │ not read yet
 *             place: the cursor that is kept
 *
 * An event waits for every earlier one of the same order, movement or sku that is not delivered; a split and a
 * replacement are of two orders. The window holds `max` events, so none is further ahead of the oldest one. Of an event
 * that was delivered ahead only its number stays. Pure; one thread. */
#ifndef WINDOW_H
#define WINDOW_H

#include "engine/log/feed.h"

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
	bool         fresh;    /* no attempt was made */
	unsigned     blockers; /* events that it waits for */
	size_t       bytes;    /* of memory that it takes */
	size_t       ties_count;
	struct tie  *ties;
	struct page *page;
};

struct window;
struct window *window_new(size_t max, const char *place); /* place: the cursor behind which the first page is read */
void           window_free(struct window *w);

/* Takes the page over, of at most window_room events: it is empty behind the call. Takes no more than fit in so many
 * bytes, but one. false: the rest of the page was left out, and is to be read again. */
bool   window_add(struct window *w, struct feed_page *page, size_t bytes);
size_t window_room(const struct window *w);
size_t window_bytes(const struct window *w); /* of memory */
size_t window_fresh(const struct window *w); /* events without an attempt */
/* The event behind `e`; NULL: the oldest. NULL is behind the newest. */
struct window_event *window_after(const struct window *w, const struct window_event *e);
/* The first event whose time has come; NULL: there is none. in_order: the oldest or none. *due_ms falls to the time at
 * which the next one comes. */
struct window_event *window_next(struct window *w, bool in_order, int64_t now_ms, int64_t *due_ms);
void                 window_delivered(struct window *w, struct window_event *e);
void                 window_empty(struct window *w);     /* back to its place; no attempt is under way */
const char          *window_place(struct window *w);     /* good until the next call */
const char          *window_end(const struct window *w); /* the cursor from which the next page is read */

#endif
