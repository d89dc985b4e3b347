/* line.h - orders of the model (model.h) that wait for units of a sku at an incoming place: which one is served next,
 * and which one is the last to keep what it has. */
#ifndef TESTS_MODEL_LINE_H
#define TESTS_MODEL_LINE_H

#include "tests/model/model.h"

/* The moment of this call. Calls are microseconds apart. */
int64_t model_now(const struct model *m);
/* The order behind this one; -1: the first, and none. */
int line_next(const struct model *m, int s, int p, int id);
/* Takes its turns, in lines where it waits: those of the order that it replaces, line by line. old: NULL: none. */
void turns_make(const struct model *m, const struct order *old, struct order *o);
/* It is confirmed, and stands behind those that are. */
void turns_confirm(const struct model *m, struct order *o);

/* What is available at a place with a line goes to the orders of the line; the promise stays. */
void lines_pull(struct model *m);
/* Promised units have come, and the line gets them first; how many it got. */
int64_t line_arrive(struct model *m, const struct end *e);
/* Units of orders at a place that a loss may take. */
int64_t line_may_lose(const struct model *m, int s, int p);
/* The end of the line loses units, and waits for others at `to`; how many orders did for the first time, by sku, in
 * the movement of this number. */
int line_lose(struct model *m, int s, int p, int64_t qty, int to, int movement);

#endif
