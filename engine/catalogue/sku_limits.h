/* sku_limits.h - the most units of a sku that one customer may have: set, and kept in memory, so that an order without
 * a customer costs no question. A process knows each change LIMITS_OLD_MS after its commit at the latest: a reader asks
 * for changes all the time, and a lane that finds its knowledge older asks itself. The memory tells only for which skus
 * a customer has to be named, and of which the units are to be looked up: what decides stands in the database.
 *
 * Stops of the sale of a sku are kept in the same memory, by the same numbers. They have to be known at once. So a stop
 * shuts out all lanes (jobs/sales.sql), and a lane that enters again reads what has changed. */
#ifndef SKU_LIMITS_H
#define SKU_LIMITS_H

#include "engine/base/json.h"
#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"
#include "engine/catalogue/sku_details.h"

enum { LIMITS_OLD_MS = 1500 };

/* Reads the limits and the stops that have changed since the catalogue knows them. */
enum db_result sku_limits_read(struct db *db) MUST_CHECK;

/* A PUT of a sku. */
struct sku_put {
	char    sku[SKU_MAX + 1];
	int64_t wish;                     /* its limit; 0: none, -1: as it is */
	bool    named, barcoded;          /* true: it gets this name, or none if empty; and these barcodes */
	char    name[SKU_NAME_BYTES + 1]; /* UTF-8 */
	char    barcodes[BARCODES_MAX][BARCODE_MAX + 1];
	size_t  barcodes_count;
	/* ---- asked, and done by jobs/sales.c */
	bool     sales;                /* its sales are to be stopped, or to go on */
	bool     for_sale;             /* true: they go on */
	char     reason[NOTE_MAX + 1]; /* of a stop; empty: none was given */
	uint32_t by;                   /* the key that asks; 0: none */
	/* ---- the answer: what the sku has now */
	int64_t            per_customer; /* 0: no limit */
	bool               made;         /* the sku is new */
	uint32_t           sku_id;
	struct sku_details details;
};
void sku_put_free(void *put); /* a struct sku_put of mem_alloc */
/* Does it; `put` is a struct sku_put. A job's run (op.h). */
enum db_result sku_limits_put(struct db *db, void *put) MUST_CHECK;

#endif
