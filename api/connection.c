/* connection.c - see connection.h. Every connection is in the list of its state, the longest in it first, so that a
 * tick looks at the heads of the lists only. Places for all connections are made at the start. */
#include "connection.h"
#include "farewell.h"
#include "http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
	PROGRESS = 1 << 20, /* bytes that earn as much time again */
	GRACE_MS = 1000,    /* nobody has to go sooner */
	LEAVING_MS = 2000,  /* time to read why */
	VECTORS = 8,
	IN_A_ROW = 32,    /* connections that are accepted before others get their turn; libevent knows no end of it */
	FILES_KEPT = 128, /* descriptors that are not for clients: lanes, jobs, files */
};

/* The first are those that have to go when there are too many, in this order. */
enum state_of {
	LEAVING, /* told what is wrong with it; what comes is thrown away */
	IDLE,    /* between two requests */
	FRESH,   /* no byte has come yet */
	READING, /* a part of a request has come */
	WRITING, /* an answer is being taken */
	WAITING, /* a request is with its handler */
	BORN,    /* evhttp is making it */
	DOOMED,  /* what comes next is no request; the one before was just answered */
	FREE,    /* no connection */
	STATES_OF
};

struct connection {
	enum state_of             state;
	int64_t                   since_ms; /* when it came into this state, or last earned more time */
	struct connection        *next, *previous;
	struct connections       *all;
	struct bufferevent       *bev;
	struct evhttp_connection *evcon;
	struct event             *standby; /* see stand_by */
	int                       fd;
	struct frame              frame;
	uint64_t                  came;   /* requests that evhttp has read */
	size_t                    held;   /* bytes of the request, and of what came after it */
	size_t                    unsent; /* bytes of the answer when its time began */
	size_t                    moved;  /* bytes of a request since its time began */
	bool                      woken;  /* by bytes that evhttp has read */
	bool                      dead;   /* it could not be made as it should */
};

struct connections {
	struct connection_options options;
	struct evconnlistener    *listener;
	struct event             *attention; /* something is to be done that cannot be done where it was seen */
	struct connection        *places;
	struct connection       **by_fd;
	size_t                    fds;
	struct connection        *oldest[STATES_OF], *newest[STATES_OF];
	size_t                    count[STATES_OF];
	size_t                    bytes;
	int                       in_a_row;
	int64_t                   cut;
};

/* ---- lists */

static void leave(struct connection *c)
{
	struct connections *cs = c->all;

	*(c->previous ? &c->previous->next : &cs->oldest[c->state]) = c->next;
	*(c->next ? &c->next->previous : &cs->newest[c->state]) = c->previous;
	cs->count[c->state]--;
}

static void join(struct connection *c, enum state_of state)
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

static void move(struct connection *c, enum state_of state)
{
	leave(c);
	join(c, state);
}

/* How much it holds, of requests and of answers. */
static void hold(struct connection *c, size_t held, size_t unsent)
{
	c->all->bytes += held + unsent - c->held - c->unsent;
	c->held = held;
	c->unsent = unsent;
	if (c->all->bytes > c->all->options.bytes_max)
		event_active(c->all->attention, 0, 0);
}

/* ---- the end of a connection */

/* evhttp stops reading while a request is with us and goes on when it is answered: two calls of epoll_ctl for every
 * request, unless somebody else is waiting for the same socket. What comes in that time ends the waiting. */
static void stand_by(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;

	(void)fd;
	(void)what;
	if (!c->woken && (c->state == WAITING || c->state == WRITING))
		event_del(c->standby);
	c->woken = false;
}

/* evhttp is about to free it, for whatever reason. */
static void closed(struct evhttp_connection *evcon, void *arg)
{
	struct connection *c = arg;

	(void)evcon;
	hold(c, 0, 0);
	event_free(c->standby);
	c->all->by_fd[c->fd] = NULL;
	move(c, FREE);
}

static void cut(struct connection *c)
{
	c->all->cut++;
	evhttp_connection_free(c->evcon);
}

static void left(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	evhttp_connection_free(((struct connection *)arg)->evcon);
}

/* Takes the connection away from evhttp, which is not answering anything on it, says why, and closes it. */
static void refuse(struct connection *c, int status, const char *code, const char *detail)
{
	char id[32];

	c->all->options.refused(c->all->options.refused_arg, status, id, sizeof(id));
	move(c, LEAVING);
	hold(c, 0, 0);
	farewell(c->bev, &(struct last_words){status, code, detail, id}, left, c);
}

static void refuse_fault(struct connection *c)
{
	if (c->frame.fault == FRAME_TOO_LONG)
		refuse(c, 413, "too_large", c->frame.detail);
	else if (c->frame.fault == FRAME_EXPECTATION)
		refuse(c, 417, "expectation_failed", c->frame.detail);
	else
		refuse(c, 400, outcome_code(INVALID), c->frame.detail);
}

/* ---- bytes come in */

static void frame_peek(struct connection *c, struct evbuffer *in, size_t added)
{
	struct evbuffer_iovec vectors[VECTORS];
	struct evbuffer_ptr   at;
	size_t                passed = frame_pass(&c->frame, added), left = added - passed;

	while (left > 0 && !c->frame.fault) {
		int n;

		evbuffer_ptr_set(in, &at, evbuffer_get_length(in) - left, EVBUFFER_PTR_SET);
		n = evbuffer_peek(in, (ev_ssize_t)left, &at, vectors, VECTORS);
		for (int i = 0; i < n && i < VECTORS && left > 0; i++) {
			size_t len = vectors[i].iov_len < left ? vectors[i].iov_len : left;

			frame_read(&c->frame, vectors[i].iov_base, len);
			left -= len;
		}
	}
}

/* What comes before a fault in the same bytes is evhttp's: requests that are well and have to be answered first. */
static bool is_next(const struct connection *c)
{
	return c->frame.fault && c->came == c->frame.complete;
}

static void bytes_came(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	if (info->n_added == 0 || c->state == LEAVING || c->state == FREE)
		return;
	c->woken = true;
	frame_peek(c, in, info->n_added);
	if (c->state == FRESH || c->state == IDLE) {
		move(c, READING);
		c->moved = 0;
	}
	c->moved += info->n_added;
	hold(c, c->held + info->n_added, c->unsent);
	if (is_next(c) && c->state == READING)
		refuse_fault(c);
}

/* ---- a request, and its answer */

static struct bufferevent *make_plain(struct event_base *base, void *arg)
{
	(void)arg;
	return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
}

static struct connection *connection_of(struct connections *cs, struct evhttp_request *ev)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(ev);

	return evcon ? cs->by_fd[bufferevent_getfd(evhttp_connection_get_bufferevent(evcon))] : NULL;
}

bool connection_came(struct connections *cs, struct evhttp_request *ev)
{
	struct connection *c = connection_of(cs, ev);

	move(c, WAITING);
	return ++c->came <= c->frame.complete;
}

static void answer_taken(struct evhttp_request *ev, void *arg)
{
	struct connection *c = arg;

	(void)ev;
	hold(c, evbuffer_get_length(bufferevent_get_input(c->bev)), 0);
	event_add(c->standby, NULL);
	c->moved = 0;
	if (is_next(c)) {
		move(c, DOOMED);
		event_active(c->all->attention, 0, 0);
	} else {
		move(c, c->held > 0 ? READING : IDLE);
	}
}

/* Most answers fit the socket's buffer. To wait until it may be written costs as much again: two calls of epoll_ctl and
 * a turn of the loop. */
static void write_now(struct connection *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	evbuffer_unfreeze(out, 1); /* its bufferevent lets nobody else take from it */
	evbuffer_write(out, c->fd);
	evbuffer_freeze(out, 1);
	if (evbuffer_get_length(out) > 0)
		return;
	bufferevent_disable(c->bev, EV_WRITE);
	bufferevent_trigger(c->bev, EV_WRITE, 0);
}

/* Reading ends until the answer is taken: otherwise evhttp would collect what the client sends on, and take the end of
 * its sending for the end of the client. */
void connection_answer(struct connections *cs, struct evhttp_request *ev, int status, const char *reason)
{
	struct connection *c = connection_of(cs, ev);

	if (!c) { /* it broke meanwhile */
		evhttp_send_reply(ev, status, reason, NULL);
		return;
	}
	move(c, WRITING);
	hold(c, c->held, evbuffer_get_length(evhttp_request_get_output_buffer(ev)));
	evhttp_request_set_on_complete_cb(ev, answer_taken, c);
	evhttp_send_reply(ev, status, reason, NULL);
	if (c->state == WRITING && cs->options.make == make_plain)
		write_now(c);
	if (c->state == WRITING)
		bufferevent_disable(c->bev, EV_READ);
}

/* ---- deadlines and room */

/* Has a MiB got through since its time began? */
static bool progresses(struct connection *c)
{
	size_t unsent = evbuffer_get_length(bufferevent_get_output(c->bev));
	size_t moved = c->state == WRITING && c->unsent > unsent ? c->unsent - unsent : c->moved;

	if (c->state == WRITING)
		hold(c, c->held, unsent);
	c->moved = 0;
	return moved >= PROGRESS;
}

static void end_those(struct connections *cs, enum state_of state, int64_t after_ms)
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

/* Makes a place free. false: everybody is busy. */
static bool make_room(struct connections *cs)
{
	int64_t before_ms = clock_ms() - GRACE_MS;

	for (enum state_of state = LEAVING; state < WAITING; state++)
		if (cs->oldest[state] && cs->oldest[state]->since_ms < before_ms) {
			cut(cs->oldest[state]);
			return true;
		}
	return false;
}

/* It was disabled because too many came at once, because all places are taken, or for want of descriptors (listen.c).
 */
static void accept_on(struct connections *cs)
{
	cs->in_a_row = 0;
	if (cs->listener && (cs->oldest[FREE] || make_room(cs)))
		evconnlistener_enable(cs->listener);
}

void connections_last(struct connections *cs)
{
	cs->listener = NULL;
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

/* Whoever holds most has to go, until there is enough memory for the others. */
static void make_memory(struct connections *cs)
{
	while (cs->bytes > cs->options.bytes_max) {
		struct connection *most = NULL;

		for (enum state_of state = READING; state <= WRITING; state++)
			for (struct connection *c = cs->oldest[state]; c; c = c->next)
				if (!most || c->held + c->unsent > most->held + most->unsent)
					most = c;
		if (!most)
			return;
		if (most->state == READING)
			refuse(most, 503, outcome_code(BUSY), "too much is being received or sent; nothing was done");
		else
			cut(most);
	}
}

/* ---- the beginning of a connection */

/* evhttp asks for this before it has a connection: `adopt` follows when it has. */
static struct bufferevent *born(struct event_base *base, void *arg)
{
	struct connections *cs = arg;
	struct connection  *c = cs->oldest[FREE];

	assert(c);
	c->bev = cs->options.make(base, cs->options.make_arg);
	c->dead = !c->bev;
	if (c->dead) /* evhttp would take a plain one of its own */
		c->bev = make_plain(base, NULL);
	assert(c->bev);
	c->frame = (struct frame){.limits = &cs->options.frame};
	c->came = 0;
	move(c, BORN);
	bufferevent_incref(c->bev);
	evbuffer_add_cb(bufferevent_get_input(c->bev), bytes_came, c);
	event_active(cs->attention, 0, 0);
	if (++cs->in_a_row == IN_A_ROW || (!cs->oldest[FREE] && !make_room(cs)))
		evconnlistener_disable(cs->listener);
	return c->bev;
}

/* evhttp's connection is the argument of its callbacks; they are gone if it has given up already. The attention comes
 * before any byte of the connection does. */
static void adopt(struct connection *c)
{
	bufferevent_event_cb ended;
	void                *evcon;
	int                  fd = bufferevent_getfd(c->bev);

	assert(fd < 0 || (size_t)fd < c->all->fds);
	bufferevent_getcb(c->bev, NULL, NULL, &ended, &evcon);
	if (ended) {
		c->evcon = evcon;
		c->fd = fd;
		c->all->by_fd[fd] = c;
		c->standby = event_new(bufferevent_get_base(c->bev), fd, EV_READ | EV_PERSIST, stand_by, c);
		event_add(c->standby, NULL);
		evhttp_connection_set_closecb(c->evcon, closed, c);
	}
	move(c, ended ? FRESH : FREE);
	bufferevent_decref(c->bev);
	if (ended && c->dead)
		cut(c);
}

static void attend(evutil_socket_t fd, short what, void *arg)
{
	struct connections *cs = arg;

	(void)fd;
	(void)what;
	while (cs->oldest[BORN])
		adopt(cs->oldest[BORN]);
	while (cs->oldest[DOOMED])
		refuse_fault(cs->oldest[DOOMED]);
	make_memory(cs);
	if (cs->in_a_row >= IN_A_ROW)
		accept_on(cs);
}

/* So many that there is a descriptor for each, and enough are left for the way to the database. */
static void limits_fit(struct connections *cs)
{
	struct rlimit files;
	size_t        max = cs->options.connections_max, room;

	getrlimit(RLIMIT_NOFILE, &files);
	cs->fds = files.rlim_cur;
	room = cs->fds > 2 * FILES_KEPT ? cs->fds - FILES_KEPT : cs->fds / 2;
	if (max <= room)
		return;
	log_event(LOG_WARN, "max_connections", "asked=%zu have=%zu hint=\"raise the limit of open files\"", max, room);
	cs->options.connections_max = room;
}

struct connections *connections_open(struct event_base *base, struct evhttp *http, struct evconnlistener *listener,
                                     const struct connection_options *options)
{
	struct connections *cs = mem_alloc(sizeof(*cs));
	size_t              places;

	cs->options = *options;
	if (!cs->options.make)
		cs->options.make = make_plain;
	cs->listener = listener;
	cs->attention = event_new(base, -1, EV_PERSIST, attend, cs);
	limits_fit(cs);
	cs->by_fd = mem_alloc(cs->fds * sizeof(*cs->by_fd));
	places = cs->options.connections_max + 1; /* the last one is of who is too many */
	cs->places = mem_alloc(places * sizeof(*cs->places));
	for (size_t i = 0; i < places; i++) {
		cs->places[i].all = cs;
		join(&cs->places[i], FREE);
	}
	evhttp_set_bevcb(http, born, cs);
	return cs;
}

void connections_free(struct connections *cs)
{
	event_free(cs->attention);
	free(cs->by_fd);
	free(cs->places);
	free(cs);
}

size_t connections_moving(const struct connections *cs)
{
	return cs->count[READING] + cs->count[WRITING] + cs->count[DOOMED];
}

struct connections_figures connections_figures(const struct connections *cs)
{
	size_t open = 0;

	for (enum state_of state = 0; state < FREE; state++)
		open += cs->count[state];
	return (struct connections_figures){(int64_t)open, cs->cut};
}
