/* listen.c - see listen.h. */
#include "api/http/listen.h"
#include "engine/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BACKLOG = 1024,
	SOCKET_MODE = 0660,
	PASSED_FIRST = 3, /* the first descriptor that is passed (sd_listen_fds(3)) */
};

/* Pauses accepting when descriptors are short: the next tick of the connections tries again, not a busy loop. */
static void accept_failed(struct evconnlistener *listener, void *arg)
{
	(void)arg;
	log_event(LOG_WARN, "accept_failed", "errno=%d", errno);
	evconnlistener_disable(listener);
}

/* The process takes as many descriptors as it may have: each connection needs one. */
static void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Closes a descriptor; errno stays that of the failure. Always -1. */
static int socket_failed(int fd)
{
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

/* A bound socket does not listen yet: the port stays ours from here on, and a client that connects while we start is
 * refused, not left waiting. */
static int bind_tcp(const struct sockaddr_storage *address)
{
	bool      is_4 = address->ss_family == AF_INET;
	socklen_t len = is_4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int       fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0 &&
	    bind(fd, (const struct sockaddr *)address, len) == 0)
		return fd;
	return socket_failed(fd);
}

/* A socket is stale, and may be unlinked, when no process listens on it any more. */
static bool socket_is_stale(const struct sockaddr_un *sun)
{
	struct stat st;
	int         fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool        stale = lstat(sun->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	             connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0 && errno == ECONNREFUSED;

	close(fd);
	return stale;
}

/* The mode is set before the socket listens, as every user with write access may connect. */
static int bind_unix(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, path);
	if (socket_is_stale(&sun))
		unlink(path);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) == 0 && chmod(path, SOCKET_MODE) == 0)
		return fd;
	return socket_failed(fd);
}

/* A file that is no socket stays where it is. */
static bool in_use(const struct listening *at, int error)
{
	struct stat st;

	return error == EADDRINUSE && (!at->unix_path[0] || (lstat(at->unix_path, &st) == 0 && S_ISSOCK(st.st_mode)));
}

static int cannot_listen(const struct listening *at, char *why, size_t why_size)
{
	int error = errno;

	why_write(why, why_size, "cannot listen on %s: %s%s", at->where, strerror(error),
	          in_use(at, error) ? "; another program has it: end that program, or name another address by --listen"
	          : error == EACCES && !at->unix_path[0]
	                  ? "; ports below 1024 are for root: name another one by --listen"
	                  : "");
	return in_use(at, error) ? EXIT_UNAVAILABLE : EXIT_CONFIG;
}

/* The path is tried, and freed again until listen_start: a socket that does not listen yet looks stale to another
 * process. */
static int unix_bind(struct listening *at, const char *path, char *why, size_t why_size)
{
	int fd;

	if (!*path || strlen(path) >= sizeof(at->unix_path)) {
		why_write(why, why_size, "--listen unix: needs a path of 1 to %zu bytes", sizeof(at->unix_path) - 1);
		return EXIT_CONFIG;
	}
	strcpy(at->unix_path, path);
	memcpy(at->address, at->where, sizeof(at->address));
	fd = bind_unix(path);
	if (fd < 0)
		return cannot_listen(at, why, why_size);
	close(fd);
	unlink(path);
	return EXIT_DONE;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static in_port_t *port_of(struct sockaddr_storage *address)
{
	return &((struct sockaddr_in *)address)->sin_port; /* at the same place for IPv6 */
}

static void address_name(struct listening *at)
{
	socklen_t len = sizeof(at->tcp);
	char      host[64] = "";

	getsockname(at->fd, (struct sockaddr *)&at->tcp, &len);
	if (at->tcp.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&at->tcp)->sin_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&at->tcp)->sin6_addr, host, sizeof(host));
	snprintf(at->address, sizeof(at->address), at->tcp.ss_family == AF_INET ? "%s:%u" : "[%s]:%u", host,
	         ntohs(*port_of(&at->tcp)));
}

static bool tcp_parse(struct sockaddr_storage *to, const char *where)
{
	static const char name[] = "localhost:";
	char              numbers[128];
	int               size = sizeof(*to);
	bool              named = strncmp(where, name, strlen(name)) == 0, any_port;
	size_t            len;

	snprintf(numbers, sizeof(numbers), "%s%s", named ? "127.0.0.1:" : "", named ? where + strlen(name) : where);
	len = strlen(numbers);
	any_port = len > 2 && strcmp(numbers + len - 2, ":0") == 0;
	if (any_port)
		numbers[len - 1] = '1'; /* libevent's parser knows no port 0 */
	if (!strchr(numbers, ':') ||
	    strspn(strrchr(numbers, ':') + 1, "0123456789") != strlen(strrchr(numbers, ':') + 1) ||
	    evutil_parse_sockaddr_port(numbers, (struct sockaddr *)to, &size))
		return false;
	if (any_port)
		*port_of(to) = 0;
	return true;
}

static int tcp_bind(struct listening *at, bool keyed, char *why, size_t why_size)
{
	if (!tcp_parse(&at->tcp, at->where)) {
		why_write(why, why_size, "--listen %s is neither ADDR:PORT nor unix:PATH", at->where);
		return EXIT_CONFIG;
	}
	at->open = !is_loopback(&at->tcp);
	if (at->open && !keyed) {
		why_write(why, why_size,
		          "--listen %s is open to others and there are no keys: use loopback, unix:PATH or --keys",
		          at->where);
		return EXIT_CONFIG;
	}
	at->fd = bind_tcp(&at->tcp);
	if (at->fd < 0)
		return cannot_listen(at, why, why_size);
	address_name(at);
	return EXIT_DONE;
}

/* ---- several */

/* True: the address is every address of the machine. The one of IPv6 takes the port of IPv4, too. */
static bool is_any(const struct listening *at)
{
	if (at->tcp.ss_family == AF_INET)
		return ((const struct sockaddr_in *)&at->tcp)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&at->tcp)->sin6_addr);
}

/* True: two addresses would be one place. Both can be bound; the kernel refuses the second only when it listens. */
static bool same_place(struct listening *a, struct listening *b)
{
	if (a->unix_path[0] || b->unix_path[0])
		return strcmp(a->unix_path, b->unix_path) == 0;
	if (*port_of(&a->tcp) != *port_of(&b->tcp))
		return false;
	if (a->tcp.ss_family != b->tcp.ss_family)
		return is_any(a->tcp.ss_family == AF_INET6 ? a : b);
	return is_any(a) || is_any(b) || strcmp(a->address, b->address) == 0;
}

static int one_bind(struct listenings *ls, const char *where, size_t len, bool keyed, char *why, size_t why_size)
{
	struct listening *at = &ls->at[ls->count];
	int               status;

	assert(ls->count <= LISTEN_MAX);
	if (ls->count == LISTEN_MAX || len >= sizeof(at->where)) {
		why_write(why, why_size, "--listen takes %d addresses of %zu bytes", LISTEN_MAX, sizeof(at->where) - 1);
		return EXIT_CONFIG;
	}
	*at = (struct listening){.fd = -1};
	memcpy(at->where, where, len);
	ls->count++;
	status = strncmp(at->where, "unix:", 5) == 0 ? unix_bind(at, at->where + 5, why, why_size)
	                                             : tcp_bind(at, keyed, why, why_size);
	for (struct listening *other = ls->at; status == EXIT_DONE && other < at; other++)
		if (same_place(at, other)) {
			why_write(why, why_size, "--listen %s and %s are one place", other->where, at->where);
			status = EXIT_CONFIG;
		}
	return status;
}

/* ---- passed by another process, as systemd does: sd_listen_fds(3) */

/* Other users may connect to a socket that every user may write to. If its mode cannot be seen, they may, too. */
static bool unix_is_open(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || (st.st_mode & S_IWOTH);
}

/* NULL: the descriptor is a socket that can be served; otherwise what it is not. */
static const char *passed_look(struct listening *at)
{
	struct sockaddr_un sun;
	socklen_t          len = sizeof(at->tcp), sun_len = sizeof(sun);
	int                type = 0, listens = 0;
	socklen_t          type_len = sizeof(type), listens_len = sizeof(listens);

	if (getsockopt(at->fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 ||
	    getsockname(at->fd, (struct sockaddr *)&at->tcp, &len) != 0)
		return "is no socket";
	if (type != SOCK_STREAM || getsockopt(at->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) != 0 ||
	    !listens)
		return "is no stream socket that listens (a unit with Accept=no passes one)";
	if (at->tcp.ss_family == AF_INET || at->tcp.ss_family == AF_INET6)
		return NULL;
	if (at->tcp.ss_family != AF_UNIX || getsockname(at->fd, (struct sockaddr *)&sun, &sun_len) != 0)
		return "is neither of TCP nor a unix socket";
	if (sun_len <= offsetof(struct sockaddr_un, sun_path) || !sun.sun_path[0])
		return "is a unix socket without a path: no mode says which users may connect";
	snprintf(at->unix_path, sizeof(at->unix_path), "%.*s", (int)(sun_len - offsetof(struct sockaddr_un, sun_path)),
	         sun.sun_path);
	return NULL;
}

/* The socket goes to no child. It may come without what bind_tcp gives to ours. */
static void passed_prepare(struct listening *at)
{
	int on = 1;

	fcntl(at->fd, F_SETFD, FD_CLOEXEC);
	fcntl(at->fd, F_SETFL, fcntl(at->fd, F_GETFL) | O_NONBLOCK);
	if (at->unix_path[0]) {
		at->open = unix_is_open(at->unix_path);
		strcpy(stpcpy(at->address, "unix:"), at->unix_path);
	} else {
		setsockopt(at->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		at->open = !is_loopback(&at->tcp);
		address_name(at);
	}
	memcpy(at->where, at->address, sizeof(at->where));
}

static int passed_take(struct listening *at, bool keyed, char *why, size_t why_size)
{
	const char *wrong = passed_look(at);

	if (wrong) {
		why_write(why, why_size, "the socket that was passed as descriptor %d (%s) %s", at->fd, at->passed,
		          wrong);
		return EXIT_CONFIG;
	}
	passed_prepare(at);
	if (at->open && !keyed) {
		why_write(why, why_size,
		          "%s, a socket that was passed, is open to others and there are no keys: use loopback, a unix "
		          "socket with SocketMode=0660, or --keys",
		          at->where);
		return EXIT_CONFIG;
	}
	return EXIT_DONE;
}

/* The name of a passed socket: the next of a list that is divided by colons. systemd gives the unit's name. */
static void passed_name(struct listening *at, const char **names)
{
	size_t len = strcspn(*names, ":"), fits = len < sizeof(at->passed) ? len : sizeof(at->passed) - 1;

	memcpy(at->passed, *names, fits);
	if (fits == 0)
		strcpy(at->passed, "unknown"); /* the word of sd_listen_fds_with_names */
	*names += len + ((*names)[len] == ':');
}

/* How many sockets were passed to this process. The environment is cleared, so that no child takes them for its own:
 * mariadbd knows the protocol, too. */
static long passed_count(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	bool        ours = pid && count && strtol(pid, NULL, 10) == getpid();
	long        n = ours ? strtol(count, NULL, 10) : 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	return n;
}

/* EXIT_DONE with a count of 0: none was passed. */
static int passed_bind(struct listenings *ls, bool keyed, char *why, size_t why_size)
{
	long        n = passed_count();
	const char *names = getenv("LISTEN_FDNAMES");
	int         status = EXIT_DONE;

	if (!names)
		names = "";
	if (n < 0 || n > LISTEN_MAX) {
		why_write(why, why_size, "LISTEN_FDS: up to %d sockets can be passed", LISTEN_MAX);
		status = EXIT_CONFIG;
	}
	for (int i = 0; status == EXIT_DONE && i < n; i++) {
		struct listening *at = &ls->at[ls->count++];

		*at = (struct listening){.fd = PASSED_FIRST + i};
		passed_name(at, &names);
		status = passed_take(at, keyed, why, why_size);
	}
	unsetenv("LISTEN_FDNAMES");
	return status;
}

/* ---- all of them */

static int list_bind(struct listenings *ls, const char *list, bool keyed, char *why, size_t why_size)
{
	int  status = EXIT_DONE;
	bool more;

	do {
		size_t len = strcspn(list, ",");

		status = one_bind(ls, list, len, keyed, why, why_size);
		more = list[len] == ',';
		list += len + more;
	} while (more && status == EXIT_DONE);
	return status;
}

int listen_bind(struct listenings *ls, const char *list, bool keyed, char *why, size_t why_size)
{
	int status;

	ls->count = 0;
	status = passed_bind(ls, keyed, why, why_size);
	if (status == EXIT_DONE && ls->count == 0)
		status = list_bind(ls, list, keyed, why, why_size);
	if (status != EXIT_DONE)
		listen_end(ls);
	return status;
}

/* A socket that was passed listens already, and keeps the backlog that its owner gave it. */
static bool one_start(struct listening *at, struct event_base *base, char *why, size_t why_size)
{
	if (at->unix_path[0] && !at->passed[0]) {
		at->fd = bind_unix(at->unix_path);
		at->made = at->fd >= 0;
	}
	if (at->fd >= 0)
		at->listener = evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
		                                  at->passed[0] ? 0 : BACKLOG, at->fd);
	if (!at->listener) {
		(void)cannot_listen(at, why, why_size);
		return false;
	}
	at->fd = -1;
	evconnlistener_set_error_cb(at->listener, accept_failed);
	return true;
}

bool listen_start(struct listenings *ls, struct event_base *base, char *why, size_t why_size)
{
	descriptors_raise();
	for (size_t i = 0; i < ls->count; i++)
		if (!one_start(&ls->at[i], base, why, why_size)) {
			listen_end(ls);
			return false;
		}
	return true;
}

void listen_take(struct listenings *ls,
                 void (*accepted)(struct evconnlistener *l, int fd, struct sockaddr *address, int len, void *arg),
                 void *arg)
{
	for (size_t i = 0; i < ls->count; i++)
		evconnlistener_set_cb(ls->at[i].listener, accepted, arg);
}

void listen_accept(struct listenings *ls, bool on)
{
	for (size_t i = 0; i < ls->count; i++)
		(on ? evconnlistener_enable : evconnlistener_disable)(ls->at[i].listener);
}

void listen_stop(struct listenings *ls)
{
	for (struct listening *at = ls->at; at < ls->at + ls->count; at++) {
		if (at->listener)
			evconnlistener_free(at->listener);
		if (at->fd >= 0)
			close(at->fd);
		at->listener = NULL;
		at->fd = -1;
	}
}

void listen_end(struct listenings *ls)
{
	listen_stop(ls);
	for (size_t i = 0; i < ls->count; i++)
		if (ls->at[i].made)
			unlink(ls->at[i].unix_path);
	ls->count = 0;
}
