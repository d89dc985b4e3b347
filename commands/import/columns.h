/* columns.h - which column of a list holds what. A list is of a kind of movement; its first line names the columns. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "commands/import/table.h"
#include "engine/rows.h"

/* X(column, traits of kinds that have it, of kinds that lack it, of kinds with a first line that must name it) */
#define COLUMNS                                 \
	X(sku, LISTED, 0, LISTED)               \
	X(qty, LISTED, COUNTED, LISTED)         \
	X(counted, COUNTED, 0, LISTED)          \
	X(from, HAS_ENDS, 0, LISTED)            \
	X(to, HAS_ENDS | MAY_LOSE, 0, HAS_ENDS) \
	X(short, MAY_LOSE, 0, 0)                \
	X(location, LISTED, HAS_ENDS, 0)        \
	X(expected, COUNTED, 0, 0)              \
	X(as_of, COUNTED, 0, 0)                 \
	X(order_id, 0, 0, 0)
enum field {
#define X(name, ...) FIELD_##name,
	COLUMNS
#undef X
		FIELDS,
	FIELD_OTHER = -1
};
const char *field_name(enum field what);

enum { NO_COLUMN = -1 };
struct columns {
	enum movement_kind kind;
	int                at[FIELDS]; /* the column that holds the field; NO_COLUMN: none does */
	size_t             count;      /* of the first line */
};
/* True: lists of the kind may have the field; their first line must name it. */
bool field_is_of(enum movement_kind kind, enum field what);
bool field_is_needed(enum movement_kind kind, enum field what);
/* How well a name is known in a list of the kind: for table.h. */
int columns_know(enum movement_kind kind, const char *name, size_t len);
/* Reads the first line. false: it does not name each column that the kind needs, once; a message has said so. `tells`:
 * another message names the columns that are passed over. */
bool columns_read(struct columns *c, const struct table *t, const struct record *head, bool tells) MUST_CHECK;
/* Says that the file is empty, and what its first line must name. */
void columns_missing(enum movement_kind kind, const struct table *t);

#endif
