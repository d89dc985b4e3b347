/* level.h - the level of a spot (a sku at a location): how many units are left there, in the words of a shop. A watcher
 * looks at spots, and tells which levels have crossed. */
#ifndef LEVEL_H
#define LEVEL_H

#include "engine/db/db.h"
#include "engine/log/event.h"
#include "jobs/levels/spots.h"

enum level { LEVEL_ABOVE = 1, LEVEL_LOW = 2, LEVEL_OUT = 3 };
/* low below 0: there is no threshold. */
enum level level_of(int64_t available, int64_t low);
/* The event of a change; 0: the level has not changed. Every rise is EVENT_BACK. */
enum event_type level_event(enum level from, enum level to);

/* A watcher's claim. Its fence stands in everything that it writes. */
struct watch_claim {
	int64_t task_id, fence, lease_s; /* fence 0: another watcher has the claim */
	int64_t stamp;                   /* the latest stamp that was read from the log; new events get a later one */
	int64_t told;                    /* levels that were told */
};
/* Looks at the spots of the list (20,000 at most), twice. A spot that both looks find at the same level is settled, and
 * told if its level is another one than before; the other spots stay in the list. After any result but DB_OK the spots
 * that were not told stay, too. If the claim was lost its fence is 0. */
enum db_result levels_look(struct db *db, struct watch_claim *claim, struct spots *spots) MUST_CHECK;
/* Puts every spot into the list that has a row in `level`, or that has no units left. If the claim was lost its fence
 * is 0. */
enum db_result levels_list(struct db *db, struct watch_claim *claim, struct spots *spots) MUST_CHECK;
/* Writes a stock event with the units of each of these skus. The skus are sorted, each stands there once. */
enum db_result levels_tell_stock(struct db *db, struct watch_claim *claim, const uint32_t *skus,
                                 size_t count) MUST_CHECK;

#endif
