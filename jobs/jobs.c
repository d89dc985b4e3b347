/* jobs.c - see jobs.h. Each job is one worker. */
#include "jobs/jobs.h"
#include "engine/base/memory.h"
#include "jobs/task/complete.h"
#include "jobs/work.h"

#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX = 4, EXPIRE_PAUSE_MS = 500, SETTLE_PAUSE_MS = 1000, REAP_PAUSE_MS = 5000, BATCH = 500 };

struct jobs {
	struct stop    stop;
	struct worker *workers[JOBS_MAX];
	unsigned       count;
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

/* A bit for each job of the list; 0: it names an unknown job. An empty list names the standard ones. */
static unsigned jobs_named(const char *list)
{
	unsigned named = 0;

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

bool jobs_list_settles(const char *list)
{
	unsigned named = jobs_named(list);

	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (named & 1U << i && inside[i].kind == TASK_SETTLE)
			return true;
	return false;
}

struct jobs *jobs_open(const char *list, struct source *source, const struct webhook_options *webhooks)
{
	unsigned     named = jobs_named(list);
	struct jobs *j;
	struct work  work = {
		 .source = source, .batch = BATCH, .lease_s = LEASE_S, .attempts_max = ATTEMPTS_MAX, .inside = true};

	if (strcmp(list, JOBS_NONE) == 0)
		return NULL;
	assert(named);
	j = mem_alloc(sizeof(*j));
	work.stop = &j->stop;
	stop_init(&j->stop);
	for (unsigned i = 0; i < JOBS_MAX; i++)
		if (named & 1U << i) {
			work.kind = inside[i].kind;
			work.pause_ms = inside[i].pause_ms;
			work.webhooks = inside[i].delivers ? webhooks : NULL;
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
