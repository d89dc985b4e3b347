/* embedded.h - the private mariadbd of --data DIR: made, started, tuned, adopted, started again, stopped.
 *
 *   DIR/             0700, owned by the server's user    DIR/db/  DIR/tmp/  the server's data and temporary files
 *   DIR/mariadbd.sock  .pid  .log                        DIR/serve.lock    held (flock) by the one `serve`
 *   DIR/start.lock   held while a server is started      DIR/users.lock    held shared by every user of the server
 *
 * The last user stops the server. Every user holds users.lock shared, and at its end tries to take it exclusively:
 * where this works, the server has no other user. After kill -9 of a user its locks are gone and its server still runs:
 * the next command finds it by DIR/mariadbd.pid and the socket, and adopts it. After kill -9 of the server the thread
 * of a running user starts it again at once. */
#ifndef EMBEDDED_H
#define EMBEDDED_H

#include "engine/db/source.h"

struct embedded;

enum embedded_use {
	EMBEDDED_FIND,  /* opens a database that is there; makes nothing where there is none */
	EMBEDDED_MAKE,  /* makes DIR and the data directory where they do not exist */
	EMBEDDED_SERVE, /* as EMBEDDED_MAKE, and takes serve.lock */
};

/* Starts or adopts the server, waits (60 s at most) until it answers, and creates the database `holdfast` where it is
 * missing. Afterwards a thread watches the server and starts it again at once when it dies.
 *
 * EXIT_DONE; EXIT_CONFIG: no database is to be found, or DIR cannot be trusted (mariadbd_init); EXIT_UNAVAILABLE: every
 * other failure. `why` holds one clear line of the failure. */
int embedded_open(struct embedded **out, const char *dir, enum embedded_use use, char *why, size_t why_size) MUST_CHECK;
/* Servers that this process starts from now on have a buffer pool of so many MiB (mariadbd_pool). */
void embedded_pool(int64_t mib);
/* True: a `serve` runs on DIR, and `why` says so. The call changes nothing. */
bool                    embedded_is_served(const char *dir, char *why, size_t why_size) MUST_CHECK;
const struct db_target *embedded_target(const struct embedded *e);
/* From now on the source, which lives longer, is told where the server cannot be started again for want of room
 * (storage.h). */
void        embedded_tells(struct embedded *e, struct source *source);
const char *embedded_files(const struct embedded *e);    /* DIR/db; empty: there is none */
int64_t     embedded_restarts(const struct embedded *e); /* the number of restarts, for tests; any thread */
/* Lets go of the server and stops it (SIGTERM, a clean shutdown, 60 s at most) if it has no other user. */
void embedded_close(struct embedded *e);

#endif
