/* amend.h - orders that get other lines under their own ids (PUT). A held or confirmed order keeps everything but its
 * lines: only the difference touches slots (promise_replace). The differences stay behind as rows, which the audit adds
 * up. */
#ifndef AMEND_H
#define AMEND_H

#include "engine/write/state.h"

/* Steps of the batch's transaction: the orders and their lines, behind other changes of orders and ahead of all slots;
 * and the rows of differences and the holds of keys, behind the new reservations. */
void amends_change(struct lane *l);
void amends_insert(struct lane *l);
/* The order as after the commit at `now`; the caller's. op->found stays as it was read. */
struct reservation *amend_made(const struct op *op, int64_t now);
/* Appends the event, with the lines before and after. */
void amend_tell(struct text *to, const struct op *op);

#endif
