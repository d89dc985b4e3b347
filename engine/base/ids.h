/* ids.h - ids in the order of the clock, made by many processes that do not ask each other. */
#ifndef IDS_H
#define IDS_H

#include "engine/base/base.h"

/* Makes ids ordered by time, about as fine as a commit takes: 44 bits of quarters of a millisecond since 1970 (until
 * 2109 the highest bit is 0), 10 bits of `owner`, 9 bits of a counter. The owner is a number that the database gave (of
 * a lane, of a task), so that processes seldom collide; where they do, a duplicate key means another owner and a new
 * id. One thread. */
struct ids {
	int64_t  clock_offset_ms; /* the database's clock minus clock_ms */
	uint64_t owner;
	int64_t  tick; /* the quarter of a millisecond of the last id, and the count of ids in it */
	unsigned count;
};
uint64_t id_make(struct ids *ids);
/* No id that is made from this time on, in ms since 1970 by the database's clock, is less. */
uint64_t id_first(int64_t ms);

#endif
