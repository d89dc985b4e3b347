/* handout.h - gives units to the orders that wait for a sku at an incoming location. It reads the front of the queue
 * and decides how many units each order gets; steps of the caller's transaction write them. Background threads.
 *
 * Orders are served in queue order. A line that gets fewer units than it asks for is split in two. An order that
 * another transaction has locked blocks the orders behind it, or is skipped: then its units are set aside for it, and
 * the orders behind it get theirs. Each order must still be as it was read (`changed`). If not, all is undone, and the
 * caller reads again. */
#ifndef JOBS_HANDOUT_H
#define JOBS_HANDOUT_H

#include "engine/promise/shares.h"

enum { HANDOUT_FIRST = 500, HANDOUT_MAX = 1000, HANDOUT_MIN = 16 };

/* Zero-initialised but for the input. One thread. */
struct handout {
	/* ---- input */
	uint32_t sku_id, from_id, to_id; /* from_id: of the queue; to_id: of the units */
	int64_t  units;                  /* to give, at most; 1 or more */
	size_t   orders_max;             /* 0: HANDOUT_FIRST. handout_done raises and lowers it */
	bool     passes;                 /* true: a locked order is skipped; false: it blocks those behind it */
	bool     draws;                  /* the units leave `available` at `to`: TXN_SHORT where too few are left .. */
	uint16_t slot;                   /* .. by way of this slot, which exists */
	/* ---- set by handout_read */
	size_t waiting; /* lines that were looked at; 0: no order waits */
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
	struct shares          at_to;     /* .. and units that come to `reserved` */
	const struct location *to;
	struct reservation   **lapsed; /* expired holds that stood among them */
	size_t                 lapsed_count;
	struct reservation   **read; /* list and lapsed point into these; owned by the first of several */
	size_t                 read_count;
};
void handout_fini(struct handout *h);

/* Reads the front of the queue, and decides. Frees the results of the call before. Locks nothing. */
enum db_result handout_read(struct db *db, struct handout *h) MUST_CHECK;
/* Does the same for several skus, sorted by sku, which are written together. An order that waits for several of them is
 * read, written and told once. The list is freed as a whole (handout_fini of each). */
enum db_result handouts_read(struct db *db, struct handout *list, size_t count) MUST_CHECK;
/* Steps of a transaction that has entered (txn_enter with stamp_min, logs): the orders, their lines, their positions in
 * the queue, and the slots. At least one of the list gives something. `from` says what becomes of the units at from_id:
 * they leave `reserved` for good (STOCK_SETTLE), or go to `available` (STOCK_GIVE_BACK). Appends an event for each
 * order, with this cause (NULL: none). The caller goes on with movements and txn_log. */
void handouts_write(struct txn *t, const struct handout *list, size_t count, enum statement from, const char *cause,
                    struct text *changes);
/* Says whether the transaction was committed: the next read takes more or fewer orders. */
void handout_done(struct handout *h, bool committed);
/* Expires the expired holds of the queue, in a transaction of their own. If it is undone, read again. */
enum db_result handout_sweep(struct db *db, const struct handout *h) MUST_CHECK;

#endif
