/* kin_json.h - members of the answer of a single reservation beyond the reservation itself. */
#ifndef CALLS_KIN_H
#define CALLS_KIN_H

#include "engine/base/json.h"
#include "engine/op.h"

/* Writes for an OP_GET that has found its reservation: its task, its next attempt, and the orders that it replaces or
 * was split from or into. */
void kin_write(struct json_writer *w, const struct op *op);

#endif
