/* pause.c - see pause.h. */
#include "jobs/pause.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#include <stdio.h>

enum { READY_MAX = 10000, LOOK_MS = 2000 };

static const char *const words[JOB_NAMES] = {"", "settle", "expire", "deliver"};

const char *job_word(enum job_name j)
{
	assert(j < JOB_NAMES);
	return words[j];
}

enum job_name job_find(const char *word)
{
	enum job_name j = JOB_NAMES;

	while (--j > NO_JOB_NAME && strcmp(words[j], word) != 0)
		;
	return j;
}

enum db_result job_pause(struct db *db, enum job_name j, bool paused, const char *reason, const char *by)
{
	return db_ask(
		db, JOB_PAUSE,
		&(struct fill){.kind = j, .paused = paused, .error = paused ? reason : NULL, .by = paused ? by : NULL},
		NULL, NULL);
}

/* ---- reading */

static void state_read(void *arg, const struct db_row *row)
{
	int64_t           number = db_int(row, 0);
	struct job_state *j;

	if (number <= NO_JOB_NAME || number >= JOB_NAMES)
		return;
	j = (struct job_state *)arg + number;
	j->paused = db_int(row, 1) != 0;
	snprintf(j->reason, sizeof(j->reason), "%s", row->col[2] ? row->col[2] : "");
	snprintf(j->by, sizeof(j->by), "%s", row->col[3] ? row->col[3] : "");
	j->since = time_parse(row->col[4]);
}

struct working {
	struct job_state   *list;
	struct job_workers *workers;
};

static void working_read(void *arg, const struct db_row *row)
{
	struct working    *working = arg;
	struct job_worker *w;
	int64_t            number = db_int(row, 0);

	if (number <= NO_JOB_NAME || number >= JOB_DELIVER)
		return;
	if (working->workers->count == LENGTH(working->workers->list)) {
		db_other(row);
		return;
	}
	w = &working->workers->list[working->workers->count];
	w->job = (enum job_name)number;
	db_copy(row, 1, w->worker, sizeof(w->worker));
	w->tasks = db_int(row, 2);
	working->list[number].open += db_int(row, 3);
	working->workers->count++;
}

enum db_result jobs_read(struct db *db, struct job_state list[JOB_NAMES], struct job_workers *workers)
{
	int64_t        ready[4] = {0};
	enum db_result result;

	for (enum job_name j = NO_JOB_NAME; j < JOB_NAMES; j++)
		list[j] = (struct job_state){.job = j, .since = TIME_NONE};
	result = db_ask(db, JOB_LIST, NULL, state_read, list);
	if (result != DB_OK || !workers)
		return result;
	workers->count = 0;
	result = db_ask(db, JOBS_READY, &(struct fill){.limit = READY_MAX}, db_ints, ready);
	if (result == DB_OK)
		result = db_ask(db, JOBS_WORKING, &(struct fill){.limit = JOB_WORKERS_MAX}, working_read,
		                &(struct working){list, workers});
	for (enum job_name j = JOB_SETTLE; j < JOB_NAMES; j++)
		list[j].ready = ready[j - JOB_SETTLE];
	list[JOB_DELIVER].open = ready[JOB_DELIVER];
	return result;
}

static void workers_json(struct json_writer *w, enum job_name j, const struct job_workers *workers)
{
	json_open_array(w, "workers");
	for (size_t i = 0; i < workers->count; i++) {
		if (workers->list[i].job != j)
			continue;
		json_open_object(w, NULL);
		json_put_string(w, "worker", workers->list[i].worker);
		json_put_int(w, "tasks", workers->list[i].tasks);
		json_close_object(w);
	}
	json_close_array(w);
}

void job_json(struct json_writer *w, const struct job_state *j, const struct job_workers *workers)
{
	json_put_string(w, "job", words[j->job]);
	json_put_bool(w, "paused", j->paused);
	if (*j->reason)
		json_put_string(w, "reason", j->reason);
	if (*j->by)
		json_put_string(w, "by", j->by);
	if (j->since != TIME_NONE)
		json_put_time(w, "since", j->since);
	if (!workers)
		return;
	json_put_int(w, "ready", j->ready);
	json_put_int(w, "open", j->open);
	workers_json(w, j->job, workers);
}

/* ---- what a service knows */

static struct {
	pthread_mutex_t  lock;
	struct job_state list[JOB_NAMES];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum db_result look(void *arg, struct db *db, int64_t *pause_ms)
{
	struct job_state list[JOB_NAMES];
	enum db_result   result = jobs_read(db, list, NULL);

	(void)arg;
	*pause_ms = LOOK_MS;
	if (result != DB_OK)
		return result;
	for (enum job_name j = JOB_SETTLE; j < JOB_NAMES; j++)
		if (list[j].paused != known.list[j].paused)
			log_event(LOG_WARN, list[j].paused ? "job_paused" : "job_resumed", "job=%s reason=\"%s\" by=%s",
			          words[j], list[j].reason, list[j].by);
	pthread_mutex_lock(&known.lock);
	memcpy(known.list, list, sizeof(list));
	pthread_mutex_unlock(&known.lock);
	return DB_OK;
}

static void leave(void *arg, struct db *db)
{
	(void)arg, (void)db;
}

struct chore pause_chore(void)
{
	return (struct chore){"pause", look, leave, NULL};
}

bool pause_known(enum job_name j)
{
	bool paused;

	pthread_mutex_lock(&known.lock);
	paused = known.list[j].paused;
	pthread_mutex_unlock(&known.lock);
	return paused;
}
