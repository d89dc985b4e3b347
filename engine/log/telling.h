/* telling.h - a page of the feed as it is told: JSON, made once for all readers that ask for as many events of the same
 * types, however many they are. One thread; the texts may outlive it. */
#ifndef TELLING_H
#define TELLING_H

#include "engine/log/feed.h"

struct telling {
	char *cursor; /* behind the page, where it is cut */
	bool  more;   /* there is more to read behind that */
	/* private */
	const struct feed_page *page;
	struct text             events; /* as JSON, one behind the other .. */
	size_t                 *ends;   /* .. each of which ends there */
	size_t                  count;
	struct kind { /* readers that are told the same */
		struct event_filter filter;
		unsigned            limit;
		bool                stays;
		struct text_shared *text; /* NULL: there is nothing for them */
	} * kinds;
	size_t kinds_count, kinds_max;
};
/* The page outlives it. A large page is cut: it has to be held for every client that is slow to take it. */
struct telling *telling_new(const struct feed_page *page);
void            telling_free(struct telling *t);
/* The text of the page for readers with this filter and limit; owned by the telling. NULL: it has nothing for them, and
 * they go on from its end: readers that stay, and readers for which that is the end of the log. */
struct text_shared *telling_text(struct telling *t, const struct event_filter *filter, unsigned limit, bool stays);
/* The empty page at this cursor; the caller leaves it. */
struct text_shared *telling_none(const char *cursor) MUST_CHECK;

#endif
