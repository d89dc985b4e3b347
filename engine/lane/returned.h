/* returned.h - units that come back from a settled order: how many may. Pure. */
#ifndef RETURNED_H
#define RETURNED_H

#include "engine/op.h"

/* Judges the lines of a return against the settled order that it names (op->other), by sku over all locations:
 * OUTCOME_OK or OVER_RETURNED, with the lines at fault. */
enum outcome returned_decide(struct op *op);

#endif
