/* reservation.h - reservations of a batch: looked up, changed, made, answered. */
#ifndef RESERVATION_H
#define RESERVATION_H

#include "engine/write/state.h"

enum db_result reservations_look_up(struct lane *l) MUST_CHECK;
/* Locks all rows that the batch changes in the order of their ids: with other orders in play, statements of two lanes
 * may meet in rows of both. Units come back under the lock of their order alone. */
void reservations_lock(struct lane *l);
void reservations_change(struct lane *l); /* writes changes of state */
/* Writes new reservations, their lines, and holds of keys with a limit. */
void reservations_insert(struct lane *l);
/* The new reservation of an operation as it is held at `now`: without its lines and texts, but for the reason of a hold
 * that it takes over, which stays that of the other order. */
void reservation_held(struct reservation *r, const struct op *op, int64_t now);
/* When the new order, a confirmed one, was confirmed: an order that replaces a confirmed one keeps its time. */
int64_t op_confirmed_at(const struct op *op, int64_t now);
/* Changes the reservation as the change of state at `now` does. */
void reservation_changed(struct reservation *r, const struct op *op, int64_t now);
/* Fills op->reservation, as after the commit at `now` with this stamp. */
void reservation_answer(struct op *op, int64_t now, int64_t stamp);

#endif
