/* page.h - a page of a list: `limit` and `cursor` of the query, `next_cursor` of the answer. */
#ifndef PAGE_H
#define PAGE_H

#include "engine/base/json.h"
#include "engine/op.h"

struct request;

/* Reads the query. *limit: as asked for, or the standard. *cursor: not empty and shorter than CURSOR_SIZE; NULL: from
 * the beginning. false: already answered. */
bool page_read(struct request *r, int64_t *limit, const char **cursor) MUST_CHECK;
/* The forms of a parameter: a code or an id, or the beginning of one (codes.h). */
enum query_form { QUERY_CODE, QUERY_CODE_BEGIN, QUERY_ID, QUERY_ID_BEGIN };
/* A parameter of the query, of `max` bytes at most; *text NULL: it is not there. false: already answered. */
bool query_word(struct request *r, const char *name, enum query_form form, size_t max, const char **text) MUST_CHECK;
/* The member `locations`, different ones, `max` at most; 0 where it is absent, and after a fault. */
size_t read_locations(struct json_reader *in, size_t max, const char **code, size_t *len);
/* The operation of a list of the engine's, with its page and room for one line: for request_start, or else op_free.
 * NULL: already answered. */
struct op *page_op(struct request *r, enum op_kind kind);
/* Writes the member `next_cursor`; empty: this was the last page. */
void page_end(struct json_writer *w, const char *cursor);
/* Writes `items`, `count` elements of `size` bytes each, as objects with the members that `put` writes; then as
 * page_end. */
void page_write(struct json_writer *w, const void *items, size_t count, size_t size,
                void (*put)(struct json_writer *w, const void *item), const char *cursor);

#endif
