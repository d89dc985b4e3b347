/* reservation_list.h - GET /v1/reservations: lists of reservations. */
#ifndef RESERVATION_LIST_H
#define RESERVATION_LIST_H

struct request;

void get_reservations(struct request *r);
void get_sku_holds(struct request *r); /* the reservations that hold a sku */

#endif
