/* queue_page.h - the line of those who wait for a sku at incoming places. */
#ifndef JOBS_LINE_H
#define JOBS_LINE_H

#include "engine/outcome.h"
#include "engine/rows.h"

/* A place in the line. Zero-initialised: before all. */
struct line_place {
	uint32_t location_id;
	bool     held;
	int64_t  waits_since; /* ms */
	uint64_t first_id, reservation_id;
};
struct line_waiter {
	struct line_place      place;
	char                   order_id[ID_MAX + 1], location[LOCATION_MAX + 1];
	int64_t                qty;
	enum reservation_state state;
};

/* Up to `max` who wait for the sku of this code, behind `after`, in the order of the line; `location` NULL: at all
 * places, one place after the other. *outcome: OUTCOME_OK, NO_SKU or NO_LOCATION. */
enum db_result line_list(struct db *db, const char *sku, const char *location, const struct line_place *after,
                         struct line_waiter *list, size_t max, size_t *count, enum outcome *outcome) MUST_CHECK;

#endif
