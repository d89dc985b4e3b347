/* known_movement.h - whether a movement was done before. Background threads. */
#ifndef KNOWN_MOVEMENT_H
#define KNOWN_MOVEMENT_H

#include "engine/op.h"

/* Looks for the movement by its id and its fingerprint. A lane that is asked for it again reads and locks all of its
 * lines to say so. *known false: it is not there, or has other lines. */
enum db_result known_movement(struct db *db, const struct op *movement, bool *known) MUST_CHECK;

#endif
