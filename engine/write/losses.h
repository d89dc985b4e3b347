/* losses.h - promised units that are lost: whose they were, and that those who lose them wait for others. */
#ifndef LOSSES_H
#define LOSSES_H

#include "engine/write/state.h"

/* All of them of a movement that has losses (op.h), alone in its batch. */

/* Locks those of the picked orders that nobody else has and that are as they were read, ahead of all slots. What
 * changed, ended or was claimed since is passed over. */
void losers_lock(struct lane *l, const struct op *op);
/* Who loses what (losses->lost) of what the lines need. SHORT: the orders that were picked have too little.
 * LOSES_TOO_MANY: more than LOSERS_MAX of them would lose some, or more than LOST_MAX of their lines. The lines that
 * lack units are at fault. */
enum outcome losers_decide(struct op *op);
/* Steps of the transaction behind those that take the units out of the slots: orders, their lines, their positions in
 * the queue, the promises that grow, and what the movement remembers. */
void losses_write(struct lane *l, const struct op *op);
/* Appends an event for each order. */
void losses_tell(struct text *to, const struct op *op);
/* The lines of the movement and those of the promises that grow by it; the caller frees them. */
struct line *losses_lines(const struct op *op, size_t *count);
/* What the movement says of the orders. */
void losses_answer(const struct op *op, struct movement *m);

#endif
