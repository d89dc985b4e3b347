/* statement.h - the SQL of the .sql files, by name. The only place that builds SQL text. Blocks are statements or steps
 * of a compound. Only numbers, times and hex literals are filled in, so no input can become SQL: {slot} {after_at} ..
 * take the value of that name in struct fill, {rows} and {list} its rows. */
#ifndef STATEMENT_H
#define STATEMENT_H

#include "engine/db/values.h"

#define STATEMENT_ENUM
#include "statements.h"
#undef STATEMENT_ENUM

/* Flags behind the name of a statement in its .sql file. */
enum statement_flag {
	STATEMENT_PREPARED = 1,    /* has question marks: a lane's connection knows it by db_prepare */
	STATEMENT_NEVER_WAITS = 2, /* waits for no row lock: makes new rows, or has locked the row before */
	STATEMENT_BY_SKU = 4,      /* an invariant (schema/invariants.sql), by how the audit walks it */
	STATEMENT_BY_MOVEMENT = 8,
	STATEMENT_BY_RESERVATION = 16,
	STATEMENT_BY_TASK = 32,
	STATEMENT_AT_ONCE = 64,
	STATEMENT_INVARIANT = 124, /* any of these */
};

/* Parameters, named in fill.def. A statement reads only those that it names. */
struct fill {
#define FILL_NUMBER        int64_t
#define FILL_TIME          int64_t
#define FILL_TEXT          const char *
#define X(type, parameter) FILL_##type parameter;
#include "engine/db/fill.def"
#undef X
	const struct values *rows; /* {rows}: (1,x'6162'),(..); {list}, of one column: 1,2 */
};

/* Appends the block to `sql`; `fill` may be NULL where the block has no braces. */
void statement_add(struct text *sql, enum statement name, const struct fill *fill);
struct sql_block {
	const char *name, *text; /* the text as it stands, with braces and question marks */
	unsigned    flags;       /* of enum statement_flag */
	unsigned    columns;     /* of the rows that it answers; 0: it answers none */
};
extern const struct sql_block statements[STATEMENT_COUNT];

bool sql_is_read(const char *sql); /* the statement changes nothing, but for locks */
/* On a node of a cluster the statement waits until what the others have committed is here; it waits for no row. */
bool sql_is_causal(const char *sql);

#endif
