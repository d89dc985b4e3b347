/* values.h - rows of values for a statement: written into its text ({rows}, {list}), or sent behind its question marks.
 * A row has as many columns as the first one, filled in order; a column has one type, or NULLs. Zero-initialised is
 * empty.
 *
 * Bytes stay the caller's, and must not change until the statement was made or, with question marks, answered. */
#ifndef VALUES_H
#define VALUES_H

#include "engine/base/text.h"

enum { VALUES_COLUMNS_MAX = 11 };
enum value_type { VALUE_INT, VALUE_BYTES, VALUE_NULL, VALUE_NOW, VALUE_CLOCK };
struct value {
	enum value_type type;
	int64_t         number; /* the number, or how many bytes */
	const void     *bytes;
};
struct values {
	size_t        rows, columns; /* columns of each row; 0: there is none yet */
	struct value *list;
	size_t        count, max; /* number of values */
};

#define V_INT(n)           ((struct value){VALUE_INT, (int64_t)(n), NULL})
#define V_BYTES(data, len) ((struct value){VALUE_BYTES, (int64_t)(len), data})
#define V_TEXT(string)     value_of_text(string) /* NULL: a NULL, which no question mark takes */
/* @t, the time of the transaction; outside of one the clock. Both in a text only. */
#define V_NOW   ((struct value){VALUE_NOW, 0, NULL})
#define V_CLOCK ((struct value){VALUE_CLOCK, 0, NULL})
struct value value_of_text(const char *string);

void values_reset(struct values *v); /* empties the rows; the memory stays */
void values_fini(struct values *v);
/* values_row(v, V_INT(1), V_TEXT("a")) adds a row. */
#define values_row(v, ...)                                 \
	values_add(v, (const struct value[]){__VA_ARGS__}, \
	           sizeof((const struct value[]){__VA_ARGS__}) / sizeof(struct value))
void values_add(struct values *v, const struct value *row, size_t columns);
void value_write(struct value value, struct text *sql); /* appends a literal: 1, x'6162', NULL */
/* Appends (1,x'6162'),(2,NULL) or, of one column, 1,2 where the rows are not to be in parentheses. */
void values_write(const struct values *v, struct text *sql, bool parentheses);
/* Appends [[1,2],[3,4]]; numbers only. */
void values_json(const struct values *v, struct text *json);

#endif
