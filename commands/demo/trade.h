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
	int64_t task;          /* that a worker has; 0: none */
	char    first[80];     /* the first order of the task */
	int64_t shipped;       /* the number of an order that has left; 0 or less: none */
	int64_t back;          /* .. and of one that came back */
	int     wanted[GOODS]; /* units that orders were for since the good was delivered last */
};

/* What happens within MOMENT_MS. If the service is away, the moment may be lost. */
void trade_moment(struct trade *t);
/* The worker gives back what it has. */
void trade_end(struct trade *t);

#endif
