/* stop.c - see stop.h. The first signal ends the work in order, the second one ends it at once. */
#include "jobs/stop.h"
#include "engine/base/clock.h"
#include "engine/base/thread.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

void stop_init(struct stop *s)
{
	s->stops = false;
	s->wakes = wake_open(0);
}

void stop_fini(struct stop *s)
{
	close(s->wakes);
}

void stop_now(struct stop *s)
{
	s->stops = true;
	eventfd_write(s->wakes, 1);
}

bool stop_wait(struct stop *s, int64_t ms)
{
	struct pollfd wakes = {.fd = s->wakes, .events = POLLIN};
	int64_t       until_ms = clock_ms() + ms;

	for (int64_t left = ms; !s->stops && left > 0; left = until_ms - clock_ms())
		poll(&wakes, 1, left < INT_MAX ? (int)left : INT_MAX);
	return s->stops;
}

/* ---- signals */

static struct {
	struct stop stop;
	bool        watches;
	void (*at_once)(void);
	sigset_t set;
} watch;

static void *signals_main(void *arg)
{
	int sig;

	(void)arg;
	sigwait(&watch.set, &sig);
	stop_now(&watch.stop);
	sigwait(&watch.set, &sig);
	if (watch.at_once)
		watch.at_once();
	_exit(128 + sig);
}

struct stop *stop_on_signals(void (*at_once)(void))
{
	pthread_t thread;

	assert(!watch.watches);
	watch.watches = true;
	stop_init(&watch.stop);
	watch.at_once = at_once;
	sigemptyset(&watch.set);
	sigaddset(&watch.set, SIGTERM);
	sigaddset(&watch.set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &watch.set, NULL);
	signal(SIGPIPE, SIG_IGN);
	thread_start(&thread, signals_main, NULL);
	pthread_detach(thread);
	return &watch.stop;
}

bool stop_was_signalled(void)
{
	return watch.watches && stop_wait(&watch.stop, 0);
}
