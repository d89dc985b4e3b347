/* spots.h - the spots that a watcher knows, each a sku at a location: which are to be looked at, and how many units the
 * others have at least. Pure. One thread.
 *
 * A look says how many units a spot has. What the log takes from it afterwards is counted, what comes back is not; so
 * the count is never more than the spot has, and while it is above 0 nobody needs to look again. */
#ifndef SPOTS_H
#define SPOTS_H

#include "engine/base/base.h"

struct spot {
	uint32_t sku_id, location_id;
	int64_t  left;    /* so many units can be taken before the level can cross; 0 or less: nobody knows */
	bool     pending; /* stands in the list */
};
/* Zero-initialised is empty. */
struct spots {
	struct spot *table; /* sku_id 0: a free place */
	size_t       count, size;
	struct spot *list; /* what is to be looked at; only the names count */
	size_t       pending, max;
};
void spots_fini(struct spots *s);
/* Units were taken from a spot (0 or less: came back). INT64_MAX: nobody knows how many. No sku has the number 0,
 * whatever a row says. */
void spots_touch(struct spots *s, uint32_t sku_id, uint32_t location_id, int64_t taken);
/* A spot of the list was looked at; any other one is left as it is. The list has it until spots_trim, before which
 * nothing is touched. */
void spots_settle(struct spots *s, uint32_t sku_id, uint32_t location_id, int64_t left);
/* Drops what was settled from the list, and forgets all where too much is known. */
void spots_trim(struct spots *s);

#endif
