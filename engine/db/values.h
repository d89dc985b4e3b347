/* values.h - rows of values for a statement: written into its text ({rows}, {list}), or sent behind its question marks.
 * A row has as many columns as the first one, filled in order; a column has one type, or NULLs. Zero-initialised is
 * empty.
 *
 * Bytes stay the caller's, and must not change until the statement was made or, with question marks, answered. */
#ifndef VALUES_H
#define VALUES_H

#include "engine/base/text.h"

enum { VALUES_COLUMNS_MAX = 10 };
enum value_type { VALUE_INT, VALUE_BYTES, VALUE_NULL, VALUE_NOW, VALUE_CLOCK };
struct value {
	enum value_type type;
	int64_t         number; /* the number, or how many bytes */
	const void     *bytes;
};
struct values {
	unsigned      columns;
	struct value *list;
	size_t        count, max; /* number of values */
};

void   values_begin(struct values *v, unsigned columns); /* empties the rows; the memory stays */
void   values_fini(struct values *v);
void   values_int(struct values *v, int64_t n);
void   values_bytes(struct values *v, const void *bytes, size_t len);
void   values_text(struct values *v, const char *string); /* NULL: a NULL, which no question mark takes */
void   values_now(struct values *v);   /* @t, the time of the transaction; in a statement's text only */
void   values_clock(struct values *v); /* the clock, outside of a transaction; in a statement's text only */
size_t values_rows(const struct values *v);
/* Appends (1,x'6162'),(2,NULL) or, of one column, 1,2 where the rows are not to be in parentheses. */
void values_write(const struct values *v, struct text *sql, bool parentheses);

#endif
