/* stop.c - see stop.h. The first signal ends the work in order, the second one ends it at once. */
#include "jobs/stop.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

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

/* ---- signals */

struct watch {
	struct stop *stop;
	void (*at_once)(void);
};

static void *signals_main(void *arg)
{
	struct watch *w = arg;
	sigset_t      set;
	int           sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigwait(&set, &sig);
	stop_now(w->stop);
	sigwait(&set, &sig);
	if (w->at_once)
		w->at_once();
	_exit(128 + sig);
}

void stop_on_signals(struct stop *s, void (*at_once)(void))
{
	static struct watch watch; /* of the thread, which lasts as long as the process */
	pthread_t           thread;
	sigset_t            set;
	int                 error;

	assert(!watch.stop);
	watch = (struct watch){s, at_once};
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	error = pthread_create(&thread, NULL, signals_main, &watch);
	assert(error == 0);
	pthread_detach(thread);
}
