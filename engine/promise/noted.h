/* noted.h - the note of an order says the state of the order, and changes in the same transaction. */
#ifndef NOTED_H
#define NOTED_H

#include "engine/db/txn.h"
#include "engine/rows.h"

/* Adds a statement that gives the notes of these reservations their new states, behind the statement that changed the
 * states; none where no reservation has a note. */
void noted_follow(struct txn *t, struct reservation *const *list, size_t count);

#endif
