/* certain.h - which outcomes have to be made sure of before they are told, and whether they are sure. Pure, as
 * decide.h.
 */
#ifndef CERTAIN_H
#define CERTAIN_H

#include "engine/write/batch.h"

/* LOOKS_ENOUGH: reads that never agree, each of them short, after which a refusal is told. */
enum { LOOKS_ENOUGH = 4 };

/* True: the refusal or partial grant stands on balances newer than the op, and on a look-up of its id newer than these.
 * A twin that took the last units is then seen in one of the two.
 *
 * A sum of slots that was read once may never have been true: InnoDB's view can hold one transaction without another
 * that ended before it, so a unit that moved between two slots is in neither. Two reads have to agree, of which the
 * hint may be one. Where stock moves faster than that, LOOKS_ENOUGH reads were all short.
 *
 * A customer's units and its limit are read twice, too: a row is never torn, but two rows may be of different times.
 *
 * The units of a replaced order count, too: the look-ups before and after the balances have to agree on that order, or
 * a unit that left it meanwhile is in neither. */
bool op_is_certain(const struct op *op, const struct batch *b);
/* True: the operations, a unit (op_unit), may be told what was decided. The ids of an atomic call that is refused were
 * all looked up at one time: an item that exists takes no units from the others. */
bool unit_is_certain(struct op *const *ops, size_t count, const struct batch *b);
/* True: refused for its customer: CUSTOMER_REQUIRED or LIMIT_REACHED. */
bool op_is_beyond(const struct op *op);
/* True: the outcome is SHORT, UNKNOWN_SKU, one of kinds or of the customer, a partial grant, or that of an item of an
 * atomic call which is not the reason of the call's refusal. All of them need op_is_certain to be told. */
bool op_is_refused(const struct op *op);

#endif
