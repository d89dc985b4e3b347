/* embedded.c - see embedded.h. Users of the server, the right to start or stop it, and the thread that watches it;
 * mariadbd.c has the process itself.
 *   users.lock  shared from embedded_open to embedded_close; exclusive only while the last user stops the server
 *   start.lock  taken after users.lock, held until the server answers; its new owner looks for a server first */
#include "engine/server/embedded.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/server/mariadbd.h"
#include "engine/db/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	OPEN_MS = 60000, /* longest wait for another user's start or stop, and for an answer */
	STOP_MS = 60000,
	PEEP_MS = 100,       /* longer than embedded_is_served has serve.lock */
	ROOM_MS = 5000,      /* between two looks at the room that is left */
	LOOK_MS = 20,        /* between two looks at a lock or at a server that starts */
	SILENT_MS = 5000,    /* a server that starts and does not answer is told of */
	FILES_MIN = 100,     /* open files with which a server makes its tables and serves */
	SOON_MS = 10000,     /* a server that lived less than that keeps dying */
	PAUSE_MS = 100,      /* before the second start, doubled for each further one .. */
	PAUSE_MAX_MS = 2000, /* .. up to this */
};

struct embedded {
	struct mariadbd        server; /* the watch's while the watch runs */
	struct db_target       target;
	char                   files[sizeof(((struct mariadbd *)0)->dir) + 3];
	enum embedded_use      use;
	int                    users_lock; /* -1: not open, like the two below */
	int                    serve_lock;
	int                    wake; /* an eventfd: the watch is to end */
	bool                   watched;
	pthread_t              watch;
	bool                   none;  /* no database is there, and none is to be made */
	bool                   unfit; /* the process may not open enough files, for another try as well */
	_Atomic int64_t        restarts;
	struct source *_Atomic source; /* is told where there is no room; NULL: no source is */
};

/* Waits wait_ms at most (-1: no limit). True: embedded_close has begun. */
static bool stopping(const struct embedded *e, int wait_ms)
{
	struct pollfd fd = {.fd = e->wake, .events = POLLIN};

	return poll(&fd, 1, wait_ms) > 0;
}

/* ---- locks */

/* Takes a lock, waiting wait_ms at most (-1: until embedded_close). */
static bool lock_take(const struct embedded *e, int fd, int how, int wait_ms)
{
	int64_t until = clock_ms() + wait_ms;

	while (flock(fd, how | LOCK_NB) != 0)
		if ((wait_ms >= 0 && clock_ms() >= until) || stopping(e, LOOK_MS))
			return false;
	return true;
}

static bool lock_open(const struct embedded *e, int *fd, const char *name, char *why, size_t why_size)
{
	*fd = mariadbd_file(&e->server, name);
	if (*fd >= 0)
		return true;
	return why_write(why, why_size, "cannot open %s/%s: %s", e->server.dir, name, strerror(errno));
}

/* The file holds the number of the process that has the lock, for the message to the next one. */
static bool served_say(int lock, const char *dir, char *why, size_t why_size)
{
	char    pid[24];
	ssize_t len = pread(lock, pid, sizeof(pid) - 1, 0);

	pid[len > 0 ? len : 0] = '\0';
	return why_write(why, why_size, "%s is in use by another serve (pid %ld)", dir, strtol(pid, NULL, 10));
}

static bool serve_lock(struct embedded *e, char *why, size_t why_size)
{
	if (!lock_open(e, &e->serve_lock, "serve.lock", why, why_size))
		return false;
	if (!lock_take(e, e->serve_lock, LOCK_EX, PEEP_MS))
		return served_say(e->serve_lock, e->server.dir, why, why_size);
	if (ftruncate(e->serve_lock, 0) != 0 || dprintf(e->serve_lock, "%ld\n", (long)getpid()) < 0)
		return why_write(why, why_size, "cannot write %s/serve.lock: %s", e->server.dir, strerror(errno));
	return true;
}

static bool users_lock(struct embedded *e, char *why, size_t why_size)
{
	if (!lock_open(e, &e->users_lock, "users.lock", why, why_size))
		return false;
	return lock_take(e, e->users_lock, LOCK_SH, OPEN_MS) ||
	       why_write(why, why_size, "the server in %s is being stopped by another command for over %d s",
	                 e->server.dir, OPEN_MS / 1000);
}

/* ---- the server */

/* The server answers, and has our database. */
static bool server_answers(const struct embedded *e, char *error, size_t error_size)
{
	struct db_target target = e->target;
	struct db       *db;
	bool             ok;

	target.database[0] = '\0';
	db = db_new_alone(&target);
	ok = db_connect(db) && db_text(db, "CREATE DATABASE IF NOT EXISTS holdfast", NULL, NULL) == DB_OK;
	snprintf(error, error_size, "%s", db_error(db));
	db_free(db);
	return ok;
}

/* Handles a server that ended before it answered: an adopted one is replaced, our own would end again. */
static bool server_replace(struct embedded *e, bool *found, char *why, size_t why_size)
{
	char how[64], complaint[400];

	mariadbd_reap(&e->server, how, sizeof(how));
	if (*found) { /* the adopted server was about to end */
		*found = false;
		return mariadbd_start(&e->server, why, why_size);
	}
	mariadbd_complaint(&e->server, complaint, sizeof(complaint));
	return why_write(why, why_size, "mariadbd ended while starting (%s): %s (see %s/mariadbd.log)", how, complaint,
	                 e->server.dir);
}

/* The server inherits the limit. With less it starts, perhaps, and fails later. */
static bool files_suffice(struct embedded *e, char *why, size_t why_size)
{
	struct rlimit files;

	e->unfit = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < FILES_MIN;
	return !e->unfit ||
	       why_write(why, why_size,
	                 "this process may have %lu files open, a server needs %d and its clients more: raise "
	                 "the limit of open files",
	                 (unsigned long)files.rlim_max, FILES_MIN);
}

/* Makes the data directory, or looks for it. The caller holds start.lock, so a directory in the making is waited for.
 */
static bool database_there(struct embedded *e, char *why, size_t why_size)
{
	if (e->use != EMBEDDED_FIND)
		return (mariadbd_is_made(&e->server) || files_suffice(e, why, why_size)) &&
		       mariadbd_make(&e->server, why, why_size);
	e->none = !mariadbd_is_made(&e->server);
	return !e->none;
}

/* Finds the server or starts one, and waits until it answers (-1: until embedded_close). Needs start.lock. */
static bool server_up(struct embedded *e, bool *found, int wait_ms, char *why, size_t why_size)
{
	int64_t until = clock_ms() + wait_ms, silent_ms = clock_ms() + SILENT_MS;
	char    error[400];
	pid_t   pid;

	*found = mariadbd_find(&e->server);
	if (!*found && wait_ms >= 0 && !files_suffice(e, why, why_size))
		return false;
	if (!*found && !mariadbd_start(&e->server, why, why_size))
		return false;
	while (!server_answers(e, error, sizeof(error))) {
		if (mariadbd_ended(&e->server, e->wake, LOOK_MS) && !server_replace(e, found, why, why_size))
			return false;
		if (stopping(e, 0))
			return why_write(why, why_size, "stopped while mariadbd was starting");
		if (silent_ms && clock_ms() > silent_ms) {
			silent_ms = 0;
			log_event(LOG_WARN, "database_silent", "pid=%ld dir=\"%s\" why=\"%s\"", (long)e->server.pid,
			          e->server.dir, error);
		}
		if (wait_ms >= 0 && clock_ms() > until) {
			/* Leaves a server in recovery running for the next command to find: a recovery that is cut
			 * short begins again. */
			pid = e->server.pid;
			mariadbd_leave(&e->server);
			return why_write(why, why_size, "mariadbd (pid %ld) does not answer after %d s: %s", (long)pid,
			                 wait_ms / 1000, error);
		}
	}
	return true;
}

/* A server that runs is news in the log of a service, and noise before the result of a command. */
static enum log_level news(const struct embedded *e)
{
	return e->use == EMBEDDED_SERVE ? LOG_INFO : LOG_DEBUG;
}

/* Takes start.lock and brings the server up. wait_ms as for server_up; with -1 the database was there. */
static bool server_start(struct embedded *e, bool *found, int wait_ms, char *why, size_t why_size)
{
	bool ok = false;
	int  lock;

	if (!lock_open(e, &lock, "start.lock", why, why_size))
		return false;
	if (!lock_take(e, lock, LOCK_EX, wait_ms))
		why_write(why, why_size, "the server in %s is being started by another command for over %d s",
		          e->server.dir, OPEN_MS / 1000);
	else
		ok = (wait_ms < 0 || database_there(e, why, why_size)) && server_up(e, found, wait_ms, why, why_size);
	close(lock);
	return ok;
}

static bool server_open(struct embedded *e, char *why, size_t why_size)
{
	int64_t began = clock_ms();
	bool    found;

	if (!server_start(e, &found, OPEN_MS, why, why_size))
		return false;
	if (e->server.why_root[0])
		log_event(e->use == EMBEDDED_SERVE ? LOG_WARN : LOG_DEBUG, "server_as_root", "dir=\"%s\" why=\"%s\"",
		          e->server.dir, e->server.why_root);
	log_event(news(e), found ? "server_adopted" : "server_started", "pid=%ld ms=%" PRId64 " dir=\"%s\"",
	          (long)e->server.pid, clock_ms() - began, e->server.dir);
	return true;
}

/* ---- the watch */

/* Restarts a dead server: every user sees it die, one user starts it again, the others find that server. */
static void server_heal(struct embedded *e)
{
	int64_t began = clock_ms();
	char    why[1024];
	bool    found;

	if (server_start(e, &found, -1, why, sizeof(why))) {
		atomic_fetch_add(&e->restarts, 1);
		log_event(LOG_WARN, "server_restarted", "pid=%ld ms=%" PRId64 " by=%s dir=\"%s\"", (long)e->server.pid,
		          clock_ms() - began, found ? "another" : "us", e->server.dir);
	} else if (!stopping(e, 0)) {
		struct source *told = atomic_load(&e->source);

		log_event(LOG_ERROR, "server_not_restarted", "why=\"%s\"", why);
		if (told)
			(void)storage_fault(told, 0, why);
	}
}

static int pause_ms(int soon)
{
	return soon == 0 ? 0 : soon > 5 ? PAUSE_MAX_MS : PAUSE_MS << (soon - 1);
}

static void *server_watch(void *arg)
{
	struct embedded *e = arg;
	int64_t          since = clock_ms() - SOON_MS;
	bool             low = false;
	int              soon = 0; /* deaths in a row that came soon after a start */
	char             how[64];

	for (;;) {
		while (!mariadbd_ended(&e->server, e->wake, ROOM_MS)) {
			if (stopping(e, 0))
				return NULL;
			if (e->use == EMBEDDED_SERVE)
				storage_watch(e->files, &low);
		}
		soon = clock_ms() - since < SOON_MS ? soon + 1 : 0;
		if (e->server.pidfd >= 0) {
			long pid = e->server.pid;

			mariadbd_reap(&e->server, how, sizeof(how));
			log_event(LOG_WARN, "server_died", "pid=%ld how=\"%s\" dir=\"%s\"", pid, how, e->server.dir);
		}
		if (stopping(e, pause_ms(soon)))
			return NULL;
		since = clock_ms();
		server_heal(e);
	}
}

static bool watch_start(struct embedded *e, char *why, size_t why_size)
{
	sigset_t all, before;
	int      error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
	error = pthread_create(&e->watch, NULL, server_watch, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	e->watched = error == 0;
	return e->watched || why_write(why, why_size, "cannot start a thread: %s", strerror(error));
}

/* ---- for the rest of the program */

int embedded_open(struct embedded **out, const char *dir, enum embedded_use use, char *why, size_t why_size)
{
	struct embedded *e = mem_alloc(sizeof(*e));
	int              status = EXIT_UNAVAILABLE;
	bool             none, unfit;

	*out = NULL;
	*e = (struct embedded){.server = MARIADBD_NONE, .use = use, .users_lock = -1, .serve_lock = -1};
	e->wake = eventfd(0, EFD_CLOEXEC);
	e->none = use == EMBEDDED_FIND && !mariadbd_is_home(dir);
	if (e->wake < 0)
		why_write(why, why_size, "cannot make an eventfd: %s", strerror(errno));
	else if (!e->none && (status = mariadbd_init(&e->server, dir, why, why_size)) == EXIT_DONE) {
		status = EXIT_UNAVAILABLE;
		e->target = (struct db_target){.user = "root", .database = "holdfast"};
		snprintf(e->target.socket, sizeof(e->target.socket), "%s/mariadbd.sock", e->server.dir);
		snprintf(e->files, sizeof(e->files), "%s/db", e->server.dir);
		if ((use != EMBEDDED_SERVE || serve_lock(e, why, why_size)) && users_lock(e, why, why_size) &&
		    server_open(e, why, why_size) && watch_start(e, why, why_size)) {
			assert(e->users_lock >= 0 && (e->serve_lock >= 0) == (use == EMBEDDED_SERVE));
			*out = e;
			return EXIT_DONE;
		}
	}
	none = e->none, unfit = e->unfit;
	embedded_close(e);
	if (none)
		why_write(why, why_size, "there is no database in %s; `serve`, `migrate` and `import` make one", dir);
	return none || unfit ? EXIT_CONFIG : status;
}

void embedded_pool(int64_t mib)
{
	mariadbd_pool(mib);
}

bool embedded_is_served(const char *dir, char *why, size_t why_size)
{
	char path[4096];
	int  lock;
	bool served;

	snprintf(path, sizeof(path), "%s/serve.lock", dir);
	lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (lock < 0)
		return false;
	served = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (served)
		served_say(lock, dir, why, why_size);
	close(lock);
	return served;
}

const struct db_target *embedded_target(const struct embedded *e)
{
	return &e->target;
}

void embedded_tells(struct embedded *e, struct source *source)
{
	atomic_store(&e->source, source);
}

const char *embedded_files(const struct embedded *e)
{
	return e->files;
}

int64_t embedded_restarts(const struct embedded *e)
{
	return atomic_load(&e->restarts);
}

/* A SIGTERM while it starts can leave 10.11 waiting for ever (in init_slave): it is asked to end once it answers. */
static void server_stop(struct embedded *e)
{
	int64_t began = clock_ms(), left = STOP_MS;
	long    pid = e->server.pid;
	char    error[400];
	bool    safe;

	while (!(safe = server_answers(e, error, sizeof(error)) || mariadbd_ended(&e->server, -1, LOOK_MS)) && left > 0)
		left = began + STOP_MS - clock_ms();
	safe = safe && mariadbd_stop(&e->server, left > 0 ? (int)left : 0);
	log_event(safe ? news(e) : LOG_WARN, safe ? "server_stopped" : "server_not_stopped",
	          "pid=%ld ms=%" PRId64 " dir=\"%s\"", pid, clock_ms() - began, e->server.dir);
}

void embedded_close(struct embedded *e)
{
	if (!e)
		return;
	if (e->watched) {
		eventfd_write(e->wake, 1);
		pthread_join(e->watch, NULL);
	}
	/* A failed attempt to take the lock exclusively gives up the shared lock all the same: of two users that leave
	 * at once one is the last. */
	if (e->users_lock >= 0 && flock(e->users_lock, LOCK_EX | LOCK_NB) == 0 && e->server.pidfd >= 0)
		server_stop(e);
	mariadbd_fini(&e->server);
	if (e->users_lock >= 0)
		close(e->users_lock);
	if (e->serve_lock >= 0)
		close(e->serve_lock);
	if (e->wake >= 0)
		close(e->wake);
	free(e);
}
