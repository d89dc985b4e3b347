/* statement.h - the SQL of the .sql files, by name. The only place that builds SQL text.
 *
 * Blocks are named statements or pieces of a compound. What may be filled in are numbers and hex literals, nothing
 * else, so that no input can become SQL: {lane} {slot} .. take the number of that name in struct fill, {rows} takes a
 * list made by row_*(). */
#ifndef STATEMENT_H
#define STATEMENT_H

#define STATEMENT_ENUM
#include "engine/base/text.h"
#include "statements.h"
#undef STATEMENT_ENUM

struct fill {
	int64_t count, epoch, high, id, kind, lane, lapsed, last, lease, low, mark, sku, slot, state, task, verdict;
	const struct text *rows;
};

/* Appends the block to `sql`; `fill` may be NULL where the block has no braces. */
void        statement_add(struct text *sql, enum statement name, const struct fill *fill);
const char *statement_name(enum statement name);
const char *statement_text(enum statement name); /* as it stands, with question marks, for db_prepare */

/* ---- lists for {rows}: "(1,2,x'6162'),(..)", or plain "1,2" when the row is neither begun nor ended. */
void row_begin(struct text *rows);
void row_end(struct text *rows);
void row_int(struct text *rows, int64_t n);
void row_hex(struct text *rows, const void *data, size_t len); /* an empty string is x'' */
void row_null(struct text *rows);
void row_t(struct text *rows);                /* @t, the time of a lane's transaction or of a guard's (guard.h) */
void row_utc_now(struct text *rows);          /* outside of a transaction */
void row_time(struct text *rows, int64_t ms); /* a DATETIME(3) */

#endif
