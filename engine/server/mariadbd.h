/* mariadbd.h - the process behind embedded.h: its folder and user, its data directory, and the one mariadbd that runs
 * on it: found or started, watched, stopped. embedded.c decides when it is started and stopped, and by which process.
 *
 *                 start or find            ends by itself, or stop
 *   none (pidfd -1) ──────────▶ runs (pidfd) ──────────▶ none
 *
 * One thread at a time. What is run here runs as the server's user and inherits no descriptor of ours. */
#ifndef MARIADBD_H
#define MARIADBD_H

#include "engine/base/base.h"

#include <sys/types.h>

struct mariadbd {
	char  dir[448]; /* DIR: absolute, no symbolic links; MariaDB's own names end at 512 bytes */
	int   dir_fd;
	uid_t uid; /* the server's user */
	gid_t gid;
	char  why_root[2048]; /* the reason why the server runs as root against our wish; empty: it does not */
	pid_t pid;            /* process of the server that runs, as far as we know */
	int   pidfd;          /* readable when it has ended; -1: none runs */
	off_t log_start;      /* where the server's part of the log begins */
};

/* The initial value: no folder open and no server known. mariadbd_fini takes it. */
#define MARIADBD_NONE ((struct mariadbd){.dir_fd = -1, .pidfd = -1})

/* False: DIR is no private server's folder, for certain. Touches nothing. */
bool mariadbd_is_home(const char *dir) MUST_CHECK;
/* Makes DIR where it is missing, opens it, shuts it to others and chooses the server's user. A folder that holds
 * something else is refused. EXIT_DONE; EXIT_CONFIG: files in DIR are not its owner's, or DIR is shut to its owner or
 * to us; EXIT_UNAVAILABLE. */
int  mariadbd_init(struct mariadbd *m, const char *dir, char *why, size_t why_size) MUST_CHECK;
void mariadbd_fini(struct mariadbd *m); /* the server, if any, runs on */

bool mariadbd_is_made(const struct mariadbd *m) MUST_CHECK; /* the data directory is there */
/* Makes the data directory where it is missing: whole, or not at all. About a second. */
bool mariadbd_make(struct mariadbd *m, char *why, size_t why_size) MUST_CHECK;
/* Finds the server that runs already, whether it answers, or is about to end, and whichever process started it. */
bool mariadbd_find(struct mariadbd *m) MUST_CHECK;
/* The buffer pool of all servers that are started from now on, in MiB; 0, the default: a quarter of the memory that the
 * process may use, 256 to 4096. Any thread. */
void mariadbd_pool(int64_t mib);
/* Starts a server where none runs. That it runs does not mean that it answers yet. */
bool mariadbd_start(struct mariadbd *m, char *why, size_t why_size) MUST_CHECK;
/* True once the server has ended or none is known; false when `wake` (-1: none) is readable or wait_ms (-1: no limit)
 * have passed. */
bool mariadbd_ended(const struct mariadbd *m, int wake, int wait_ms) MUST_CHECK;
/* Forgets a server that has ended, and writes how (`signal 9`). Reaps it if it was our child, and no other child. True:
 * a child that ended with status 0. */
bool mariadbd_reap(struct mariadbd *m, char *how, size_t how_size);
/* Asks the server to end in order and waits for that. False: it runs on after wait_ms. Never kills it. */
bool mariadbd_stop(struct mariadbd *m, int wait_ms) MUST_CHECK;
/* Forgets a server that runs on. */
void mariadbd_leave(struct mariadbd *m);
/* The first error that the server wrote to its log since it was started; empty: none. */
void mariadbd_complaint(const struct mariadbd *m, char *line, size_t line_size);

/* Opens a file of DIR, made for the server's user where it is missing. -1: errno says why. */
int mariadbd_file(const struct mariadbd *m, const char *name) MUST_CHECK;

#endif
