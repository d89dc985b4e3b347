/* work.c - see work.h. A worker's loop claims a batch, completes it, and begins again; a reaper's loop runs a pass, and
 * begins again. A deliverer has a loop of its own (deliver.c). The commands `work` and `reap` and serve --jobs run
 * them. */
#include "jobs/work.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/db/checks.h"
#include "engine/db/db.h"
#include "engine/db/writer.h"
#include "engine/log/keeping.h"
#include "engine/read/census.h"
#include "jobs/task/claim.h"
#include "jobs/task/complete.h"
#include "jobs/exec.h"
#include "jobs/task/reap.h"
#include "jobs/webhooks/deliver.h"

#include <stdio.h>
#include <unistd.h>

/* LOAD_OPS, REST: settling makes way for orders. While the lanes do more than LOAD_OPS operations a second, a worker
 * that settles rests REST times as long as it worked. */
enum { LOAD_OPS = 2000, LOAD_MS = 500, REST = 3, REST_MS_MAX = 2000 };
/* KEEPING_MS: how long a pass of the reaper removes old events. */
/* PAUSED_MS: how often a worker asks again while its job is paused. */
enum { FAILED_MS = 500, COUNTED_MS = 2000, KEEPING_MS = 500, PAUSED_MS = 5000 };

struct worker {
	struct work    work;
	struct db     *db;
	pthread_t      thread;
	struct claimer claimer;
	struct reaper  reaper;
	int64_t        mark; /* mark of a claim that failed, perhaps after its COMMIT; 0: none */
	char           name[ID_MAX + 1];
	int64_t        load_ops, load_ms; /* operations of the lanes so far, and clock_ms when they were read */
	bool           load;              /* true: the lanes are busy */
	int64_t        since_ms;          /* clock_ms when the database last answered well */
	int64_t        left_ms;           /* clock_ms when the counters were last left in the database */
	bool           paused;            /* true: the last claim found the job paused */
	bool           refused;           /* true: the database refused to complete an order */
	int            status;
};

/* Host, process and thread; characters that names may not have become dashes. */
static void worker_name(struct worker *w, unsigned number)
{
	char host[32] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(w->name, sizeof(w->name), "%s.%d.%u", *host ? host : "host", (int)getpid(), number);
	for (char *c = w->name; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("/?#%", *c))
			*c = '-';
}

static enum db_result orders_complete(struct worker *w, const struct task *task, struct reservation **orders,
                                      size_t count)
{
	const struct work *work = &w->work;
	struct task_answer a = {0};
	enum db_result     result;

	if (work->exec)
		result = exec_run(w->db, work, task, orders, count, &a.refused);
	else
		result = task_complete_claimed(w->db, task, orders, count, &a);
	w->refused |= a.refused > 0 || result == DB_ERROR;
	if (result == DB_OK && (a.lost > 0 || a.lease_lost))
		log_event(LOG_WARN, "orders_lost", "task=%llu lost=%lld lease_lost=%d",
		          (unsigned long long)task->task_id, (long long)a.lost, a.lease_lost);
	task_answer_fini(&a);
	return result;
}

/* Logs a pause once. */
static void paused_note(struct worker *w, bool paused)
{
	if (paused != w->paused)
		log_event(LOG_INFO, paused ? "paused" : "resumed", "kind=%s worker=%s", task_kind_name(w->work.kind),
		          w->name);
	w->paused = paused;
}

/* Works one batch. *busy: there was something to do. */
static enum db_result batch_work(struct worker *w, bool *busy)
{
	struct task          task = {.kind = w->work.kind};
	struct reservation **orders = NULL;
	size_t               count = 0;
	enum db_result       result;

	strcpy(task.worker, w->name);
	task.mark = w->mark;
	result = task_claim(w->db, &w->claimer, &task, w->work.batch, w->work.lease_s, &orders, &count);
	if (result != DB_OK)
		w->mark = task.mark; /* kept until a task is found: that claim may still be committed */
	else if (task.task_id > 0)
		w->mark = 0;
	*busy = result == DB_OK && count > 0;
	if (result == DB_OK)
		paused_note(w, task.paused);
	if (*busy && stop_wait(w->work.stop, 0))
		result = task_give_back(w->db, &task);
	else if (*busy)
		result = orders_complete(w, &task, orders, count);
	if (*busy && result == DB_OK)
		log_event(LOG_DEBUG, "worked", "kind=%s task=%llu orders=%zu", task_kind_name(task.kind),
		          (unsigned long long)task.task_id, count);
	reservations_free(orders, count);
	return result;
}

static void reaped_log(void *arg, const struct task *task, int64_t orders)
{
	(void)arg;
	if (task)
		log_event(LOG_WARN, "reaped", "task=%llu worker=%s orders=%lld", (unsigned long long)task->task_id,
		          task->worker, (long long)orders);
}

static enum db_result reap_pass(struct worker *w)
{
	struct work   *work = &w->work;
	int64_t        removed = 0, ahead_s = 0;
	enum db_result result = task_reap(w->db, &w->reaper, work->reaped, work->reaped_arg);

	if (result == DB_OK && !work->dry)
		result = keeping_writers(w->db);
	if (result == DB_OK && !work->dry)
		result = db_ask(w->db, PROCESS_SWEEP, NULL, NULL, NULL);
	if (result == DB_OK && !work->dry)
		result = db_clock_apart(w->db, &ahead_s);
	if (result == DB_OK && !work->dry &&
	    llabs(ahead_s) <= CLOCKS_APART_S) /* a wrong clock can make an event look old */
		result = keeping_pass(w->db, KEEPING_MS, &removed);
	if (result == DB_OK)
		work->reaped(work->reaped_arg, NULL, 0);
	return result;
}

static void load_look(struct worker *w)
{
	int64_t ops = 0, now_ms = clock_ms(), passed_ms = now_ms - w->load_ms;

	if (passed_ms < LOAD_MS)
		return;
	if (db_ask(w->db, LANES_WORK, NULL, db_ints, &ops) == DB_OK) {
		w->load = w->load_ms > 0 && (ops - w->load_ops) * 1000 > LOAD_OPS * passed_ms;
		w->load_ops = ops;
		w->load_ms = now_ms;
	}
}

/* The length of the rest after a batch that took worked_ms. Without the rest the orders a second fall to less than half
 * while workers settle: measured with 256 connections and 4 workers, 8,600 to 13,700 instead of 21,500 to 30,500. */
static int64_t rest_ms(struct worker *w, int64_t worked_ms)
{
	int64_t ms = worked_ms * REST;

	if (w->work.kind != TASK_SETTLE)
		return 0;
	load_look(w);
	if (!w->load)
		return 0;
	log_event(LOG_DEBUG, "rests", "worker=%s ms=%lld", w->name, (long long)ms);
	return ms < REST_MS_MAX ? ms : REST_MS_MAX;
}

/* Writes the counters to the database when there is nothing to do, and every few seconds while there is. */
static void worker_counts(struct worker *w, bool at_once)
{
	if (w->work.inside || !db_connected(w->db) || (!at_once && clock_ms() - w->left_ms < COUNTED_MS))
		return;
	census_leave(w->db);
	w->left_ms = clock_ms();
}

/* A batch that was begun is finished. A claim that a lost connection, or another schema, left behind is left to the
 * reaper. */
static void worker_loop(struct worker *w)
{
	int64_t pause_ms = 0;
	bool    busy = false;

	while (!db_other_schema(w->db) && !stop_wait(w->work.stop, pause_ms)) {
		enum db_result result = DB_AWAY;
		int64_t        began_ms = clock_ms();

		if (db_connected(w->db) || db_connect(w->db))
			result = w->work.kind == TASK_NO_KIND ? reap_pass(w) : batch_work(w, &busy);
		worker_counts(w, !busy);
		if (result == DB_OK) {
			pause_ms = busy ? rest_ms(w, clock_ms() - began_ms) : w->paused ? PAUSED_MS : w->work.pause_ms;
			w->since_ms = clock_ms();
			if (!busy && w->work.once)
				break;
			continue;
		}
		if (result != DB_RETRY && result != DB_LOCKED)
			log_event(LOG_WARN, "job_failed", "worker=%s why=\"%s\"", w->name, db_error(w->db));
		pause_ms = result == DB_RETRY ? 1 : FAILED_MS;
		if (result == DB_RETRY || result == DB_LOCKED)
			w->since_ms = clock_ms();
		if (w->work.once && clock_ms() - w->since_ms > 30000) {
			bool there = db_connected(w->db);

			say("the database %s: %s", there ? "refuses it" : "is not there", db_error(w->db));
			w->status = there ? EXIT_TROUBLE : EXIT_UNAVAILABLE;
			break;
		}
	}
	if (w->work.once && w->refused && w->status == EXIT_DONE)
		w->status = EXIT_TROUBLE;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	if (w->work.webhooks)
		w->status = deliver_run(w->db, &w->work);
	else
		worker_loop(w);
	if (db_other_schema(w->db)) {
		stop_now(w->work.stop); /* the other workers cannot work any more, either */
		w->status = EXIT_UNAVAILABLE;
	}
	worker_counts(w, true);
	writer_leave(w->db);
	return NULL;
}

struct worker *worker_start(const struct work *work, unsigned number)
{
	struct worker *w = mem_alloc(sizeof(*w));

	w->work = *work;
	if (!w->work.reaped)
		w->work.reaped = reaped_log;
	w->reaper = (struct reaper){.pause_ms = work->pause_ms,
	                            .stale_s = work->stale_s,
	                            .attempts_max = work->attempts_max,
	                            .dry = work->dry};
	assert(work->source);
	w->db = db_new(work->source);
	w->since_ms = clock_ms();
	worker_name(w, number);
	thread_start(&w->thread, worker_main, w);
	return w;
}

int worker_join(struct worker *w)
{
	int status;

	pthread_join(w->thread, NULL);
	status = w->status;
	db_free(w->db);
	free(w);
	return status;
}
