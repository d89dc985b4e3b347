/* retry.h - the one policy of trying again: which result, how long between, until when. */
#ifndef RETRY_H
#define RETRY_H

#include "engine/db/db.h"

/* Results that are tried again. */
enum {
	RETRY_DEADLOCKS = 1 << DB_RETRY | 1 << DB_DUPLICATE, /* undone by a conflict that is over */
	RETRY_CONFLICTS = RETRY_DEADLOCKS | 1 << DB_LOCKED,  /* .. or by a lock, that may last */
	RETRY_ALL = ~(1 << DB_OK),                           /* for what may be done twice */
};
enum { RETRY_TRIES = 20, RETRY_ERRORS = 3 };

struct retry {
	unsigned results;       /* RETRY_.. */
	unsigned tries_max;     /* 0: as many as the time has room for */
	int64_t  until_ms;      /* clock_ms after which nothing is tried again; 0: tries alone count */
	unsigned tries, errors; /* so far; of the latter RETRY_ERRORS at most */
};

/* True: it waited, and the caller does it again. */
bool retry_again(struct retry *r, enum db_result result) MUST_CHECK;
/* The wait alone, behind the tries-th try: after a conflict up to 32 ms, by chance, so that both sides do not meet
 * again; while the database is away or refuses 10 to 100 ms. A try that met a lock has waited already. */
void retry_pause(enum db_result result, unsigned tries);

#endif
