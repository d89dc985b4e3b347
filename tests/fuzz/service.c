/* service.c - see service.h. */
#include "api/access.h"
#include "api/http/listen.h"
#include "api/service.h"
#include "engine/base/log.h"
#include "engine/engine.h"
#include "commands/database.h"
#include "commands/options.h"
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 70000, BODY_MAX = 4096 };

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct engine     *engine;
static pthread_barrier_t  opened;

static bool always_ready(void *arg, struct text *checks)
{
	(void)arg;
	text_add(checks, "[]");
	return true;
}

static void *service_thread(void *where)
{
	static const struct access_options written = {
		.file = "/dev/null"}; /* each input is a line of an access log, too */
	static struct listenings listen;
	struct service_options   options = {.listen = &listen,
	                                    .body_max = BODY_MAX,
	                                    .connections_max = 100,
	                                    .buffered_max = 64 << 20,
	                                    .request_s = 30,
	                                    .idle_s = 75,
	                                    .ready = always_ready};
	int64_t                  drained_by_ms;
	char                     why[512];
	struct service          *s = NULL;

	options.access = access_open(&written, why, sizeof(why));
	if (options.access && listen_bind(&listen, where, false, why, sizeof(why)) == EXIT_DONE)
		s = service_open(&options, engine, why, sizeof(why));
	if (!s) {
		say("%s", why);
		_exit(EXIT_CONFIG);
	}
	pthread_barrier_wait(&opened);
	service_run(s, &drained_by_ms);
	_exit(EXIT_DONE); /* SIGTERM or Ctrl-C */
}

/* Makes the rows that inputs may meet. */
static void service_fill(void)
{
	static const char *const calls[][2] = {
		{"/v1/movements",
	         "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":1000000}]}"},
		{"/v1/reservations/batch",
	         "{\"reservations\":[{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]},"
	         "{\"order_id\":\"R2\",\"lines\":[{\"sku\":\"A\",\"qty\":2}]},"
	         "{\"order_id\":\"R3\",\"lines\":[{\"sku\":\"A\",\"qty\":3}],\"ttl_s\":1},"
	         "{\"order_id\":\"R4\",\"lines\":[{\"sku\":\"A\",\"qty\":4}]}]}"},
		{"/v1/reservations/R1/confirm", ""},
		{"/v1/tasks", "{\"kind\":\"settle\",\"worker\":\"w\"}"},
		{"/v1/tasks/1/complete", ""},
		{"/v1/reservations/R2/confirm", ""},
		{"/v1/tasks", "{\"kind\":\"settle\",\"worker\":\"w\",\"lease_s\":3600}"},
	};

	for (size_t i = 0; i < LENGTH(calls); i++) {
		struct text call = {0}, answer = {0};

		text_format(
			&call,
			"POST %s HTTP/1.1\r\nHost: fuzz\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
			"Connection: close\r\n\r\n%s",
			calls[i][0], strlen(calls[i][1]), calls[i][1]);
		service_exchange(call.data, call.len, false, &answer);
		assert(answer.len > 0);
		text_fini(&call);
		text_fini(&answer);
	}
}

void service_start(void)
{
	static struct database      database;
	static char                 listen[sizeof(address.sun_path) + 8];
	static const struct command self = {.name = "fuzz", .mask = SERVE};
	const char                 *folder = getenv("FUZZ_DATA");
	struct engine_options       options = {.lanes = 1};
	pthread_t                   thread;

	if (!folder) {
		say("FUZZ_DATA names no folder; tests/fuzz/run.sh runs this");
		exit(EXIT_USAGE);
	}
	signal(SIGPIPE, SIG_IGN);
	setenv("HOLDFAST_DATA", folder, 1);
	if (options_read(&self, 0, NULL) != EXIT_DONE)
		exit(EXIT_CONFIG);
	log_level = LOG_ERROR;
	if (database_open(&database, EMBEDDED_MAKE, false) != EXIT_DONE)
		exit(EXIT_UNAVAILABLE);
	options.source = database.source;
	engine = engine_open(&options);
	while (!engine_ready(engine))
		usleep(2000);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.sock", folder, (int)getpid());
	snprintf(listen, sizeof(listen), "unix:%s", address.sun_path);
	pthread_barrier_init(&opened, NULL, 2);
	assert(pthread_create(&thread, NULL, service_thread, listen) == 0);
	pthread_barrier_wait(&opened);
	service_fill();
}

static int service_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0);
	assert(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Reads while it writes, because the service may answer and close before it has seen everything. */
void service_exchange(const void *bytes, size_t len, bool ends, struct text *answer)
{
	int    fd = service_connect();
	size_t sent = 0;
	bool   sending = true;

	for (;;) {
		struct pollfd ready = {fd, (short)(POLLIN | (sending ? POLLOUT : 0)), 0};
		ssize_t       n;

		n = poll(&ready, 1, PATIENCE_MS);
		if (n < 0 && errno == EINTR) /* libFuzzer's clock */
			continue;
		assert(n > 0);
		if (sending && (ready.revents & (POLLOUT | POLLHUP | POLLERR))) {
			n = write(fd, (const char *)bytes + sent, len - sent);
			sent += n > 0 ? (size_t)n : 0;
			sending = sent < len && (n >= 0 || errno == EAGAIN);
			if (!sending && ends)
				shutdown(fd, SHUT_WR);
		}
		if (!(ready.revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = read(fd, text_room(answer, 65536), 65536);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		answer->len += n > 0 ? (size_t)n : 0;
		answer->data[answer->len] = '\0';
	}
	close(fd);
}

void service_check_statuses(const struct text *answer)
{
	static const int known[] = {100, 200, 201, 204, 303, 304, 400, 403, 404,
	                            405, 409, 410, 413, 415, 417, 422, 429, 503};
	size_t           at = 0;

	assert(answer->len == 0 || strncmp(answer->data, "HTTP/", 5) == 0);
	while (at < answer->len) {
		const char *line = answer->data + at, *end = memchr(line, '\n', answer->len - at);

		if (strncmp(line, "HTTP/", 5) == 0) {
			int    status = atoi(line + strcspn(line, " "));
			size_t i = 0;

			while (i < LENGTH(known) && known[i] != status)
				i++;
			assert(i < LENGTH(known));
		}
		at = end ? (size_t)(end - answer->data) + 1 : answer->len;
	}
}
