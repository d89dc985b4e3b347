/* touched.h - which skus and locations the log of events has touched behind a cursor. Rows come as the feed has them
 * (feed.h), with its cursors, but without names and without the records themselves. */
#ifndef TOUCHED_H
#define TOUCHED_H

#include "engine/db/db.h"
#include "engine/log/event.h"
#include "engine/outcome.h"

/* The listener that gets lines. `taken` is INT64_MAX where the number of units is not known. */
struct touched_ear {
	void (*each)(void *arg, const struct event_touch *t);
	void *arg;
};
struct touched {
	char   *cursor; /* behind all that was told; NULL where nothing was read; the caller frees it */
	bool    more;   /* there is more to read right now */
	int64_t stamp;  /* the latest one of the rows; 0: there were none */
	size_t  batch;  /* so many rows are read at first; set by the call for the next one, by the bytes of the rows */
};
/* Tells of each line that moves units, behind `after` as feed_read knows it, up to some thousand rows. Lines that a
 * record has left out are read from its reservation or movement. out->batch is kept from call to call, 0 before the
 * first. DB_OK: *outcome as of feed_read. Any other result: some lines were told, and will be again. `db` is no part of
 * a transaction. */
enum db_result touched_read(struct db *db, const char *after, const struct touched_ear *ear, struct touched *out,
                            enum outcome *outcome) MUST_CHECK;

#endif
