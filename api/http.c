/* http.c - the server: evhttp, its loop, and what it costs to keep both honest.
 *
 * connection.c stands between the sockets and evhttp and answers what is no request; everything else comes here. All
 * methods are let in, so that a wrong one is told 405 with Allow. Bodies may be twice as long as the limit before they
 * are cut off, so that one that is too long is told so with its X-Request-Id. A request that waits for operations
 * longer than its deadline is answered 503; the operations come back later and find nobody waiting. */
#include "http.h"
#include "connection.h"
#include "listen.h"
#include "notify.h"
#include "spare.h"
#include "tls.h"
#include "uri.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HEADERS_MAX = 32 << 10,
	DEADLINE_MS = 10500, /* a little later than the lanes give up by themselves */
	TICK_MS = 100,
	DRAIN_MS = DEADLINE_MS + 500,
	QUIET_TICKS = 2, /* so that the last answers reach the wire */
};

struct service {
	struct service_options      options;
	struct engine              *engine;
	struct event_base          *base;
	struct evhttp              *http;
	struct evhttp_bound_socket *socket;
	struct connections         *connections;
	struct loop                *loop;
	struct event               *ended, *tick, *signals[3];
	struct request             *oldest, *newest; /* those that wait for operations */
	size_t                      requests;        /* born and not dead */
	struct listening            listening;
	bool                        draining;
	int                         quiet_ticks; /* since the last request was answered, while draining */
	int64_t                     drain_until_ms;
	struct route_figures        figures[ROUTES];
	int64_t                     refusals[OUTCOMES];
	struct request              unlucky; /* there was no memory for it; it is answered at once */
};

static const struct route_entry {
	enum evhttp_cmd_type method;
	const char          *allow, *path, *name;
	void (*handler)(struct request *r);
	enum callers callers;
} routes[] = {
#define X(method, path, handler, callers) {EVHTTP_REQ_##method, #method, path, #method " " path, handler, callers},
#include "routes.def"
#undef X
};

const char *route_name(enum route route)
{
	return route < ROUTE_NONE ? routes[route].name : "none";
}

/* ---- birth and death of a request */

void request_free(struct request *r)
{
	assert(r->magic == REQUEST_MAGIC && !r->transport && r->ops_left == 0);
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

const char *request_header(struct request *r, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(r->transport), name);
}

const char *request_body(struct request *r, size_t *len)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(r->transport);

	*len = evbuffer_get_length(body);
	return *len ? (const char *)evbuffer_pullup(body, -1) : "";
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

void reply_header(struct request *r, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(r->transport), name, value);
}

void reply_as(struct request *r, int status, const char *content_type, const void *body, size_t len)
{
	struct evhttp_request *ev = r->transport;
	struct evbuffer       *out = evhttp_request_get_output_buffer(ev);
	char                   length[24];

	if (evhttp_request_get_command(ev) != EVHTTP_REQ_HEAD && evbuffer_add(out, body, len) < 0) {
		reply_lost(r);
		return;
	}
	if (status != 204)
		reply_header(r, "Content-Type", content_type);
	reply_header(r, "X-Request-Id", r->id);
	if (r->service->draining)
		reply_header(r, "Connection", "close");
	if (status != 204) { /* evhttp leaves it out where it thinks that there is no body: HEAD, CONNECT */
		snprintf(length, sizeof(length), "%zu", len);
		reply_header(r, "Content-Length", length);
	}
	answer_count(r, status);
	r->transport = NULL;
	connection_answer(r->service->connections, ev, status, status_reason(status));
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

/* ---- dispatch */

static bool method_fits(enum evhttp_cmd_type asked, enum evhttp_cmd_type route)
{
	return asked == route || (asked == EVHTTP_REQ_HEAD && route == EVHTTP_REQ_GET);
}

/* The code in the path, decoded once; what it is called stands in the route's pattern. */
static bool read_param(struct request *r, const char *param, size_t len)
{
	const char *brace = strchr(routes[r->route].path, '{');
	char        name[32];

	if (!brace)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(brace + 1, "}"), brace + 1);
	if (percent_decode(r->param, sizeof(r->param), param, len) && code_valid(r->param, strlen(r->param), ID_MAX))
		return true;
	reply_invalid(r, name, "must be 1 to 64 bytes of printable ASCII without space / ? # %");
	return false;
}

static bool read_query(struct request *r)
{
	const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(r->transport)), *wrong;

	if (!query || !*query)
		return true;
	r->query = mem_try(sizeof(*r->query));
	if (!r->query) {
		reply_no_memory(r);
		return false;
	}
	if (query_parse(r->query, query, &wrong))
		return true;
	reply_invalid(r, wrong, "is not a readable query parameter");
	return false;
}

static void method_not_allowed(struct request *r, const char *path)
{
	char        allow[64] = "";
	const char *param;
	size_t      len;

	for (size_t i = 0; i < COUNT(routes); i++)
		if (path_fits(routes[i].path, path, &param, &len) && !strstr(allow, routes[i].allow)) {
			if (*allow)
				strcat(allow, ", ");
			strcat(allow, routes[i].allow);
			if (routes[i].method == EVHTTP_REQ_GET)
				strcat(allow, ", HEAD");
		}
	if (*allow == '\0') {
		reply_problem(r, 404, "not_found", NULL, "there is no such path", NULL, NULL);
		return;
	}
	reply_header(r, "Allow", allow);
	reply_problem(r, 405, "method_not_allowed", NULL, "the path is there, the method is not", NULL, NULL);
}

static void dispatch(struct request *r)
{
	enum evhttp_cmd_type method = evhttp_request_get_command(r->transport);
	const char          *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(r->transport)), *param;
	size_t               len, i = 0;

	while (i < COUNT(routes) &&
	       !(method_fits(method, routes[i].method) && path_fits(routes[i].path, path, &param, &len)))
		i++;
	r->route = (enum route)i;
	if (!keys_admit(r, r->route == ROUTE_NONE ? READERS : routes[i].callers))
		return; /* what is not there is told to those who have a key */
	if (r->route == ROUTE_NONE)
		method_not_allowed(r, path ? path : "");
	else if (read_param(r, param, len) && read_query(r))
		routes[i].handler(r);
}

/* Answered without a request: it was none. */
static void connection_refused(void *arg, int status, char *id, size_t id_size)
{
	struct service *s = arg;

	request_id_make(id, id_size);
	figures_count(&s->figures[ROUTE_NONE], status, 0);
}

static void request_came(struct evhttp_request *ev, void *arg)
{
	struct service *s = arg;
	struct request *r = mem_try(sizeof(*r));
	bool            clear = connection_came(s->connections, ev), memory = r && spare_is_there();

	if (!r) {
		r = &s->unlucky;
		*r = (struct request){0};
	}
	r->magic = REQUEST_MAGIC;
	r->service = s;
	r->transport = ev;
	r->route = ROUTE_NONE;
	r->began_us = clock_us();
	s->requests++;
	request_name(r);
	if (!clear) {
		reply_header(r, "Connection", "close");
		reply_invalid(r, NULL, "the request is malformed");
	} else if (memory) {
		dispatch(r);
	} else {
		reply_no_memory(r);
	}
}

/* ---- the loop */

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
	evhttp_del_accept_socket(s->http, s->socket);
	s->socket = NULL;
}

/* Without files to read again: a terminal was closed. */
static void hung_up(evutil_socket_t fd, short what, void *arg)
{
	const struct service_options *options = &((struct service *)arg)->options;
	bool                          keys = keys_reload(options->keys), tls = tls_reload(options->tls);

	if (!keys && !tls)
		drain(fd, what, arg);
}

/* ---- the service */

static const struct {
	int signal;
	void (*act)(evutil_socket_t fd, short what, void *arg);
} signals[] = {{SIGTERM, drain}, {SIGINT, drain}, {SIGHUP, hung_up}};

/* evhttp turns reading off and on for every request: the change list makes one epoll_ctl, or none, of that. */
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

static struct connections *connections_watch(struct service *s, struct evconnlistener *listener)
{
	const struct service_options *options = &s->options;
	struct connection_options     watch = {
		    .connections_max = options->connections_max,
		    .bytes_max = options->buffered_max,
		    .request_ms = options->request_s * INT64_C(1000),
		    .idle_ms = options->idle_s * INT64_C(1000),
		    .frame = {.head_max = HEADERS_MAX, .body_max = options->body_max * 2},
		    .refused = connection_refused,
		    .refused_arg = s,
		    .make = options->tls ? tls_bufferevent : NULL,
		    .make_arg = options->tls,
        };

	return connections_open(s->base, s->http, listener, &watch);
}

struct service *service_open(const struct service_options *options, struct engine *e, char *why, size_t why_size)
{
	struct service        *s = mem_alloc(sizeof(*s));
	struct timeval         tick = {0, TICK_MS * 1000};
	struct evconnlistener *listener;

	spare_open();
	s->options = *options;
	s->engine = e;
	s->base = base_new();
	s->http = evhttp_new(s->base);
	s->loop = loop_new();
	evhttp_set_allowed_methods(s->http, 0xffff);
	evhttp_set_max_headers_size(s->http, HEADERS_MAX);
	evhttp_set_max_body_size(s->http, (ev_ssize_t)options->body_max * 2);
	evhttp_set_gencb(s->http, request_came, s);
	listener = listen_open(s->base, options->listen, options->keys != NULL, &s->listening, why, why_size);
	if (s->listening.open && !options->tls)
		log_event(LOG_WARN, "clear_text", "address=%s hint=\"keys can be read on the way\"", options->listen);
	s->connections = connections_watch(s, listener);
	if (listener)
		s->socket = evhttp_bind_listener(s->http, listener);
	s->ended = event_new(s->base, loop_fd(s->loop), EV_READ | EV_PERSIST, ops_ended, s);
	s->tick = event_new(s->base, -1, EV_PERSIST, ticked, s);
	for (size_t i = 0; i < COUNT(signals); i++) {
		s->signals[i] = evsignal_new(s->base, signals[i].signal, signals[i].act, s);
		event_add(s->signals[i], NULL);
	}
	event_add(s->ended, NULL);
	event_add(s->tick, &tick);
	if (s->socket) {
		keys_start(options->keys, e, s->loop);
		return s;
	}
	service_close(s);
	service_free(s);
	return NULL;
}

const char *service_address(const struct service *s)
{
	return s->listening.address;
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
		r->transport = NULL;
	}
	event_free(s->ended);
	event_free(s->tick);
	for (size_t i = 0; i < COUNT(signals); i++)
		event_free(s->signals[i]);
	evhttp_free(s->http);
	connections_free(s->connections);
	event_base_free(s->base);
	if (s->listening.unix_path[0])
		unlink(s->listening.unix_path);
}

void service_free(struct service *s)
{
	loop_run(s->loop);
	loop_free(s->loop);
	free(s);
}
