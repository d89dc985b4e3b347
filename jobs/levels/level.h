/* level.h - the level of a spot (a sku at a location): how many units are left there, in the words of a shop. Who
 * watches looks at spots, and says what has crossed. */
#ifndef LEVEL_H
#define LEVEL_H

#include "engine/db/db.h"
#include "engine/log/event.h"
#include "jobs/levels/spots.h"

enum level { LEVEL_ABOVE = 1, LEVEL_LOW = 2, LEVEL_OUT = 3 };
/* low below 0: there is no threshold. */
enum level level_of(int64_t available, int64_t low);
/* The event of a change; 0: the level is as it was. Every rise is EVENT_BACK. */
enum event_type level_event(enum level from, enum level to);

/* The claim of the one who watches. Its fence stands in everything that it writes. */
struct watch_claim {
	int64_t task_id, fence, lease_s; /* fence 0: somebody else watches */
	int64_t stamp;                   /* the latest one that was read of the log: what is told comes behind it */
	int64_t told;                    /* levels that were told */
};
/* Looks at the spots of the list (20,000 at most), twice. What both looks find at the same level is settled, and told
 * where that is another one than before; the rest stays in the list. Any other result than DB_OK: what was not told
 * stays, too. The claim's fence is 0 where it was lost. */
enum db_result levels_look(struct db *db, struct watch_claim *claim, struct spots *spots) MUST_CHECK;
/* Every spot whose level was ever told, or that has nothing left, goes into the list. The claim's fence is 0 where it
 * was lost. */
enum db_result levels_list(struct db *db, struct watch_claim *claim, struct spots *spots) MUST_CHECK;
/* Tells the units of these skus, sorted, each once. */
enum db_result levels_tell_stock(struct db *db, struct watch_claim *claim, const uint32_t *skus,
                                 size_t count) MUST_CHECK;

#endif
