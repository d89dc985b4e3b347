/* telling.c - see telling.h. */
#include "engine/log/telling.h"
#include "engine/base/memory.h"
#include "engine/log/event_json.h"

enum { PAGE_BYTES = 1 << 20 }; /* a page that has reached this size ends, and there is more */

struct telling *telling_new(const struct feed_page *page)
{
	struct telling *t = mem_alloc(sizeof(*t));

	t->page = page;
	t->ends = mem_alloc((page->count + 1) * sizeof(*t->ends));
	for (; t->count < page->count && t->events.len < PAGE_BYTES; t->count++) {
		event_json(&t->events, page->events[t->count]);
		t->ends[t->count] = t->events.len;
	}
	assert(t->count <= page->count);
	t->more = page->more || t->count < page->count;
	t->cursor = t->count < page->count ? feed_cursor(page, t->count) : mem_copy(page->cursor);
	return t;
}

void telling_free(struct telling *t)
{
	for (size_t i = 0; i < t->kinds_count; i++)
		text_leave(t->kinds[i].text);
	free(t->kinds);
	free(t->cursor);
	free(t->ends);
	text_fini(&t->events);
	free(t);
}

/* ---- texts */

static struct text_shared *text_begin(void)
{
	struct text_shared *page = text_shared_new();

	text_add(&page->text, "{\"items\":[");
	return page;
}

static void text_end(struct text_shared *page, const char *cursor, bool more)
{
	text_format(&page->text, "],\"next_cursor\":\"%s\",\"more\":%s}", cursor, more ? "true" : "false");
}

struct text_shared *telling_none(const char *cursor)
{
	struct text_shared *page = text_begin();

	text_end(page, cursor, false);
	return page;
}

static struct text_shared *kind_text(const struct telling *t, const struct kind *k)
{
	struct text_shared *page = text_begin();
	char               *cursor = NULL;
	size_t              told = 0, i = 0;

	for (; i < t->count && told < k->limit; i++) {
		size_t begin = i ? t->ends[i - 1] : 0;

		if (!event_is_wanted(&k->filter, t->page->events[i]->type))
			continue;
		if (told++ > 0)
			text_char(&page->text, ',');
		text_bytes(&page->text, t->events.data + begin, t->ends[i] - begin);
	}
	if (told == 0 && (k->stays || !t->more)) {
		text_leave(page);
		return NULL;
	}
	if (i < t->count)
		cursor = feed_cursor(t->page, i);
	text_end(page, cursor ? cursor : t->cursor, cursor || t->more);
	free(cursor);
	return page;
}

struct text_shared *telling_text(struct telling *t, const struct event_filter *filter, unsigned limit, bool stays)
{
	struct kind *k;

	for (size_t i = 0; i < t->kinds_count; i++)
		if (t->kinds[i].limit == limit && t->kinds[i].stays == stays &&
		    memcmp(&t->kinds[i].filter, filter, sizeof(*filter)) == 0)
			return t->kinds[i].text;
	t->kinds = mem_reach(t->kinds, t->kinds_count, &t->kinds_max, sizeof(*t->kinds));
	k = &t->kinds[t->kinds_count++];
	*k = (struct kind){*filter, limit, stays, NULL};
	k->text = kind_text(t, k);
	return k->text;
}
