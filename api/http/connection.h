/* connection.h - the connections of the service: how many there may be, how long each may take, how much it may hold,
 * and the requests that come on them, one at a time.
 *
 *   accept ─▶ FRESH ─▶ READING ─▶ WAITING ─▶ WRITING ─┬─▶ IDLE
 *                         ▲                           │     │
 *                         ├──── more bytes waited ────┤     │
 *                         └───────── came ────────────┼─────┘
 *                                                     └─▶ LEAVING: the last answer was given; what still comes is
 *                                                         thrown away until the client has closed, too
 *
 * What is no clear request (http1.h) is refused, and the connection ends with that. While a request waits for its
 * answer nothing is read, so a client that sends on is held up by its own socket. One thread: the loop's. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "api/http/http1.h"

struct event_base;
struct connection;
struct iovec;
struct listenings;
struct tls;

/* Where an answer goes. Whoever asked may be gone, and his place taken by another: then it goes nowhere. */
struct ticket {
	struct connection *connection;
	uint64_t           turn;
};

/* A request whose last byte has come. All of it lives until it is answered or `asked` returns, and may be written over.
 */
struct asked {
	struct ticket       from;
	const struct http1 *http1;
	char               *bytes, *method, *target;
	bool                last; /* the client wants the connection to end with the answer */
};

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
	struct http1_limits http1;
	struct tls         *tls; /* NULL: plain text */
	/* A request came. It is answered by connection_answer, at once or later, but once. */
	void (*asked)(void *arg, const struct asked *asked);
	/* What came was none, or there is no room for it: to be answered at once, as the last on its connection. */
	void (*refused)(void *arg, struct ticket from, int status, const char *code, const char *detail);
	void *arg;
};

struct connections;

/* Takes whoever comes to one of `listen`, which outlives it. When all places are taken, the next connection takes that
 * of the one that has been idle, or slow, for longest, but for a second at least; if there is none, no more are
 * accepted until there is. */
struct connections *connections_open(struct event_base *base, struct listenings *listen,
                                     const struct connection_options *options);
void                connections_free(struct connections *cs); /* closes all */
/* Ten times a second: closes what is past its deadline, and has clients accepted again if they were not. */
void connections_tick(struct connections *cs);
void connections_last(struct connections *cs); /* no more will come: the sockets are closed */
/* How many are sending a request or being sent an answer: a drain waits for them. */
size_t connections_moving(const struct connections *cs);

struct connections_figures {
	int64_t open, cut; /* now; closed by us, for being slow, idle or too many */
};
struct connections_figures connections_figures(const struct connections *cs);

/* Sends an answer, in so many parts, which stay the caller's. `last`: the connection ends with it. */
void connection_answer(struct ticket to, const struct iovec *parts, int count, bool last);

#endif
