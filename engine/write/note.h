/* note.h - what only few reservations have (engine/notes.def): the one place that writes it and reads it for a lane. */
#ifndef NOTE_H
#define NOTE_H

#include "engine/write/state.h"

unsigned op_notes(const struct op *op); /* bits of what the new reservation has; NOTED_.. */
/* Writes what few of a batch's new reservations have, and which order has replaced another. Behind their rows. */
void notes_insert(struct lane *l);
/* Writes what comes back of settled orders, which reservations_lock has locked: of each sku no more than was settled,
 * or all is undone as TXN_MOVED. Behind the slots. */
void returns_write(struct lane *l);
/* Reads what replayed reservations of the batch were short of, and marks their lines so: fault, available. */
enum db_result notes_look_up(struct lane *l) MUST_CHECK;

#endif
