/* queue_page.h - a page of the orders that wait for a sku at incoming locations, in the order of their queues. */
#ifndef JOBS_QUEUE_PAGE_H
#define JOBS_QUEUE_PAGE_H

#include "engine/outcome.h"
#include "engine/rows.h"

/* A position in a queue. Zero-initialised: before all. */
struct queue_position {
	uint32_t location_id;
	bool     held;
	int64_t  waits_since; /* ms */
	uint64_t first_id, reservation_id;
};
struct queue_order {
	struct queue_position  position;
	char                   order_id[ID_MAX + 1], location[LOCATION_MAX + 1];
	int64_t                qty;
	enum reservation_state state;
};

/* Up to `max` orders that wait for the sku of this code, behind `after`, in queue order; `location` NULL: at all
 * locations, one queue after the other. *outcome: OUTCOME_OK, NO_SKU or NO_LOCATION. */
enum db_result queue_page_read(struct db *db, const char *sku, const char *location, const struct queue_position *after,
                               struct queue_order *list, size_t max, size_t *count, enum outcome *outcome) MUST_CHECK;

#endif
