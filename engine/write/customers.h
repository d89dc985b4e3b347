/* customers.h - what customers have, as a batch changes it. */
#ifndef CUSTOMERS_H
#define CUSTOMERS_H

#include "engine/lane/state.h"

/* Steps of the lane's transaction, behind those of slots: raises what customers get with new orders of the batch, or
 * with those that are acquired anew, and lowers what they had in promises that end or are replaced, which is in `p`.
 * A batch without customers takes no step. */
void customers_write(struct lane *l, struct portions *p);

#endif
