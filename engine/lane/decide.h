/* decide.h - who gets which units. Pure: no database, no clock, no memory of its own.
 *
 * A batch is operations in the order of their arrival, the balances that their lines touch, and for each operation the
 * row that the look-up of its id found. decide() gives every operation its outcome and adds up the writes of the batch.
 * decide() may run again after balances or look-ups were refreshed. A refusal is told to nobody before the lane has
 * made sure of it: op_is_certain. */
#ifndef DECIDE_H
#define DECIDE_H

#include "engine/lane/quota.h"
#include "engine/shares.h"

/* Slots of a sku at a location, as bits. */
enum slots { NO_SLOT, OWN_SLOT, OTHER_SLOTS, EVERY_SLOT };

/* The balance of one sku at one location, as a lane knows it, and the batch's change of it. All in units. */
struct balance {
	uint32_t sku_id, location_id;
	int64_t  own, total;    /* units available: in the lane's slot, in all slots */
	unsigned slots;         /* number of slot rows; 0: never stocked here */
	bool     own_row;       /* the lane's own slot row exists */
	bool     wanted;        /* an operation of the batch needs to know the balance */
	bool     known;         /* own and total were read, perhaps long ago */
	uint32_t waits_at;      /* the orders that wait there come first (location_waits_at); 0: there is no queue */
	bool     waited;        /* somebody waits there: nothing is sold here */
	int64_t  before;        /* total before the last read; -1: not known then */
	bool     waited_before; /* `waited` before the last read */
	unsigned read_seq;      /* read_seq of the batch when own and total were read; 0: before it began */
	bool     agreed;        /* the last read gave what was known before it */
	bool     swept;         /* expired holds on it were looked for in this batch */
	bool     doubted;       /* an uncertain refusal rests on it */
	uint8_t  needs, locked; /* blocked.c: enum slots: what the batch needs, what somebody outside has locked */
	bool     gathers;       /* the own slot has too little, all slots together have enough */
	/* ---- decide() */
	int64_t left;            /* units of `total` that this batch has not taken, additions included */
	int64_t take, hold, add; /* take leaves available; add comes in; hold becomes reserved .. */
	int64_t moved;           /* .. and this part of it was reserved in another slot, for a replaced order */
};

enum { BATCH_OPS = 1000, BATCH_LINES = 5000, BATCH_BYTES = 1 << 20 };

/* LOOKS_ENOUGH: reads that never agree, each of them short, after which a refusal is told. */
enum { LOOKS_ENOUGH = 4 };

struct batch {
	unsigned        slot;     /* the lane's own */
	unsigned        read_seq; /* number of the batch's reads so far: a later read has a larger one */
	struct op     **ops;
	size_t          count;
	struct balance *balances; /* in the order of their first use */
	uint32_t       *order;    /* indices of balances, sorted by sku and location: the order of locks */
	size_t          balances_count;
	bool            guard_alone;   /* quotas of whole orders are not read: the guard judges them */
	struct quotas   quotas;        /* of the customers of its orders, in skus with a limit */
	bool            has[OP_KINDS]; /* false: no operation of this kind was taken */
	bool            takes_over;    /* false: no operation names another order */
	bool            customers;     /* false: no new order names a customer */
	bool            writing;       /* it is decided, and is being written */
	bool            kinds_read;    /* the kinds of locations were read while the batch was under way */
};

/* NULL: the sku or the location of the line is unknown. */
struct balance *line_balance(const struct batch *b, const struct line *line);
/* True: the own slot has too little for what the batch takes. */
bool balance_gathers(const struct balance *p);
void decide(struct batch *b);
/* True: the reservation would pass the limit of its key; a replacement counts by the difference. */
bool op_is_over_held(const struct op *op);
/* The outcome of a movement whose id was found: replayed, or used for something else. */
enum outcome movement_outcome(const struct op *op);
/* True: the refusal or partial grant stands on balances newer than the op, and on a look-up of its id newer than these.
 * A twin that took the last units is then seen in one of the two.
 *
 * A sum of slots that was read once may never have been true: InnoDB's view can hold one transaction without another
 * that ended before it, so a unit that moved between two slots is in neither. Two reads have to agree, of which the
 * hint may be one. Where stock moves faster than that, LOOKS_ENOUGH reads were all short.
 *
 * What a customer has, and its limit, are read likewise: a row is never torn, but two rows may be.
 *
 * The units of a replaced order count, too: the look-ups before and after the balances have to agree on that order, or
 * a unit that left it meanwhile is in neither. */
bool op_is_certain(const struct op *op, const struct batch *b);
/* True: refused for its customer: CUSTOMER_REQUIRED or LIMIT_REACHED. */
bool op_is_beyond(const struct op *op);
/* True: the outcome is SHORT, UNKNOWN_SKU, one of kinds or of the customer, or a partial grant. All of them need
 * op_is_certain to be told. */
bool op_is_refused(const struct op *op);

/* The stored reservation whose lines need balances, or NULL: what ends a promise (a release, a settlement, a split that
 * does one of these) and a replacement write the slots of its lines, a confirmation that acquires anew takes their
 * units again. */
struct reservation *op_touches(const struct op *op);
/* The stored reservation that the operation changes: the found one, or the one that is replaced or split, or from which
 * units come back; NULL: there is none. */
struct reservation *op_changes(const struct op *op);
/* The lines of an operation that ends a promise: all of the order, or those of the part. Returns their number. */
size_t op_ended(const struct op *op, const struct line **lines);
/* Adds the units that the operation, which writes, takes out of `reserved`, by the slots of stored lines, and what
 * customers get and have no longer. */
void op_gives(const struct op *op, const struct batch *b, struct shares *s);
void batch_gives(const struct batch *b, struct shares *s); /* of all that write */

#endif
