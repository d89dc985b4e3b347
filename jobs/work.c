/* work.c - workers: claim a batch, complete it, again. The same loop serves the command `work`, the reaper, and serve
 * --jobs. */
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/counters.h"
#include "engine/db/txn.h"
#include "jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Orders cannot wait, settling can: while the lanes do more than LOAD_OPS a second, a worker that settles rests REST
 * times as long as it worked. */
enum { LOAD_OPS = 2000, LOAD_MS = 500, REST = 3, REST_MS_MAX = 2000 };
enum { RECONNECT_MS = 200, FAILED_MS = 500, COUNTED_MS = 2000 };

/* ---- stopping */

void stop_init(struct stop *s)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->stopped, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&s->lock, NULL);
	s->stops = false;
}

void stop_fini(struct stop *s)
{
	pthread_cond_destroy(&s->stopped);
	pthread_mutex_destroy(&s->lock);
}

void stop_now(struct stop *s)
{
	pthread_mutex_lock(&s->lock);
	s->stops = true;
	pthread_cond_broadcast(&s->stopped);
	pthread_mutex_unlock(&s->lock);
}

bool stop_wait(struct stop *s, int64_t ms)
{
	struct timespec until;
	bool            stops;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms % 1000 * 1000000L;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&s->lock);
	while (!s->stops && ms > 0 && pthread_cond_timedwait(&s->stopped, &s->lock, &until) == 0)
		continue;
	stops = s->stops;
	pthread_mutex_unlock(&s->lock);
	return stops;
}

/* ---- a worker */

struct worker {
	struct work    work;
	struct db     *db;
	pthread_t      thread;
	struct claimer claimer;
	struct reaper  reaper;
	int64_t        mark; /* of a claim that failed, perhaps after its COMMIT; 0: none */
	char           name[ID_MAX + 1];
	int64_t        load_ops, load_ms; /* what the lanes had done, and when that was read */
	bool           load;              /* they are busy */
	int64_t        since_ms;          /* when the database was last well */
	int64_t        left_ms;           /* when the counters were last left in the database */
	int64_t        reaped;            /* tasks that a reaper freed, or would free */
	bool           refused;           /* the database would not have something completed */
	int            status;
};

/* Host, process, thread; what does not fit the alphabet of names becomes a dash. */
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
	struct task_answer a = {0};
	enum db_result     result;

	if (w->work.exec)
		result = exec_run(w->db, &w->work, task, orders, count, &a.refused);
	else
		result = task_complete_claimed(w->db, w->work.catalogue, task, orders, count, &a);
	w->refused |= a.refused > 0 || result == DB_ERROR;
	if (result == DB_OK && (a.lost > 0 || a.lease_lost))
		log_event(LOG_WARN, "orders_lost", "task=%llu lost=%lld lease_lost=%d",
		          (unsigned long long)task->task_id, (long long)a.lost, a.lease_lost);
	task_answer_fini(&a);
	return result;
}

/* It is time to stop, and nothing of the batch has begun: somebody else may have it at once. */
static enum db_result orders_return(struct worker *w, const struct task *task)
{
	struct task_answer a = {0};
	enum db_result     result = task_return(w->db, w->work.catalogue, task->task_id, &a);

	task_answer_fini(&a);
	return result;
}

/* One batch. *busy: there was something to do. */
static enum db_result batch_work(struct worker *w, bool *busy)
{
	struct task          task = {.kind = w->work.kind};
	struct reservation **orders = NULL;
	size_t               count = 0;
	enum db_result       result;

	strcpy(task.worker, w->name);
	task.mark = w->mark;
	result = task_claim(w->db, w->work.catalogue, &w->claimer, &task, w->work.batch, w->work.lease_s, &orders,
	                    &count);
	if (result != DB_OK)
		w->mark = task.mark; /* until it has a task: what was sent may still be done */
	else if (task.task_id > 0)
		w->mark = 0;
	*busy = result == DB_OK && count > 0;
	if (*busy && stop_wait(w->work.stop, 0))
		result = orders_return(w, &task);
	else if (*busy)
		result = orders_complete(w, &task, orders, count);
	if (*busy && result == DB_OK)
		log_event(LOG_DEBUG, "worked", "kind=%s task=%llu orders=%zu", task_kind_name(task.kind),
		          (unsigned long long)task.task_id, count);
	reservations_free(orders, count);
	return result;
}

static void reaped_json(const struct task *task, int64_t orders, bool freed)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_int(&w, "task_id", (int64_t)task->task_id);
	json_put_string(&w, "kind", task_kind_name(task->kind));
	json_put_string(&w, "worker", task->worker);
	json_put_int(&w, "orders", orders);
	json_put_bool(&w, "freed", freed);
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
}

static void reaped_tell(void *arg, const struct task *task, int64_t orders)
{
	struct worker     *w = arg;
	const struct work *work = &w->work;

	w->reaped++;
	if (work->tells && work->json)
		reaped_json(task, orders, !work->dry);
	else if (work->tells)
		printf("task %llu of %s (%s): %lld orders %s\n", (unsigned long long)task->task_id, task->worker,
		       task_kind_name(task->kind), (long long)orders, work->dry ? "would be freed" : "freed");
	else
		log_event(LOG_WARN, "reaped", "task=%llu worker=%s orders=%lld", (unsigned long long)task->task_id,
		          task->worker, (long long)orders);
}

/* A person who asks for it is told that it was done; a program reads no line as none. */
static void nothing_tell(const struct worker *w)
{
	if (w->work.tells && !w->work.json && w->reaped == 0)
		puts("nothing to free");
}

static void load_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

static void load_look(struct worker *w)
{
	int64_t ops = 0, now_ms = clock_ms(), passed_ms = now_ms - w->load_ms;

	if (passed_ms < LOAD_MS)
		return;
	if (txn_ask(w->db, LANES_WORK, NULL, load_read, &ops) == DB_OK) {
		w->load = w->load_ms > 0 && (ops - w->load_ops) * 1000 > LOAD_OPS * passed_ms;
		w->load_ops = ops;
		w->load_ms = now_ms;
	}
}

/* How long to rest after a batch that took worked_ms. */
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

static enum db_result pass(struct worker *w, bool *busy)
{
	*busy = false;
	if (w->work.kind != TASK_NO_KIND)
		return batch_work(w, busy);
	w->reaper.pause_ms = w->work.pause_ms;
	return task_reap(w->db, w->work.catalogue, &w->reaper, w->work.stale_s, w->work.attempts_max, w->work.dry,
	                 reaped_tell, w);
}

/* What was counted is left in the database while nothing is to do, and every few seconds while something is. */
static void worker_counts(struct worker *w, bool at_once)
{
	if (w->work.inside || !db_connected(w->db) || (!at_once && clock_ms() - w->left_ms < COUNTED_MS))
		return;
	counters_leave(w->db);
	w->left_ms = clock_ms();
}

/* What was begun ends; a claim that a lost connection left behind is the reaper's. */
static void *worker_main(void *arg)
{
	struct worker *w = arg;
	int64_t        pause_ms = 0;
	bool           busy = false;

	while (!stop_wait(w->work.stop, pause_ms)) {
		enum db_result result = DB_AWAY;
		int64_t        began_ms = clock_ms();

		pause_ms = RECONNECT_MS;
		if (db_connected(w->db) || db_connect(w->db))
			result = pass(w, &busy);
		worker_counts(w, !busy);
		if (result == DB_OK) {
			pause_ms = busy ? rest_ms(w, clock_ms() - began_ms) : w->work.pause_ms;
			w->since_ms = clock_ms();
			if (!busy && w->work.once) {
				nothing_tell(w);
				break;
			}
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
	worker_counts(w, true);
	return NULL;
}

struct worker *worker_start(const struct work *work, unsigned number)
{
	struct worker *w = mem_alloc(sizeof(*w));
	int            error;

	w->work = *work;
	w->db = db_new(&work->target);
	w->since_ms = clock_ms();
	w->claimer.both_ends =
		work->kind == TASK_EXPIRE; /* units come back soon after their time, whatever else waits */
	worker_name(w, number);
	error = pthread_create(&w->thread, NULL, worker_main, w);
	assert(error == 0);
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

/* ---- inside serve */

enum { JOBS_MAX = 3, EXPIRE_PAUSE_MS = 500, SETTLE_PAUSE_MS = 1000, REAP_PAUSE_MS = 5000, BATCH = 500 };

struct jobs {
	struct stop    stop;
	struct worker *workers[JOBS_MAX];
	unsigned       count;
};

static const struct {
	const char    *word;
	enum task_kind kind;
	int64_t        pause_ms;
} inside[JOBS_MAX] = {
	{"expire", TASK_EXPIRE, EXPIRE_PAUSE_MS},
	{"settle", TASK_SETTLE, SETTLE_PAUSE_MS},
	{"reap", TASK_NO_KIND, REAP_PAUSE_MS},
};

static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
		if (strcspn(list, ",") == len && strncmp(list, word, len) == 0)
			return true;
	return false;
}

bool jobs_list_valid(const char *list)
{
	for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ',')) {
		size_t i = 0, len = strcspn(list, ",");

		while (i < JOBS_MAX && !(strlen(inside[i].word) == len && strncmp(inside[i].word, list, len) == 0))
			i++;
		if (i == JOBS_MAX)
			return false;
	}
	return true;
}

struct jobs *jobs_open(const char *list, const struct db_target *target, struct catalogue *c)
{
	struct jobs *j = mem_alloc(sizeof(*j));
	struct work  work = {.target = *target,
	                     .catalogue = c,
	                     .batch = BATCH,
	                     .lease_s = LEASE_S,
	                     .attempts_max = ATTEMPTS_MAX,
	                     .inside = true,
	                     .stop = &j->stop};

	stop_init(&j->stop);
	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (!*list || list_has(list, inside[i].word)) {
			work.kind = inside[i].kind;
			work.pause_ms = inside[i].pause_ms;
			j->workers[j->count++] = worker_start(&work, i);
		}
	return j;
}

void jobs_close(struct jobs *j)
{
	if (!j)
		return;
	stop_now(&j->stop);
	for (unsigned i = 0; i < j->count; i++)
		worker_join(j->workers[i]);
	stop_fini(&j->stop);
	free(j);
}
