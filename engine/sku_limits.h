/* sku_limits.h - the most units of a sku that one customer may have: set, and kept in memory, so that an order without
 * a customer costs no question. A process knows each change LIMITS_OLD_MS after its commit at the latest: a reader asks
 * for changes all the time, and a lane that finds its knowledge older asks itself. The memory tells only for which skus
 * a customer has to be named, and of which the units are to be looked up: what decides stands in the database. */
#ifndef SKU_LIMITS_H
#define SKU_LIMITS_H

#include "engine/catalogue.h"
#include "engine/db/db.h"
#include "engine/sku_details.h"

enum { LIMITS_OLD_MS = 1500 };

/* Reads the limits that have changed since the catalogue knows them. */
enum db_result sku_limits_read(struct db *db, struct catalogue *c) MUST_CHECK;

/* A PUT of a sku. */
struct sku_put {
	char    sku[SKU_MAX + 1];
	int64_t wish;                     /* its limit; 0: none, -1: as it is */
	bool    named, barcoded;          /* true: it gets this name, or none if empty; and these barcodes */
	char    name[SKU_NAME_BYTES + 1]; /* UTF-8 */
	char    barcodes[BARCODES_MAX][BARCODE_MAX + 1];
	size_t  barcodes_count;
	/* ---- the answer: what the sku has now */
	int64_t            per_customer; /* 0: no limit */
	bool               made;         /* the sku is new */
	uint32_t           sku_id;
	struct sku_details details;
};
void sku_put_free(void *put); /* a struct sku_put of mem_alloc */
/* Does it; `put` is a struct sku_put. A job's run (op.h). */
enum db_result sku_limits_put(struct db *db, struct catalogue *c, void *put) MUST_CHECK;

#endif
