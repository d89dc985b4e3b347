/* work.h - a worker, a reaper or a deliverer: a thread with a connection of its own that works until it is stopped. */
#ifndef WORK_H
#define WORK_H

#include "jobs/exec.h"

enum { WORKERS_MAX = PROGRAMS_MAX }; /* workers of a process; each runs one program at a time */

/* Settings of the workers of a process. */
struct work {
	struct source    *source;
	struct catalogue *catalogue;
	enum task_kind    kind; /* TASK_NO_KIND: a reaper, or a deliverer */
	int64_t           batch, lease_s, pause_ms, stale_s;
	unsigned          attempts_max;
	const char       *exec;   /* the program that settles; NULL: orders are completed without one */
	bool              once;   /* the worker ends when nothing is ready */
	bool              dry;    /* a reaper only says which orders it would free */
	bool              inside; /* a worker of a service, which tells its counters itself */
	struct stop      *stop;
	/* A deliverer's; NULL: it is none. */
	const struct webhook_options *webhooks;
	/* A reaper's report of each task, and with NULL of the end of a pass, on the worker's thread. NULL: the log has
	 * it. */
	void (*reaped)(void *arg, const struct task *task, int64_t orders);
	void *reaped_arg;
};

struct worker;
/* `work` is copied. After a stop a worker ends when the batch at hand is done. */
struct worker *worker_start(const struct work *work, unsigned number);
int            worker_join(struct worker *w); /* returns the exit status */

#endif
