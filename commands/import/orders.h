/* orders.h - open orders of a file on their way in: a reservation each, many under way. The order_id of the file is
 * that of the reservation, so an order that is there already is not made again. */
#ifndef ORDERS_H
#define ORDERS_H

#include "commands/import/delivery.h"

struct engine;
struct loop;

struct order_row; /* a row of the order under way */
struct orders {
	const char    *file;
	struct engine *engine;
	struct loop   *loop;
	/* ---- the outcome */
	int64_t made, replayed, refused, rows; /* orders; rows of all of them */
	bool    failed;                        /* a fault that is not of an order; a message has said so */
	/* ---- its own */
	struct order_row *list;
	size_t            count, max;
	char              order_id[ID_MAX + 1], customer[ID_MAX + 1];
	int64_t           line, waits_since, ship_after;
	bool              held;
	int               flying;
};
/* Takes a good row; those of one order follow each other. May send an order, and wait until fewer are under way. */
void orders_row(struct orders *o, const struct delivery_row *row);
void orders_end(struct orders *o); /* sends the last order, and waits for all */

#endif
