/* batch.h - which operations a lane takes together, and where an operation goes that cannot be answered yet. */
#ifndef BATCH_H
#define BATCH_H

#include "engine/lane/state.h"

enum { TRIES_MAX = 30 }; /* conflicts that an operation survives */

void batch_open(struct lane *l);
void batch_close(struct lane *l);
/* Waits a while, fills l->batch; false: the lane is closed and nothing is left. */
bool batch_take(struct lane *l);
void batch_trim(struct lane *l);              /* puts back what does not fit after the look-up */
void batch_put_back(struct lane *l);          /* nothing was done for them: they are first in the next batch */
void batch_cut(struct lane *l, size_t count); /* puts back the ones behind the first `count` */
/* Puts back the ones of which `waits` is true, and what stands behind them in their call. */
void batch_postpone(struct lane *l, bool (*waits)(const struct op *op, const struct batch *b));
/* Puts all back, to be tried in smaller batches as it goes on; one that had its share of tries is told BUSY. */
void     batch_retry(struct lane *l);
unsigned batch_tries(const struct batch *b);        /* the most of its operations */
void     batch_park(struct lane *l, struct op *op); /* for a while, or it is told BUSY */
void     batch_keep(struct lane *l, size_t count);  /* the first so many of the batch, after others were taken out */
void     batch_answered(struct lane *l);            /* all of it: the next may be as large as batches are */
/* The operation of the batch that has this id, or NULL. */
struct op *batch_find(struct lane *l, bool movement, const char *id);
void       lane_answer(struct lane *l, struct op *op, enum outcome outcome); /* into the outbox */

#endif
