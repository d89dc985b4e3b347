/* http.c - the service: its loop, its calls, and how a request is answered.
 *
 * connection.c brings the requests and takes the answers. All methods are let in, so that a wrong one is told 405 with
 * Allow. Bodies may be twice as long as the limit before they are cut off, so that one that is too long is told so with
 * its X-Request-Id. A request that waits for operations longer than its deadline is answered 503; the operations come
 * back later and find nobody waiting. */
#include "api/http.h"
#include "api/notify.h"
#include "api/spare.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/loop.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	HEAD_MAX = 32 << 10,   /* of a request */
	ANSWER_HEAD = 1 << 10, /* room for an answer's, so that it takes no memory when there is none */
	DEADLINE_MS = 10500,   /* a little later than the lanes give up by themselves */
	TICK_MS = 100,
	DRAIN_MS = DEADLINE_MS + 500,
	QUIET_TICKS = 2, /* so that the last answers reach the wire */
};

struct service {
	struct service_options options;
	struct engine         *engine;
	struct event_base     *base;
	struct connections    *connections;
	struct loop           *loop;
	struct event          *started, *ended, *tick, *signals[3];
	struct request        *oldest, *newest; /* those that wait for operations */
	size_t                 requests;        /* born and not dead */
	struct text            head, extra;     /* of the answer that is made: all of it, and what its handler adds */
	char                   date[40];        /* as of the last tick (RFC 9110, 6.6.1) */
	bool                   draining;
	int                    quiet_ticks; /* since the last request was answered, while draining */
	int64_t                drain_until_ms;
	struct route_figures   figures[ROUTES];
	int64_t                refusals[OUTCOMES];
	struct request         unlucky; /* there was no memory for it; it is answered at once */
};

/* ---- birth and death of a request */

void request_free(struct request *r)
{
	assert(r->magic == REQUEST_MAGIC && r->answered && r->ops_left == 0);
	r->service->requests--;
	for (size_t i = 0; i < r->ops_count; i++)
		op_free(r->ops[i]);
	free(r->ops);
	free(r->query);
	free(r->more);
	json_free(r->body);
	r->magic = 0;
	if (r != &r->service->unlucky)
		free(r);
}

struct engine *request_engine(struct request *r)
{
	return r->service->engine;
}

struct service *request_service(struct request *r)
{
	return r->service;
}

const struct service_options *service_options(const struct service *s)
{
	return &s->options;
}

const struct route_figures *service_figures(const struct service *s)
{
	return s->figures;
}

const int64_t *service_refusals(const struct service *s)
{
	return s->refusals;
}

void refusal_count(struct request *r, enum outcome outcome)
{
	if (outcome != OUTCOME_OK && outcome != OUTCOME_REPLAYED)
		r->service->refusals[outcome]++;
}

struct connections *service_connections(const struct service *s)
{
	return s->connections;
}

struct loop *request_loop(struct request *r)
{
	return r->service->loop;
}

const char *request_header(const struct request *r, enum header header)
{
	return http1_header(r->asked->http1, r->asked->bytes, header);
}

const char *request_body(const struct request *r, size_t *len)
{
	return http1_body(r->asked->http1, r->asked->bytes, len);
}

/* ---- answering */

static void answer_count(struct request *r, int status)
{
	int64_t took_us = clock_us() - r->began_us;

	figures_count(&r->service->figures[r->route], status, took_us);
	log_event(LOG_DEBUG, "request", "id=%s route=%s status=%d us=%lld", r->id, route_name(r->route), status,
	          (long long)took_us);
	keys_answered(r, status);
}

static void date_write(struct service *s)
{
	time_t    now = time(NULL);
	struct tm tm;

	strftime(s->date, sizeof(s->date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
}

static void header_write(struct text *to, const char *name, const char *value)
{
	text_add(to, name);
	text_bytes(to, ": ", 2);
	text_add(to, value);
	text_bytes(to, "\r\n", 2);
}

void reply_header(struct request *r, const char *name, const char *value)
{
	header_write(&r->service->extra, name, value);
}

static void head_write(struct request *r, int status, const char *content_type, size_t len)
{
	struct text *head = &r->service->head, *extra = &r->service->extra;

	text_reset(head);
	text_add(head, "HTTP/1.1 ");
	text_int(head, status);
	text_char(head, ' ');
	text_add(head, status_reason(status));
	text_add(head, "\r\n");
	header_write(head, "Date", r->service->date);
	if (status != 204) {
		header_write(head, "Content-Type", content_type);
		text_add(head, "Content-Length: ");
		text_int(head, (int64_t)len);
		text_add(head, "\r\n");
	}
	header_write(head, "X-Request-Id", r->id);
	text_bytes(head, extra->data, extra->len);
	text_reset(extra);
	if (r->last)
		header_write(head, "Connection", "close");
	else if (r->is_10)
		header_write(head, "Connection", "keep-alive");
	text_add(head, "\r\n");
}

void reply_as(struct request *r, int status, const char *content_type, const void *body, size_t len)
{
	struct service *s = r->service;
	struct iovec    parts[2];

	assert(!r->answered);
	r->answered = true;
	r->last |= s->draining;
	head_write(r, status, content_type, len);
	parts[0] = (struct iovec){s->head.data, s->head.len};
	parts[1] = (struct iovec){(void *)body, r->is_head ? 0 : len};
	answer_count(r, status);
	connection_answer(r->from, parts, LENGTH(parts), r->last);
	if (r->ops_left == 0)
		request_free(r);
}

/* ---- those that wait for operations */

static void waiting_leave(struct request *r)
{
	struct service *s = r->service;

	*(r->previous ? &r->previous->next : &s->oldest) = r->next;
	*(r->next ? &r->next->previous : &s->newest) = r->previous;
	r->next = r->previous = NULL;
}

static void waiting_join(struct request *r)
{
	struct service *s = r->service;

	event_active(s->started, 0, 0); /* it comes behind all sockets that have something now */
	r->asked = NULL;                /* its bytes are gone */
	r->previous = s->newest;
	*(s->newest ? &s->newest->next : &s->oldest) = r;
	s->newest = r;
}

void request_waits(struct request *r, bool waits)
{
	if (waits)
		waiting_join(r);
	else
		waiting_leave(r);
}

/* ---- they come */

/* Without memory it is the unlucky one, which is answered before the next is born. */
static struct request *request_new(struct service *s, struct ticket from)
{
	struct request *r = mem_try(sizeof(*r));

	if (!r) {
		r = &s->unlucky;
		*r = (struct request){0};
	}
	r->magic = REQUEST_MAGIC;
	r->service = s;
	r->from = from;
	r->route = ROUTE_NONE;
	r->began_us = clock_us();
	s->requests++;
	return r;
}

static void connection_refused(void *arg, struct ticket from, int status, const char *code, const char *detail)
{
	struct request *r = request_new(arg, from);

	r->last = true;
	request_id_make(r->id, sizeof(r->id));
	reply_plainly(r, status, code, detail);
}

static void connection_asked(void *arg, const struct asked *asked)
{
	struct service *s = arg;
	struct request *r = request_new(s, asked->from);

	r->asked = asked;
	r->last = asked->last;
	r->is_10 = asked->http1->is_10;
	r->is_head = strcmp(asked->method, "HEAD") == 0;
	request_name(r);
	if (r != &s->unlucky && spare_is_there())
		route_dispatch(r);
	else
		reply_no_memory(r);
}

/* ---- the loop */

static void ops_started(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	engine_wake(((struct service *)arg)->engine);
}

static void ops_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	loop_run(((struct service *)arg)->loop);
}

bool service_is_draining(const struct service *s)
{
	return s->draining;
}

static void ticked(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	int64_t         now_us = clock_us();

	(void)fd, (void)what;
	spare_tick();
	date_write(s);
	connections_tick(s->connections);
	while (s->oldest && now_us - s->oldest->began_us > DEADLINE_MS * INT64_C(1000))
		request_give_up(s->oldest);
	keys_tick(s->options.keys);
	notify_alive();
	s->quiet_ticks = s->draining && !s->oldest && connections_moving(s->connections) == 0 ? s->quiet_ticks + 1 : 0;
	if (s->quiet_ticks > QUIET_TICKS || (s->draining && clock_ms() > s->drain_until_ms))
		event_base_loopexit(s->base, NULL);
}

static void drain(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;

	(void)fd, (void)what;
	if (s->draining)
		return;
	log_event(LOG_INFO, "draining", "requests=%zu", s->requests);
	s->draining = true;
	notify_stopping();
	s->drain_until_ms = clock_ms() + DRAIN_MS;
	connections_last(s->connections);
}

/* Whoever sends it wants files read again, or is a terminal that was closed: nothing ends by it. */
static void hung_up(evutil_socket_t fd, short what, void *arg)
{
	const struct service_options *options = &((struct service *)arg)->options;
	bool                          keys = keys_reload(options->keys), tls = tls_reload(options->tls);

	(void)fd, (void)what;
	if (!keys && !tls)
		log_event(LOG_INFO, "hangup", "hint=\"without keys and certificate there is nothing to read again\"");
}

/* ---- the service */

static const struct {
	int signal;
	void (*act)(evutil_socket_t fd, short what, void *arg);
} signals[] = {{SIGTERM, drain}, {SIGINT, drain}, {SIGHUP, hung_up}};

/* What is turned off and on again in one turn of the loop, the change list makes nothing of. */
static struct event_base *base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base   *base;

	assert(config);
	event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(config);
	event_config_free(config);
	assert(base);
	return base;
}

static struct connections *connections_new(struct service *s)
{
	const struct service_options *options = &s->options;
	struct connection_options     with = {
		    .connections_max = options->connections_max,
		    .bytes_max = options->buffered_max,
		    .request_ms = options->request_s * INT64_C(1000),
		    .idle_ms = options->idle_s * INT64_C(1000),
		    .http1 = {.head_max = HEAD_MAX, .body_max = options->body_max * 2},
		    .tls = options->tls,
		    .asked = connection_asked,
		    .refused = connection_refused,
		    .arg = s,
        };

	return connections_open(s->base, options->listen, &with);
}

static void events_watch(struct service *s)
{
	struct timeval tick = {0, TICK_MS * 1000};

	s->started = event_new(s->base, -1, EV_PERSIST, ops_started, s);
	s->ended = event_new(s->base, loop_fd(s->loop), EV_READ | EV_PERSIST, ops_ended, s);
	s->tick = event_new(s->base, -1, EV_PERSIST, ticked, s);
	for (size_t i = 0; i < LENGTH(signals); i++) {
		s->signals[i] = evsignal_new(s->base, signals[i].signal, signals[i].act, s);
		event_add(s->signals[i], NULL);
	}
	event_add(s->ended, NULL);
	event_add(s->tick, &tick);
}

static void clear_text_warn(const struct listenings *ls)
{
	for (size_t i = 0; i < ls->count; i++)
		if (ls->at[i].open)
			log_event(LOG_WARN, "clear_text", "address=%s hint=\"keys can be read on the way\"",
			          ls->at[i].where);
}

struct service *service_open(const struct service_options *options, struct engine *e, char *why, size_t why_size)
{
	struct service *s = mem_alloc(sizeof(*s));

	spare_open();
	s->options = *options;
	s->engine = e;
	s->base = base_new();
	if (!listen_start(options->listen, s->base, why, why_size)) {
		event_base_free(s->base);
		free(s);
		return NULL;
	}
	if (!options->tls)
		clear_text_warn(options->listen);
	s->loop = loop_new();
	s->connections = connections_new(s);
	text_room(&s->head, ANSWER_HEAD);
	text_room(&s->extra, ANSWER_HEAD);
	date_write(s);
	events_watch(s);
	keys_start(options->keys, e, s->loop);
	return s;
}

int service_run(struct service *s, int64_t *drained_by_ms)
{
	event_base_dispatch(s->base);
	*drained_by_ms = s->drain_until_ms;
	return s->oldest ? EXIT_TROUBLE : EXIT_DONE;
}

/* Requests that were still waiting have nobody to answer any more; their operations come back to service_free. */
void service_close(struct service *s)
{
	while (s->oldest) {
		struct request *r = s->oldest;

		waiting_leave(r);
		r->answered = true;
	}
	event_free(s->started);
	event_free(s->ended);
	event_free(s->tick);
	for (size_t i = 0; i < LENGTH(signals); i++)
		event_free(s->signals[i]);
	connections_free(s->connections);
	event_base_free(s->base);
	listen_end(s->options.listen);
}

void service_free(struct service *s)
{
	loop_run(s->loop);
	loop_free(s->loop);
	text_fini(&s->head);
	text_fini(&s->extra);
	free(s);
}
