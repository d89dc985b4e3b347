/* sales.h - sales are stopped and go on again: of skus, or at a location. From the moment at which a stop is committed
 * no order gets units that it does not have, in any process. The stop shuts out all writers, as a change of a
 * location's kind does. A writer that enters again learns the stop before it writes (engine/write/fence.c).
 *
 * Functions run on the caller's connection and thread, and may be repeated. */
#ifndef JOBS_SALES_H
#define JOBS_SALES_H

#include "engine/base/json.h"
#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

struct sku_put;

enum { SALES_SKUS_MAX = 1000 };

struct sales_wish {
	bool     for_sale;
	char     reason[NOTE_MAX + 1]; /* of a stop; empty: none was given */
	uint32_t by;                   /* the key that asks; 0: none */
};

/* A sku, as it stood before the wish. */
struct sales_sku {
	char     code[SKU_MAX + 1]; /* asked */
	uint32_t sku_id;            /* 0: the sku is not there */
	bool     for_sale, stays;   /* stays: it was as the wish says, reason included */
};

/* Stops or starts the sales of these skus, in one transaction; unknown ones are passed over. The list is sorted by
 * code, without twins, SALES_SKUS_MAX at most. */
enum db_result sales_of_skus(struct db *db, const struct sales_wish *wish, struct sales_sku *list,
                             size_t count) MUST_CHECK;
/* The same at a location that exists. */
enum db_result sales_at(struct db *db, const struct sales_wish *wish, uint32_t location_id) MUST_CHECK;
/* A PUT of a sku (sku_limits.h), whether sales are named in it or not: all of it in one transaction, but that a new sku
 * is made before. A job's run (op.h). */
enum db_result sales_put(struct db *db, void *put) MUST_CHECK;
/* Of PUTs that came together: those that stop sales for one reason share one transaction, and so one shut-out of all
 * writers. A job's `together` (op.h). */
void sales_put_together(struct db *db, void *const *puts, size_t count);

#endif
