/* rows.h - reservations and movements as they stand in the database, with their lines: for lanes, readers and jobs.
 * Each is one allocation; the holder of the pointer owns it. */
#ifndef ROWS_H
#define ROWS_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

enum reservation_state {
	NO_STATE,
#define X(name, number, word) name = number,
#include "engine/reservation_states.def"
#undef X
	STATES
};
const char *reservation_state_name(enum reservation_state s);
enum { /* bits of noted */
#define X(name, bit, word) name = bit,
#include "engine/notes.def"
#undef X
};
enum movement_kind {
#define X(name, number, word, traits) name = number,
#include "engine/movement_kinds.def"
#undef X
	KINDS
};
enum movement_trait { /* bits: movement_kinds.def says what each means */
	              COUNTED = 1 << 0,
	              SIGNED = 1 << 1,
	              HAS_ENDS = 1 << 2,
	              BOOKS = 1 << 3,
	              EXCLUSIVE = 1 << 4,
	              MAY_LOSE = 1 << 5,
	              IN_HOUSE = 1 << 6,
	              MAKES_SKUS = 1 << 7,
	              NAMES_ORDER = 1 << 8,
	              LISTED = 1 << 9
};
const char *movement_kind_name(enum movement_kind k);
bool        movement_is(enum movement_kind k, unsigned traits); /* true: it has one of them */

enum { MADE_SKU = 1, MADE_LOCATION = 2 }; /* bits */

/* One sku at one location, with a number of units. Lines of an operation are sorted by sku code and location code,
 * equal ones summed. */
struct line {
	const char            *sku_code, *location_code; /* the code, in the text of the op or of the catalogue */
	const struct sku      *sku;                      /* NULL: the catalogue does not know the sku yet */
	const struct location *location;                 /* NULL: the catalogue does not know the location yet */
	int64_t                qty;       /* units asked for; signed for a movement; counted for a stocktake */
	int64_t                granted;   /* units held, or moved (signed) */
	int64_t                available; /* a refusal: units that were available, or the limit of a customer; a
	                                     stocktake: on_hand */
	int64_t reserved;                 /* a refused stocktake: units that were reserved; a replacement: units of
	                                     the replaced order that count for this line; LIMIT_REACHED: units that the
	                                     customer has */
	uint32_t balance;                 /* index of the line's balance in the lane's batch */
	uint16_t slot;                    /* the slot that holds, or will hold, the units */
	bool     fault;                   /* this line is why the operation was refused */
	union {
		bool    limited; /* the limit of a customer is why less was granted */
		uint8_t made;    /* of a movement: MADE_.., what did not exist before it */
	};
	union {
		int64_t expected; /* of a movement that HAS_ENDS: units that leave; of one that is SIGNED the units that
		                     are there, or -1; of others -1 */
		int64_t returned; /* of a settled order, or where more comes back than may: units of the sku, at all
		                     locations, that came back; the first line of a sku tells */
		struct counted *count; /* of a movement that is COUNTED: op.h */
	};
	struct loss *loss; /* promised units are taken, too: op.h; NULL: none are */
};
int line_order(const void *a, const void *b); /* for qsort: by sku code, then location code */
/* The line of these of the same sku and location; NULL: there is none. Codes are compared: the line of an operation may
 * have no number. */
struct line *line_like(const struct line *lines, size_t count, const struct line *like);
void         lines_sort(struct line *lines, size_t count);
size_t lines_join(struct line *lines, size_t count) MUST_CHECK; /* sorts them; equal ones are one, `granted` is added */
int64_t lines_units(const struct line *lines, size_t count);    /* the sum of qty */
/* True: the units are not in the house yet, so a promise of them waits. */
bool line_waits(const struct line *line);
bool lines_wait(const struct line *lines, size_t count); /* true: one of them does */
/* For SKU_FIND: enters a sku into the catalogue. */
void sku_row_read(void *catalogue, const struct db_row *row);
/* A column of units; what a damaged row has beyond QTY_MAX is cut. */
int64_t qty_read(const struct db_row *row, unsigned column);

struct reservation {
#define X(declaration, member, read, column) declaration;
#include "engine/reservation.def"
#undef X
	/* Of an order that was held back (NOTED_ON_HOLD); its ship_after is what was asked for. */
	int64_t     hold_until;  /* ms; 0 or less: it is not held back, or no more */
	char       *hold_reason; /* NULL: none was given; owned */
	size_t      lines_count;
	struct line lines[];
};
/* The last_error of an order that a worker put off, which charges no attempt. */
#define ERROR_LOCKED "locked by another transaction"
/* The state to tell: a held reservation past expires_at reads EXPIRED. */
enum reservation_state reservation_reads(const struct reservation *r);
/* True: it reads EXPIRED, and not for long: a change of just before its end may still be committing. */
bool reservation_just_ended(const struct reservation *r);
bool reservation_is_live(enum reservation_state reads); /* true: its units are promised */
/* A hold without end has an end in the year 9000, nearly: times may have been set right by hand since. */
#define HOLD_NO_END INT64_C(221845392000000)
bool hold_has_end(int64_t hold_until);
/* True: it was held back when it was read. */
static inline bool reservation_on_hold(const struct reservation *r)
{
	return r->hold_until > 0;
}
struct reservation *reservation_copy(const struct reservation *r);
void                reservation_free(struct reservation *r); /* NULL is fine */
void                reservations_free(struct reservation **list, size_t count);
/* For a transaction that changes them: adds their rows (id, changed, attempts) to `rows` (may be NULL); returns the
 * least stamp that it may have. */
int64_t reservations_as_read(struct values *rows, struct reservation *const *list, size_t count);
/* True: a task has one of these orders, as they were read. */
bool reservations_claimed(struct reservation *const *list, size_t count);

/* Promised units of an order that go to another location (engine/promise/relocate.h). */
struct relocation {
	struct reservation    *of;
	const struct line     *line;   /* of the order, which the units leave .. */
	const struct line     *beside; /* .. and its line of the sku that is at `to` already; NULL: none */
	const struct location *to;
	int64_t                qty;
	uint16_t               slot;   /* at `to` */
	bool                   parted; /* the line has several positions in the queue */
};

/* A line of a transfer or an arrival: units of one sku that go from a location to another. */
struct transfer {
	const char            *sku_code, *from_code, *to_code;
	const struct sku      *sku; /* here and below NULL: not known yet */
	const struct location *from, *to;
	int64_t                qty;
	int64_t                filled, for_sale;   /* of an arrival: units that were handed out so far */
	bool                   fault;              /* the kinds of its ends are why the operation was refused */
	uint32_t               from_line, to_line; /* op_seal: the lines of its ends */
};
int transfer_order(const void *a, const void *b); /* for qsort: by the codes of sku, from, to */

/* Units of a sku that an order lost by a movement. */
struct backorder {
	char        order_id[ID_MAX + 1];
	const char *sku_code; /* in the text of the catalogue */
	int64_t     qty;
};

struct movement {
#define X(declaration, member, read, column) declaration;
#include "engine/movement.def"
#undef X
	struct transfer  *transfers; /* of a kind that HAS_ENDS: its lines are sums of them; owned */
	size_t            transfers_count;
	struct backorder *backorders; /* of a count or an adjustment that took promised units; owned */
	size_t            backorders_count;
	size_t            lines_count;
	struct line       lines[];
};
void movement_free(struct movement *m);  /* NULL is fine */
void backorders_sum(struct movement *m); /* sorts them by order and sku, those of one sku as one */

/* Reservations as they were read; the list is the caller's. */
struct reservation_reader {
	struct catalogue    *catalogue;
	struct reservation **list;
	size_t               count;
};
/* Runs a statement that selects {reservation_columns}, and makes of its rows each reservation once, with all of its
 * lines in the order of their codes; sorted by id, the order in which rows are locked. What came back of those that say
 * so (NOTED_RETURNS) is read with them, and what holds them back (NOTED_ON_HOLD). `in` has the catalogue. Where a row
 * names a location that is new, the locations are read and the statement runs once more. A line of no location at all,
 * by damage, is of the location without a name. The list may be filled after an error, too. */
enum db_result reservations_ask(struct db *db, enum statement name, const struct fill *fill,
                                struct reservation_reader *in) MUST_CHECK;

/* The same of movements, {movement_columns}: the newest first; lines of one sku and location as one. */
struct movement_reader {
	struct catalogue *catalogue;
	struct movement **list;
	size_t            count;
};
enum db_result movements_ask(struct db *db, enum statement name, const struct fill *fill,
                             struct movement_reader *in) MUST_CHECK;

#endif
