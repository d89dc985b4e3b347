/* feed_merge.h - the rows of the log in one snapshot of the database: those of all writers in one order, from a place
 * on. The reader of the feed (feed.h) opens it, takes rows, and ends it before anything else.
 *
 * Numbers of a writer have no hole, so rows are asked for by their keys alone: first the stamps of the rows that come
 * next of every writer, which are merged, then the changes of the rows that come first. So a page costs little more
 * than it gives, however many writers there are and however many rows stand before it. A check of the log takes every
 * row: ranges of whole rows are asked for, at a tenth of the cost, and a missing row stops the merge. */
#ifndef FEED_MERGE_H
#define FEED_MERGE_H

#include "engine/db/db.h"
#include "engine/log/event.h"
#include "engine/log/feed_cursor.h"
#include "engine/outcome.h"

struct feed_rows { /* one owner, which frees their changes, too */
	struct event_row *list;
	size_t            count, max;
};
void feed_rows_fini(struct feed_rows *rows);

/* Where to begin. */
struct feed_start {
	enum { FROM_OLDEST, FROM_NOW, FROM_TIME, FROM_PLACE } kind;
	struct feed_place place; /* of a cursor; of a time the place of its merge */
	bool checks; /* the reader checks the log: a missing row stops the merge, and the place may name one */
};
bool feed_start_read(const char *after, struct feed_start *start) MUST_CHECK; /* false: `after` is wrong */

struct feed_merge {
	struct feed_place place; /* where it began, with all writers */
	enum db_result    result;
	enum outcome      outcome;
	/* private */
	struct db          *db;
	bool                in_snapshot;
	bool                ahead; /* stamps were asked for in the snapshot's trip */
	struct feed_rows   *kept;  /* rows that another merge has read */
	struct feed_rows    rows;  /* in their order */
	bool                checks, takes_all;
	size_t              taken;
	size_t              batch;   /* so many rows are read the next time */
	size_t              chunk;   /* stamps of a writer that are asked for at first */
	struct feed_source *sources; /* by number, as the writers of the place */
	size_t              count, max;
	struct values       pairs;       /* (writer_id, event_no) to ask for */
	int64_t             merge_found; /* stamp of the row at which the merge stands; -1: it is gone */
	struct feed_log {
		int64_t writer_last, keep_days, era, mark;
	} log;
};
/* Opens the snapshot and finds the place. True: rows may be taken. m->result and m->outcome say what came of it:
 * OUTCOME_OK, CURSOR_EXPIRED or EVENTS_OFF. Rows of `kept` that are the same are taken from there. batch: 0 for a
 * reader that takes some rows; for a reader of all rows, the number that is read at first. feed_merge_end follows in
 * any case. */
bool feed_merge_begin(struct feed_merge *m, struct db *db, const struct feed_start *start, struct feed_rows *kept,
                      size_t batch);
/* The next row, which stays until feed_merge_fini; NULL: there is none, or m->result says why. */
const struct event_row *feed_merge_take(struct feed_merge *m);
/* The writer with the missing row that stopped the merge of a reader that checks the log; NULL: none did. */
const struct feed_writer *feed_merge_gap(const struct feed_merge *m);
bool                   feed_merge_more(const struct feed_merge *m);
void                   feed_merge_end(struct feed_merge *m); /* ends the snapshot; rows stay */
/* Gives rows that were read to `kept`, in the place of those there: from the last `again` ones taken on. */
void feed_merge_fini(struct feed_merge *m, size_t again);

#endif
