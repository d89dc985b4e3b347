/* http.c - the server: evhttp, its loop, and what it costs to keep both honest.
 *
 * evhttp answers by itself, with a page of HTML, what it cannot read as a request; everything else comes here. All methods are let
 * in, so that a wrong one is told 405 with Allow. Bodies may be twice as long as the limit before evhttp steps in, so that one that
 * is too long is told so in our own words. A request that waits for operations longer than its deadline is answered 503; the
 * operations come back later and find nobody waiting. */
#include "http.h"
#include "uri.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	REQUEST_MAGIC = 0x48745265,
	HEADERS_MAX = 32 << 10,
	IDLE_S = 75,               /* a silent connection is closed */
	DEADLINE_MS = 10500,       /* a little later than the lanes give up by themselves */
	TICK_MS = 100,
	DRAIN_MS = 9000,
};

struct service {
	struct service_options options;
	struct engine         *engine;
	struct event_base     *base;
	struct evhttp         *http;
	struct evhttp_bound_socket *socket;
	struct loop           *loop;
	struct event          *ended, *tick, *sigterm, *sigint;
	struct request        *oldest, *newest;      /* those that wait for operations */
	size_t                 requests;              /* born and not dead */
	char                   address[160];
	char                   unix_path[108];
	bool                   draining;
	int64_t                drain_until_ms;
	uint64_t               id_prefix, id_count;
	struct route_figures   figures[ROUTES];
};

static const struct route_entry {
	enum evhttp_cmd_type method;
	const char          *allow, *path;
	void               (*handler)(struct request *r);
} routes[] = {
#define X(method, path, handler) {EVHTTP_REQ_##method, #method, path, handler},
#include "routes.def"
#undef X
};

const double latency_bounds_s[LATENCY_BUCKETS] = {.0005, .001, .002, .003, .005, .0075, .01, .02, .03, .05, .1, .25, 1, 5};
const int    statuses[STATUSES] = {200, 201, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 503};

const char *route_path(enum route route)
{
	return route < ROUTE_NONE ? routes[route].path : "none";
}

/* ---- birth and death of a request */

static void request_free(struct request *r)
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
	free(r);
}

static void request_name(struct request *r)
{
	const char *sent = evhttp_find_header(evhttp_request_get_input_headers(r->transport), "X-Request-Id");

	if (sent && code_valid(sent, strlen(sent), sizeof(r->id) - 4))
		strcpy(r->id, sent);
	else
		snprintf(r->id, sizeof(r->id), "%012llx-%llx", (unsigned long long)(r->service->id_prefix >> 16),
		         (unsigned long long)++r->service->id_count);
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

/* ---- answering */

static const char *status_reason(int status)
{
	static const struct {
		int         status;
		const char *reason;
	} reasons[] = {{200, "OK"}, {201, "Created"}, {204, "No Content"}, {400, "Bad Request"}, {401, "Unauthorized"},
	               {403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {409, "Conflict"},
	               {413, "Content Too Large"}, {415, "Unsupported Media Type"}, {422, "Unprocessable Content"},
	               {429, "Too Many Requests"}, {503, "Service Unavailable"}};

	for (size_t i = 0; i < COUNT(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

static void figures_count(struct request *r, int status)
{
	struct route_figures *f = &r->service->figures[r->route];
	int64_t               took_us = clock_us() - r->began_us;
	size_t                i = 0, bucket = 0;

	while (i < STATUSES - 1 && statuses[i] != status)
		i++;
	f->by_status[i]++;
	while (bucket < LATENCY_BUCKETS && (double)took_us > latency_bounds_s[bucket] * 1e6)
		bucket++;
	f->latency[bucket]++;
	f->latency_us += took_us;
	log_event(LOG_DEBUG, "request", "id=%s route=%s status=%d us=%lld", r->id, route_path(r->route), status,
	          (long long)took_us);
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

	if (status != 204)
		reply_header(r, "Content-Type", content_type);
	reply_header(r, "X-Request-Id", r->id);
	if (r->service->draining)
		reply_header(r, "Connection", "close");
	if (evhttp_request_get_command(ev) == EVHTTP_REQ_HEAD) {
		snprintf(length, sizeof(length), "%zu", len);
		reply_header(r, "Content-Length", length);
	} else {
		evbuffer_add(out, body, len);
	}
	figures_count(r, status);
	r->transport = NULL;
	evhttp_send_reply(ev, status, status_reason(status), NULL);
	if (r->ops_left == 0)
		request_free(r);
}

void reply(struct request *r, int status, const struct text *body)
{
	reply_as(r, status, "application/json", body->data ? body->data : "", body->len);
}

void problem_write(struct json_writer *w, int status, const char *code, const char *field, const char *detail)
{
	char type[80];

	snprintf(type, sizeof(type), "/problems/%s", code);
	json_put_string(w, "type", type);
	json_put_string(w, "title", status_reason(status));
	json_put_int(w, "status", status);
	json_put_string(w, "detail", detail ? detail : "");
	json_put_string(w, "code", code);
	if (field && *field)
		json_put_string(w, "field", field);
}

void reply_problem(struct request *r, int status, const char *code, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg)
{
	struct text        body = {0};
	struct json_writer w = {.to = &body};

	json_open_object(&w, NULL);
	problem_write(&w, status, code, field, detail);
	if (members)
		members(&w, arg);
	json_close_object(&w);
	if (status == 503 || status == 429)
		reply_header(r, "Retry-After", "1");
	reply_as(r, status, "application/problem+json", body.data, body.len);
	text_fini(&body);
}

void reply_invalid(struct request *r, const char *field, const char *detail)
{
	reply_problem(r, 400, "invalid_request", field, detail, NULL, NULL);
}

void reply_no_memory(struct request *r)
{
	reply_problem(r, 503, outcome_code(NO_MEMORY), NULL, outcome_detail(NO_MEMORY), NULL, NULL);
}

int outcome_status(enum outcome outcome)
{
	static const int by_class[] = {
	        [DONE] = 200, [REPEATED] = 200, [IMPOSSIBLE] = 422, [ABSENT] = 404, [CONFLICT] = 409, [MALFORMED] = 400,
	        [UNAVAILABLE] = 503,
	};

	return by_class[outcome_class(outcome)];
}

void reply_refused(struct request *r, enum outcome outcome, void (*members)(struct json_writer *w, void *arg), void *arg)
{
	reply_problem(r, outcome_status(outcome), outcome_code(outcome), outcome == BAD_CURSOR ? "cursor" : NULL,
	              outcome_detail(outcome), members, arg);
}

/* ---- reading */

static bool body_is_json(struct request *r)
{
	const char *type = evhttp_find_header(evhttp_request_get_input_headers(r->transport), "Content-Type");
	size_t      len = type ? strcspn(type, "; \t") : 0;

	return len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0;
}

bool read_body(struct request *r, struct json_reader *in, struct json_fault *fault)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(r->transport);
	size_t           len = evbuffer_get_length(body);
	const char      *text = len ? (const char *)evbuffer_pullup(body, -1) : "";
	char             detail[80];

	*fault = (struct json_fault){{0}, {0}};
	if (len > r->service->options.body_max) {
		snprintf(detail, sizeof(detail), "a body may have %zu bytes", r->service->options.body_max);
		reply_problem(r, 413, "too_large", NULL, detail, NULL, NULL);
		return false;
	}
	if (len > 0 && !body_is_json(r)) {
		reply_problem(r, 415, "unsupported_media_type", NULL, "the body must be application/json", NULL, NULL);
		return false;
	}
	r->body = text ? json_parse(text, len, fault) : NULL;
	if (!r->body) {
		if (!text || strcmp(fault->detail, JSON_NO_MEMORY) == 0)
			reply_no_memory(r);
		else
			reply_invalid(r, fault->field, fault->detail);
		return false;
	}
	if (in)
		json_begin(in, r->body, fault);
	return true;
}

bool read_end(struct request *r, struct json_reader *in, struct json_fault *fault)
{
	if (json_end(in))
		return query_end(r);
	reply_invalid(r, fault->field, fault->detail);
	return false;
}

const char *query_text(struct request *r, const char *name)
{
	for (size_t i = 0; r->query && i < r->query->count; i++)
		if (strcmp(r->query->name[i], name) == 0) {
			r->query->used[i] = true;
			return r->query->value[i];
		}
	return NULL;
}

bool query_int(struct request *r, const char *name, int64_t min, int64_t max, int64_t *out)
{
	const char *value = query_text(r, name);
	char        detail[100], *end;
	long long   n;

	if (!value)
		return true;
	errno = 0;
	n = strtoll(value, &end, 10);
	if (errno == 0 && *end == '\0' && strspn(value, "0123456789") == strlen(value) && *value && n >= min && n <= max &&
	    (*value != '0' || value[1] == '\0')) {
		*out = n;
		return true;
	}
	snprintf(detail, sizeof(detail), "must be an integer from %lld to %lld", (long long)min, (long long)max);
	reply_invalid(r, name, detail);
	return false;
}

bool query_end(struct request *r)
{
	for (size_t i = 0; r->query && i < r->query->count; i++)
		if (!r->query->used[i]) {
			reply_invalid(r, r->query->name[i], "is not a query parameter that this call knows");
			return false;
		}
	return true;
}

/* ---- operations */

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

static void request_op_done(void *arg, struct op *op)
{
	struct request *r = arg;

	assert(r->magic == REQUEST_MAGIC && op->magic != 0);
	op->ended = true;
	r->ops_left--;
	if (r->ops_left > 0)
		return;
	if (!r->transport) {
		request_free(r);
		return;
	}
	waiting_leave(r);
	r->answer(r);
}

enum outcome request_outcome(struct request *r, size_t i)
{
	return r->ops[i]->ended ? r->ops[i]->outcome : r->ops[i]->given_up;
}

static void request_begin(struct request *r, struct op *first, void (*answer)(struct request *r))
{
	r->answer = answer;
	if (r->ops_left == 0) {
		answer(r);
		return;
	}
	if (engine_start_batch(r->service->engine, first, r->ops_left, r->service->loop, request_op_done, r)) {
		waiting_join(r);
		return;
	}
	r->ops_left = 0;
	reply_refused(r, BUSY, NULL, NULL);
}

void request_start(struct request *r, struct op *op, void (*answer)(struct request *r))
{
	r->ops = mem_alloc(sizeof(*r->ops));
	r->ops[0] = op;
	r->ops_count = r->ops_left = 1;
	op->next = NULL;
	request_begin(r, op, answer);
}

void request_start_batch(struct request *r, void (*answer)(struct request *r))
{
	struct op *first = NULL, **last = &first;

	for (size_t i = 0; i < r->ops_count; i++)
		if (r->ops[i] && !r->ops[i]->ended) {
			*last = r->ops[i];
			last = &r->ops[i]->next;
			r->ops_left++;
		}
	request_begin(r, first, answer);
}

/* Past the deadline: what had not begun never will, of the rest nobody knows. The operations come back later. */
static void request_give_up(struct request *r)
{
	waiting_leave(r);
	for (size_t i = 0; i < r->ops_count; i++)
		if (r->ops[i] && !r->ops[i]->ended)
			r->ops[i]->given_up = op_cancel(r->ops[i]) || r->ops[i]->kind >= OP_GET ? DATABASE_AWAY : OUTCOME_UNKNOWN;
	r->answer(r);
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
	size_t               len;

	for (size_t i = 0; i < COUNT(routes); i++)
		if (method_fits(method, routes[i].method) && path_fits(routes[i].path, path, &param, &len)) {
			r->route = (enum route)i;
			if (read_param(r, param, len) && read_query(r))
				routes[i].handler(r);
			return;
		}
	method_not_allowed(r, path ? path : "");
}

static void request_came(struct evhttp_request *ev, void *arg)
{
	struct service *s = arg;
	struct request *r = mem_try(sizeof(*r));

	if (!r) {
		evhttp_send_reply(ev, 503, "Service Unavailable", NULL);
		return;
	}
	r->magic = REQUEST_MAGIC;
	r->service = s;
	r->transport = ev;
	r->route = ROUTE_NONE;
	r->began_us = clock_us();
	s->requests++;
	request_name(r);
	dispatch(r);
}

/* ---- the loop */

static void ops_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
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

	(void)fd;
	(void)what;
	while (s->oldest && now_us - s->oldest->began_us > DEADLINE_MS * INT64_C(1000))
		request_give_up(s->oldest);
	if (s->draining && (s->requests == 0 || clock_ms() > s->drain_until_ms))
		event_base_loopexit(s->base, NULL);
}

static void drain(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;

	(void)fd;
	(void)what;
	if (s->draining)
		return;
	log_event(LOG_INFO, "draining", "requests=%zu", s->requests);
	s->draining = true;
	s->drain_until_ms = clock_ms() + DRAIN_MS + DEADLINE_MS;
	evhttp_del_accept_socket(s->http, s->socket);
	s->socket = NULL;
}

/* ---- the listening socket */

static bool listen_unix(struct service *s, const char *path, char *why, size_t why_size)
{
	struct sockaddr_un      sun = {.sun_family = AF_UNIX};
	struct evconnlistener  *listener;

	if (strlen(path) >= sizeof(sun.sun_path))
		return why_write(why, why_size, "the path of the socket is longer than %zu bytes", sizeof(sun.sun_path) - 1);
	strcpy(sun.sun_path, path);
	strcpy(s->unix_path, path);
	unlink(path);
	listener = evconnlistener_new_bind(s->base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 1024,
	                                   (struct sockaddr *)&sun, sizeof(sun));
	if (!listener)
		return why_write(why, why_size, "cannot listen on %s: %s", path, strerror(errno));
	snprintf(s->address, sizeof(s->address), "unix:%s", path);
	s->socket = evhttp_bind_listener(s->http, listener);
	return s->socket != NULL;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static void address_name(struct service *s, evutil_socket_t fd)
{
	struct sockaddr_storage at;
	socklen_t               len = sizeof(at);
	char                    host[64] = "";

	getsockname(fd, (struct sockaddr *)&at, &len);
	if (at.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&at;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(s->address, sizeof(s->address), "%s:%u", host, ntohs(in->sin_port));
	} else {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&at;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		snprintf(s->address, sizeof(s->address), "[%s]:%u", host, ntohs(in->sin6_port));
	}
}

static bool listen_tcp(struct service *s, const char *where, char *why, size_t why_size)
{
	struct sockaddr_storage address;
	int                     len = sizeof(address);
	struct evconnlistener  *listener;
	char                    copy[128];

	snprintf(copy, sizeof(copy), "%s", strncmp(where, "localhost:", 10) == 0 ? "127.0.0.1:" : where);
	if (strncmp(where, "localhost:", 10) == 0)
		strncat(copy, where + 10, sizeof(copy) - strlen(copy) - 1);
	if (!strchr(copy, ':') || evutil_parse_sockaddr_port(copy, (struct sockaddr *)&address, &len))
		return why_write(why, why_size, "--listen %s is neither ADDR:PORT nor unix:PATH", where);
	if (!is_loopback(&address))
		return why_write(why, why_size, "--listen %s is open to others and there are no keys: use loopback or unix:PATH",
		                 where);
	listener = evconnlistener_new_bind(s->base, NULL, NULL,
	                                   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 1024,
	                                   (struct sockaddr *)&address, len);
	if (!listener)
		return why_write(why, why_size, "cannot listen on %s: %s", where, strerror(errno));
	address_name(s, evconnlistener_get_fd(listener));
	s->socket = evhttp_bind_listener(s->http, listener);
	return s->socket != NULL;
}

/* ---- the service */

struct service *service_open(const struct service_options *options, struct engine *e, char *why, size_t why_size)
{
	struct service *s = mem_alloc(sizeof(*s));
	struct timeval  tick = {0, TICK_MS * 1000};
	bool            listens;

	s->options = *options;
	s->engine = e;
	s->base = event_base_new();
	s->http = evhttp_new(s->base);
	s->loop = loop_new();
	random_bytes(&s->id_prefix, sizeof(s->id_prefix));
	evhttp_set_allowed_methods(s->http, 0xffff);
	evhttp_set_max_headers_size(s->http, HEADERS_MAX);
	evhttp_set_max_body_size(s->http, (ev_ssize_t)options->body_max * 2);
	evhttp_set_timeout(s->http, IDLE_S);
	evhttp_set_gencb(s->http, request_came, s);
	listens = strncmp(options->listen, "unix:", 5) == 0 ? listen_unix(s, options->listen + 5, why, why_size)
	                                                    : listen_tcp(s, options->listen, why, why_size);
	s->ended = event_new(s->base, loop_fd(s->loop), EV_READ | EV_PERSIST, ops_ended, s);
	s->tick = event_new(s->base, -1, EV_PERSIST, ticked, s);
	s->sigterm = evsignal_new(s->base, SIGTERM, drain, s);
	s->sigint = evsignal_new(s->base, SIGINT, drain, s);
	event_add(s->ended, NULL);
	event_add(s->tick, &tick);
	event_add(s->sigterm, NULL);
	event_add(s->sigint, NULL);
	if (listens)
		return s;
	service_close(s);
	return NULL;
}

const char *service_address(const struct service *s)
{
	return s->address;
}

int service_run(struct service *s)
{
	event_base_dispatch(s->base);
	return s->requests == 0 ? EXIT_DONE : EXIT_TROUBLE;
}

void service_close(struct service *s)
{
	event_free(s->ended);
	event_free(s->tick);
	event_free(s->sigterm);
	event_free(s->sigint);
	evhttp_free(s->http);
	event_base_free(s->base);
	loop_free(s->loop);
	if (s->unix_path[0])
		unlink(s->unix_path);
	free(s);
}
