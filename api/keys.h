/* keys.h - who may call what, how often, and how much a key may hold.
 *
 * The keys of a process: read from the file at the start and again at SIGHUP, compared with each request before its
 * body is looked at. Without --keys there are none (NULL, which is fine everywhere) and every call is let in. But for
 * keys_open and keys_free, all of it runs on the loop's thread. */
#ifndef KEYS_H
#define KEYS_H

#include "api/keyfile.h"
#include "engine/read/key.h"

struct engine;
struct loop;
struct op;
struct request;

/* Which roles may make a call: the last column of routes.def. */
enum callers {
	ANYBODY = 0, /* without a key, too */
	ORDERS = ROLE_ORDER | ROLE_ADMIN,
	WORKERS = ROLE_WORKER | ROLE_ADMIN,
	ADMINS = ROLE_ADMIN,
	READERS = ROLE_ORDER | ROLE_WORKER | ROLE_READ | ROLE_ADMIN, /* every key */
};

/* One key. Lives as long as the process, because requests point at it; one that is gone from the file is not active. */
struct key {
	struct key_line line;
	bool            active;
	int64_t         next_ns; /* of the limit of requests: when the bucket would be full again, clock_us * 1000 */
	/* ---- of the limit of units; see held.c */
	bool    counted;     /* `held` has been read from the database since the key has a limit */
	int64_t held;        /* what the last count found */
	int64_t grown;       /* what this process has held for the key since that count was asked for */
	int64_t shrunk;      /* what it has confirmed or released of that */
	int64_t flying;      /* asked for, not answered yet */
	int64_t grown_asked; /* of `grown`, what the count under way must see */
};

struct keys {
	const char       *file;
	struct engine    *engine; /* NULL until keys_start */
	struct loop      *loop;
	struct key      **all;
	size_t            count, max;
	size_t            limited;       /* active ones with a limit of units */
	bool              anew;          /* the next count notes names and enters all open holds */
	struct hold_place next;          /* where it goes on with them otherwise */
	bool              counting;      /* a count is under way */
	int64_t           asked_ms;      /* when it was asked for */
	int64_t           taken_ms;      /* when the last one came back */
	int64_t           count_next_ms; /* when the next one is due; clock_ms */
};

/* Reads the file. NULL: `why` says what is wrong, naming the line. */
struct keys *keys_open(const char *file, char *why, size_t why_size) MUST_CHECK;
/* From here on the loop runs: what keys with a limit hold is counted, and waited for, 10 s at most. */
void keys_start(struct keys *k, struct engine *e, struct loop *loop);
/* The file again. One that is wrong changes nothing and is an error in the log. false: there are no keys. */
bool keys_reload(struct keys *k) MUST_CHECK;
/* Some times a second: counts again when it is time. */
void keys_tick(struct keys *k);
void keys_free(struct keys *k); /* after loop_free */

/* May this request be made? false: it is answered, 401, 403 or 429. */
bool keys_admit(struct request *r, enum callers callers) MUST_CHECK;
/* It was answered: what an admin key changes is a line in the log. */
void keys_answered(const struct request *r, int status);

/* ---- held.c. Reservations that are about to be started for a key: their number, and how they count. */
void held_begin(struct request *r, struct op *first);
/* An operation has come back with its outcome, or never began: BUSY. */
void held_end(struct request *r, const struct op *op);
/* Asks for a count, if none is under way and the engine takes it. */
void held_count(struct keys *k);

#endif
