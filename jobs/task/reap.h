/* reap.h - the reaper: frees the orders of tasks with a silent worker. Every function runs on the caller's connection
 * and thread. */
#ifndef REAP_H
#define REAP_H

#include "jobs/task/task.h"

/* A reaper, one for each thread: its settings, and when it last saw the database, which is 0 at first. */
struct reaper {
	int64_t  pause_ms;     /* between two passes */
	int64_t  stale_s;      /* how long after the end of its lease a task is left alone */
	unsigned attempts_max; /* an order is buried after this many */
	bool     dry;          /* nothing is changed */
	/* ---- for reap.c */
	int64_t looked_at; /* the database's clock at the last look .. */
	int64_t looked_ms; /* .. and clock_ms */
	int64_t ended_ms;  /* clock_ms when the last pass ended with the database there; 0: there was none */
	int64_t walk_ms;   /* clock_ms of the next walk for times that lie ahead */
};

/* One pass of the reaper: frees the orders of tasks with a lease that ran out stale_s ago, and orders left behind by a
 * reaper that died. `each` (or NULL) is called for every task, with the number of orders that go back.
 *
 * A worker can renew its lease only while the database answers. So if a reaper did not see the database for longer than
 * its pause, or if the database's clock jumped ahead since, the reaper first gives the leases that ran out in between
 * half a minute more. Then it corrects times that were given by a clock that was ahead. Only after that it frees
 * orders. */
enum db_result task_reap(struct db *db, struct reaper                                           *reaper,
                         void (*each)(void *arg, const struct task *task, int64_t orders), void *arg) MUST_CHECK;

#endif
