/* listen.c - see listen.h. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, SOCKET_MODE = 0660 };

/* Out of descriptors: the next tick of the connections tries again, instead of a loop that does nothing else. */
static void accept_failed(struct evconnlistener *listener, void *arg)
{
	(void)arg;
	log_event(LOG_WARN, "accept_failed", "errno=%d", errno);
	evconnlistener_disable(listener);
}

static void libevent_says(int severity, const char *message)
{
	log_event(severity >= EVENT_LOG_ERR ? LOG_ERROR : LOG_DEBUG, "libevent", "said=\"%s\"", message);
}

/* As many descriptors as we may have: one for each connection. */
static void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct evconnlistener *listen_bind(struct event_base *base, const void *address, int len)
{
	return evconnlistener_new_bind(base, NULL, NULL,
	                               LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, BACKLOG,
	                               (const struct sockaddr *)address, len);
}

/* Who may write to the socket may connect: its mode is set before anybody can. */
static struct evconnlistener *listen_bind_unix(struct event_base *base, const struct sockaddr_un *sun)
{
	int                    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct evconnlistener *listener = NULL;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 &&
	    chmod(sun->sun_path, SOCKET_MODE) == 0)
		listener = evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG,
		                              fd);
	if (!listener && fd >= 0)
		close(fd);
	return listener;
}

/* Only a socket that nobody listens on any more is taken away. */
static bool socket_is_stale(const struct sockaddr_un *sun)
{
	struct stat st;
	int         fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool        stale = lstat(sun->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	             connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0 && errno == ECONNREFUSED;

	close(fd);
	return stale;
}

static struct evconnlistener *listen_unix(struct event_base *base, const char *path, struct listening *at, char *why,
                                          size_t why_size)
{
	struct sockaddr_un     sun = {.sun_family = AF_UNIX};
	struct evconnlistener *listener;

	if (!*path) {
		why_write(why, why_size, "--listen unix: needs a path");
		return NULL;
	}
	if (strlen(path) >= sizeof(sun.sun_path)) {
		why_write(why, why_size, "the path of the socket is longer than %zu bytes", sizeof(sun.sun_path) - 1);
		return NULL;
	}
	strcpy(sun.sun_path, path);
	if (socket_is_stale(&sun))
		unlink(path);
	listener = listen_bind_unix(base, &sun);
	if (!listener) {
		why_write(why, why_size, "cannot listen on %s: %s", path, strerror(errno));
		return NULL;
	}
	strcpy(at->unix_path, path);
	snprintf(at->address, sizeof(at->address), "unix:%s", path);
	return listener;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static void address_name(struct listening *at, evutil_socket_t fd)
{
	struct sockaddr_storage address;
	socklen_t               len = sizeof(address);
	char                    host[64] = "";

	getsockname(fd, (struct sockaddr *)&address, &len);
	if (address.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&address;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(at->address, sizeof(at->address), "%s:%u", host, ntohs(in->sin_port));
	} else {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&address;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		snprintf(at->address, sizeof(at->address), "[%s]:%u", host, ntohs(in->sin6_port));
	}
}

static struct evconnlistener *listen_tcp(struct event_base *base, const char *where, bool keyed, struct listening *at,
                                         char *why, size_t why_size)
{
	static const char       name[] = "localhost:";
	struct sockaddr_storage address;
	int                     len = sizeof(address);
	struct evconnlistener  *listener = NULL;
	char                    numbers[128];
	bool                    named = strncmp(where, name, strlen(name)) == 0, any_port;
	size_t                  len_of;

	snprintf(numbers, sizeof(numbers), "%s%s", named ? "127.0.0.1:" : "", named ? where + strlen(name) : where);
	len_of = strlen(numbers);
	any_port = len_of > 2 && strcmp(numbers + len_of - 2, ":0") == 0;
	if (any_port)
		numbers[len_of - 1] = '1'; /* libevent's parser knows no port 0 */
	if (!strchr(numbers, ':') ||
	    strspn(strrchr(numbers, ':') + 1, "0123456789") != strlen(strrchr(numbers, ':') + 1) ||
	    evutil_parse_sockaddr_port(numbers, (struct sockaddr *)&address, &len)) {
		why_write(why, why_size, "--listen %s is neither ADDR:PORT nor unix:PATH", where);
		return NULL;
	}
	if (!is_loopback(&address) && !keyed) {
		why_write(why, why_size,
		          "--listen %s is open to others and there are no keys: use loopback, unix:PATH or --keys",
		          where);
		return NULL;
	}
	at->open = !is_loopback(&address);
	if (any_port)
		((struct sockaddr_in *)&address)->sin_port = 0; /* at the same place for IPv6 */
	listener = listen_bind(base, &address, len);
	if (listener)
		address_name(at, evconnlistener_get_fd(listener));
	else
		why_write(why, why_size, "cannot listen on %s: %s", where, strerror(errno));
	return listener;
}

struct evconnlistener *listen_open(struct event_base *base, const char *where, bool keyed, struct listening *at,
                                   char *why, size_t why_size)
{
	bool                   is_unix = strncmp(where, "unix:", 5) == 0;
	struct evconnlistener *listener;

	event_set_log_callback(libevent_says);
	descriptors_raise();
	listener = is_unix ? listen_unix(base, where + 5, at, why, why_size)
	                   : listen_tcp(base, where, keyed, at, why, why_size);
	if (listener)
		evconnlistener_set_error_cb(listener, accept_failed);
	return listener;
}
