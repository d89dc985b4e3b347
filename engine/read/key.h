/* key.h - keys in the database: their names, when they were used, and the units that keys with a limit hold open.
 * api/keys.h knows the secrets of keys and their rights. */
#ifndef READ_KEY_H
#define READ_KEY_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

/* The question and the answer of one count. One allocation. */
struct key_count {
	bool full; /* notes the names, and enters all open holds that are missing */
	bool more; /* after the count: more holds that are over wait to be removed */
	/* The first hold of the page to check; after the count: of the next page. A count that is not `full` checks a
	 * page of open holds and enters the missing ones: holds that were over by a clock that was ahead and went
	 * back. */
	struct hold_place {
		int64_t due_ms, id; /* 0: the first there is */
	} next;
	size_t count; /* number of keys */
	struct counted_key {
		uint32_t key_id;
		char     name[ID_MAX + 1];
		bool     limited; /* true: the key has a limit and is counted */
		bool     used;    /* true: the database is to note that the key was used just now */
		int64_t  units;   /* units that the key holds open */
	} keys[];
};

/* Counts, and removes some of the holds that are over. For op->job.run of an OP_TALLY; `arg` is a struct key_count. */
enum db_result key_count_run(struct db *db, void *arg);

struct key_use {
	uint32_t key_id;
	int64_t  used_at; /* out: when a service has noted a use of the key last; TIME_NONE: never */
};
/* Reads when these keys were used last. */
enum db_result key_uses_read(struct db *db, struct key_use *uses, size_t count) MUST_CHECK;

#endif
