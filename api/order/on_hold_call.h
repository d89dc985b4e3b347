/* on_hold_call.h - the calls that hold an order back from shipping, and that let it go. */
#ifndef ON_HOLD_CALL_H
#define ON_HOLD_CALL_H

struct request;

void put_hold(struct request *r);
void delete_hold(struct request *r);

#endif
