/* threshold.c - see threshold.h. */
#include "jobs/levels/threshold.h"
#include "engine/locations.h"

static void put_read(void *arg, const struct db_row *row)
{
	enum outcome *outcome = arg;

	if (!db_int(row, 0))
		*outcome = NO_SKU;
	else if (!db_int(row, 1))
		*outcome = NO_LOCATION;
	else
		*outcome = db_int(row, 2) == LOCATION_STOCK ? OUTCOME_OK : WRONG_KIND;
}

enum db_result threshold_put(struct db *db, const char *sku, const char *location, int64_t low, enum outcome *outcome)
{
	return db_ask(db, THRESHOLD_PUT, &(struct fill){.code = sku, .at = location, .low = low}, put_read, outcome);
}
