/* reap.h - the reaper: frees the orders of tasks whose worker went silent. Every function runs on the caller's
 * connection and thread. */
#ifndef REAP_H
#define REAP_H

#include "jobs/task.h"

/* A reaper, one for each thread: how it reaps, and when it last saw the database, which is 0 at first. */
struct reaper {
	int64_t  pause_ms;     /* between two passes */
	int64_t  stale_s;      /* a task is left alone so long after its lease ran out */
	unsigned attempts_max; /* of an order, which is buried then */
	bool     dry;          /* nothing is changed */
	/* ---- reap.c's */
	int64_t looked_at; /* the database's clock at the last look .. */
	int64_t looked_ms; /* .. and clock_ms */
	int64_t ended_ms;  /* clock_ms when the last pass ended, the database being there; 0: there was none */
	int64_t walk_ms;   /* clock_ms of the next walk for times that lie ahead */
};

/* One pass of the reaper: tasks whose lease ran out stale_s ago, and orders left behind by a reaper that died. `each`
 * is told of every task and how many of its orders go back (NULL: nobody).
 *
 * A worker renews its lease while the database answers. So a reaper that did not see the database for longer than its
 * pause, or whose clock jumped ahead since, gives the leases that ran out in between half a minute more, before anybody
 * is freed. Times that were given by a clock that was ahead are brought back first. */
enum db_result task_reap(struct db *db, struct catalogue *c, struct reaper *reaper,
                         void (*each)(void *arg, const struct task *task, int64_t orders), void *arg) MUST_CHECK;

#endif
