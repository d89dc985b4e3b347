/* intake.h - the choice of operations that a lane takes together, and the place of one that cannot be answered yet. */
#ifndef INTAKE_H
#define INTAKE_H

#include "engine/write/state.h"

/* An operation is told BUSY behind so many conflicts where CONFLICTS_MS have passed since it came, too: what others
 * move to and fro is there at some moment. And behind so many errors of a batch that is the operation alone. After
 * TRIES_APART conflicts it is tried by itself, and the lane serves the others between its tries. */
enum { TRIES_APART = 10, TRIES_MAX = 30, CONFLICTS_MS = 5000, ERRORS_MAX = 3 };

void intake_open(struct lane *l);
void intake_close(struct lane *l);
/* Waits a while, fills l->batch; false: the lane is closed and nothing is left. */
bool batch_take(struct lane *l);
void batch_trim(struct lane *l);         /* puts operations back that do not fit after the look-up */
void batch_put_back(struct lane *l);     /* puts all back as the first of the next batch: nothing was done for them */
void batch_put_back_cut(struct lane *l); /* puts back what batch_cut took out */
/* Puts operations back for which `waits` is true, and the later ones of their call. */
void batch_postpone(struct lane *l, bool (*waits)(const struct op *op, const struct batch *b));
/* Puts all back, to be tried again, from the second conflict on in smaller batches; an operation that had its share of
 * tries is told BUSY. */
void     batch_retry(struct lane *l);
unsigned batch_tries(const struct batch *b); /* the greatest number of tries among its operations */
/* Parks the operations, a unit (op_unit), for a while, or tells them BUSY. */
void batch_park(struct lane *l, struct op *const *ops, size_t count);
/* Parks the units with an operation of which `is` holds. False: there is none. Otherwise the batch is to be decided. */
bool batch_park_where(struct lane *l, bool (*is)(struct lane *l, const struct op *op));
void batch_answered(struct lane *l);           /* the whole batch is answered: the next may be twice the limit */
void lane_answer(struct lane *l, struct op *op, enum outcome outcome); /* puts the operation into the outbox */

#endif
