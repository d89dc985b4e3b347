/* holdfast.h - loads on Holdfast. An order's lines follow from its number, so that any answer can be judged without
 * remembering what was asked. */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include "ledger.h"
#include "load.h"

struct http_load {
	const struct load_plan *plan;
	struct ledger          *ledger; /* the skus that it sells */
	/* writes the lines of an order */
	int (*lines)(const struct ledger *l, uint64_t number, struct line *to);
	int         per_call;     /* orders of a batch call */
	int         customers;    /* each order is of one of them, and its sku has a limit; 0: orders name none */
	bool        places;       /* a line names three, of which the last has its units */
	const char *waits_at;     /* JSON: waits_at of the location with the units; NULL: as it is */
	bool        confirmed;    /* reservations are confirmed in the same step */
	bool        sells_out;    /* b->buyers orders for a tenth as many units */
	enum pace_of {            /* orders begin at even distances, at half of .. */
		       PACE_NONE, /* (they begin as fast as answers come) */
		       PACE_TOP,  /* the top rate, over however many connections that was */
		       PACE_OWN,  /* the top rate of PACED connections */
	} paced;
};

/* One round of one load. */
struct visit {
	struct bench           *bench;
	const struct http_load *load;
	int64_t                 left;  /* orders that may still begin */
	struct text             body;  /* of the request being written */
	int64_t                 units; /* acknowledged */
};

/* Makes `orders` orders, or for b->seconds with INT64_MAX. */
void visit_run(struct bench *b, const struct http_load *load, int connections, int64_t orders, struct round *out);

#endif
