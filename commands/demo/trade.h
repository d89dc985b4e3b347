/* trade.h - the made-up shop goes on: customers order, workers ship, goods come in. */
#ifndef TRADE_H
#define TRADE_H

#include "commands/demo/goods.h"
#include "commands/demo/shop.h"

enum { MOMENT_MS = 250, MOMENTS = 12, CARTS = 9 };

/* Zero-initialised, with a shop that has opened, it is the first moment. */
struct trade {
	struct shop *shop;
	int64_t      moment;
	struct carts {
		int64_t orders[CARTS]; /* their numbers */
		int     count;
	} carts[MOMENTS];      /* of the last moments */
	int64_t task;          /* the task of the worker; 0: none */
	char    first[80];     /* the first order of the task */
	int64_t shipped;       /* the number of an order that has left; 0 or less: none */
	int64_t back;          /* the number of an order that came back; 0: none */
	int     wanted[GOODS]; /* units ordered since the last delivery of the good */
};

/* Makes the calls of one moment, MOMENT_MS long. If the service is away, some of them are lost. */
void trade_moment(struct trade *t);
/* The worker returns its task. */
void trade_end(struct trade *t);

#endif
