/* find.h - many reservations by their ids, in one answer. */
#ifndef FIND_H
#define FIND_H

struct request;
void post_reservations_find(struct request *r);

#endif
