/* handout.h - units for the orders that wait for a sku at an incoming location. The front of the queue is read, the
 * units of each order are decided, and steps of the caller's transaction write them. Background threads.
 *
 * Orders are served in queue order, piece by piece: a line that gets less than it asks for is split in two. An order
 * that another transaction has locked holds up the orders behind it, or is passed over: then its units are kept for it,
 * and the orders behind it get theirs. All orders are written as they were read (`changed`), or all is undone: read
 * anew then. */
#ifndef JOBS_HANDOUT_H
#define JOBS_HANDOUT_H

#include "engine/write/shares.h"

enum { HANDOUT_FIRST = 500, HANDOUT_MAX = 1000, HANDOUT_MIN = 16 };

/* Zero-initialised but for what is asked. One thread. */
struct handout {
	/* ---- asked */
	uint32_t sku_id, from_id, to_id; /* from_id: of the queue; to_id: of the units */
	int64_t  units;                  /* to give, at most; 1 or more */
	size_t   orders_max;             /* 0: HANDOUT_FIRST. Grows and falls by handout_done */
	bool     passes;                 /* a locked order is passed over; false: those behind it wait, too */
	const struct shares
		*taken; /* units that leave `available` at `to`, summed: TXN_SHORT where a slot lacks them */
	/* ---- found by handout_read */
	size_t waiting; /* lines that were looked at; 0: nobody waits */
	struct position {
		uint64_t reservation_id;
		int64_t  units; /* of its line that stand here; -1: all that are left of it */
		int64_t  newer; /* units of the line that stand behind */
	} * front;              /* in queue order */
	size_t                 front_count, front_max;
	struct relocation     *list; /* the lines that get units, in queue order */
	size_t                 count;
	int64_t                given;     /* units of all of them */
	int64_t                stamp_min; /* for txn_enter */
	struct shares          at_from;   /* units that leave `reserved`, by slot .. */
	struct shares          at_to;     /* .. and those that come to `reserved` */
	const struct location *to;
	struct reservation   **lapsed; /* holds past their time that stood among them */
	size_t                 lapsed_count;
	struct reservation   **read; /* what list and lapsed point to; owned, by the first of several */
	size_t                 read_count;
};
void handout_fini(struct handout *h);

/* Reads the front of the queue, and decides. What was found before is freed. Locks nothing. */
enum db_result handout_read(struct db *db, struct catalogue *c, struct handout *h) MUST_CHECK;
/* Several of other skus each, sorted by them, that are written together. An order that waits for several of the skus is
 * read, written and told once. They end together (handout_fini). */
enum db_result handouts_read(struct db *db, struct catalogue *c, struct handout *list, size_t count) MUST_CHECK;
/* Steps of a transaction that has entered (txn_enter with stamp_min, logs): the orders, their lines, their positions
 * in the queue, and the slots. One of the list at least gives something. The units leave `reserved` at `from`, for good
 * (STOCK_SETTLE), or to `available` there (STOCK_GIVE_BACK). Appends an event for each order, of this cause (NULL:
 * none). Behind it come movements and txn_log. */
void handouts_write(struct txn *t, const struct handout *list, size_t count, enum statement from, const char *cause,
                    struct text *changes);
/* Tells what became of the transaction: more or fewer orders are read next. */
void handout_done(struct handout *h, bool committed);
/* Expires the holds that stood in the queue past their time, in a transaction of their own. Undone: read anew. */
enum db_result handout_sweep(struct db *db, const struct handout *h) MUST_CHECK;

#endif
