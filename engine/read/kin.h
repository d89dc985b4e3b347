/* kin.h - what single reservations have to do with other orders and with a task. */
#ifndef KIN_H
#define KIN_H

#include "engine/op.h"

/* Gives an op->kin to each of these OP_GET if its reservation has a task or was part of a split: one statement for all,
 * and one more for each order that was split. What the row tells is told as it was when the reservation was read, or
 * not at all. */
enum db_result kin_look(struct db *db, struct op **ops, size_t count) MUST_CHECK;

#endif
