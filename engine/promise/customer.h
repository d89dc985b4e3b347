/* customer.h - the units that customers have of skus, as the transactions of their orders change them: summed by row in
 * the order of locks, and lowered. Lanes also raise them. */
#ifndef CUSTOMER_H
#define CUSTOMER_H

#include "engine/db/txn.h"
#include "engine/rows.h"

/* The change of one row. */
struct portion {
	const char *customer; /* in the order or operation that it came from */
	uint32_t    sku_id;
	int64_t     raised, lowered; /* 0 or more */
};

/* Zero-initialised is empty. */
struct portions {
	struct portion *list;
	size_t          count, max;
};
void portions_fini(struct portions *p);

/* The customer, NULL for none, gets the granted units of these lines, .. */
void portions_raise(struct portions *p, const char *customer, const struct line *lines, size_t count);
/* .. or has the units of these lines no longer. */
void portions_lower(struct portions *p, const char *customer, const struct line *lines, size_t count);
/* `of` gives way to an order of this customer with these lines. What the same customer has in both is no change. */
void portions_replace(struct portions *p, const struct reservation *of, const char *customer, const struct line *lines,
                      size_t count);
/* Sorts by customer and sku, the order in which rows are locked; one portion for each row. */
void portions_sum(struct portions *p);
/* A step of a transaction behind all slots: CUSTOMER_LOWER or CUSTOMER_LOWER_LOCKED. `p` is summed; none may be
 * lowered. `rows`: scratch. Nothing is ever refused. */
void portions_write_lowered(struct txn *t, struct values *rows, const struct portions *p, enum statement name);

#endif
