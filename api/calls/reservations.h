/* reservations.h - the calls about reservations. */
#ifndef RESERVATIONS_H
#define RESERVATIONS_H

struct request;

#define SHIP_AFTER_MAX_MS INT64_C(34560000000) /* 400 days: no order is told to be shipped later, or held back longer \
	                                        */

/* The answer of an operation on one order: the order, or its refusal. */
void reservation_answer_request(struct request *r);

void post_reservation(struct request *r);
void post_reservations_batch(struct request *r);
void post_confirm(struct request *r);
void post_release(struct request *r);
void post_confirmations(struct request *r);
void post_releases(struct request *r);
void post_extend(struct request *r);
void post_split(struct request *r);
void post_kick(struct request *r);
void post_settle(struct request *r);
void post_settlements(struct request *r);
void get_reservation(struct request *r);

#endif
