/* expire.c - gives back the units of holds whose time has passed, oldest first, batch by batch. Any number of processes
 * may run it: a batch that somebody else took is found changed, undone, and read anew. */
#include "jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 500, PAUSE_MS = 500, RECONNECT_MS = 200 };

struct jobs {
	struct engine  *engine;
	struct db      *db;
	pthread_t       thread;
	pthread_mutex_t lock;
	pthread_cond_t  ending;
	bool            ends;
};

/* False when the jobs are to end. */
static bool pause_for(struct jobs *j, int ms)
{
	struct timespec until;
	bool            ends;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&j->lock);
	if (!j->ends && ms > 0)
		pthread_cond_timedwait(&j->ending, &j->lock, &until);
	ends = j->ends;
	pthread_mutex_unlock(&j->lock);
	return !ends;
}

static void *expire_main(void *arg)
{
	struct jobs *j = arg;
	unsigned     swept;
	int          pause_ms = 0;

	while (pause_for(j, pause_ms)) {
		if (!db_connected(j->db) && !db_connect(j->db)) {
			pause_ms = RECONNECT_MS;
			continue;
		}
		if (!engine_expire(j->engine, j->db, BATCH, &swept))
			log_event(LOG_WARN, "expire_failed", "why=\"%s\"", db_error(j->db));
		else if (swept > 0)
			log_event(LOG_DEBUG, "expired", "reservations=%u", swept);
		pause_ms = swept == BATCH ? 0 : PAUSE_MS;
	}
	return NULL;
}

struct jobs *jobs_open(struct engine *e, const struct db_target *target)
{
	struct jobs *j = mem_alloc(sizeof(*j));
	int          error;

	j->engine = e;
	j->db = db_new(target);
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->ending, NULL);
	error = pthread_create(&j->thread, NULL, expire_main, j);
	assert(error == 0);
	return j;
}

void jobs_close(struct jobs *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->ends = true;
	pthread_cond_broadcast(&j->ending);
	pthread_mutex_unlock(&j->lock);
	pthread_join(j->thread, NULL);
	pthread_cond_destroy(&j->ending);
	pthread_mutex_destroy(&j->lock);
	db_free(j->db);
	free(j);
}
