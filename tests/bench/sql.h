/* sql.h - contenders that speak SQL: buyers, each a thread with a connection of its own straight to the database, as an
 * application server has them in its pool. */
#ifndef SQL_H
#define SQL_H

#include "bench.h"

#include <pthread.h>

/* A buyer. */
struct buyer {
	pthread_t             thread;
	pthread_barrier_t    *start; /* all connections are open before the window begins */
	const struct sql_way *way;
	struct db            *db;
	struct text           sql;
	uint64_t              number; /* of its next order */
	uint64_t              stride;
	int64_t               window_us;
	int64_t               left;    /* orders that it may still place */
	int64_t               retries; /* deadlocks and lock waits that ran out: tried again, part of the latency */
	struct round          round;
};

/* How one team deducts stock. */
struct sql_way {
	const char        *database; /* where its tables are; NULL: Holdfast's */
	const char *const *schema;   /* statements that make and fill them; end with NULL */
	const char        *empty;    /* run before each round; NULL: nothing to do */
	/* One order from beginning to commit; *units stays 0 where it was refused. After any other result than DB_OK it
	 * is tried again, so what it began must be undone by then. */
	enum db_result (*order)(struct buyer *w, int64_t *units);
	const char *taken; /* gives two figures: units that the stock lost, units that the reservations hold */
};

#endif
