/* availability.h - the units of skus, over all locations or over some, and how often a basket can be had. */
#ifndef AVAILABILITY_H
#define AVAILABILITY_H

#include "api/request.h"

void post_availability(struct request *r);
/* An operation of this kind with a line for each of the body's `skus`, and room for `more` bytes of text. */
struct op *read_skus(struct json_reader *in, enum op_kind kind, size_t more) MUST_CHECK;

/* Locations that a caller names; none: every location counts. */
struct within {
	size_t count;
	char   code[CHOICE_MAX][LOCATION_MAX + 1];
};
/* The units of a sku: for sale and promised; in the house, but not for sale; not in the house yet. */
struct sum {
	int64_t available, reserved, aside;
	int64_t stopped; /* units that would be available if their sale were not stopped */
	int64_t incoming, incoming_reserved, incoming_stopped;
	int64_t promised; /* units of available, reserved and stopped that are incoming: a caller that names locations
	                   * has them, too */
	bool for_sale;    /* false: the sku is stopped, or all locations that the caller names and where it is */
};
/* The units of a sku (NULL: it is unknown) at these locations (NULL: at all). */
struct sum sum_within(const struct sku *sku, const struct total *totals, size_t count, const struct within *within);
/* True: units of the sku there that no order has are not for sale because of a stop. */
bool total_is_stopped(const struct sku *sku, const struct total *t);
/* Writes available, reserved and on_hand; aside, stopped and incoming where they are not 0; for_sale where it is
 * false. */
void sum_write(struct json_writer *w, const struct sum *sum);

#endif
