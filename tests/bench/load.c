/* load.c - see load.h. A connection sends a request, reads the answer, has it checked and sends the next one. A lost
 * connection is a wrong answer and is not opened again: the service never has a reason to close one. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, READ_SIZE = 16384, ANSWER_MAX_US = 15000000 };

struct conn {
	int                fd;      /* -1: lost */
	bool               busy;    /* a call is in flight */
	bool               writing; /* the socket was full: EPOLLOUT is asked for */
	struct text        out;     /* the request */
	size_t             sent;
	struct text        in;     /* the answer so far */
	struct load_answer answer; /* lengths are known once its head is complete */
	struct load_call   call;
};

void load_request(struct text *to, const char *method, const char *path, const char *body, size_t len)
{
	text_add(to, method);
	text_char(to, ' ');
	text_add(to, path);
	text_add(to, " HTTP/1.1\r\nHost: localhost\r\n");
	if (len) {
		text_add(to, "Content-Type: application/json\r\nContent-Length: ");
		text_int(to, (int64_t)len);
		text_add(to, "\r\n");
	}
	text_add(to, "\r\n");
	text_bytes(to, body, len);
}

static void conn_lost(struct load *l, struct conn *c, const char *why)
{
	bench_wrong("connection lost: %s", why);
	l->wrong++;
	if (c->busy)
		l->busy--;
	c->busy = false;
	close(c->fd);
	c->fd = -1;
}

static void conn_watch(struct load *l, struct conn *c, bool writing)
{
	struct epoll_event event = {.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};

	c->writing = writing;
	if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &event))
		conn_lost(l, c, strerror(errno));
}

static void conn_send(struct load *l, struct conn *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			if (!c->writing)
				conn_watch(l, c, true);
			return;
		}
		if (n < 0) {
			conn_lost(l, c, strerror(errno));
			return;
		}
		c->sent += (size_t)n;
	}
	if (c->writing)
		conn_watch(l, c, false);
}

/* When the next order is to begin; INT64_MAX: no more. */
static int64_t paced_due_us(const struct load *l)
{
	int64_t due_us = l->begun_us + (int64_t)((double)l->paced * 1e6 / l->rate);

	return due_us < l->until_us ? due_us : INT64_MAX;
}

/* A new order may begin now on this connection, or it waits for its time. */
static bool order_begin(struct load *l, struct conn *c)
{
	if (l->rate > 0) {
		int64_t due_us = paced_due_us(l);

		if (due_us > l->now_us) {
			l->idle[l->idle_count++] = c;
			return false;
		}
		l->paced++;
		c->call.started_us = due_us;
		return true;
	}
	c->call.started_us = l->now_us;
	return l->now_us < l->until_us;
}

static void conn_next(struct load *l, struct conn *c)
{
	if (c->call.step == 0 && !order_begin(l, c))
		return;
	text_reset(&c->out);
	text_reset(&c->in);
	c->sent = 0;
	c->answer = (struct load_answer){0};
	if (c->call.step == 0)
		c->call.count = 1;
	if (!l->plan->next(l->arg, &c->call, &c->out))
		return;
	c->busy = true;
	l->busy++;
	conn_send(l, c);
}

/* Finds the end of the head and how long the body is. */
static bool http_frame(const struct text *in, struct load_answer *answer)
{
	const char *data = in->data, *end = memmem(data, in->len, "\r\n\r\n", 4), *line;
	bool        length = false;

	if (!end)
		return in->len < READ_SIZE;
	if (in->len < 12 || memcmp(data, "HTTP/1.1 ", 9) != 0)
		return false;
	for (line = memchr(data, '\n', in->len); line < end; line = memchr(line + 1, '\n', (size_t)(end + 4 - line)))
		if (strncasecmp(line + 1, "content-length:", 15) == 0) {
			answer->body.len = strtoul(line + 16, NULL, 10);
			length = true;
		}
	answer->head.len = (size_t)(end + 4 - data);
	answer->status = atoi(data + 9);
	return length || answer->status == 204;
}

static void conn_judge(struct load *l, struct conn *c)
{
	struct load_answer *a = &c->answer;

	a->head.at = c->in.data;
	a->body.at = c->in.data + a->head.len;
	a->now_us = l->now_us;
	c->busy = false;
	l->busy--;
	switch (l->plan->check(l->arg, &c->call, a)) {
	case LOAD_DONE:
		l->orders += c->call.count;
		l->timed += l->now_us < l->until_us ? c->call.count : 0;
		samples_add(&l->samples, l->now_us - c->call.started_us);
		c->call.step = 0;
		break;
	case LOAD_MORE:
		break;
	case LOAD_WRONG:
		bench_wrong("status %d: %.*s", a->status, (int)(a->body.len < 300 ? a->body.len : 300), a->body.at);
		l->wrong++;
		c->call.step = 0;
		break;
	}
	conn_next(l, c);
}

static void conn_read(struct load *l, struct conn *c)
{
	ssize_t n = recv(c->fd, text_room(&c->in, READ_SIZE), READ_SIZE, 0);
	bool (*frame)(const struct text *in, struct load_answer *answer) = l->plan->frame ? l->plan->frame : http_frame;
	size_t whole;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		conn_lost(l, c, n < 0 ? strerror(errno) : "closed by the service");
		return;
	}
	c->in.len += (size_t)n;
	c->in.data[c->in.len] = '\0';
	if (!c->busy || (!c->answer.head.len && !frame(&c->in, &c->answer))) {
		conn_lost(l, c, "not an answer");
		return;
	}
	whole = c->answer.head.len + c->answer.body.len;
	if (!c->answer.head.len || c->in.len < whole)
		return;
	l->now_us = clock_us();
	if (c->in.len > whole)
		conn_lost(l, c, "more bytes than the answer has");
	else
		conn_judge(l, c);
}

static void conn_open(struct load *l, struct conn *c, unsigned port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	int                one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) || fcntl(c->fd, F_SETFL, O_NONBLOCK) ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event))
		conn_lost(l, c, strerror(errno));
}

static unsigned port_of(const struct load *l, int connection)
{
	int at = connection % (1 + (l->more[0] > 0) + (l->more[1] > 0));

	return at ? l->more[at - 1] : l->port;
}

/* Begins the paced orders that are due, as far as there are connections for them. */
static void paced_begin(struct load *l)
{
	while (l->idle_count > 0 && paced_due_us(l) <= l->now_us) {
		struct conn *c = l->idle[--l->idle_count];

		if (c->fd >= 0)
			conn_next(l, c);
	}
}

/* Waits for events, or for the time of the next paced order. */
static int events_wait(struct load *l, struct epoll_event *events)
{
	const int64_t   most_us = 100000;
	int64_t         us = most_us;
	struct timespec wait;

	if (l->rate > 0 && l->idle_count > 0 && paced_due_us(l) < INT64_MAX)
		us = paced_due_us(l) - clock_us();
	us = us < 0 ? 0 : us < most_us ? us : most_us;
	wait = (struct timespec){.tv_nsec = (long)us * 1000};
	return epoll_pwait2(l->epoll, events, EVENTS, &wait, NULL);
}

/* Loops until nothing is in flight and no order begins. */
static void load_loop(struct load *l)
{
	struct epoll_event events[EVENTS];
	int64_t            heard_us = l->now_us;

	while (l->busy > 0 || (l->rate > 0 && l->idle_count > 0 && paced_due_us(l) < INT64_MAX)) {
		int n = events_wait(l, events);

		l->now_us = clock_us();
		if (n > 0 || l->busy == 0)
			heard_us = l->now_us;
		if (l->now_us - heard_us > ANSWER_MAX_US) {
			bench_wrong("%d calls had no answer for %d s", l->busy, ANSWER_MAX_US / 1000000);
			l->wrong += l->busy;
			return;
		}
		for (int i = 0; i < n; i++) {
			struct conn *c = events[i].data.ptr;

			if (c->fd >= 0 && events[i].events & EPOLLOUT)
				conn_send(l, c);
			if (c->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				conn_read(l, c);
		}
		paced_begin(l);
	}
}

void load_run(struct load *l)
{
	struct conn *conns = mem_alloc((size_t)l->connections * sizeof(*conns));
	int64_t      window_us = l->until_us - clock_us();

	l->idle = mem_alloc((size_t)l->connections * sizeof(*l->idle));
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert(l->epoll >= 0);
	for (int i = 0; i < l->connections; i++)
		conn_open(l, &conns[i], port_of(l, i));
	l->begun_us = l->now_us = clock_us();
	l->until_us = l->begun_us + window_us; /* connecting is not part of the window */
	for (int i = 0; i < l->connections; i++)
		if (conns[i].fd >= 0)
			conn_next(l, &conns[i]);
	load_loop(l);
	l->seconds = (double)((l->now_us < l->until_us ? l->now_us : l->until_us) - l->begun_us) / 1e6;
	for (int i = 0; i < l->connections; i++) {
		if (conns[i].fd >= 0)
			close(conns[i].fd);
		text_fini(&conns[i].out);
		text_fini(&conns[i].in);
	}
	close(l->epoll);
	free(l->idle);
	free(conns);
}

/* ---- one call */

struct once {
	const char        *method, *path;
	const struct text *body;
	struct text       *answer;
	bool               sent;
	int                status;
};

static bool once_next(void *arg, struct load_call *call, struct text *request)
{
	struct once *once = arg;

	(void)call;
	if (once->sent)
		return false;
	once->sent = true;
	load_request(request, once->method, once->path, once->body ? once->body->data : "",
	             once->body ? once->body->len : 0);
	return true;
}

static enum load_verdict once_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	struct once *once = arg;

	(void)call;
	once->status = answer->status;
	text_bytes(once->answer, answer->body.at, answer->body.len);
	return LOAD_DONE;
}

int load_once(unsigned port, const char *method, const char *path, const struct text *body, struct text *answer)
{
	static const struct load_plan plan = {once_next, once_check, NULL};
	struct once                   once = {.method = method, .path = path, .body = body, .answer = answer};
	struct load                   l = {.port = port, .connections = 1, .plan = &plan, .arg = &once};

	l.until_us = clock_us() + ANSWER_MAX_US;
	load_run(&l);
	free(l.samples.us);
	return once.status;
}
