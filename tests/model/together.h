/* together.h - an atomic call for the model (model.h): all of its orders are done, in their order, or none. */
#ifndef TESTS_MODEL_TOGETHER_H
#define TESTS_MODEL_TOGETHER_H

#include "tests/kit/http.h"
#include "tests/model/makes.h"

enum { TOGETHER_MAX = 8 };

/* Of `n` orders of a call, those that one call may name, mostly; no new one chooses between places. How many. */
int together_make(struct maker *k, struct ask *asks, int n);
/* Makes a call on several orders atomic. */
void together_wire(struct call *to);
/* Does it, and compares the answer. */
bool together_meets(const struct answer *a, struct model *m, const struct ask *asks, int n, struct text *why);

#endif
