/* background.h - the thread that every service has, whatever --jobs says. Chores that belong to no call and to no
 * worker take turns on its connection. */
#ifndef BACKGROUND_H
#define BACKGROUND_H

#include "engine/db/db.h"

/* A chore's turn is short, because the other chores wait for it. All of it runs on the background thread. */
struct chore {
	const char *name; /* in the log */
	/* Takes a turn on a connection that was open a moment ago. *pause_ms: when the next turn is due. A turn that
	 * fails is logged, and taken again soon. */
	enum db_result (*turn)(void *arg, struct db *db, int64_t *pause_ms);
	void (*leave)(void *arg, struct db *db); /* the last turn, on a connection that may be gone */
	void *arg;
};

struct background;
struct background *background_open(struct source *source, const struct chore *chores, size_t count);
void               background_close(struct background *b); /* waits for the turn that runs; NULL is fine */

#endif
