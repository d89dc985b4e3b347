/* window.c - see window.h. Events stay in the pages that they came with. Each subject of an event is a tie. A tie
 * stands in a table by the hash of its name until the event is delivered. The ties of one name form a chain in the
 * order of the events. Two names with the same hash only make events wait for each other. */
#include "jobs/webhooks/window.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"

enum { TABLE = 1024 };

struct tie {
	uint64_t             name;
	struct window_event *of;
	struct tie          *next;     /* an older tie in the same place of the table */
	struct tie          *follower; /* the next event's tie of the same name; NULL: none */
};

struct page {
	struct feed_page    page;
	uint64_t            first; /* number of its first event */
	struct page        *next;
	struct window_event events[];
};

struct window {
	struct page *oldest, *newest; /* pages that still have undelivered events */
	uint64_t     head, tail;      /* numbers of the oldest event, and of the one after the newest */
	size_t       fresh, bytes;
	char        *place, *end;
	struct tie  *table[TABLE]; /* the newest first */
	size_t       max;
};

struct window *window_new(size_t max, const char *place)
{
	struct window *w = mem_alloc(sizeof(*w));

	w->max = max;
	w->place = mem_copy(place);
	w->end = mem_copy(place);
	return w;
}

static void page_free(struct page *p)
{
	for (size_t i = 0; i < p->page.count; i++)
		free(p->events[i].ties);
	feed_page_fini(&p->page);
	free(p);
}

static void pages_free(struct window *w)
{
	for (struct page *p = w->oldest, *next; p; p = next) {
		next = p->next;
		page_free(p);
	}
	w->oldest = w->newest = NULL;
}

void window_free(struct window *w)
{
	pages_free(w);
	free(w->place);
	free(w->end);
	free(w);
}

/* ---- which event waits for which */

static void tie_add(struct window *w, struct window_event *e, char kind, const char *name)
{
	struct tie *tie = &e->ties[e->ties_count++], **bucket, *before;

	*tie = (struct tie){.name = hash_bytes(name, strlen(name)) + (unsigned char)kind, .of = e};
	bucket = &w->table[tie->name % TABLE];
	for (before = *bucket; before && before->name != tie->name; before = before->next)
		continue;
	if (before && before->of != e) {
		before->follower = tie;
		e->blockers++;
	}
	tie->next = *bucket;
	*bucket = tie;
}

/* Makes ties for the order, the movement or the skus of the event. */
static void ties_make(struct window *w, struct window_event *e)
{
	const struct feed_event *of = e->event;

	e->ties = mem_alloc((2 + of->units_count) * sizeof(*e->ties));
	if (of->reservation)
		tie_add(w, e, 'o', of->reservation->order_id);
	if (of->reservation && *of->cause && event_trait(of->type)->by_order)
		tie_add(w, e, 'o', of->cause);
	if (of->movement)
		tie_add(w, e, 'm', of->movement->movement_id);
	if (of->level.sku)
		tie_add(w, e, 's', sku_code(of->level.sku));
	if (of->sale.sku)
		tie_add(w, e, 's', sku_code(of->sale.sku));
	if (of->sale.location)
		tie_add(w, e, 'l', of->sale.location->code);
	for (size_t i = 0; i < of->units_count; i++)
		tie_add(w, e, 's', sku_code(of->units[i].sku));
}

/* An event that is cut out may itself wait for an earlier one: then its follower waits for the earlier event. */
static void tie_cut(struct window *w, struct tie *tie)
{
	struct tie **at = &w->table[tie->name % TABLE], *before;

	while (*at != tie)
		at = &(*at)->next;
	*at = tie->next;
	for (before = tie->next; before && before->follower != tie; before = before->next)
		continue;
	if (before)
		before->follower = tie->follower;
	else if (tie->follower)
		tie->follower->of->blockers--;
}

static void ties_cut(struct window *w, struct window_event *e)
{
	for (size_t i = 0; i < e->ties_count; i++)
		tie_cut(w, &e->ties[i]);
	free(e->ties);
	e->ties = NULL;
	e->ties_count = 0;
}

/* ---- in and out */

static void place_set(char **place, char *cursor)
{
	free(*place);
	*place = cursor;
}

/* Frees the pages that have no undelivered event left. */
static void pages_pass(struct window *w)
{
	while (w->oldest && w->oldest->first + w->oldest->page.count <= w->head) {
		struct page *p = w->oldest;

		w->oldest = p->next;
		place_set(&w->place, p->page.cursor);
		p->page.cursor = NULL;
		page_free(p);
	}
	if (!w->oldest)
		w->newest = NULL;
}

static size_t event_bytes(const struct feed_event *e)
{
	size_t bytes = sizeof(struct window_event) + sizeof(*e) + e->units_count * sizeof(*e->units);

	if (e->reservation)
		bytes +=
			sizeof(*e->reservation) + (e->reservation->lines_count + e->before_count) * sizeof(struct line);
	if (e->movement)
		bytes += sizeof(*e->movement) + e->movement->lines_count * sizeof(struct line);
	return bytes;
}

/* Frees the event, but keeps its number and time. */
static void event_shed(struct window *w, struct window_event *e)
{
	reservation_free(e->event->reservation);
	movement_free(e->event->movement);
	free(e->event->units);
	e->event->reservation = NULL;
	e->event->movement = NULL;
	e->event->units = NULL;
	e->event->units_count = 0;
	w->bytes -= e->bytes;
	e->bytes = event_bytes(e->event);
	w->bytes += e->bytes;
}

/* Drops the events that do not fit. */
static bool page_cut(struct feed_page *page, size_t bytes)
{
	size_t count = 0;
	char  *cursor;

	for (; count < page->count; count++) {
		size_t more = event_bytes(page->events[count]);

		if (count > 0 && more > bytes)
			break;
		bytes -= more < bytes ? more : bytes;
	}
	if (count == page->count)
		return false;
	cursor = feed_cursor(page, count);
	while (page->count > count)
		feed_event_free(page->events[--page->count]);
	place_set(&page->cursor, cursor);
	return true;
}

bool window_add(struct window *w, struct feed_page *page, size_t bytes)
{
	bool         cut = page_cut(page, bytes);
	struct page *p = mem_alloc(sizeof(*p) + page->count * sizeof(*p->events));

	assert(page->count <= window_room(w));
	p->page = *page;
	p->first = w->tail;
	*page = (struct feed_page){0};
	for (size_t i = 0; i < p->page.count; i++) {
		struct window_event *e = &p->events[i];

		*e = (struct window_event){.event = p->page.events[i], .fresh = true, .page = p};
		e->bytes = event_bytes(e->event);
		w->bytes += e->bytes;
		ties_make(w, e);
	}
	w->tail += p->page.count;
	w->fresh += p->page.count;
	place_set(&w->end, mem_copy(p->page.cursor));
	*(w->newest ? &w->newest->next : &w->oldest) = p;
	w->newest = p;
	pages_pass(w);
	return !cut;
}

static void event_leaves(struct window *w, struct window_event *e, int state)
{
	w->fresh -= e->fresh;
	e->fresh = false;
	e->state = state;
}

void window_delivered(struct window *w, struct window_event *e)
{
	assert(e->state != EVENT_DELIVERED);
	event_leaves(w, e, EVENT_DELIVERED);
	ties_cut(w, e);
	event_shed(w, e);
	while ((e = window_after(w, NULL)) && e->state == EVENT_DELIVERED) {
		w->bytes -= e->bytes;
		w->head++;
		pages_pass(w);
	}
}

void window_empty(struct window *w)
{
	window_place(w);
	pages_free(w);
	memset(w->table, 0, sizeof(w->table));
	place_set(&w->end, mem_copy(w->place));
	w->head = w->tail = 0;
	w->fresh = w->bytes = 0;
}

/* ---- looking at the window */

size_t window_room(const struct window *w)
{
	return w->max - (size_t)(w->tail - w->head);
}

size_t window_fresh(const struct window *w)
{
	return w->fresh;
}

size_t window_bytes(const struct window *w)
{
	return w->bytes;
}

struct window_event *window_after(const struct window *w, const struct window_event *e)
{
	struct page *p = e ? e->page : w->oldest;
	size_t       i = e ? (size_t)(e - p->events) + 1 : p ? (size_t)(w->head - p->first) : 0;

	for (; p && i == p->page.count; i = 0)
		p = p->next;
	return p ? &p->events[i] : NULL;
}

struct window_event *window_next(struct window *w, bool in_order, int64_t now_ms, int64_t *due_ms)
{
	for (struct window_event *e = NULL; (e = window_after(w, e)) != NULL;) {
		if (e->state == EVENT_WAITS && e->blockers == 0) {
			if (e->failing.due_ms <= now_ms) {
				event_leaves(w, e, EVENT_FLIES);
				return e;
			}
			*due_ms = e->failing.due_ms < *due_ms ? e->failing.due_ms : *due_ms;
		}
		if (in_order)
			break;
	}
	return NULL;
}

const char *window_place(struct window *w)
{
	if (w->oldest && w->head > w->oldest->first)
		place_set(&w->place, feed_cursor(&w->oldest->page, (size_t)(w->head - w->oldest->first)));
	return w->place;
}

const char *window_end(const struct window *w)
{
	return w->end;
}
