/* kin_json.h - what the answer of a single reservation says beyond the reservation itself. */
#ifndef CALLS_KIN_H
#define CALLS_KIN_H

#include "engine/base/json.h"
#include "engine/op.h"

/* Of an OP_GET that has found its reservation: its task, its next attempt, and the orders that it has to do with. */
void kin_write(struct json_writer *w, const struct op *op);

#endif
