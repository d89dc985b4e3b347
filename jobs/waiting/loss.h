/* loss.h - orders that may lose units which are not there: from the end of the queue of those that have them.
 * Background threads.
 *
 * All live orders that no task has are walked over, in parts that no snapshot holds together: who moves meanwhile may
 * be missed, and whoever writes makes sure that those who were found are as they were read. */
#ifndef JOBS_LOSS_H
#define JOBS_LOSS_H

#include "engine/catalogue.h"
#include "engine/db/db.h"
#include "engine/op.h"

/* Units of a sku at a location that are to go. */
struct loss_want {
	uint32_t         sku_id, location_id;
	int64_t          needed;
	struct may_lose *list; /* orders that have some; private */
	size_t           count, max;
};
/* Zero-initialised but for what is asked. */
struct loss_pick {
	struct loss_want *wants; /* owned */
	size_t            wants_count;
	unsigned          pause_us;           /* ahead of the walk */
	unsigned          walk;               /* the walk under way .. */
	int64_t           after_at, after_id; /* .. has come so far */
	struct loser     *losers;             /* found: from the end of the queue on; owned */
	size_t            losers_count;
	bool              missed; /* some of the walk had ended or were claimed when they were read */
};
void loss_pick_fini(struct loss_pick *p); /* it is as new */

/* Begins for a movement that was refused. False: it is short of other units, too, or orders were picked for it before.
 */
bool loss_pick_begin(struct loss_pick *p, const struct op *movement) MUST_CHECK;
/* The movement gets the orders, and is ready to be started again. The pick is as new. */
void loss_pick_give(struct loss_pick *p, struct op *movement);

/* Goes on for slice_ms or so. *more: it is not at its end. */
enum db_result loss_pick_run(struct db *db, struct catalogue *c, struct loss_pick *p, int64_t slice_ms,
                             bool *more) MUST_CHECK;

#endif
