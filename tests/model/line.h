/* line.h - orders of the model (model.h) that wait for units of a sku at an incoming place: which one is served next,
 * and which one is the last to keep what it has. */
#ifndef TESTS_MODEL_LINE_H
#define TESTS_MODEL_LINE_H

#include "tests/model/model.h"

/* The moment of this call. Calls are microseconds apart. */
int64_t model_now(const struct model *m);
/* The order after this one in the line; -1 as id: the first order; -1 as result: there is none. */
int line_next(const struct model *m, int s, int p, int id);
/* Gives the order its turns in the lines where it waits. It takes those of the order that it replaces, line by line.
 * old: the replaced order; NULL: none. */
void turns_make(const struct model *m, const struct order *old, struct order *o);
/* Moves the order behind the confirmed ones, after its confirmation. */
void turns_confirm(const struct model *m, struct order *o);

/* Gives the units that are available at a place with a line to the orders of the line; the promise stays. */
void lines_pull(struct model *m);
/* Gives promised units that have come to the line first. Returns how many it got. */
int64_t line_arrive(struct model *m, const struct end *e);
/* Units that orders have at a place, and that a loss may take. */
int64_t line_may_lose(const struct model *m, int s, int p);
/* Takes units from the end of the line; these orders wait for others at `to`. Returns how many orders lost units of
 * this sku for the first time in the movement of this number. */
int line_lose(struct model *m, int s, int p, int64_t qty, int to, int movement);

#endif
