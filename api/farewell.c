/* farewell.c - see farewell.h. */
#include "farewell.h"
#include "http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <sys/socket.h>

/* evhttp may hand over an argument of its own here, so these go by the bufferevent. */
static void read_on(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);

	(void)arg;
	evbuffer_drain(in, evbuffer_get_length(in));
}

static void written(struct bufferevent *bev, void *arg)
{
	(void)arg;
	shutdown(bufferevent_getfd(bev), SHUT_WR);
}

void farewell(struct bufferevent *bev, const struct last_words                    *words,
              void (*ended)(struct bufferevent *bev, short what, void *arg), void *arg)
{
	char body[PROBLEM_SIZE], head[400];
	int  body_len = problem_print(body, sizeof(body), words->status, words->code, words->detail), head_len;

	head_len = snprintf(head, sizeof(head),
	                    "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nX-Request-Id: %s\r\n"
	                    "Content-Length: %d\r\nConnection: close\r\n%s\r\n",
	                    words->status, status_reason(words->status), words->id, body_len,
	                    words->status == 503 ? "Retry-After: 1\r\n" : "");
	bufferevent_setcb(bev, read_on, written, ended, arg);
	evbuffer_add(bufferevent_get_output(bev), head, (size_t)head_len);
	evbuffer_add(bufferevent_get_output(bev), body, (size_t)body_len);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}
