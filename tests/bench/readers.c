/* readers.c - what readers of the feed cost that wait for an event: memory of the service, and the time until all of
 * them have one. A reader is a connection that has asked and listens. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "bench.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READERS_S = 20, AHEAD = 400, FILES = READERS + AHEAD };

#define READ    "GET /v1/events?after=now&wait_s=30 HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define METRICS "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define RECEIPT "{\"movement_id\":\"READERS\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"READ\",\"qty\":1}]}"

static int reader_open(const struct bench *b, const char *asks)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)b->port)};
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
	    send(fd, asks, strlen(asks), MSG_NOSIGNAL) == (ssize_t)strlen(asks))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Adds what comes until `until` is in it. False: the connection ended. */
static bool hear(int fd, const char *until, struct text *heard)
{
	ssize_t n;

	do {
		n = recv(fd, text_room(heard, 65536), 65536, 0);
		heard->len += n > 0 ? (size_t)n : 0;
		heard->data[heard->len] = '\0';
	} while (n > 0 && !strstr(heard->data, until));
	return n > 0;
}

/* How many wait, as the service counts them. */
static int64_t waiting(const struct bench *b)
{
	struct text heard = {0};
	int         fd = reader_open(b, METRICS);
	bool        came = fd >= 0 && hear(fd, "\nholdfast_cached_skus ", &heard);
	int64_t     count = came ? atoll(strstr(heard.data, "\nholdfast_events_waiting ") + 25) : -1;

	if (fd >= 0)
		close(fd);
	text_fini(&heard);
	return count;
}

/* Takes the answers, until every reader has an event or the time is over; how many have. */
static int64_t answers_take(int poll_fd, int64_t until_us)
{
	struct epoll_event events[512];
	char               answer[4096];
	int64_t            told = 0;

	while (told < READERS && clock_us() < until_us) {
		int n = epoll_wait(poll_fd, events, LENGTH(events), 100);

		for (int i = 0; i < n; i++) {
			ssize_t len = recv(events[i].data.fd, answer, sizeof(answer) - 1, 0);

			answer[len > 0 ? len : 0] = '\0';
			told += strstr(answer, "\"movement.receipt\"") != NULL;
			epoll_ctl(poll_fd, EPOLL_CTL_DEL, events[i].data.fd, NULL);
		}
	}
	return told;
}

static void event_make(struct bench *b)
{
	struct text asks = {0}, heard = {0};
	int         fd;

	text_format(&asks,
	            "POST /v1/movements HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	            "Content-Length: %zu\r\n\r\n%s",
	            strlen(RECEIPT), RECEIPT);
	fd = reader_open(b, asks.data);
	if (fd < 0 || !hear(fd, "\"movement_id\"", &heard))
		bench_wrong("the event of the readers was not made");
	if (fd >= 0)
		close(fd);
	text_fini(&asks);
	text_fini(&heard);
}

static void readers_measure(struct bench *b, int poll_fd, int *fds, struct memory *out)
{
	int64_t until_us = clock_us() + READERS_S * INT64_C(1000000), from_us;
	int     open = 0;

	out->waiting_rss_before = process_kb(b->service.pid, "VmRSS");
	for (; open < READERS && (fds[open] = reader_open(b, READ)) >= 0; open++)
		epoll_ctl(poll_fd, EPOLL_CTL_ADD, fds[open],
		          &(struct epoll_event){.events = EPOLLIN, .data.fd = fds[open]});
	while (open == READERS && waiting(b) < READERS && clock_us() < until_us)
		usleep(20000);
	if (open < READERS || waiting(b) != READERS) {
		bench_wrong("%d of %d readers are connected, %lld wait", open, READERS, (long long)waiting(b));
	} else {
		out->waiting_rss = process_kb(b->service.pid, "VmRSS");
		event_make(b);
		from_us = clock_us();
		out->waiting = answers_take(poll_fd, until_us);
		out->waiting_told_s = (double)(clock_us() - from_us) / 1e6;
		out->waiting_rss_after = process_kb(b->service.pid, "VmRSS");
		if (out->waiting < READERS)
			bench_wrong("%lld of %d readers have the event", (long long)out->waiting, READERS);
	}
	for (int i = 0; i < open; i++)
		close(fds[i]);
}

void readers_run(struct bench *b, struct memory *out)
{
	static int    fds[READERS];
	struct rlimit files;
	int           poll_fd;

	if (clock_us() >= bench_until_us(b, 0.9)) {
		say("bench: no time is left: readers that wait are left out");
		return;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	if (files.rlim_max < FILES || setrlimit(RLIMIT_NOFILE, &files) != 0) {
		say("bench: %d readers that wait need %d open files: raise the hard limit (ulimit -Hn)", READERS,
		    FILES);
		return;
	}
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	b->turn++;
	if (stage_fresh(b) && service_start(b))
		readers_measure(b, poll_fd, fds, out);
	service_stop(b);
	close(poll_fd);
}
