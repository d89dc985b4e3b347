/* reservations.h - the calls about reservations. */
#ifndef RESERVATIONS_H
#define RESERVATIONS_H

struct request;

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
