/* decide.h - who gets which units. Pure: no database, no clock, no memory of its own.
 *
 * A batch is operations in the order of their arrival, the balances that their lines touch, and for each operation the
 * row that the look-up of its id found. decide() gives every operation its outcome and adds up the writes of the batch.
 * decide() may run again after balances or look-ups were refreshed. A refusal is told to nobody before the lane has
 * made sure of it: op_is_certain. */
#ifndef DECIDE_H
#define DECIDE_H

#include "engine/write/batch.h"

/* LOOKS_ENOUGH: reads that never agree, each of them short, after which a refusal is told. */
enum { LOOKS_ENOUGH = 4 };

void decide(struct batch *b);
/* True: the reservation would pass the limit of its key; a replacement, and other lines of an order, count by the
 * difference. */
bool op_is_over_held(const struct op *op);
/* True: the refusal or partial grant stands on balances newer than the op, and on a look-up of its id newer than these.
 * A twin that took the last units is then seen in one of the two.
 *
 * A sum of slots that was read once may never have been true: InnoDB's view can hold one transaction without another
 * that ended before it, so a unit that moved between two slots is in neither. Two reads have to agree, of which the
 * hint may be one. Where stock moves faster than that, LOOKS_ENOUGH reads were all short.
 *
 * What a customer has, and its limit, are read likewise: a row is never torn, but two rows may be.
 *
 * The units of a replaced order count, too: the look-ups before and after the balances have to agree on that order, or
 * a unit that left it meanwhile is in neither. */
bool op_is_certain(const struct op *op, const struct batch *b);
/* True: refused for its customer: CUSTOMER_REQUIRED or LIMIT_REACHED. */
bool op_is_beyond(const struct op *op);
/* True: the outcome is SHORT, UNKNOWN_SKU, one of kinds or of the customer, or a partial grant. All of them need
 * op_is_certain to be told. */
bool op_is_refused(const struct op *op);

#endif
