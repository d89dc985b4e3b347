/* threshold.c - see threshold.h. */
#include "jobs/levels/threshold.h"
#include "engine/catalogue/locations.h"

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

static void delete_read(void *arg, const struct db_row *row)
{
	enum outcome *outcome = arg;

	*outcome = !db_int(row, 0) ? NO_SKU : !db_int(row, 1) ? NO_LOCATION : OUTCOME_OK;
}

enum db_result threshold_delete(struct db *db, const char *sku, const char *location, enum outcome *outcome)
{
	return db_ask(db, THRESHOLD_DELETE, &(struct fill){.code = sku, .at = location}, delete_read, outcome);
}

struct list {
	struct threshold *list;
	size_t            count, max;
	enum outcome     *outcome;
};

static void list_read(void *arg, const struct db_row *row)
{
	struct list      *in = arg;
	struct threshold *to;

	*in->outcome = OUTCOME_OK;
	if (!row->col[0]) /* the sku exists */
		return;
	if (in->count == in->max) {
		db_other(row);
		return;
	}
	to = &in->list[in->count++];
	*to = (struct threshold){.location_id = (uint32_t)db_int(row, 0), .low = db_int(row, 2)};
	if (row->col[1])
		db_copy(row, 1, to->location, sizeof(to->location));
}

enum db_result threshold_list(struct db *db, const char *sku, int64_t after, struct threshold *list, size_t max,
                              size_t *count, enum outcome *outcome)
{
	struct list    in = {.list = list, .max = max, .outcome = outcome};
	enum db_result result;

	*outcome = NO_SKU;
	result = db_ask(db, THRESHOLD_LIST, &(struct fill){.code = sku, .after_id = after, .limit = (int64_t)max},
	                list_read, &in);
	assert(in.count <= max);
	*count = in.count;
	return result;
}
