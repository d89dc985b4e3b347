/* customers.h - what customers have, as a batch changes it. */
#ifndef CUSTOMERS_H
#define CUSTOMERS_H

#include "engine/write/state.h"

/* Steps of the lane's transaction, behind those of slots: raises and lowers what batch_gives says of customers. Without
 * any there is no step. */
void customers_write(struct lane *l, struct portions *p);

#endif
