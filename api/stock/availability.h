/* availability.h - the units of skus, over all locations or over some, and how often a basket can be had. */
#ifndef AVAILABILITY_H
#define AVAILABILITY_H

#include "api/request.h"

void post_availability(struct request *r);

/* Locations that a caller names; none: every location counts. */
struct within {
	size_t count;
	char   code[CHOICE_MAX][LOCATION_MAX + 1];
};
/* The units of a sku: for sale and promised; in the house, but not for sale; not in the house yet. */
struct sum {
	int64_t available, reserved, aside;
	int64_t incoming, incoming_reserved;
	int64_t promised; /* units of available and reserved that are incoming: a caller that names locations has them,
	                   * too
	                   */
};
/* The units of a sku at these locations (NULL: at all). */
struct sum sum_within(const struct total *totals, size_t count, const struct within *within);
/* Writes available, reserved, on_hand, and aside and incoming where there are such units. */
void sum_write(struct json_writer *w, const struct sum *sum);

#endif
