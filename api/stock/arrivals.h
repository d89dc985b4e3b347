/* arrivals.h - an arrival is answered when it was handed out, or a second after it was booked. */
#ifndef API_ARRIVALS_H
#define API_ARRIVALS_H

#include "engine/op.h"

struct request;

/* The request's one operation has booked an arrival. `reply` answers later, with the movement as it is then. */
void arrival_wait(struct request *r, void (*reply)(struct request *r, const struct op *op, enum outcome outcome));

#endif
