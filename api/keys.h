/* keys.h - rights and rates of callers: a verdict on a request, which route.c answers.
 *
 * The keys of a process are read from the file at the start, again within a second after the file has changed, and at
 * SIGHUP. They are compared with each request before its body is looked at. Without --keys there are none (NULL). All
 * loops use the same keys, each under the lock. The time by which keys expire is that of this machine: no database is
 * asked. */
#ifndef KEYS_H
#define KEYS_H

#include "api/keyfile.h"
#include "engine/outcome.h"

#include <pthread.h>

/* Roles that may make a call: the last column of routes.def. */
enum callers {
	ANY_CALLER = 0, /* every caller, also without a key */
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
	int64_t told_at;    /* time at which the log last told that the key expires soon; wall clock, 0: never .. */
	bool    told_over;  /* .. and whether it told that the key has expired */
	int64_t used;       /* time of the last request with it, ms since 1970; 0: none came .. */
	int64_t used_noted; /* .. and of the last one that the database has noted; see key_limit.c */
	int64_t used_asked; /* .. or is asked to note */
	int64_t next_ns;    /* the limit of requests: time at which the bucket is full again, clock_us * 1000 */
	/* ---- of the limit of units; see key_limit.c */
	bool    counted;     /* `held` has been read from the database since the key has a limit */
	int64_t held;        /* units, as the last count found them */
	int64_t grown;       /* units that this process has held for the key since that count was asked for */
	int64_t shrunk;      /* units of `held` and `grown` that this process has confirmed or released */
	int64_t flying;      /* units asked for and not answered yet */
	int64_t grown_asked; /* the part of `grown` that the count under way must see */
};

/* A secret by which a client shows that it has the key: a key that was rotated has two for a while. Lives until
 * keys_free, too. */
struct secret {
	/* ---- written once */
	struct key *key;
	uint8_t     digest[DIGEST_SIZE]; /* SHA-256 of it */
	/* ---- under keys->lock */
	bool    known; /* the file has it */
	bool    old;   /* a rotation has replaced it */
	int64_t until; /* time from which it is not valid, ms since 1970 */
	int64_t used;  /* time of the last request with it, ms since 1970; 0: none came to this process */
};

/* What stat says of the file; zeros: it is not there. Another file is another stamp. */
struct key_stamp {
	uint64_t device, inode;
	int64_t  size, changed_ns, marked_ns; /* its time of writing, and that of any change of it */
};

struct keys {
	const char      *file;
	struct key_stamp read;    /* before the last reading; this and the next two: the first loop's alone */
	struct key_stamp seen;    /* at the last look */
	int64_t          look_ms; /* time of the next look, clock_ms */
	pthread_mutex_t  lock;    /* of all below, and of key_limit.c */
	int64_t          now;     /* the time of this machine at the last tick, ms since 1970 */
	struct key     **all;
	size_t           count, max;
	struct secret  **secrets;
	size_t           secrets_count, secrets_max;
	size_t           limited; /* active keys with a limit of units */
	unsigned         reads;   /* number of readings of the file */
};

/* Reads the file. NULL: `why` says what is wrong, naming the line. */
struct keys *keys_open(const char *file, char *why, size_t why_size) MUST_CHECK;
/* Reads the file again. A file that is wrong changes nothing and is an error in the log. false: there are no keys. */
bool keys_reload(struct keys *k) MUST_CHECK;
/* Call ten times a second, on the first loop: keeps the time, reads the file again where it has changed, and has the
 * log tell of keys that expire. NULL is fine, here and below. */
void keys_tick(struct keys *k);
void keys_free(struct keys *k);
/* Judges whether the bearer of this Authorization (NULL: none was sent) may make a call for these roles. OUTCOME_OK,
 * UNAUTHORIZED, KEY_EXPIRED or FORBIDDEN. *secret: in, the bearer's secret if an earlier call has found it, or NULL;
 * out, the bearer's secret, or NULL where no key was needed or the secret is not valid. *roles: of its key; 0: none. */
enum outcome keys_verdict(struct keys *k, const char *authorization, enum callers callers, struct secret **secret,
                          unsigned *roles) MUST_CHECK;
/* Tells each secret that the file has, under the lock. */
void keys_each(struct keys *k, void (*tell)(void *arg, const struct secret *secret), void *arg);
/* Counts a request of the key. false: there were too many in the last second (TOO_FAST). */
bool key_takes_turn(struct keys *k, struct key *key) MUST_CHECK;

#endif
