/* jobs.c - see jobs.h. Each job is one worker. A thread of its own starts and ends the workers, because a worker ends
 * when its batch has. */
#include "jobs/jobs.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "jobs/task/complete.h"
#include "jobs/work.h"

enum { JOBS_MAX = 4, EXPIRE_PAUSE_MS = 500, SETTLE_PAUSE_MS = 1000, REAP_PAUSE_MS = 5000, BATCH = 500 };

struct jobs {
	struct work                   work;
	const struct webhook_options *webhooks;
	pthread_t                     thread;

	pthread_mutex_t lock; /* guards the next two */
	pthread_cond_t  changed;
	unsigned        wanted; /* a bit for each job that is to run */
	bool            ends;

	/* Of the thread alone. */
	struct {
		struct stop    stop;
		struct worker *worker; /* NULL: it does not run */
	} job[JOBS_MAX];
};

static const struct {
	const char    *word;
	enum task_kind kind;
	int64_t        pause_ms;
	bool           delivers;
} inside[JOBS_MAX] = {
	{"expire", TASK_EXPIRE, EXPIRE_PAUSE_MS, false},
	{"settle", TASK_SETTLE, SETTLE_PAUSE_MS, false},
	{"reap", TASK_NO_KIND, REAP_PAUSE_MS, false},
	{"deliver", TASK_NO_KIND, 0, true},
};

/* A bit for each job of the list; 0: it names none, or an unknown one. An empty list names the standard ones. */
static unsigned jobs_named(const char *list)
{
	unsigned named = 0;

	if (strcmp(list, JOBS_NONE) == 0)
		return 0;
	list = *list ? list : JOBS_STANDARD;
	for (size_t len, i; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < JOBS_MAX; i++)
			if (strlen(inside[i].word) == len && strncmp(inside[i].word, list, len) == 0)
				break;
		if (i == JOBS_MAX)
			return 0;
		named |= 1U << i;
	}
	return named;
}

bool jobs_list_valid(const char *list)
{
	return strcmp(list, JOBS_NONE) == 0 || jobs_named(list) != 0;
}

bool jobs_list_works(const char *list)
{
	return jobs_named(list) != 0;
}

bool jobs_list_settles(const char *list)
{
	unsigned named = jobs_named(list);

	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (named & 1U << i && inside[i].kind == TASK_SETTLE)
			return true;
	return false;
}

/* Ends the workers that are not wanted, all at once, and starts those that are. */
static void jobs_change(struct jobs *j, unsigned wanted)
{
	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (j->job[i].worker && !(wanted & 1U << i))
			stop_now(&j->job[i].stop);
	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (j->job[i].worker && !(wanted & 1U << i)) {
			worker_join(j->job[i].worker);
			stop_fini(&j->job[i].stop);
			j->job[i].worker = NULL;
		}
	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (!j->job[i].worker && wanted & 1U << i) {
			struct work work = j->work;

			stop_init(&j->job[i].stop);
			work.stop = &j->job[i].stop;
			work.kind = inside[i].kind;
			work.pause_ms = inside[i].pause_ms;
			work.webhooks = inside[i].delivers ? j->webhooks : NULL;
			j->job[i].worker = worker_start(&work, i);
		}
}

static void *jobs_main(void *arg)
{
	struct jobs *j = arg;
	unsigned     wanted, running = 0;
	bool         ends = false;

	while (!ends) {
		pthread_mutex_lock(&j->lock);
		while (j->wanted == running && !j->ends)
			pthread_cond_wait(&j->changed, &j->lock);
		ends = j->ends;
		wanted = ends ? 0 : j->wanted;
		pthread_mutex_unlock(&j->lock);
		jobs_change(j, wanted);
		running = wanted;
	}
	return NULL;
}

struct jobs *jobs_open(const char *list, struct source *source, const struct webhook_options *webhooks)
{
	struct jobs *j = mem_alloc(sizeof(*j));

	assert(jobs_list_valid(list));
	*j = (struct jobs){.work = {.source = source,
	                            .batch = BATCH,
	                            .lease_s = LEASE_S,
	                            .attempts_max = ATTEMPTS_MAX,
	                            .inside = true},
	                   .webhooks = webhooks,
	                   .wanted = jobs_named(list)};
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->changed, NULL);
	thread_start(&j->thread, jobs_main, j);
	return j;
}

void jobs_set(struct jobs *j, const char *list)
{
	assert(jobs_list_valid(list));
	pthread_mutex_lock(&j->lock);
	j->wanted = jobs_named(list);
	pthread_cond_signal(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

void jobs_close(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->ends = true;
	pthread_cond_signal(&j->changed);
	pthread_mutex_unlock(&j->lock);
	pthread_join(j->thread, NULL);
	pthread_cond_destroy(&j->changed);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
