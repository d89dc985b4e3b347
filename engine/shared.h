/* shared.h - data that all lanes and readers of an engine share, each part with its lock or atomic. From engine.c. */
#ifndef SHARED_H
#define SHARED_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/source.h"

#include <pthread.h>
#include <stdatomic.h>

/* Counters, which any thread may read at any time. */
struct lane_metrics {
	_Atomic int64_t gathers, replays, unknown_outcomes;
	_Atomic int64_t batch_count, batch_requests, batch_us;
	_Atomic int64_t batch_requests_bucket[12]; /* up to 1, 2, 4 .. 2048 */
};

/* Limits of time that lanes and readers have in common. */
enum {
	WAIT_MS = 10000, /* since its arrival: later a lane does not begin an operation nor look up the outcome of its
	                  * COMMIT, and a reader does not try again */
	SILENCE_S = 12,  /* a connection on which a request waited in vain is given up soon after it */
	LOOK_ON_MS = 2000, /* since its arrival: so long a list goes on from an empty page to the next one */
	IDLE_MS = 500,   /* an idle thread checks its connection this often */
};

struct shared {
	struct source      *source;    /* never changes */
	struct catalogue   *catalogue; /* has its own lock */
	struct lane_metrics metrics;
	_Atomic int64_t     locks_until_ms;  /* clock_ms until which lanes look for locked rows; 0: never begun */
	_Atomic int64_t     dirty_until_ms;  /* .. for ids that another program has written; 0: never begun */
	_Atomic int64_t     clock_offset_ms; /* the database's clock minus clock_ms, used for new ids */
	pthread_mutex_t     lock;            /* of the condition alone */
	pthread_cond_t      connects;        /* a lane or a reader has a connection again */
};
void shared_init(struct shared *s, struct source *source); /* of zeroes */
void shared_fini(struct shared *s);
/* Notes whether the thread that calls has a connection, for engine_wait. */
void shared_connected(struct shared *s, _Atomic bool *connected, bool is);

#endif
