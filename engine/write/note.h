/* note.h - what only few reservations have (engine/notes.def): the one place that writes it and reads it for a lane. */
#ifndef NOTE_H
#define NOTE_H

#include "engine/lane/state.h"

unsigned op_notes(const struct op *op); /* bits of what the new reservation has; NOTED_.. */
/* Writes the notes of a batch's new reservations, all of which have these together, and which order has replaced
 * another. */
void notes_insert(struct lane *l, unsigned notes);
/* Reads what replayed reservations of the batch were short of, and marks their lines so: fault, available. */
enum db_result notes_look_up(struct lane *l) MUST_CHECK;

#endif
