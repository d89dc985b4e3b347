/* thread.c - see thread.h. */
#include "engine/base/thread.h"
#include "engine/base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	int error = pthread_create(thread, NULL, run, arg);

	if (!error)
		return;
	log_event(LOG_ERROR, "no_thread", "why=\"%s\" hint=\"raise the limit of processes, or of memory\"",
	          strerror(error));
	_exit(EXIT_UNAVAILABLE);
}

void descriptor_end(int error, const char *said)
{
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
