/* server.h - a MariaDB of the test's own, with the options that it wants, on a data directory that embedded.c made. It
 * dies with the test's process. Every failure ends the test. Main thread only. */
#ifndef TESTS_SERVER_H
#define TESTS_SERVER_H

#include "engine/base/text.h"
#include "engine/db/db.h"
#include "tests/kit/scratch.h"

#include <sys/types.h>

struct server {
	char  dir[SCRATCH_FOLDER_BYTES]; /* readable by every user */
	char  socket[100];               /* user root, no password */
	pid_t pid;                       /* 0: it does not run */
	char  disk[120];                 /* server_disk; empty: there is none */
};

/* The buffer pool of private servers that tests start: to make ready for a large one takes time and memory. */
enum { SERVER_POOL_MIB = 128 };

/* Makes a new folder `to`, as embedded_open does. The first call of a run makes the data; the others copy it, which
 * takes a tenth of the CPU. */
void server_data(const char *to);
/* Makes the folder and in it the data, with a database holdfast, in which the statements are run (NULL ends them). */
void server_make(struct server *s, const char *const *sql);
/* Starts it, adding these options (NULL ends them), and waits until it answers. */
void server_start(struct server *s, const char *const *options);
void server_stop(struct server *s);
/* Puts a folder of the server, with its contents, onto a small disk that only the test and its children see. The server
 * must not run meanwhile. If the account may not do that, the test ends as skipped. */
void server_disk(struct server *s, const char *folder, int mib);
/* As server_disk, on a file system with a journal: it can become read-only while files are open in it, as a disk with
 * errors does. Nothing makes it writable again. */
void server_journaled_disk(struct server *s, const char *folder, int mib);
void server_disk_breaks(const struct server *s);
void server_disk_fill(const struct server *s, bool full); /* takes all the space that is left; gives it back */
/* As server_start without options of the test's own, with a log of all statements. */
void server_start_logged(struct server *s);
/* The statements with `words` in them that came since the last call with NULL; with "" all statements on connections
 * that read or changed an order or a movement meanwhile. NULL begins to count, and returns 0. `said` (NULL: none) gets
 * them, a line each. */
int server_statements(const struct server *s, const char *words, struct text *said);
/* Removes the folder, after server_stop where it runs. */
void server_remove(struct server *s);

/* From now on the database of a flow or a scratch is made on this server. */
void server_use(const struct server *s);
/* A connection to `database`; the caller's to free. */
struct db *server_connect(const struct server *s, const char *database);
int        server_port(void); /* one that is free */

#endif
