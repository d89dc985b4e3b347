/* notify.c - see notify.h. */
#include "api/notify.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un manager; /* family 0: no manager */
static socklen_t          manager_len;
static int64_t            alive_every_us, alive_next_us; /* every 0: the manager asks for no sign of life */

static void notify_send(const char *message)
{
	int fd;

	if (!manager.sun_family)
		return;
	assert(manager_len <= sizeof(manager));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&manager,
	                     manager_len) < 0)
		log_event(LOG_WARN, "notify_failed", "message=%s why=\"%s\"", message, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* The manager's patience in microseconds, if it is meant for this process. */
static int64_t watchdog_us(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	return us && (!pid || strtol(pid, NULL, 10) == getpid()) ? strtoll(us, NULL, 10) : 0;
}

void notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t      len = path ? strlen(path) : 0;

	if (len > 1 && len < sizeof(manager.sun_path) && strchr("/@", *path)) {
		manager.sun_family = AF_UNIX;
		memcpy(manager.sun_path, path, len);
		if (*path == '@') /* an abstract address: it begins with a NUL and ends with its length */
			manager.sun_path[0] = '\0';
		manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
		alive_every_us = watchdog_us() / 2;
	} else if (path) {
		log_event(LOG_WARN, "notify_failed", "why=\"NOTIFY_SOCKET is no address\"");
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_ready(void)
{
	notify_send("READY=1");
}

void notify_stopping(void)
{
	notify_send("STOPPING=1");
}

void notify_alive(void)
{
	if (alive_every_us <= 0 || clock_us() < alive_next_us)
		return;
	alive_next_us = clock_us() + alive_every_us;
	notify_send("WATCHDOG=1");
}
