/* deferred.h - units that could not be given to the queue: which sku at which locations failed, and until when it is
 * left alone. The chores go on with the others meanwhile. The log names each once. Background threads, each with a list
 * of its own. */
#ifndef JOBS_DEFERRED_H
#define JOBS_DEFERRED_H

#include "engine/catalogue.h"
#include "engine/db/db.h"

/* One thing to be given: a sku, the location of the queue, the location of the units; and of an arrival its
 * movement, otherwise 0. */
struct giving {
	uint64_t movement_no;
	uint32_t sku_id, from_id, to_id;
};

struct deferral;

/* Zero-initialised it is empty. */
struct deferred {
	struct deferral *list;
	size_t           count, max;
};
void deferred_fini(struct deferred *d);

/* True: it is not its time yet. */
bool deferred_is(const struct deferred *d, const struct giving *g);
/* Before a try: the session waits a second for a lock, but for one that was met before not at all. */
enum db_result deferred_begin(const struct deferred *d, struct db *db, const struct giving *g) MUST_CHECK;
/* Behind a try. DB_OK: the chore goes on; what failed is deferred, a conflict after some tries. Otherwise the
 * connection is gone, and so says the result. `chore`: for the log; NULL: nothing is logged. */
enum db_result deferred_end(struct deferred *d, struct db *db, struct catalogue *c, const struct giving *g,
                            const char *chore, enum db_result result) MUST_CHECK;

#endif
