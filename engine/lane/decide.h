/* decide.h - which operation gets which units. Pure: no database, no clock, no memory of its own.
 *
 * A batch is operations in the order of their arrival, the balances that their lines touch, and for each operation the
 * row that the look-up of its id found. decide() gives every operation its outcome and adds up the writes of the batch.
 * decide() may run again after balances or look-ups were refreshed. No client is told a refusal before the lane has
 * made sure of it: certain.h. */
#ifndef DECIDE_H
#define DECIDE_H

#include "engine/write/batch.h"

void decide(struct batch *b);
/* True: the reservation would pass the limit of its key; a replacement, and other lines of an order, count by the
 * difference. */
bool op_is_over_held(const struct op *op);

#endif
