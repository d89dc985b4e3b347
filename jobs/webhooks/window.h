/* window.h - the events of one webhook that were read from the feed and are not all delivered.
 *
 *   delivered │ oldest ─ ─ ─ ─ up to `max` events ─ ─ ─ ─ newest │ not read yet
 *             place: the cursor that is kept
 *
 * An event waits for every earlier undelivered event of the same order, movement or sku. A split or a replacement has
 * two orders. The window holds `max` events, so no event is further ahead of the oldest one. Only the number is kept of
 * an event that was delivered ahead. Pure; one thread. */
#ifndef WINDOW_H
#define WINDOW_H

#include "engine/log/feed.h"

/* Failed attempts in a row. Times by clock_ms. */
struct failing {
	unsigned count;
	int64_t  since_ms, due_ms; /* the first of them; when the next attempt may be */
};

struct window_event {
	struct feed_event *event; /* owned by its page */
	struct failing     failing;
	enum { EVENT_WAITS, EVENT_FLIES, EVENT_DELIVERED } state;
	int64_t begun_ms; /* when its attempt began; both belong to the owner */
	void   *owner;
	/* ---- private */
	bool         fresh;    /* no attempt was made */
	unsigned     blockers; /* events for which it waits */
	size_t       bytes;    /* memory that it takes */
	size_t       ties_count;
	struct tie  *ties;
	struct page *page;
};

struct window;
struct window *window_new(size_t max, const char *place); /* place: the cursor behind which the first page is read */
void           window_free(struct window *w);

/* Takes over the page, of at most window_room events, and leaves it empty. Takes as many events as fit in `bytes`, but
 * at least one. false: the rest of the page was dropped, and must be read again. */
bool   window_add(struct window *w, struct feed_page *page, size_t bytes);
size_t window_room(const struct window *w);
size_t window_bytes(const struct window *w); /* of memory */
size_t window_fresh(const struct window *w); /* events without an attempt */
/* The event behind `e`; NULL: the oldest. NULL is behind the newest. */
struct window_event *window_after(const struct window *w, const struct window_event *e);
/* The first event that is due; NULL: none. in_order: only the oldest event. *due_ms is lowered to the time of the next
 * one. */
struct window_event *window_next(struct window *w, bool in_order, int64_t now_ms, int64_t *due_ms);
void                 window_delivered(struct window *w, struct window_event *e);
void                 window_empty(struct window *w);     /* goes back to its place; no attempt is running */
const char          *window_place(struct window *w);     /* good until the next call */
const char          *window_end(const struct window *w); /* the cursor from which the next page is read */

#endif
