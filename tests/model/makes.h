/* makes.h - calls made up by chance, of what the model (model.h) has. Where it is open what has to come back, none. */
#ifndef TESTS_MODEL_MAKES_H
#define TESTS_MODEL_MAKES_H

#include "tests/model/model.h"

enum { MAKE_MAX = 60, MODEL_TICK_S = 600, MODEL_BIG = MODEL_SKUS - 1 }; /* MODEL_BIG: a sku with very many units */

struct maker {
	const struct model *model;
	uint64_t            chance;
	int                 orders, moves; /* numbers given so far */
	bool                waits;         /* a walk about queues: few units of few skus, many of them promised */
};

/* 0 to n - 1. */
unsigned chance(struct maker *k, unsigned n);
void     make_one(struct maker *k, struct ask *a);
/* Makes a call that ends a live order. */
void make_end(struct maker *k, struct ask *a);
/* Makes orders of one call, or changes of orders, all of the kind of the first. Returns how many, MAKE_MAX at most. */
int make_batch(struct maker *k, struct ask *asks);
int make_changes(struct maker *k, struct ask *asks);

#endif
