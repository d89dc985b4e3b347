/* spots.h - the spots (a sku at a location) that a watcher knows: which of them need a look, and how many units the
 * others have at least. Pure. One thread.
 *
 * A look says how many units a spot has. Units that the log takes from it later are counted, units that come back are
 * not. So the count is never more than the spot has, and no look is needed while the count is above 0. */
#ifndef SPOTS_H
#define SPOTS_H

#include "engine/base/base.h"

struct spot {
	uint32_t sku_id, location_id;
	int64_t  left;    /* this many units can be taken before the level can cross; 0 or less: unknown */
	bool     pending; /* stands in the list */
};
/* Zero-initialised is empty. */
struct spots {
	struct spot *table; /* sku_id 0: a free place */
	size_t       count, size;
	struct spot *list; /* the spots that need a look; only their sku and location count */
	size_t       pending, max;
};
void spots_fini(struct spots *s);
/* Notes that units were taken from a spot (0 or less: units came back). INT64_MAX: it is unknown how many. A sku number
 * of 0 comes from a damaged row, and is ignored. */
void spots_touch(struct spots *s, uint32_t sku_id, uint32_t location_id, int64_t taken);
/* Notes the result of a look at a spot of the list; a spot that is not in the list stays as it is. The spot stays in
 * the list until spots_trim; spots_touch is not called before that. */
void spots_settle(struct spots *s, uint32_t sku_id, uint32_t location_id, int64_t left);
/* Drops the settled spots from the list. Forgets all spots if there are too many. */
void spots_trim(struct spots *s);

#endif
