/* reclaim.h - expired holds that still occupy a sku give their units back before an order is told `short`. */
#ifndef RECLAIM_H
#define RECLAIM_H

#include "engine/write/state.h"

void reclaim_open(struct lane *l);
void reclaim_close(struct lane *l);
/* Gives units back for the balances and quotas in doubt, which are `swept` when that is done. A batch passes SWEEP_WALK
 * holds at most: where there are more, the next batch goes on from there. */
enum db_result reclaim_run(struct lane *l) MUST_CHECK;
bool           reclaim_goes_on(const struct lane *l); /* true: a walk is under way, which the next batch goes on with */
/* True: behind reclaim_run others have locked expired holds of a sku of the operation. They may be giving them back, so
 * the operation can neither be refused nor served now. */
bool reclaim_holds_up(struct lane *l, const struct op *op);
void reclaim_forget(struct lane *l); /* forgets all looks: the database may be another one */

#endif
