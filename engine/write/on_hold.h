/* on_hold.h - orders on hold: no claim and no settlement takes them before their hold ends. The row of an order on hold
 * stands in table reservation_on_hold, and its ship_after is the later of both times (on_hold.sql). */
#ifndef ON_HOLD_H
#define ON_HOLD_H

#include "engine/write/state.h"

/* The order with the hold that the operation's new order takes over: the one that it replaces, or is split off from;
 * NULL: there is none. */
const struct reservation *op_hold_from(const struct op *op);
/* Of an OP_RESERVE: no claim takes the new order before this time, ms, the later of its ship_after and of the hold that
 * it takes over; 0 or less: at once. */
int64_t op_not_before(const struct op *op);

/* Steps of a lane's transaction. The first stands with the other changes of reservations: they are held back, or no
 * more. The second writes the rows of the table: of orders that are held back, of new ones that take a hold over; those
 * of orders that have ended are removed. It stands behind all new reservations. */
void on_hold_change(struct lane *l);
void on_hold_write(struct lane *l);
/* A step of a transaction that ends these reservations for good: settles or releases them. */
void on_hold_end(struct txn *t, struct reservation *const *list, size_t count);

/* Changes the reservation as the operation does. The reason is the text of the operation. */
void on_hold_changed(struct reservation *r, const struct op *op);

#endif
