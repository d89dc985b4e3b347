/* settings.h - the settings of a process's workers, reapers and deliverers. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "jobs/stop.h"
#include "jobs/task/task.h"

enum { WORKERS_MAX = 64 }; /* workers of a process; each runs one program at a time */

struct work {
	struct source                *source;
	enum task_kind                kind;     /* TASK_NO_KIND: a reaper, or a deliverer */
	const struct webhook_options *webhooks; /* for a deliverer; NULL: this is none */
	int64_t                       batch, lease_s, pause_ms, stale_s;
	unsigned                      attempts_max;
	const char                   *exec;   /* the program that settles; NULL: orders are completed without one */
	bool                          once;   /* the worker ends when nothing is ready */
	bool                          dry;    /* a reaper only says which orders it would free */
	bool                          inside; /* a worker of a service; the service reports the counters */
	struct stop                  *stop;
	/* A reaper's report, on the worker's thread: of each task, and with NULL at the end of a pass. NULL: to the
	 * log. */
	void (*reaped)(void *arg, const struct task *task, int64_t orders);
	void *reaped_arg;
};

#endif
