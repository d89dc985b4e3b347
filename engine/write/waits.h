/* waits.h - lines of a batch that wait. */
#ifndef WAITS_H
#define WAITS_H

#include "engine/write/state.h"

/* The place in the line that was told for the new order, ms: of a part that of the first, of a replacement that tells
 * no other that of the order it replaces; 0: none, or no line of an order that tells it waits. */
int64_t op_told(const struct op *op);
/* Behind everything that makes or changes reservations and their lines: brings the waiting lines of the batch's orders
 * into their places, and puts confirmed orders that wait aside. Nothing is sent where no line waits. */
void waits_write(struct lane *l);

#endif
