/* columns.h - which column of a list holds what. A list is of a kind of movement; its first line names the columns: by
 * the names of the fields, by names that were given (--columns), or by those that a shop system's own export has. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "commands/import/table.h"
#include "engine/rows.h"

/* X(column, traits of kinds that have it, of kinds that lack it, of kinds with a first line that must name it, what it
 * is in a list of orders: NONE, MAY or MUST) */
enum of_orders { NONE, MAY, MUST };
#define COLUMNS                                       \
	X(sku, LISTED, 0, LISTED, MUST)               \
	X(qty, LISTED, COUNTED, LISTED, MUST)         \
	X(counted, COUNTED, 0, LISTED, NONE)          \
	X(from, HAS_ENDS, 0, LISTED, NONE)            \
	X(to, HAS_ENDS | MAY_LOSE, 0, HAS_ENDS, NONE) \
	X(short, MAY_LOSE, 0, 0, NONE)                \
	X(location, LISTED, HAS_ENDS, 0, MAY)         \
	X(expected, COUNTED | SIGNED, 0, 0, NONE)     \
	X(as_of, COUNTED, 0, 0, NONE)                 \
	X(order_id, 0, 0, 0, MUST)                    \
	X(customer, 0, 0, 0, MAY)                     \
	X(state, 0, 0, 0, MAY)                        \
	X(waits_since, 0, 0, 0, MAY)                  \
	X(ship_after, 0, 0, 0, MAY)
enum field {
#define X(name, ...) FIELD_##name,
	COLUMNS
#undef X
		FIELDS,
	FIELD_OTHER = -1
};
const char *field_name(enum field what);

/* What a shop system's export is like: presets.def. */
struct preset;
const struct preset *preset_find(const char *word); /* NULL: there is none */
const char          *preset_words(void);            /* "shopify, woocommerce or magento" */

struct naming {
	enum movement_kind   kind;
	const struct preset *from;          /* NULL: none */
	char                *names[FIELDS]; /* given; "": the list lacks the column; NULL: nothing was given */
};
/* Reads `field=Column name` with commas between; a name that holds a comma stands in double quotes. false: it is none;
 * `why` says why. */
bool naming_read(struct naming *n, const char *text, char *why, size_t why_size) MUST_CHECK;
void naming_fini(struct naming *n);

/* The column of reasons in a file of bad rows: it is passed over in silence. */
#define WRONG_COLUMN "wrong"

enum { NO_COLUMN = -1 };
struct columns {
	int    at[FIELDS]; /* the column that holds the field; NO_COLUMN: none does */
	size_t count;      /* of the first line */
	/* A list with a column of units for each location: the first and the number of these columns; 0: it has none.
	 */
	size_t places, places_count;
};
/* A list of orders is of no kind of movement. */
#define ORDERS_LIST ((enum movement_kind)0)
const char *list_word(enum movement_kind kind); /* "count", "reservation" */
/* True: lists of the kind may have the field; their first line must name it. */
bool field_is_of(enum movement_kind kind, enum field what);
bool field_is_needed(enum movement_kind kind, enum field what);
/* How well a name is known in lists of this kind: for table.h. */
int columns_know(const struct naming *n, const char *name, size_t len);
/* Reads the first line. false: it does not name each column that the kind needs, once; a message has said so. `tells`:
 * other messages name the columns that are passed over. */
bool columns_read(struct columns *c, const struct naming *n, const struct table *t, const struct record *head,
                  bool tells) MUST_CHECK;
/* Says that the file is empty, and what its first line must name. */
void columns_missing(const struct naming *n, const struct table *t);
/* Adds which column is which field: sku = "Variant SKU", qty. */
void columns_tell(const struct columns *c, const struct record *head, struct text *to);
/* Leaves out what stands around a name or a field: spaces, also one that does not break, and quotes. */
const char *name_trim(const char *name, size_t *len);

#endif
