/* split_call.h - the call that takes a part out of an order. */
#ifndef SPLIT_CALL_H
#define SPLIT_CALL_H

struct request;

void post_split(struct request *r);

#endif
