/* loss.h - finds the orders that lose units when a movement takes promised units: from the end of the queue of orders
 * that have promised units. Background threads.
 *
 * The search walks over all live orders that no task has, in parts without a common snapshot. An order that moves
 * meanwhile may be missed. The writer checks that each order it takes from is still as it was read. */
#ifndef JOBS_LOSS_H
#define JOBS_LOSS_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"
#include "engine/op.h"

/* Units of a sku at a location that orders must lose. */
struct loss_want {
	uint32_t         sku_id, location_id;
	int64_t          needed;
	struct may_lose *list; /* orders that have promised units; private */
	size_t           count, max;
};
/* Zero-initialised but for the input. */
struct loss_pick {
	struct loss_want *wants; /* owned */
	size_t            wants_count;
	unsigned          pause_us;           /* to wait before the walk */
	unsigned          walk;               /* the number of the current walk .. */
	int64_t           after_at, after_id; /* .. and the position that it has reached */
	struct loser     *losers;             /* the orders found, from the end of the queue on; owned */
	size_t            losers_count;
	bool              missed; /* some orders of the walk had ended or were claimed when they were read */
};
void loss_pick_fini(struct loss_pick *p); /* frees all; the pick is empty again */

/* Begins for a movement that was refused. False: the movement is short of other units, too, or orders were picked for
 * it before. */
bool loss_pick_begin(struct loss_pick *p, const struct op *movement) MUST_CHECK;
/* Gives the orders to the movement, which can then be started again. The pick is empty again. */
void loss_pick_give(struct loss_pick *p, struct op *movement);

/* Goes on for about slice_ms. *more: the walk is not at its end. */
enum db_result loss_pick_run(struct db *db, struct loss_pick *p, int64_t slice_ms, bool *more) MUST_CHECK;

#endif
