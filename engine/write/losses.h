/* losses.h - promised units that are lost: the orders that lose them, and wait for others. */
#ifndef LOSSES_H
#define LOSSES_H

#include "engine/write/state.h"

/* All functions are for a movement that has losses (op.h), alone in its batch. */

/* Locks the picked orders that no other transaction has and that are as they were read, ahead of all slots. An order
 * that changed, ended or was claimed since is passed over. */
void losers_lock(struct lane *l, const struct op *op);
/* Decides which orders lose which units (losses->lost) for the lines that need some. SHORT: the orders that were picked
 * have too little. LOSES_TOO_MANY: more than LOSERS_MAX of them would lose some, or more than LOST_MAX of their lines.
 * The lines that lack units are at fault. */
enum outcome losers_decide(struct op *op);
/* Steps of the transaction behind those that take the units out of the slots: orders, their lines, their positions in
 * the queue, the promises that grow, and what the movement remembers. */
void losses_write(struct lane *l, const struct op *op);
/* Appends an event for each order. */
void losses_tell(struct text *to, const struct op *op);
/* The lines of the movement and those of the promises that grow by it; the caller frees them. */
struct line *losses_lines(const struct op *op, size_t *count);
/* Fills the backorders of the movement. */
void losses_answer(const struct op *op, struct movement *m);

#endif
