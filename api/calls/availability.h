/* availability.h - what skus have, over all locations or over some, and how often a basket can be had. */
#ifndef AVAILABILITY_H
#define AVAILABILITY_H

#include "api/request.h"

void post_availability(struct request *r);

/* Locations that a caller names; none: every location counts. */
struct within {
	size_t count;
	char   code[PLACES_MAX][LOCATION_MAX + 1];
};
/* The units of a sku at these locations (NULL: at all); the location of the sum is none. */
struct total total_within(const struct total *totals, size_t count, const struct within *within);
/* Writes available, reserved, on_hand. */
void total_write(struct json_writer *w, const struct total *total);

#endif
