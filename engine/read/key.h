/* key.h - keys as the database knows them: their names, and the units that those with a limit hold open. Who has a key
 * and what it may is a matter of api/keys.h. */
#ifndef READ_KEY_H
#define READ_KEY_H

#include "engine/catalogue.h"
#include "engine/db/db.h"

/* What is asked and answered by one count. One allocation. */
struct key_count {
	bool anew; /* note the names, and enter all open holds that are missing */
	bool more; /* after the count: more holds that are over wait to be removed */
	/* Otherwise a page of the open holds is looked at with each count, and what is missing is entered: holds that
	 * were over by a clock that was ahead and went back. The first of the page; after the count: of the next. */
	struct hold_place {
		int64_t due_ms, id; /* 0: the first there is */
	} next;
	size_t count; /* of keys */
	struct counted_key {
		uint32_t key_id;
		char     name[ID_MAX + 1];
		bool     limited; /* only such a key is counted */
		int64_t  units;   /* that it holds open */
	} keys[];
};

/* Counts, and removes some of the holds that are over. For op->job.run of an OP_TALLY; `arg` is a struct key_count. */
enum db_result key_count_run(struct db *db, struct catalogue *c, void *arg);

#endif
