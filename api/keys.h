/* keys.h - rights and rates of callers: a verdict on a request, which route.c answers.
 *
 * The keys of a process are read from the file at the start and again at SIGHUP, and compared with each request before
 * its body is looked at. Without --keys there are none (NULL). All loops use the same keys, each under the lock. */
#ifndef KEYS_H
#define KEYS_H

#include "api/keyfile.h"
#include "engine/outcome.h"

#include <pthread.h>

/* Roles that may make a call: the last column of routes.def. */
enum callers {
	ANYBODY = 0, /* every caller, also without a key */
	ORDERS = ROLE_ORDER | ROLE_ADMIN,
	WORKERS = ROLE_WORKER | ROLE_ADMIN,
	ORDERS_OR_WORKERS = ORDERS | WORKERS,
	ADMINS = ROLE_ADMIN,
	READERS = ROLE_ORDER | ROLE_WORKER | ROLE_READ | ROLE_ADMIN, /* every key */
};

/* A key. Lives until keys_free, because requests point at it; a key that is gone from the file is not active. */
struct key {
	/* ---- written once, with the number that is made of the name: any thread may read them */
	char     name[ID_MAX + 1];
	uint32_t key_id;
	/* ---- under keys->lock */
	struct key_line line; /* as the file has it now */
	bool            active;
	int64_t         next_ns; /* the limit of requests: time at which the bucket is full again, clock_us * 1000 */
	/* ---- of the limit of units; see key_limit.c */
	bool    counted;     /* `held` has been read from the database since the key has a limit */
	int64_t held;        /* units, as the last count found them */
	int64_t grown;       /* units that this process has held for the key since that count was asked for */
	int64_t shrunk;      /* units of `held` and `grown` that this process has confirmed or released */
	int64_t flying;      /* units asked for and not answered yet */
	int64_t grown_asked; /* the part of `grown` that the count under way must see */
};

struct keys {
	const char     *file;
	pthread_mutex_t lock; /* of all below, and of key_limit.c */
	struct key    **all;
	size_t          count, max;
	size_t          limited; /* active keys with a limit of units */
	unsigned        reads;   /* number of readings of the file */
};

/* Reads the file. NULL: `why` says what is wrong, naming the line. */
struct keys *keys_open(const char *file, char *why, size_t why_size) MUST_CHECK;
/* Reads the file again. A file that is wrong changes nothing and is an error in the log. false: there are no keys. */
bool keys_reload(struct keys *k) MUST_CHECK;
void keys_free(struct keys *k); /* NULL is fine */
/* Judges whether the bearer of this Authorization (NULL: none was sent) may make a call for these roles. OUTCOME_OK,
 * UNAUTHORIZED or FORBIDDEN. *key: in, the bearer's key if an earlier call has found it, or NULL; out, the bearer's
 * key, or NULL where no key was needed or the key is unknown. *roles: its roles; 0: it has no key. */
enum outcome keys_verdict(struct keys *k, const char *authorization, enum callers callers, struct key **key,
                          unsigned *roles) MUST_CHECK;
/* Counts a request of the key. false: there were too many in the last second (TOO_FAST). */
bool key_takes_turn(struct keys *k, struct key *key) MUST_CHECK;

#endif
