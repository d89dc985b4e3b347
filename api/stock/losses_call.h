/* losses_call.h - a count or an adjustment that takes promised units: which orders lose them is picked on a background
 * thread, in short operations between which other work has its turns. Then the movement is tried with these orders. */
#ifndef API_LOSSES_H
#define API_LOSSES_H

#include "engine/op.h"

struct request;

/* The request's one operation, a movement, ended with `outcome`. True: it goes on, with orders to choose from, and
 * `answer` is called when it has ended again; if it cannot go on, the request is answered 503. */
bool losses_go_on(struct request *r, enum outcome outcome, void (*answer)(struct request *r)) MUST_CHECK;

#endif
