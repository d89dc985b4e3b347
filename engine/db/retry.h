/* retry.h - trying again: which results, how long between, until when.
 *
 * Every caller that tries again waits by retry_pause, but for the loops of workers (work.c, exec.c). A caller that
 * writes or reads a thing by itself counts its tries here, too, and says which results, how many tries, until when. A
 * lane counts tries by operation, because its batches change (batch.h). */
#ifndef RETRY_H
#define RETRY_H

#include "engine/db/db.h"

/* Results that are tried again. */
enum {
	RETRY_CONFLICTS = 1 << DB_RETRY | 1 << DB_DUPLICATE, /* undone by a conflict that is over */
	RETRY_LOCKS = RETRY_CONFLICTS | 1 << DB_LOCKED,      /* .. or by a lock, that may last */
	RETRY_ALL = ~(1 << DB_OK),                           /* for what may be done twice */
};
enum { RETRY_TRIES = 20, RETRY_ERRORS = 3 };

struct retry {
	unsigned results;       /* RETRY_.. */
	unsigned tries_max;     /* the first one counts; 0: as many as the time has room for */
	int64_t  until_ms;      /* clock_ms after which nothing is tried again; 0: tries alone count */
	unsigned tries, errors; /* tries that failed so far, from 0; the last of RETRY_ERRORS errors ends it */
};

/* True: the call has waited, and the caller tries again. */
bool retry_again(struct retry *r, enum db_result result) MUST_CHECK;
/* The wait alone. `tries` that failed: retry_again counts the one that failed just now (from 1), a lane those before it
 * (from 0). After a conflict 0 to 0.5 ms << tries, to 32 ms at most, by chance, so that both sides do not meet again.
 * While the database is away or refuses 10 ms * tries, 100 ms at most. After a lock nothing: the try has waited. */
void retry_pause(enum db_result result, unsigned tries);

#endif
