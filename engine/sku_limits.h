/* sku_limits.h - the most units of a sku that one customer may have: set, and kept in memory, so that an order without
 * a customer costs no question. A process knows each change LIMITS_OLD_MS after its commit at the latest: a reader asks
 * for changes all the time, and a lane that finds its knowledge older asks itself. The memory tells only for which skus
 * a customer has to be named, and of which the units are to be looked up: what decides stands in the database. */
#ifndef SKU_LIMITS_H
#define SKU_LIMITS_H

#include "engine/catalogue.h"
#include "engine/db/db.h"

enum { LIMITS_OLD_MS = 1500 };

/* Reads the limits that have changed since the catalogue knows them. */
enum db_result sku_limits_read(struct db *db, struct catalogue *c) MUST_CHECK;

/* A PUT of a sku. One allocation, freed with free(). */
struct sku_put {
	char    sku[SKU_MAX + 1];
	int64_t wish;         /* its limit; 0: none, -1: as it is */
	int64_t per_customer; /* the answer: the limit now; 0: none */
	bool    made;         /* the answer: the sku is new */
};
/* Does it; `put` is a struct sku_put. A job's run (op.h). */
enum db_result sku_limits_put(struct db *db, struct catalogue *c, void *put) MUST_CHECK;

#endif
