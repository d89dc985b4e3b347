/* waits.h - lines of a batch that wait. */
#ifndef WAITS_H
#define WAITS_H

#include "engine/write/state.h"

/* The time that was given for the new order's position in the queue, ms. A part has that of its first order, and so has
 * a replacement of the replaced order, unless another time was given. 0: none, or no line of the order waits. */
int64_t op_waits_since(const struct op *op);
/* Behind everything that makes or changes reservations and their lines: brings the waiting lines of the batch's orders
 * into their positions, and puts confirmed orders that wait aside. Nothing is sent where no line waits. */
void waits_write(struct lane *l);

#endif
