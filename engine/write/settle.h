/* settle.h - orders of a batch that leave by their ids, whole or as parts, without a task. */
#ifndef SETTLE_H
#define SETTLE_H

#include "engine/write/state.h"

/* Finds the open tasks that have the orders to be settled: op->claim. After reservations_look_up. */
enum db_result claims_look_up(struct lane *l) MUST_CHECK;
void           settlements_insert(struct lane *l); /* writes a movement for each */

#endif
