/* jobs.h - work beside the calls: workers that claim and complete, reapers; inside `serve --jobs` or as commands.
 *
 * A worker is a thread with a connection of its own. All that run together share one stop: work_stop wakes every pause,
 * and each ends after the batch at hand. */
#ifndef JOBS_H
#define JOBS_H

#include "jobs/task.h"

#include <pthread.h>

/* What all workers of a process share. */
struct work {
	struct db_target  target;
	struct catalogue *catalogue;
	enum task_kind    kind; /* TASK_NO_KIND: a reaper */
	int64_t           batch, lease_s, pause_ms, stale_s;
	unsigned          attempts_max;
	const char       *exec;   /* NULL: the order is completed as it is */
	bool              once;   /* ends when nothing is ready */
	bool              tells;  /* a reaper prints what it freed .. */
	bool              json;   /* .. a line of JSON for each task */
	bool              dry;    /* it only says what it would free */
	bool              inside; /* of a service, which tells what it counted */
	struct stop      *stop;
};

struct stop {
	pthread_mutex_t lock;
	pthread_cond_t  stopped;
	bool            stops;
};
void stop_init(struct stop *s);
void stop_fini(struct stop *s);
void stop_now(struct stop *s);              /* any thread */
bool stop_wait(struct stop *s, int64_t ms); /* pauses; true when it is time to stop */
/* For a command, from its main thread and before any other: SIGTERM and SIGINT stop `s`, which must last as long as the
 * process; a second one ends the process at once. */
void signals_watch(struct stop *s);

enum { WORKERS_MAX = 64 };
struct worker;
struct worker *worker_start(const struct work *work, unsigned number); /* work is copied */
int            worker_join(struct worker *w);                          /* exit status */

/* Runs CMD for the orders of a claim: a line of JSON each on its input, answers on its output. Orders it did not answer
 * are retried. Renews the lease while answers come; kills it when it is silent for a lease. Returns when what was
 * answered is written, however long the database is away, unless the worker is to stop. *refused: orders that the
 * database would not have completed. */
enum db_result exec_run(struct db *db, const struct work *work, const struct task *task, struct reservation **orders,
                        size_t count, int64_t *refused) MUST_CHECK;
/* Kills every program that runs, with all that it started, for a process that ends at once: none is started any more,
 * and workers whose programs were killed stand still. Any thread. */
void exec_kill_all(void);

/* Removes what a tune that was killed left behind, unless one runs. Costs a look where there is nothing. */
enum db_result tune_clean(struct db *db) MUST_CHECK;

/* ---- inside serve: a list such as "expire,settle,reap" (empty: all). */
struct jobs;
bool         jobs_list_valid(const char *list);
struct jobs *jobs_open(const char *list, const struct db_target *target, struct catalogue *c);
void         jobs_close(struct jobs *j); /* waits for what is being done; NULL is fine */

#endif
