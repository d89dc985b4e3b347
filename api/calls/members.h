/* members.h - what the answers of several calls share. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "api/http.h"

#define PAGE_LIMIT 100

/* An operation for a list, with `limit` and `cursor` read from the query; one line for a sku's code if it has one.
 * NULL: already answered. */
struct op *page_op(struct request *r, enum op_kind kind);
/* "next_cursor": the text, or null at the end. */
void cursor_member(struct json_writer *w, const struct op *op);
/* "lines":[{sku, location, qty}] */
void lines_write(struct json_writer *w, const struct line *lines, size_t count);

#endif
