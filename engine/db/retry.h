/* retry.h - the one policy of retries: which results, how long between, until when. */
#ifndef RETRY_H
#define RETRY_H

#include "engine/db/db.h"

/* Results that are tried again. */
enum {
	RETRY_DEADLOCKS = 1 << DB_RETRY | 1 << DB_DUPLICATE, /* a conflict undid the transaction and is over */
	RETRY_CONFLICTS = RETRY_DEADLOCKS | 1 << DB_LOCKED,  /* .. or a lock undid it and may last */
	RETRY_ALL = ~(1 << DB_OK),                           /* any failure, for work that may be done twice */
};
enum { RETRY_TRIES = 20, RETRY_ERRORS = 3 };

struct retry {
	unsigned results;       /* RETRY_.. */
	unsigned tries_max;     /* 0: as many as the time has room for */
	int64_t  until_ms;      /* clock_ms after which nothing is tried again; 0: only tries count */
	unsigned tries, errors; /* tries so far; errors among them, RETRY_ERRORS at most */
};

/* True: the call has waited, and the caller tries again. */
bool retry_again(struct retry *r, enum db_result result) MUST_CHECK;
/* Waits after the given number of tries: after a conflict up to 32 ms, by chance, so that both sides do not meet again;
 * while the database is away or refuses 10 to 100 ms. A try that met a lock has waited already. */
void retry_pause(enum db_result result, unsigned tries);

#endif
