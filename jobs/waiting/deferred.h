/* deferred.h - units that could not be given to the queue: which sku and locations failed, and until when they are left
 * alone. The chores go on with the others meanwhile. Each failure is logged once. Background threads, each with a list
 * of its own. */
#ifndef JOBS_DEFERRED_H
#define JOBS_DEFERRED_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

/* The key of a failure: a sku, the location of the queue, the location of the units; and for an arrival its movement,
 * otherwise 0. */
struct giving {
	uint64_t movement_no;
	uint32_t sku_id, from_id, to_id;
};

struct deferral;

/* Zero-initialised is empty. */
struct deferred {
	struct deferral *list;
	size_t           count, max;
};
void deferred_fini(struct deferred *d);

/* True: it must still be left alone. */
bool deferred_is(const struct deferred *d, const struct giving *g);
/* Call it before a try. The session waits a second for a lock, but not at all if the last try met a lock. */
enum db_result deferred_begin(const struct deferred *d, struct db *db, const struct giving *g) MUST_CHECK;
/* Call it after a try. DB_OK: the chore goes on; a failure is deferred, a conflict only after some tries. Any other
 * result: the connection is gone. `chore`: its name for the log; NULL: nothing is logged. */
enum db_result deferred_end(struct deferred *d, struct db *db, const struct giving *g, const char *chore,
                            enum db_result result) MUST_CHECK;

#endif
