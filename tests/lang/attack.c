/* attack.c - see attack.h. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "tests/lang/attack.h"
#include "tests/kit/http.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SEND_MS = PATIENCE_MS / 2, MORE_MS = 150, CALLS_MAX = 100000, CALLS_MIN = 100, FINISH_MS = 2 * PATIENCE_MS };

int attack_open(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect: %s", strerror(errno));
	return fd;
}

size_t attack_push(int fd, const void *bytes, size_t len)
{
	ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}

bool attack_send(int fd, const void *bytes, size_t len)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	const char   *at = bytes;

	while (len > 0) {
		ssize_t n;

		if (poll(&p, 1, patience_ms(SEND_MS)) <= 0)
			return false;
		n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool attack_say(int fd, const char *text)
{
	return attack_send(fd, text, strlen(text));
}

/* As attack_hear, for wait_ms by the clock: not scaled. */
static bool hear(int fd, int wait_ms, struct text *out)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t       until = clock_ms() + wait_ms;

	text_add(out, "");
	for (int64_t left = wait_ms; left >= 0; left = until - clock_ms()) {
		ssize_t n;

		if (poll(&p, 1, (int)left) <= 0)
			return false;
		n = recv(fd, text_room(out, 65536), 65536, 0);
		if (n <= 0)
			return true;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
	return false;
}

bool attack_hear(int fd, int wait_ms, struct text *out)
{
	return hear(fd, patience_ms(wait_ms), out);
}

bool attack_hear_answers(int fd, int count, struct text *out)
{
	int64_t from_ms = clock_ms();
	bool    ended = false;

	for (int status; !ended && attack_answers(out, &status) < count && !patience_is_over(from_ms, PATIENCE_MS);)
		ended = hear(fd, 20, out);
	return ended || hear(fd, MORE_MS, out);
}

bool attack_ends(int fd, int wait_ms)
{
	struct text heard = {0};
	bool        ended = attack_hear(fd, wait_ms, &heard);

	text_fini(&heard);
	return ended;
}

void attack_reset(int fd)
{
	struct linger hard = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}

int attack_answers(const struct text *heard, int *status)
{
	int count = 0;

	*status = 0;
	for (const char *at = heard->data; at && (at = strstr(at, "HTTP/1.")); at += 9) {
		count++;
		*status = atoi(at + 9);
	}
	return count;
}

bool attack_files(size_t count)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_max >= count;
}

long attack_rss(int pid)
{
	char  path[64], line[128];
	long  kib = 0;
	FILE *in;

	if (SANITIZED)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in))
		sscanf(line, "VmRSS: %ld", &kib);
	if (in)
		fclose(in);
	return kib;
}

/* ---- the decent client */

struct decent {
	pthread_t   thread;
	int         port;
	_Atomic int stop;
	_Atomic int calls;
	int         wrong, wrong_status;
};

static void *decent_run(void *arg)
{
	struct decent *d = arg;
	struct client  client;
	struct answer  answer = {0};

	client_open(&client, d->port);
	while (!atomic_load(&d->stop) && d->calls < CALLS_MAX) {
		struct call call = {.method = "POST"};

		text_add(&call.path, "/v1/reservations");
		text_format(&call.body, "{\"order_id\":\"D%d\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", d->calls);
		client_call(&client, &call, &answer);
		if (answer.status != 201) {
			d->wrong++;
			d->wrong_status = answer.status;
		}
		call_fini(&call);
		atomic_fetch_add(&d->calls, 1);
		usleep(1000);
	}
	answer_fini(&answer);
	client_close(&client);
	return NULL;
}

static void calls_wait(struct decent *d, int calls)
{
	for (int64_t until = clock_ms() + FINISH_MS; atomic_load(&d->calls) < calls && clock_ms() < until;)
		usleep(1000);
}

struct decent *decent_start(int port)
{
	struct decent *d = mem_alloc(sizeof(*d));

	d->port = port;
	cr_assert(pthread_create(&d->thread, NULL, decent_run, d) == 0);
	calls_wait(d, 1);
	return d;
}

void decent_finish(struct decent *d, const char *beside)
{
	calls_wait(d, CALLS_MIN);
	atomic_store(&d->stop, 1);
	pthread_join(d->thread, NULL);
	cr_assert(d->calls >= CALLS_MIN, "beside %s: %d calls only", beside, d->calls);
	cr_assert(d->wrong == 0, "beside %s: %d answers were not 201 but %d", beside, d->wrong, d->wrong_status);
	free(d);
}
