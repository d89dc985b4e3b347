/* connection.h - the connections of the service: how many there may be, how long each may take, how much each may hold,
 * and the requests that come on them, one at a time.
 *
 *   accept ─▶ FRESH ─▶ READING ─▶ WAITING ─▶ WRITING ─┬─▶ IDLE
 *                         ▲                           │     │
 *                         ├──── more bytes waited ────┤     │
 *                         └───────── came ────────────┼─────┘
 *                                                     └─▶ LEAVING: the last answer was given; further bytes are
 *                                                         thrown away until the client has closed, too
 *
 * The calls see none of it: they get a struct asked and answer its handle (message.h). An unclear request (http1.h) is
 * refused, and its connection ends. A request that its head already rules out is refused before its body is taken.
 * While a request waits for its answer the connection reads nothing, so a client that sends on is held up by its own
 * socket. One thread: the loop's. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "api/http/message.h"

struct event_base;
struct connections;
struct listenings;
struct tls;

/* Options, zero-initialised but for given ones; copied. */
struct connection_options {
	size_t connections_max;
	/* Bound on bytes of requests that came and of answers that were not taken, over all connections, and of
	 * *others. Beyond it the connections that hold most are closed. */
	size_t        bytes_max;
	const size_t *others; /* bytes of requests that came and are not answered, as their owner counts them */
	/* Time for a request to come, from its first byte, or from accept; and for an answer to be taken, from its
	 * first byte. A MiB that gets through buys the same time again. */
	int64_t request_ms;
	int64_t idle_ms; /* between two requests */
	/* Limits of a request: other bytes are refused. The head counts with its trailer, the body with the sizes and
	 * ends of its chunks. */
	uint64_t    head_max, body_max;
	struct tls *tls; /* NULL: plain text */
	/* The head of a request came, and a part of its body is still on its way. Returns how many bytes of body are
	 * taken, with the sizes and ends of chunks; 0: the request is refused whatever the body says, so `asked` is
	 * called without the body and has to answer at once, and the connection ends. */
	uint64_t (*heard)(void *arg, struct asked *asked);
	/* A request came. Its handle answers it once, at once or later. */
	void (*asked)(void *arg, const struct asked *asked);
	/* Bytes came that are no request (400, 413, 417) or for which there is no room (503). The callee answers at
	 * once, and the connection ends. */
	void (*refused)(void *arg, const struct handle *from, int status, const char *detail);
	/* The pool is full, and no connection is idle or slow. A waiting request may be answered now to make room. */
	void (*crowded)(void *arg);
	void *arg;
};

/* Takes the clients of `listen`, which outlives the connections. When the pool is full, the next client takes the place
 * of the connection that has been idle, or slow, for longest, but for a second at least. If there is none,
 * `crowded` is called, and no client is accepted until there is a place. */
struct connections *connections_open(struct event_base *base, struct listenings *listen,
                                     const struct connection_options *options);
void                connections_free(struct connections *cs); /* closes all */
/* Ten times a second: closes connections past their deadline, and accepts clients again where that was stopped. */
void connections_tick(struct connections *cs);
/* Stops listening: the sockets are closed, and each answer is the last of its connection. `emptied` is called in a
 * later turn of the loop when no client is left (if there is none, in the next turn); perhaps more than once. */
void connections_last(struct connections *cs, void (*emptied)(void *arg), void *arg);
/* The number of connections for which a drain waits: a request is being sent or an answer taken, or the client came
 * within the last second and its first request is likely on its way. */
size_t connections_moving(const struct connections *cs);

struct connection_metrics {
	int64_t open, cut; /* open: connections now; cut: closed by us, for being slow, idle or too many */
};
struct connection_metrics connections_metrics(const struct connections *cs); /* any thread */

#endif
