/* positions.h - the model's queues (model.h): orders that wait for units of a sku at an incoming place, in positions of
 * some units each. An order has several positions in a queue where its lines were changed. */
#ifndef TESTS_MODEL_POSITIONS_H
#define TESTS_MODEL_POSITIONS_H

#include "tests/model/model.h"

/* The moment of this call. Calls are microseconds apart. */
int64_t model_now(const struct model *m);
/* The position behind this one in the queue; NULL: the first one; NULL as result: there is none. */
const struct position *queue_next(const struct model *m, int s, int p, const struct position *behind);
/* Some units of the order have not come yet. */
bool order_waits(const struct model *m, const struct order *o);

/* The order joins the queues where it waits. old: the replaced order, which has its units still: the new one takes over
 * its positions; NULL: the order replaces none, or its units were acquired again. */
void positions_make(struct model *m, struct order *old, struct order *o);
/* The part takes over the positions of its units, the first ones. The units have gone already. */
void positions_split(struct model *m, struct order *first, struct order *part);
/* Moves the order behind the confirmed ones, if it was not confirmed before. */
void positions_confirm(struct model *m, struct order *o);
/* The order had these units. What came stands at the end, what went stood last. */
void positions_change(struct model *m, struct order *o, const struct cells *had);
/* The order has left all queues. */
void positions_leave(struct model *m, const struct order *o);
/* Every unit that is promised at an incoming place has a position. */
bool positions_agree(const struct model *m) MUST_CHECK;

/* Gives the units that are available at a place with a queue to the orders of the queue; the promise stays. */
void queues_pull(struct model *m);
/* Gives promised units that have come to the queue first. Returns how many it got. */
int64_t queue_arrive(struct model *m, const struct end *e);
/* Units that orders have at a place, and that a loss may take. */
int64_t queue_may_lose(const struct model *m, int s, int p);
/* Takes units from the order that is the last in the queue's order; it waits for others at `to`. Returns how many
 * orders lost units of this sku for the first time in the movement of this number. */
int queue_lose(struct model *m, int s, int p, int64_t qty, int to, int movement);

#endif
