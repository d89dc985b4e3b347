/* ended.h - whether a hold is over when its time has just passed. */
#ifndef ENDED_H
#define ENDED_H

#include "engine/rows.h"

/* Looks once more at the holds of a joined list that have just ended: a change of just before the end may still be
 * committing. That hold is told as it stood before its end until the change is committed or undone; for the others the
 * list has what their rows say now. Costs nothing where no hold has just ended. */
enum db_result ended_look(struct db *db, struct reservation_reader *in) MUST_CHECK;

#endif
