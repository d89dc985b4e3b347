/* amend_call.h - the call that gives an order other lines. */
#ifndef AMEND_CALL_H
#define AMEND_CALL_H

struct request;

void put_reservation(struct request *r);

#endif
