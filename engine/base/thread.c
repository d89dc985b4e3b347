/* thread.c - see thread.h. */
#include "engine/base/thread.h"
#include "engine/base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Of threads that find the same at the same time, one says it and ends the process. */
static void say_once(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&said))
		pause();
}

void thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	int error = pthread_create(thread, NULL, run, arg);

	if (!error)
		return;
	say_once();
	log_event(LOG_ERROR, "no_thread", "why=\"%s\" hint=\"raise the limit of processes, or of memory\"",
	          strerror(error));
	_exit(EXIT_UNAVAILABLE);
}

void descriptor_end(int error, const char *said)
{
	say_once();
	log_event(LOG_ERROR, "no_descriptor", "why=\"%s\" hint=\"raise the limit of open files\"", said);
	_exit(error == EMFILE ? EXIT_CONFIG : EXIT_UNAVAILABLE);
}

int wake_open(int flags)
{
	int fd = eventfd(0, flags | EFD_CLOEXEC);

	if (fd < 0)
		descriptor_end(errno, strerror(errno));
	return fd;
}
