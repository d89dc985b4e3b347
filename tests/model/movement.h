/* movement.h - the model's movements (model.h). */
#ifndef TESTS_MODEL_MOVEMENT_H
#define TESTS_MODEL_MOVEMENT_H

#include "tests/model/verdict.h"

void move_do(struct model *m, const struct ask *ask, struct verdict *out);
/* True: `part` was split off from `first`, or from what was, and has left with units of one of these skus. */
bool model_parted(const struct model *m, int first, int part, const struct cells *of) MUST_CHECK;

#endif
