/* queue_page.c - see queue_page.h. */
#include "jobs/waiting/queue_page.h"
#include "engine/base/clock.h"
#include "jobs/location.h"

struct orders_found {
	struct queue_order *list;
	size_t              count, max;
};

static void order_read(void *arg, const struct db_row *row)
{
	struct orders_found *in = arg;
	struct queue_order  *to;

	if (in->count == in->max) {
		db_other(row);
		return;
	}
	to = &in->list[in->count++];
	*to = (struct queue_order){.position = {.location_id = (uint32_t)db_int(row, 0),
	                                        .held = db_int(row, 1) != 0,
	                                        .waits_since = time_parse(row->col[2]),
	                                        .first_id = (uint64_t)db_int(row, 3),
	                                        .reservation_id = (uint64_t)db_int(row, 4)},
	                           .qty = qty_read(row, 6),
	                           .state = (enum reservation_state)db_int(row, 7)};
	db_copy(row, 5, to->order_id, sizeof(to->order_id));
	db_copy(row, 8, to->location, sizeof(to->location));
}

static void sku_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 1);
}

enum db_result queue_page_read(struct db *db, const char *sku, const char *location, const struct queue_position *after,
                               struct queue_order *list, size_t max, size_t *count, enum outcome *outcome)
{
	struct orders_found in = {.list = list, .max = max};
	struct values       codes = {0};
	struct location_row at = {.is = {.location_id = UINT32_MAX}};
	int64_t             sku_id = 0;
	enum db_result      result;

	values_row(&codes, V_TEXT(sku));
	result = db_ask(db, SKU_FIND, &(struct fill){.rows = &codes}, sku_read, &sku_id);
	values_fini(&codes);
	*outcome = sku_id ? OUTCOME_OK : NO_SKU;
	if (result == DB_OK && sku_id && location)
		result = location_find(db, location, &at, outcome);
	if (result == DB_OK && *outcome == OUTCOME_OK)
		result = db_ask(db, WAITING_LIST,
		                &(struct fill){.sku = sku_id,
		                               .from_id = location && !after->location_id ? at.is.location_id
		                                                                          : after->location_id,
		                               .until_id = at.is.location_id,
		                               .after_held = after->location_id ? after->held : -1,
		                               .after_at = after->waits_since,
		                               .after_first = (int64_t)after->first_id,
		                               .after_id = (int64_t)after->reservation_id,
		                               .limit = (int64_t)max},
		                order_read, &in);
	assert(in.count <= max);
	*count = in.count;
	return result;
}
