/* losses_told.h - what events tell of orders that wait, beside what the model (model.h) knows. */
#ifndef TESTS_MODEL_LOSSES_TOLD_H
#define TESTS_MODEL_LOSSES_TOLD_H

#include "tests/kit/http.h"
#include "tests/model/model.h"

/* Every order that lost units was told so, once for each movement; every one that was served, at least once. */
void losses_compare(const struct model *m);

#endif
