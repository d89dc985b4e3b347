/* connection.h - the connections of the service: how many there may be, how long each may take, how much it may hold.
 *
 *   accept ─▶ FRESH ─▶ READING ─▶ WAITING ─▶ WRITING ─▶ IDLE          LEAVING: told what is wrong, about to be closed
 *                         ▲                     │          │
 *                         └─ more bytes waited ─┴── came ──┘
 *
 * evhttp knows a deadline for silence only, which any byte ends; it counts nothing, and it reads on while nobody takes
 * its answers. So every connection is followed here from the outside, by the bytes that come in. What is no clear
 * request (frame.h) is answered here, too, and evhttp does not get to see it. One thread: the loop's. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "frame.h"

struct bufferevent;
struct event_base;
struct evconnlistener;
struct evhttp;
struct evhttp_request;

/* Zero-initialised but for what is given; copied. */
struct connection_options {
	size_t connections_max;
	/* Bytes of requests that came and of answers that were not taken, over all connections. Beyond it those that
	 * hold most are closed. */
	size_t bytes_max;
	/* For a request to come, from its first byte, or from accept; for an answer to be taken, from its first byte. A
	 * MiB that gets through buys the same again. */
	int64_t request_ms;
	int64_t idle_ms; /* between two requests */
	/* What is no request by these is refused. */
	struct frame_limits frame;
	/* Makes the bufferevent of a connection, plain or TLS, with BEV_OPT_CLOSE_ON_FREE and without a descriptor.
	 * NULL (returned): the connection is closed. No function: plain ones. */
	struct bufferevent *(*make)(struct event_base *base, void *make_arg);
	void *make_arg;
	/* One is answered here, with this status; writes a request id for it. */
	void (*refused)(void *refused_arg, int status, char *id, size_t id_size);
	void *refused_arg;
};

struct connections;

/* Watches what `listener` brings to `http`. When all places are taken, the next connection takes that of the one that
 * has been idle, or slow, for longest, but for a second at least; if there is none, the listener is disabled until
 * there is. */
struct connections *connections_open(struct event_base *base, struct evhttp *http, struct evconnlistener *listener,
                                     const struct connection_options *options);
void                connections_free(struct connections *cs); /* after evhttp_free */
/* Ten times a second: closes what is past its deadline, and has the listener go on if it was disabled. */
void connections_tick(struct connections *cs);
void connections_last(struct connections *cs); /* no more will come: the listener is about to be freed */
/* How many are sending a request or being sent an answer: a drain waits for them. */
size_t connections_moving(const struct connections *cs);

struct connections_figures {
	int64_t open, cut; /* now; closed by us, for being slow, idle or too many */
};
struct connections_figures connections_figures(const struct connections *cs);

/* evhttp has read a request. false: that is no request by our reading; it has to be answered and the connection
 * closed. */
bool connection_came(struct connections *cs, struct evhttp_request *ev) MUST_CHECK;
/* Sends the answer, whose headers and body are in `ev` already; it is evhttp's from here on. */
void connection_answer(struct connections *cs, struct evhttp_request *ev, int status, const char *reason);

#endif
