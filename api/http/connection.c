/* connection.c - see connection.h. Every connection is in the list of its state, the longest in it first, so a tick
 * looks only at the heads of the lists. The pool of all connections is allocated at the start. */
#include "api/http/connection.h"
#include "api/http/http1.h"
#include "api/http/listen.h"
#include "api/http/stream.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <event2/event.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
	CONNECTION_MAGIC = 0x48746e43,
	PROGRESS = 1 << 20, /* bytes that buy as much time again */
	GRACE_MS = 1000,    /* a connection that entered its state later need not go */
	LEAVING_MS = 2000,  /* time for the client to read the last answer */
	IN_A_ROW = 32,      /* clients accepted before the loop serves others; libevent itself sets no bound */
	FILES_KEPT = 128,   /* descriptors kept for lanes, jobs and files */
};

/* States, in the order in which connections have to go when there are too many. */
enum connection_state {
	LEAVING, /* the last answer was given; further bytes are thrown away */
	IDLE,    /* between two requests */
	FRESH,   /* no byte has come yet */
	READING, /* a part of a request has come */
	WRITING, /* an answer is being taken */
	WAITING, /* a handler has the request */
	FREE,    /* no connection */
	CONNECTION_STATES
};

struct connection {
	unsigned              magic;
	enum connection_state state;
	int64_t               since_ms;        /* time at which the state was entered, or more time was last earned */
	struct connection    *next, *previous; /* neighbours in the list of the state */
	struct connections   *all;
	struct stream         stream;
	struct http1          http1;  /* the reader of the coming request */
	struct http1_limits   limits; /* of that request; its call may have lower ones than the service */
	bool                  heard;  /* the head was judged before the body had come .. */
	void                 *known;  /* .. with this finding */
	struct text           kept; /* bytes of that request, and after it, while the request is incomplete or waits */
	size_t                read; /* bytes of the request that http1 has read */
	uint64_t generation;        /* number of this request, over all connections that had this place of the pool */
	size_t   held;              /* bytes allocated for those kept, as counted in all->bytes */
	size_t   unsent;            /* bytes of the answer when its time began */
	size_t   moved;             /* bytes of a request since its time began */
	bool     last;              /* the connection ends with the answer */
	bool     is_10;             /* the request came in HTTP/1.0 */
	bool     tcp;               /* the client came by an address, not by a unix socket */
	bool     serving;           /* requests are being taken out of the bytes that came */
	void (*left)(void *arg);    /* called when the client leaves before the answer; may be NULL */
	void *left_arg;
};

struct connections {
	struct connection_options options;
	struct streams            streams;
	struct listenings        *listen;    /* NULL: no more will come */
	struct event             *attention; /* runs work that cannot be done at the place that finds it needed */
	struct connection        *pool;
	size_t                    pool_count;
	size_t                    pool_made; /* places that have been needed; the others are untouched memory */
	struct connection        *oldest[CONNECTION_STATES], *newest[CONNECTION_STATES];
	size_t                    count[CONNECTION_STATES];
	size_t                    bytes;    /* bytes held and unsent, over all connections */
	int                       in_a_row; /* clients accepted since accept_on */
	bool                      full;     /* no client is accepted before a place is free */
	bool                      ending;   /* connections_last was called */
	struct text               head;     /* of the answer that is being sent */
	void (*emptied)(void *arg);         /* called when no client is left, after connections_last; may be NULL */
	void           *emptied_arg;
	_Atomic int64_t open, cut; /* for connections_metrics: changed by the loop, read by any thread */
};

static struct connection *connection_cast(void *arg)
{
	struct connection *c = arg;

	assert(c->magic == CONNECTION_MAGIC);
	return c;
}

/* ---- lists */

static void leave(struct connection *c)
{
	struct connections *cs = c->all;

	*(c->previous ? &c->previous->next : &cs->oldest[c->state]) = c->next;
	*(c->next ? &c->next->previous : &cs->newest[c->state]) = c->previous;
	cs->count[c->state]--;
}

static void join(struct connection *c, enum connection_state state)
{
	struct connections *cs = c->all;

	c->state = state;
	c->since_ms = clock_ms();
	c->next = NULL;
	c->previous = cs->newest[state];
	*(c->previous ? &c->previous->next : &cs->oldest[state]) = c;
	cs->newest[state] = c;
	cs->count[state]++;
}

/* A free place; NULL: none. A place is made when it is first needed: a service of few clients takes 8 MB less. */
static struct connection *place_free(struct connections *cs)
{
	struct connection *c = cs->oldest[FREE];

	if (c || cs->pool_made == cs->pool_count)
		return c;
	c = &cs->pool[cs->pool_made++];
	c->magic = CONNECTION_MAGIC;
	c->all = cs;
	join(c, FREE);
	return c;
}

/* Nothing is read while a request waits, or its answer. */
static void move(struct connection *c, enum connection_state state)
{
	leave(c);
	join(c, state);
	if (state != WAITING)
		c->left = NULL;
	if (state != FREE)
		stream_want(&c->stream, state != WAITING && state != WRITING);
}

static bool is_too_much(const struct connections *cs)
{
	return cs->bytes + *cs->options.others > cs->options.bytes_max;
}

/* Notes how much the connection holds, of requests and of answers. */
static void hold(struct connection *c, size_t held, size_t unsent)
{
	assert(c->all->bytes >= c->held + c->unsent);
	c->all->bytes += held + unsent - c->held - c->unsent;
	c->held = held;
	c->unsent = unsent;
	if (is_too_much(c->all))
		event_active(c->all->attention, 0, 0);
}

/* ---- the end of a connection */

/* One thread counts, so nothing comes between the two. */
static void tally(_Atomic int64_t *to, int64_t n)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

static void end(struct connection *c)
{
	tally(&c->all->open, -1);
	if (c->left)
		c->left(c->left_arg);
	hold(c, 0, 0);
	text_fini(&c->kept);
	stream_close(&c->stream);
	c->generation++;
	move(c, FREE);
	if (c->all->full || c->all->emptied)
		event_active(c->all->attention, 0, 0);
}

static void cut(struct connection *c)
{
	tally(&c->all->cut, 1);
	end(c);
}

static void ended(void *arg)
{
	end(connection_cast(arg));
}

/* Closing at once could take the answer away from a client that is still sending (RFC 9112, 9.6). */
static void part(struct connection *c)
{
	text_fini(&c->kept);
	hold(c, 0, 0);
	stream_finish(&c->stream);
	move(c, LEAVING);
}

/* ---- requests */

static const struct handle_calls handle_calls;

/* The request is handed out. `last`: the connection ends with its answer. */
static struct handle handle_new(struct connection *c, bool last)
{
	c->moved = 0;
	c->generation++;
	c->last = last;
	c->is_10 = c->http1.is_10;
	move(c, WAITING);
	return (struct handle){&handle_calls, c, c->generation};
}

static void refuse(struct connection *c, int status, const char *detail)
{
	struct handle from;

	text_fini(&c->kept);
	hold(c, 0, 0);
	from = handle_new(c, true);
	c->all->options.refused(c->all->options.arg, &from, status, detail);
}

static void http1_begin(struct connection *c)
{
	c->limits = (struct http1_limits){c->all->options.head_max, c->all->options.body_max};
	c->http1 = (struct http1){.limits = &c->limits};
	c->read = 0;
	c->heard = false;
	c->known = NULL;
}

/* Finds the parts of the request that begins at `bytes`, as far as it has come. */
static void asked_find(struct connection *c, char *bytes, struct asked *to)
{
	const struct http1 *f = &c->http1;

	*to = (struct asked){.method = bytes + f->method.at,
	                     .target = bytes + f->target.at,
	                     .length = f->length,
	                     .tcp = c->tcp,
	                     .whole = f->state == HTTP1_DONE,
	                     .known = c->known};
	bytes[f->method.end] = bytes[f->target.end] = '\0';
	http1_headers(f, bytes, to->headers);
	if (to->whole)
		to->body = http1_body(f, bytes, &to->body_len);
}

static void ask(struct connection *c, char *bytes)
{
	struct asked asked;

	asked_find(c, bytes, &asked);
	asked.from = handle_new(c, !asked.whole || http1_is_last(&c->http1));
	c->all->options.asked(c->all->options.arg, &asked);
	http1_begin(c);
}

/* Judges a request once, at the end of its head, while the body is on its way: the body of a caller without rights
 * takes no room. */
static bool is_taken(struct connection *c, char *bytes)
{
	struct asked asked;

	if (c->heard || c->http1.body_at == 0)
		return true;
	asked_find(c, bytes, &asked);
	c->limits.body_max = c->all->options.heard(c->all->options.arg, &asked);
	c->heard = true;
	c->known = asked.known;
	return c->limits.body_max > 0;
}

/* A client may wait for this line before it sends the body (RFC 9110, 10.1.1), but not once some of the body came. */
static void continue_send(struct connection *c)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec      part = {(char *)line, strlen(line)};

	if (!c->http1.continues || c->http1.body > 0)
		return;
	c->http1.continues = false;
	(void)!stream_send(&c->stream, &part, 1); /* the answer follows it */
}

static bool is_ready(const struct connection *c)
{
	return c->state == FRESH || c->state == IDLE || c->state == READING;
}

/* Takes requests out of the bytes, up to a request that waits for its answer or is incomplete. Returns the number of
 * bytes done with. The connection may have ended. */
static size_t serve(struct connection *c, char *bytes, size_t len)
{
	static const int fault_status[] = {[HTTP1_MALFORMED] = 400, [HTTP1_TOO_LONG] = 413, [HTTP1_EXPECTATION] = 417};
	size_t           done = 0;

	c->serving = true;
	while (is_ready(c) && done + c->read < len) {
		c->read += http1_read(&c->http1, bytes + done + c->read, len - done - c->read);
		if (c->http1.fault) {
			refuse(c, fault_status[c->http1.fault], c->http1.detail);
		} else if (c->http1.state == HTTP1_DONE) {
			char *request = bytes + done;

			done += c->read;
			ask(c, request);
		} else if (is_taken(c, bytes + done)) {
			continue_send(c);
		} else {
			ask(c, bytes + done);
			done = len; /* the rest belongs to that body, or follows it */
		}
	}
	c->serving = false;
	return done;
}

/* Keeps the bytes left, for the rest of their request or for the answer to the one before. */
static void keep(struct connection *c)
{
	size_t left = c->kept.len;

	if (c->state == FREE || c->state == LEAVING)
		return;
	if (left == 0)
		text_fini(&c->kept);
	hold(c, c->kept.cap, c->unsent);
	if (left > 0 && (c->state == FRESH || c->state == IDLE))
		move(c, READING);
}

/* Serves the bytes kept. The bytes left move, so that they do not keep the memory of a large request before them. */
static void serve_kept(struct connection *c)
{
	size_t done = serve(c, c->kept.data, c->kept.len);

	if (done > 0 && c->kept.len > 0) { /* the connection goes on */
		struct text left = {0};

		text_bytes(&left, c->kept.data + done, c->kept.len - done);
		text_fini(&c->kept);
		c->kept = left;
	}
	keep(c);
}

static void serve_new(struct connection *c, char *bytes, size_t len)
{
	size_t done = serve(c, bytes, len);

	if (done < len && c->state != FREE && c->state != LEAVING)
		text_bytes(&c->kept, bytes + done, len - done);
	keep(c);
}

/* For a body of a known length the last growth goes to the end of the body, not to twice the present size. */
static void room_make(struct connection *c, size_t more)
{
	size_t whole = c->http1.state == HTTP1_DATA && c->http1.length > 0 ? c->read + c->http1.left + 1 : 0;

	if (c->kept.cap <= c->kept.len + more && c->kept.len + more < whole && whole < 2 * c->kept.cap)
		text_reach(&c->kept, whole);
}

static void came(void *arg, char *bytes, size_t len)
{
	struct connection *c = connection_cast(arg);

	if (c->state == LEAVING)
		return;
	c->moved += len;
	if (c->kept.len == 0) {
		serve_new(c, bytes, len);
		return;
	}
	room_make(c, len);
	text_bytes(&c->kept, bytes, len);
	serve_kept(c);
}

/* ---- answers */

static void taken(void *arg)
{
	struct connection *c = connection_cast(arg);

	if (c->state != WRITING || stream_unsent(&c->stream) > 0)
		return;
	if (c->last) {
		part(c);
		return;
	}
	hold(c, c->held, 0);
	move(c, IDLE);
	if (!c->serving && c->kept.len > 0)
		serve_kept(c);
}

static void watch(const struct handle *from, void (*left)(void *arg), void *arg)
{
	struct connection *c = connection_cast(from->place);

	if (c->generation != from->number)
		return;
	c->left = left;
	c->left_arg = arg;
	stream_heed(&c->stream);
}

static void client_tell(const struct handle *from, char *to, size_t size)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
	socklen_t               len = sizeof(peer);
	struct connection      *c = connection_cast(from->place);
	bool                    here = c->generation == from->number;

	if (here && !c->tcp)
		snprintf(to, size, "unix");
	else if (!here || getpeername(c->stream.fd, (struct sockaddr *)&peer, &len) != 0 ||
	         getnameinfo((struct sockaddr *)&peer, len, to, (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(to, size, "-");
}

static void answer_send(const struct handle *to, const struct reply *answer)
{
	struct connection *c = connection_cast(to->place);
	struct text       *head = &c->all->head;
	struct iovec       parts[2];

	if (c->generation != to->number)
		return;
	assert(c->state == WAITING);
	c->last |= answer->last || c->all->ending;
	http1_answer(head, answer, c->last ? "close" : c->is_10 ? "keep-alive" : NULL);
	parts[0] = (struct iovec){head->data, head->len};
	parts[1] = (struct iovec){(void *)answer->body, answer->bare ? 0 : answer->len};
	move(c, WRITING);
	if (stream_send(&c->stream, parts, LENGTH(parts)))
		taken(c);
	else
		hold(c, c->held, stream_unsent(&c->stream));
}

static const struct handle_calls handle_calls = {answer_send, watch, client_tell};

/* ---- deadlines and room */

/* True: a MiB has got through since the connection's time began. */
static bool progresses(struct connection *c)
{
	size_t unsent = stream_unsent(&c->stream);
	size_t moved = c->state == WRITING && c->unsent > unsent ? c->unsent - unsent : c->moved;

	if (c->state == WRITING)
		hold(c, c->held, unsent);
	c->moved = 0;
	return moved >= PROGRESS;
}

static void end_those(struct connections *cs, enum connection_state state, int64_t after_ms)
{
	struct connection *c;
	int64_t            before_ms = clock_ms() - after_ms;

	while ((c = cs->oldest[state]) && c->since_ms < before_ms) {
		if ((state == READING || state == WRITING) && progresses(c))
			move(c, state);
		else
			cut(c);
	}
}

/* Makes a place of the pool free. false: no connection is idle or slow. */
static bool make_room(struct connections *cs)
{
	int64_t before_ms = clock_ms() - GRACE_MS;

	for (enum connection_state state = LEAVING; state < WAITING; state++)
		if (cs->oldest[state] && cs->oldest[state]->since_ms < before_ms) {
			cut(cs->oldest[state]);
			return true;
		}
	if (cs->count[LEAVING] == 0)
		cs->options.crowded(cs->options.arg);
	return false;
}

/* Accepts clients again after a stop: too many came at once, the pool was full, or descriptors were short
 * (listen.c). */
static void accept_on(struct connections *cs)
{
	cs->in_a_row = 0;
	cs->full = !place_free(cs) && !make_room(cs);
	if (cs->listen && !cs->full)
		listen_accept(cs->listen, true);
}

void connections_last(struct connections *cs, void (*emptied)(void *arg), void *arg)
{
	if (cs->listen)
		listen_stop(cs->listen);
	cs->listen = NULL;
	cs->ending = true;
	cs->emptied = emptied;
	cs->emptied_arg = arg;
	event_active(cs->attention, 0, 0);
}

void connections_tick(struct connections *cs)
{
	end_those(cs, FRESH, cs->options.request_ms);
	end_those(cs, READING, cs->options.request_ms);
	end_those(cs, WRITING, cs->options.request_ms);
	end_those(cs, IDLE, cs->options.idle_ms);
	end_those(cs, LEAVING, LEAVING_MS);
	accept_on(cs);
}

/* Closes the connections that hold most, until the others are within the limit. */
static void make_memory(struct connections *cs)
{
	while (cs->bytes > 0 && is_too_much(cs)) {
		struct connection *most = NULL;

		for (enum connection_state state = READING; state <= WAITING; state++)
			for (struct connection *c = cs->oldest[state]; c; c = c->next)
				if (!most || c->held + c->unsent > most->held + most->unsent)
					most = c;
		if (!most)
			return;
		if (most->state == READING)
			refuse(most, 503, "too much is being received or sent; nothing was done");
		else
			cut(most);
	}
}

/* ---- the beginning of a connection */

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int len, void *arg)
{
	struct connections *cs = arg;
	struct connection  *c = place_free(cs);

	(void)listener, (void)len;
	assert(c);
	c->tcp = address->sa_family != AF_UNIX;
	stream_open(&c->stream, &cs->streams, fd, c);
	http1_begin(c);
	c->moved = 0;
	tally(&cs->open, 1);
	move(c, FRESH);
	cs->full = !place_free(cs) && !make_room(cs);
	if (++cs->in_a_row < IN_A_ROW && !cs->full)
		return;
	listen_accept(cs->listen, false);
	event_active(cs->attention, 0, 0);
}

static void attend(evutil_socket_t fd, short what, void *arg)
{
	struct connections *cs = arg;

	(void)fd, (void)what;
	make_memory(cs);
	if (cs->in_a_row >= IN_A_ROW || (cs->full && place_free(cs)))
		accept_on(cs);
	if (cs->emptied && cs->count[FREE] == cs->pool_made)
		cs->emptied(cs->emptied_arg);
}

/* Bounds the pool, so that each connection has a descriptor and enough are left for the way to the database. */
static void limits_fit(struct connections *cs)
{
	struct rlimit files;
	size_t        max = cs->options.connections_max, have, room;

	getrlimit(RLIMIT_NOFILE, &files);
	have = files.rlim_cur;
	room = have > 2 * FILES_KEPT ? have - FILES_KEPT : have / 2;
	if (max <= room)
		return;
	log_event(LOG_WARN, "max_connections", "asked=%zu have=%zu hint=\"raise the limit of open files\"", max, room);
	cs->options.connections_max = room;
}

struct connections *connections_open(struct event_base *base, struct listenings *listen,
                                     const struct connection_options *options)
{
	struct connections *cs = mem_alloc(sizeof(*cs));

	cs->options = *options;
	cs->streams.base = base;
	cs->streams.tls = options->tls;
	cs->streams.calls = (struct stream_calls){came, taken, ended};
	cs->listen = listen;
	cs->attention = event_new(base, -1, EV_PERSIST, attend, cs);
	limits_fit(cs);
	cs->pool_count = cs->options.connections_max + 1; /* the last place is for the client beyond the limit */
	cs->pool = mem_alloc(cs->pool_count * sizeof(*cs->pool));
	listen_take(listen, accepted, cs);
	return cs;
}

void connections_free(struct connections *cs)
{
	connections_last(cs, NULL, NULL);
	for (size_t i = 0; i < cs->pool_made; i++)
		if (cs->pool[i].state != FREE)
			end(&cs->pool[i]);
	event_free(cs->attention);
	text_fini(&cs->head);
	free(cs->pool);
	free(cs);
}

size_t connections_moving(const struct connections *cs)
{
	size_t  moving = cs->count[READING] + cs->count[WRITING];
	int64_t before_ms = clock_ms() - GRACE_MS;

	for (const struct connection *c = cs->newest[FRESH]; c && c->since_ms >= before_ms; c = c->previous)
		moving++;
	return moving;
}

struct connection_metrics connections_metrics(const struct connections *cs)
{
	return (struct connection_metrics){cs->open, cs->cut};
}
