/* reclaim.h - expired holds that still occupy a sku give their units back before an order is told `short`. */
#ifndef RECLAIM_H
#define RECLAIM_H

#include "engine/lane/state.h"

void reclaim_open(struct lane *l);
void reclaim_close(struct lane *l);
/* For the balances in doubt; these are `swept` when that is done. A batch passes SWEEP_WALK holds at most: where there
 * are more, the next batch goes on. */
enum db_result reclaim_run(struct lane *l) MUST_CHECK;
bool           reclaim_goes_on(const struct lane *l); /* the next batch goes on */
void           reclaim_forget(struct lane *l);        /* what was looked at: it may be another database */

#endif
