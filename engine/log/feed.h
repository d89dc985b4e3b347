/* feed.h - the feed: what the log of events holds behind a cursor, page by page, all writers merged into one order.
 *
 * A page is read in one snapshot of the database, which ends before the page is given. Rows of all writers come by
 * (stamp, writer), and the events of a row by their place in it. A row that was committed late, with a stamp below what
 * was read already, comes then: a cursor knows how far each writer was read (feed_cursor.h). No writer is read past a
 * number that is not there yet. */
#ifndef FEED_H
#define FEED_H

#include "engine/log/event.h"
#include "engine/log/feed_cursor.h"
#include "engine/outcome.h"

enum { FEED_LIMIT_MAX = 1000 };

/* Memory from page to page: names of keys, and rows that were read and not given yet. One thread. */
struct feed;
struct feed *feed_new(struct catalogue *c);
void         feed_free(struct feed *f); /* NULL is fine */

struct feed_page {
	struct feed_event **events; /* owned by the page; `by` and `made_by_name` are filled in where they are known */
	size_t              count, max;
	bool                more;   /* there is more to read right now */
	char               *cursor; /* behind the page; owned; there after DB_OK and OUTCOME_OK, otherwise NULL */
	/* private: where the page began, and the rows that it passed */
	struct feed_place begin;
	struct feed_step *steps;
	size_t            steps_count, steps_max;
};
void feed_page_fini(struct feed_page *p);

/* Reads up to `limit` (1 to FEED_LIMIT_MAX) wanted events behind `after`: NULL or "" the oldest that is kept; "now"
 * what is committed from now on; a time of RFC 3339; or a cursor. The page may be anything before and is to be ended
 * with feed_page_fini in any case. DB_OK: *outcome is OUTCOME_OK, BAD_CURSOR, CURSOR_EXPIRED or EVENTS_OFF. A page may
 * be short, or empty with `more`, when much was passed over. `db` is no part of a transaction; its source has the
 * feed's catalogue as its memory (past_watch). */
enum db_result feed_read(struct feed *f, struct db *db, const char *after, const struct event_filter *filter,
                         unsigned limit, struct feed_page *page, enum outcome *outcome) MUST_CHECK;
/* The cursor behind the first `count` events of the page (0: where the page began); the caller frees it. */
char *feed_cursor(const struct feed_page *p, size_t count) MUST_CHECK;

/* Names a row that cannot be read, or names what is not there, in the log: once a process, of the last ones. */
void feed_damaged(uint32_t writer_id, uint64_t event_no);

/* A look that is cheap: has anything been written since the last look of this feed? True at the first one. */
enum db_result feed_look(struct feed *f, struct db *db, bool *news) MUST_CHECK;

#endif
