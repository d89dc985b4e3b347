/* batch.h - the operations that a lane has taken together, the balances that their lines touch, and what they write.
 * Pure: no database, no clock. */
#ifndef BATCH_H
#define BATCH_H

#include "engine/op.h"
#include "engine/promise/shares.h"

/* Slots of a sku at a location, as bits. */
enum slots { NO_SLOT, OWN_SLOT, OTHER_SLOTS, EVERY_SLOT };

/* The balance of one sku at one location, as a lane knows it, and the batch's change of it. All in units. */
struct balance {
	uint32_t sku_id, location_id;
	int64_t  own, total; /* units available: in the lane's slot, in all slots */
	unsigned slots;      /* number of slot rows; 0: never stocked here */
	bool     own_row;    /* the lane's own slot row exists */
	bool     wanted;     /* an operation of the batch needs to know the balance */
	bool     known;      /* own and total were read, perhaps long ago */
	uint32_t waits_at;   /* the orders that wait there come first (location_waits_at); 0: there is no queue */
	bool     waited;     /* an order waits there .. */
	int64_t  kept;   /* .. and so many units of `total` are for the queue; known where it was read in this batch */
	int64_t  before; /* total before the last read; -1: not known then */
	bool     waited_before; /* `waited` and .. */
	int64_t  kept_before;   /* .. `kept` before the last read; -1: not known then */
	unsigned read_seq;      /* read_seq of the batch when own and total were read; 0: before it began */
	bool     agreed;        /* the last read gave what was known before it */
	bool     swept;         /* expired holds on it were looked for in this batch */
	bool     doubted;       /* an uncertain refusal rests on it */
	uint8_t  needs, locked; /* blocked.c: enum slots: what the batch needs, what another program has locked */
	bool     gathers;       /* the own slot has too little, all slots together have enough */
	/* ---- decide() */
	int64_t left;            /* units of `total` that this batch has not taken, additions included */
	int64_t take, hold, add; /* take leaves available; add comes in; hold becomes reserved .. */
	int64_t moved;           /* .. and this part of it was reserved in another slot, for a replaced order */
};

/* What a balance was before the items of an atomic call were decided. */
struct mark {
	uint32_t       balance; /* index */
	struct balance was;
};

/* What operations need of their lane beside what all need: a lane calls only the steps that some operation of its batch
 * needs. A kind is a bit, too: NEEDS(OP_MOVE). */
#define NEEDS(kind) (1U << (kind))
enum {
	/* ---- known from the operation itself: op_needs */
	NEEDS_UNITS = NEEDS(OP_GET),     /* units leave slots, or come back to them */
	NEEDS_BACK = NEEDS_UNITS << 1,   /* batch_gives may find something */
	NEEDS_OTHER = NEEDS_UNITS << 2,  /* another order is replaced or split, or units come back from it .. */
	NEEDS_RETURN = NEEDS_UNITS << 3, /* .. which are these */
	NEEDS_HOLD = NEEDS_UNITS << 4,   /* its key has a limit of units */
	NEEDS_NOTE = NEEDS_UNITS << 5,   /* the new order may have what only few have (note.h) */
	NEEDS_GROUP = NEEDS_UNITS << 16, /* an item of an atomic call, whose lane need not be that of its id */
	/* ---- known from rows, when they are looked up */
	NEEDS_LOOK = NEEDS_UNITS << 6,     /* an id is to be looked up */
	NEEDS_ROW = NEEDS_UNITS << 7,      /* an order was found */
	NEEDS_QUEUE = NEEDS_UNITS << 8,    /* a line may wait, now or before; also known from its location */
	NEEDS_ON_HOLD = NEEDS_UNITS << 15, /* an order was held back */
	/* ---- known from balances, when they are found */
	/* a line is at a location that does not sell or does not exist, or sales are stopped */
	NEEDS_LOCATION = NEEDS_UNITS << 9,
	NEEDS_WAITED = NEEDS_UNITS << 10,  /* a line is at a location where orders that wait come first */
	NEEDS_BALANCE = NEEDS_UNITS << 11, /* a balance is not known yet */
	NEEDS_QUOTA = NEEDS_UNITS << 12,   /* a customer has a limit */
	/* ---- decide() */
	NEEDS_CERTAINTY = NEEDS_UNITS << 13, /* an operation is refused */
	NEEDS_GATHER = NEEDS_UNITS << 14,    /* an own slot has too little */
	/* ---- */
	NEEDS_OF_ROWS = NEEDS_ROW | NEEDS_QUEUE | NEEDS_ON_HOLD, /* all that rows tell */
};
_Static_assert(NEEDS(OP_SPLIT) < NEEDS_UNITS, "the kinds that lanes do stand first");

enum { BATCH_OPS = 1000, BATCH_LINES = 5000, BATCH_BYTES = 1 << 20 };

struct batch {
	unsigned          slot;     /* the lane's own */
	unsigned          read_seq; /* number of the batch's reads so far: a later read has a larger one */
	struct op       **ops;
	size_t            count;
	size_t            cut;      /* operations behind those that were taken, too, and are to be put back */
	struct batch_ids *ids;      /* which operation names an id */
	struct balance   *balances; /* in the order of their first use */
	uint32_t         *order;    /* indices of balances, sorted by sku and location: the order of locks */
	size_t            balances_count;
	struct mark      *marks; /* memory of group.c, for one atomic call at a time */
	size_t            marks_count, marks_max;
	bool              guard_alone;    /* quotas of whole orders are not read: the guard judges them */
	struct quotas    *quotas;         /* of the customers of its orders, in skus with a limit */
	unsigned          needs;          /* NEEDS_.. of all operations that were taken */
	unsigned          writes;         /* of those that write; 0: nothing is to be written */
	bool              gathers_inside; /* in one transaction with the deduction */
	bool              writing;        /* the batch is decided, and is being written */
	bool              kinds_read;     /* the kinds of locations were read while the batch was under way */
};

/* ---- operations by their ids: batch_name, until batch_unname */

void batch_open(struct batch *b);
void batch_close(struct batch *b);
void batch_unname(struct batch *b);          /* no operation is found any more */
void batch_name(struct batch *b, size_t at); /* operation number `at` is found by its own id and by other_id */
/* The operation that has this id, or names it as the other one; NULL: there is none. */
struct op *batch_find(const struct batch *b, bool movement, const char *id);
/* True: an operation of the batch names an order or movement of this one. */
bool     batch_names(const struct batch *b, const struct op *op);
unsigned op_needs(const struct op *op); /* NEEDS_.. that the operation itself tells */
/* Takes the operations behind the first `count` out of the batch; the lane puts them back. */
void batch_cut(struct batch *b, size_t count);

/* ---- balances */

/* NULL: the sku or the location of the line is unknown. */
struct balance *line_balance(const struct batch *b, const struct line *line);
/* True: the own slot has too little for what the batch takes. */
bool balance_gathers(const struct balance *p);
/* Units that a reservation may have: those that are left, but for the units that are kept for a queue. */
int64_t balance_for_sale(const struct balance *p);
/* True: reservations take units beside those that are kept for a queue. */
bool balance_is_shared(const struct balance *p);

/* ---- what an operation touches, changes and gives back */

/* The stored reservation with lines that need balances; NULL: none. The end of a promise (a release, a settlement, a
 * split that does one of these) and a replacement write the slots of its lines. A confirmation that revives an expired
 * order takes their units again. */
struct reservation *op_touches(const struct op *op);
/* True: a confirmation that takes the units of an expired order again. */
bool op_takes_again(const struct op *op);
/* The stored reservation that the operation changes: the found one, or the one that is replaced or split, or from which
 * units come back; NULL: there is none. */
struct reservation *op_changes(const struct op *op);
/* The stored order with units that count for the operation: the order that is replaced, or that gets other lines; NULL:
 * there is none. */
struct reservation *op_replaced(const struct op *op);
/* The stored order that the operation replaces, changes the lines of, divides, or brings units back from; NULL: there
 * is none. It may change between two looks. */
struct reservation *op_before(const struct op *op);
/* The lines of an operation that ends a promise: all of the order, or those of the part. Returns their number. */
size_t op_ended(const struct op *op, const struct line **lines);
/* Adds the units that the operation, which writes, takes out of `reserved`, by the slots of stored lines, and what
 * customers get and have no longer. */
void op_gives(const struct op *op, const struct batch *b, struct shares *s);
void batch_gives(const struct batch *b, struct shares *s); /* of all that write */

/* The outcome of a movement when its id was found: replayed, or used for something else. */
enum outcome movement_outcome(const struct op *op);
/* The outcome of an operation on an order that was done before: replayed. But where the order was released or has
 * expired since, it has no units any more, and the repeat is refused: WAS_RELEASED, WAS_EXPIRED. A split that releases
 * its part at once is told of its success. */
enum outcome op_repeats(const struct op *op);
/* The outcome of an operation that makes an order whose id was found: the same order, or another one. */
enum outcome order_outcome(const struct op *op);

#endif
