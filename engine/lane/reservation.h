/* reservation.h - reservations of a batch: looked up, changed, made, answered. */
#ifndef RESERVATION_H
#define RESERVATION_H

#include "engine/lane/state.h"

enum db_result reservations_look_up(struct lane *l) MUST_CHECK;
void           reservations_change(struct lane *l); /* writes changes of state */
void reservations_insert(struct lane *l); /* writes new reservations, their lines, holds of keys with a limit */
void reservation_answer(struct op *op, int64_t now); /* fills op->reservation, as after the commit at `now` */

#endif
