/* replace.h - puts other data in the place of those of --data DIR.
 *
 *   DIR/restoring.XXXXXX/db   the new data, until they are whole and marked
 *   DIR/db                    then the new data, by one exchange of names
 *   DIR/db.before-TIME        the data that were there; nothing here removes them */
#ifndef REPLACE_H
#define REPLACE_H

#include "engine/base/base.h"

struct replace {
	const char *dir;   /* DIR, made where it is missing */
	const char *from;  /* the folder of the new data; it stays as it is */
	const char *stamp; /* the end of the name of data that are moved aside */
	bool        aside; /* false: data in DIR are a reason to refuse */
	/* Changes the new data before they are in place: `home` is a folder as --data takes it. Returns an exit status.
	 */
	int (*prepare)(const char *home);
};

/* Copies, prepares, exchanges. Nothing can open the database of DIR meanwhile. EXIT_DONE; EXIT_TROUBLE: DIR is in use,
 * or holds data; otherwise as embedded_open. DIR/db is then what it was, whenever this is killed: either the old data
 * or the new ones, whole. */
int replace_run(const struct replace *r, char *why, size_t why_size) MUST_CHECK;

#endif
