/* kept.h - units on their way to a queue: they are available at one location, and orders have reserved as many at that
 * of the queue. In figures that are told they count once, as reserved where they are. Pure. */
#ifndef KEPT_H
#define KEPT_H

#include "engine/catalogue/catalogue.h"

/* Units of a sku at a location, as they were read. */
struct total_row {
	uint32_t     sku_id, location_id;
	uint32_t     waits_at; /* the location of the queue for which units are kept here; 0: none are */
	struct total total;
};

/* Sorts the rows by sku and location. Then each location keeps units for its queue, as many as are reserved there: the
 * locations of one queue in the order of their numbers, as for lanes (queue_finds in stock.sql). A queue without a row
 * asks for none. */
void totals_keep(struct total_row *rows, size_t count);

#endif
