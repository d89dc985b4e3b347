/* load.c - see load.h. A connection sends a request, reads the answer, has it checked and sends the next one. A lost
 * connection is a wrong answer and is not opened again: the service never has a reason to close one. */
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
	int              fd;      /* -1: lost */
	bool             busy;    /* a call is in flight */
	bool             writing; /* the socket was full: EPOLLOUT is asked for */
	struct text      out;     /* the request */
	size_t           sent;
	struct text      in;   /* the answer so far */
	size_t           head; /* bytes of its head with the empty line; 0: not complete yet */
	size_t           body; /* bytes of its body */
	struct load_call call;
};

void load_request(struct text *to, const char *method, const char *path, const char *body, size_t len)
{
	text_add(to, method);
	text_char(to, ' ');
	text_add(to, path);
	text_add(to, " HTTP/1.1\r\nHost: bench\r\n");
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

static void conn_next(struct load *l, struct conn *c)
{
	if (c->call.step == 0) {
		if (l->now_us >= l->until_us)
			return;
		c->call.started_us = l->now_us;
	}
	text_reset(&c->out);
	text_reset(&c->in);
	c->sent = c->head = c->body = 0;
	if (!l->plan->next(l->arg, &c->call, &c->out))
		return;
	c->busy = true;
	l->busy++;
	conn_send(l, c);
}

/* Finds the end of the head and how long the body is. False: this is not an answer we can read. */
static bool head_read(struct conn *c)
{
	const char *data = c->in.data, *end = memmem(data, c->in.len, "\r\n\r\n", 4), *line;
	bool        length = false;

	if (!end)
		return c->in.len < READ_SIZE;
	if (c->in.len < 12 || memcmp(data, "HTTP/1.1 ", 9) != 0)
		return false;
	for (line = memchr(data, '\n', c->in.len); line < end; line = memchr(line + 1, '\n', (size_t)(end + 4 - line)))
		if (strncasecmp(line + 1, "content-length:", 15) == 0) {
			c->body = strtoul(line + 16, NULL, 10);
			length = true;
		}
	c->head = (size_t)(end + 4 - data);
	return length || memcmp(data + 9, "204", 3) == 0;
}

static void conn_judge(struct load *l, struct conn *c)
{
	struct span body = {c->in.data + c->head, c->body};
	int         status = atoi(c->in.data + 9);

	c->busy = false;
	l->busy--;
	switch (l->plan->check(l->arg, &c->call, status, body)) {
	case LOAD_DONE:
		l->orders++;
		l->timed += l->now_us < l->until_us;
		samples_add(&l->samples, l->now_us - c->call.started_us);
		c->call.step = 0;
		break;
	case LOAD_MORE:
		break;
	case LOAD_WRONG:
		bench_wrong("status %d: %.*s", status, (int)(body.len < 300 ? body.len : 300), body.at);
		l->wrong++;
		c->call.step = 0;
		break;
	}
	conn_next(l, c);
}

static void conn_read(struct load *l, struct conn *c)
{
	ssize_t n = recv(c->fd, text_room(&c->in, READ_SIZE), READ_SIZE, 0);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		conn_lost(l, c, n < 0 ? strerror(errno) : "closed by the service");
		return;
	}
	c->in.len += (size_t)n;
	c->in.data[c->in.len] = '\0';
	if (!c->busy || (!c->head && !head_read(c))) {
		conn_lost(l, c, "not an HTTP/1.1 answer with a length");
		return;
	}
	if (!c->head || c->in.len < c->head + c->body)
		return;
	l->now_us = clock_us();
	if (c->in.len > c->head + c->body)
		conn_lost(l, c, "more bytes than the answer has");
	else
		conn_judge(l, c);
}

static void conn_open(struct load *l, struct conn *c)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)l->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	int                one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) || fcntl(c->fd, F_SETFL, O_NONBLOCK) ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event))
		conn_lost(l, c, strerror(errno));
}

/* Until nothing is in flight and nobody begins anew. */
static void load_loop(struct load *l)
{
	struct epoll_event events[EVENTS];
	int64_t            heard_us = l->now_us;

	while (l->busy > 0) {
		int n = epoll_wait(l->epoll, events, EVENTS, 100);

		l->now_us = clock_us();
		if (n > 0)
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
	}
}

void load_run(struct load *l)
{
	struct conn *conns = mem_alloc((size_t)l->connections * sizeof(*conns));
	int64_t      window_us = l->until_us - clock_us(), begun_us;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert(l->epoll >= 0);
	for (int i = 0; i < l->connections; i++)
		conn_open(l, &conns[i]);
	begun_us = l->now_us = clock_us();
	l->until_us = begun_us + window_us; /* connecting is not part of the window */
	for (int i = 0; i < l->connections; i++)
		if (conns[i].fd >= 0)
			conn_next(l, &conns[i]);
	load_loop(l);
	l->seconds = (double)((l->now_us < l->until_us ? l->now_us : l->until_us) - begun_us) / 1e6;
	for (int i = 0; i < l->connections; i++) {
		if (conns[i].fd >= 0)
			close(conns[i].fd);
		text_fini(&conns[i].out);
		text_fini(&conns[i].in);
	}
	close(l->epoll);
	free(conns);
}

/* ---- one call */

struct once {
	const char        *method, *path;
	const struct text *body;
	struct text       *answer;
	int                status;
};

static bool once_next(void *arg, struct load_call *call, struct text *request)
{
	struct once *once = arg;

	if (call->count++)
		return false;
	load_request(request, once->method, once->path, once->body ? once->body->data : "",
	             once->body ? once->body->len : 0);
	return true;
}

static enum load_verdict once_check(void *arg, struct load_call *call, int status, struct span body)
{
	struct once *once = arg;

	(void)call;
	once->status = status;
	text_bytes(once->answer, body.at, body.len);
	return LOAD_DONE;
}

int load_once(unsigned port, const char *method, const char *path, const struct text *body, struct text *answer)
{
	static const struct load_plan plan = {once_next, once_check};
	struct once                   once = {.method = method, .path = path, .body = body, .answer = answer};
	struct load                   l = {.port = port, .connections = 1, .plan = &plan, .arg = &once};

	l.until_us = clock_us() + ANSWER_MAX_US;
	load_run(&l);
	free(l.samples.us);
	return once.status;
}
