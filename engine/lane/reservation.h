/* reservation.h - reservations of a batch: looked up, changed, made, answered. */
#ifndef RESERVATION_H
#define RESERVATION_H

#include "engine/lane/state.h"

enum db_result reservations_look_up(struct lane *l) MUST_CHECK;
/* Reads which lines of replayed reservations had fallen short, and marks them so: fault, available. */
enum db_result shorts_look_up(struct lane *l) MUST_CHECK;
void           reservations_change(struct lane *l); /* writes changes of state */
/* Writes new reservations, their lines, notes and short lines, and holds of keys with a limit. */
void reservations_insert(struct lane *l);
void reservation_answer(struct op *op, int64_t now); /* fills op->reservation, as after the commit at `now` */

#endif
