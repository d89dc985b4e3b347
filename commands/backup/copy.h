/* copy.h - a back-up on disk: a folder named by its time, below the folder of back-ups.
 *
 *   DIR/2026-11-29T085000Z/db           what mariadb-backup made, prepared
 *   DIR/2026-11-29T085000Z/backup.json  the file that says what it is
 *   DIR/2026-11-29T085000Z/backup.log   what mariadb-backup said
 *   DIR/NAME.unfinished                 in the making, or in removal: never to be restored
 *   DIR/backup.lock                     held by the command that writes in DIR */
#ifndef COPY_H
#define COPY_H

#include "engine/base/base.h"

#include <limits.h>

#define COPY_UNFINISHED ".unfinished"

struct copy {
	char    path[PATH_MAX];
	int64_t schema; /* the version of its tables */
	bool private;   /* made of a private database */
};

/* Reads the back-up at `path`. false: it is none, or an unfinished one. */
bool copy_read(struct copy *copy, const char *path) MUST_CHECK;
/* Reads the back-up at `path`, or the newest one below it. */
bool copy_find(struct copy *copy, const char *path) MUST_CHECK;
/* Takes the lock of a folder of back-ups, makes the folder where it is missing, and removes what is unfinished there.
 * Returns the lock's descriptor; -1 after saying why. */
int copy_folder_lock(const char *dir) MUST_CHECK;
/* Removes all but the newest `keep` back-ups of `dir`. A back-up that goes is called unfinished first. */
bool copy_keep(const char *dir, int64_t keep) MUST_CHECK;
/* Removes the folder. */
bool copy_remove(const char *path) MUST_CHECK;

#endif
