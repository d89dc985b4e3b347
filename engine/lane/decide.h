/* decide.h - who gets what. Pure: no database, no clock, no memory of its own.
 *
 * A batch is operations in the order of their arrival, the balances that their lines touch, and for each operation the
 * row that the look-up of its id found. decide() gives every operation its outcome and adds up what the batch will
 * write. It may be run again after balances or look-ups were refreshed. A refusal is told to nobody before the lane has
 * made sure of it: op_is_certain. */
#ifndef DECIDE_H
#define DECIDE_H

#include "engine/op.h"

enum needs { NO_SLOT, OWN_SLOT, EVERY_SLOT };

/* The balance of one sku at one location, as a lane knows it, and what a batch does to it. All in units. */
struct balance {
	uint32_t sku_id, location_id;
	int64_t  own, total;    /* available: in the lane's slot, in all slots */
	unsigned slots;         /* how many slot rows there are; 0: never stocked here */
	bool     own_row;       /* the lane's own slot row exists */
	bool     wanted;        /* somebody in the batch needs to know the balance */
	bool     known;         /* own and total were read, some time ago perhaps */
	int64_t  before;        /* total as it was known before it was read again; -1: it was not known */
	unsigned read_seq;      /* read_seq of the batch when own and total were read; 0: before it began */
	bool     agreed;        /* the last look gave the total that was known before it */
	bool     swept;         /* expired holds on it were looked for in this batch */
	bool     doubted;       /* a refusal rests on it that is not certain yet */
	uint8_t  needs;         /* blocked.c: which slots the batch needs, enum needs */
	bool     own_locked;    /* blocked.c: somebody outside holds the own slot of these .. */
	bool     others_locked; /* .. another one */
	bool     gathers;       /* the own slot has too little, all slots together have enough */
	/* ---- decide() */
	int64_t left;            /* what of `total` nobody in this batch has taken yet, additions included */
	int64_t take, hold, add; /* leaves available; of that is reserved; comes in */
};

enum { BATCH_OPS = 1000, BATCH_LINES = 5000, BATCH_BYTES = 1 << 20 };

/* So many looks at balances that never agree, each of them short, are enough for a refusal. */
enum { LOOKS_ENOUGH = 4 };

struct batch {
	unsigned        read_seq; /* counts the reads of the batch: of two, the later has the larger one */
	struct op     **ops;
	size_t          count;
	struct balance *balances; /* in the order in which they were met */
	uint32_t       *order;    /* indices of balances, sorted by sku and location: the order of locks */
	size_t          balances_count;
	bool            has[OP_KINDS]; /* false: no operation of this kind was taken */
};

void decide(struct batch *b);
/* The outcome of a movement whose id was found: replayed, or used for something else. */
enum outcome movement_outcome(const struct op *op);
/* Does the refusal or partial grant stand on balances newer than the op, and on a look-up of its id newer than these? A
 * twin that took the last units is then seen in one of the two. A sum of slots that was read once may never have been
 * true: InnoDB's view can hold one transaction without another that ended before it, so that a unit that moved between
 * two slots is in neither. Two reads have to agree, of which the hint may be one; where stock moves faster than that,
 * LOOKS_ENOUGH reads were all short. */
bool op_is_certain(const struct op *op, const struct batch *b);
/* Is the outcome a refusal for want of units, or a partial grant? Both need op_is_certain before they are told. */
bool op_is_refused(const struct op *op);

/* How many lines of the reservation that it found need balances: a release writes the slots of its lines, a
 * confirmation that acquires anew takes their units again. */
size_t op_found_lines(const struct op *op);

#endif
