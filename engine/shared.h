/* shared.h - what all lanes and readers of an engine share, each part with what makes it safe. engine.c makes it. */
#ifndef SHARED_H
#define SHARED_H

#include "engine/past.h"

#include <stdatomic.h>

/* Each may be read at any moment by any thread. */
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
	IDLE_MS = 500,   /* how often an idle thread looks whether its connection is well */
};

struct shared {
	struct db_target    target;    /* never changes */
	struct catalogue   *catalogue; /* a lock of its own */
	struct past         past;      /* which database it is */
	struct lane_metrics metrics;
	_Atomic int64_t     wary_until_ms;    /* clock_ms; when lanes stop to look for locked rows; 0: never begun */
	_Atomic int64_t     glimpse_until_ms; /* likewise of ids that somebody outside has written */
	_Atomic int64_t     clock_offset_ms;  /* the database's clock minus clock_ms, for new ids alone */
};

#endif
