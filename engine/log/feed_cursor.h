/* feed_cursor.h - a place in the log of events, and the text of it that a reader keeps and sends back. Pure.
 *
 * A place is how far each writer was read and how far the merge of all writers has come. The text names writers that
 * may still write. A writer that had ended needs no name: its unread rows stand behind the merge. So the text stays
 * below 2,000 bytes with 100 writers. The text is base64url with a check, which is no secret: a text made by hand may
 * hold any number, so the feed compares every number with the tables. */
#ifndef FEED_CURSOR_H
#define FEED_CURSOR_H

#include "engine/base/base.h"

struct feed_writer {
	uint32_t writer_id;
	uint32_t check;    /* feed_check of the stamp of the last row that was passed */
	uint64_t event_no; /* the last row that was passed; 0: none */
	/* Not in the text, known of a writer that was looked at: */
	bool     ended;
	uint64_t last;       /* its newest row */
	int64_t  found_from; /* it has ended, and a merge behind this stamp finds its unread rows; INT64_MAX: none does
	                      */
};

struct feed_place {
	uint64_t            mark;        /* of the database */
	uint32_t            era;         /* of the log */
	uint32_t            known;       /* every writer up to this number was seen */
	int64_t             stamp;       /* the merge: the latest row that was passed, or begun .. */
	uint32_t            writer_id;   /* .. its writer .. */
	uint64_t            event_no;    /* .. and number; 0: the merge stands at no row */
	uint32_t            part;        /* so many changes were passed of the row behind the last one .. */
	uint32_t            part_writer; /* .. of this writer; 0: of none */
	struct feed_writer *writers;     /* by number; owned */
	size_t              count, max;
};
void                feed_place_fini(struct feed_place *p);
void                feed_place_copy(struct feed_place *to, const struct feed_place *from);
struct feed_writer *feed_place_add(struct feed_place *p, uint32_t writer_id);        /* at the end of the list */
struct feed_writer *feed_place_find(const struct feed_place *p, uint32_t writer_id); /* NULL: not named */
/* Passes a row of the writer writers[at], or the first `part` changes of it (0: all). */
void feed_place_pass(struct feed_place *p, size_t at, uint64_t event_no, int64_t stamp, uint32_t part);
/* The least stamp of the unread rows of a writer that the place does not name. */
int64_t  feed_place_behind(const struct feed_place *p, uint32_t writer_id);
uint32_t feed_check(uint64_t event_no, int64_t stamp);

char *feed_place_write(const struct feed_place *p) MUST_CHECK; /* unreserved characters; the caller frees it */
/* false: the text is none that feed_place_write gave. `p` is empty before; fini is fine in any case. */
bool feed_place_read(const char *text, struct feed_place *p) MUST_CHECK;

#endif
