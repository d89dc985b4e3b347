/* service.c - see service.h. A loop serves sockets that have bytes, operations that ended, a tick ten times a second,
 * and signals. All methods are let in, so that a wrong one is answered 405 with Allow. Bodies may be twice as long as
 * the limit before they are cut off, so that a client with a longer one gets a 413 with its X-Request-Id. */
#include "api/service.h"
#include "api/access.h"
#include "api/activity.h"
#include "api/common.h"
#include "api/health.h"
#include "api/http/connection.h"
#include "api/http/listen.h"
#include "api/http/tls.h"
#include "api/key_limit.h"
#include "api/notify.h"
#include "api/request.h"
#include "api/route.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/db/db.h"
#include "engine/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>

enum {
	HEAD_MAX = 32 << 10, /* bytes of a request's head */
	TICK_MS = 100,
	DRAIN_MS = REQUEST_DEADLINE_MS + 500,
	QUIET_TICKS = 2, /* time for the last answers to reach the wire, while a client is there */
};

/* What a loop owns. */
struct service_loop {
	struct event_base *base;
	struct requests    requests;
	struct event      *ended;       /* operations have ended */
	int                quiet_ticks; /* ticks since the last answer, while draining */
};

/* What the process owns. The first loop runs on the main thread, has the signals, and ticks for the process, too. */
struct service {
	struct service_options options;
	struct common          common;
	struct service_loop    first;
	struct event          *tick, *signals[3];
	int64_t                drain_from_ms; /* the end of the delay before a drain; 0: no drain is wanted yet */
	int64_t                drain_until_ms;
};

/* ---- a loop */

static uint64_t connection_heard(void *arg, struct asked *asked)
{
	return route_takes(((struct requests *)arg)->common, asked);
}

static void connection_asked(void *arg, const struct asked *asked)
{
	struct requests *all = arg;
	struct request  *r = request_new(all, asked);

	if (all->common->notes)
		access_asked(all->common->told_arg, r, asked);
	route_dispatch(r);
}

/* A new client finds no free place: the reader of events that has waited longest is answered now. */
static void connection_crowded(void *arg)
{
	engine_give_way(((struct requests *)arg)->common->engine, 1);
}

static void ops_started(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	engine_wake(((struct requests *)arg)->common->engine);
}

static void ops_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	loop_run(((struct requests *)arg)->loop);
}

/* No client is left, so the drain ends. If requests of clients that were cut off still wait, a tick ends the drain
 * after their deadline. */
static void emptied(void *arg)
{
	struct service_loop *l = arg;

	if (l->requests.waiting_count == 0)
		event_base_loopexit(l->base, NULL);
}

static void loop_tick(struct service_loop *l)
{
	connections_tick(l->requests.connections);
	requests_tick(&l->requests);
}

/* True: for some ticks of a drain nothing moves any more. */
static bool loop_is_quiet(struct service_loop *l)
{
	if (l->requests.waiting_count == 0 && connections_moving(l->requests.connections) == 0)
		l->quiet_ticks++;
	else
		l->quiet_ticks = 0;
	return l->quiet_ticks > QUIET_TICKS;
}

/* ---- the process */

static void drain(struct service *s)
{
	if (s->common.draining)
		return;
	s->drain_until_ms = clock_ms() + DRAIN_MS; /* before log_event, as the log may be slow */
	log_event(LOG_INFO, "draining", "requests=%zu", s->first.requests.count);
	s->common.draining = true;
	notify_stopping();
	connections_last(s->first.requests.connections, emptied, &s->first);
	engine_give_way(s->common.engine, ENGINE_ALL);
}

/* SIGTERM, SIGINT. Readiness ends at once; balancers have the delay to notice. The second signal ends the delay. */
static void asked_to_end(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	bool            again = s->common.leaving;

	(void)fd, (void)what;
	s->common.leaving = true;
	s->drain_from_ms = clock_ms() + s->options.drain_delay_s * 1000;
	if (again || s->options.drain_delay_s == 0)
		drain(s);
	else
		log_event(LOG_INFO, "drain_delayed", "seconds=%lld", (long long)s->options.drain_delay_s);
}

static void service_tick(struct service *s)
{
	const char *other_schema = source_other_schema(engine_source(s->common.engine));

	if (!s->common.draining && other_schema) {
		log_event(LOG_ERROR, "other_schema", "why=\"%s\"", other_schema);
		drain(s);
	}
	if (s->drain_from_ms && clock_ms() >= s->drain_from_ms)
		drain(s);
	keys_tick(s->options.keys);
	access_tick(s->options.access);
	activity_tick(&s->common);
	key_limit_tick(s->common.key_limit);
	notify_alive();
}

static void ticked(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	bool            draining = s->common.draining;

	(void)fd, (void)what;
	service_tick(s);
	loop_tick(&s->first);
	if (draining && (loop_is_quiet(&s->first) || clock_ms() > s->drain_until_ms))
		event_base_loopexit(s->first.base, NULL);
}

/* SIGHUP: the sender wants files read again, or is a terminal that was closed. The service goes on either way. */
static void hung_up(evutil_socket_t fd, short what, void *arg)
{
	const struct service_options *options = &((struct service *)arg)->options;
	bool                          keys = keys_reload(options->keys), tls = tls_reload(options->tls);
	bool                          more = options->hung_up(options->arg);

	(void)fd, (void)what;
	if (!access_reopen(options->access) && !keys && !tls && !more)
		log_event(LOG_INFO, "hangup",
		          "hint=\"without keys, certificate and --config there is nothing to read again\"");
}

/* ---- opening and closing */

static const struct {
	int signal;
	void (*act)(evutil_socket_t fd, short what, void *arg);
} signals[] = {{SIGTERM, asked_to_end}, {SIGINT, asked_to_end}, {SIGHUP, hung_up}};

static void *allocate(size_t size)
{
	return mem_resize(NULL, size);
}

/* After an error libevent ends the process. At its start it means a descriptor that was refused. */
static void libevent_says(int severity, const char *message)
{
	if (severity >= EVENT_LOG_ERR)
		descriptor_end(errno, message);
	log_event(LOG_DEBUG, "libevent", "said=\"%s\"", message);
}

/* EPOLL_USE_CHANGELIST: an event removed and added again in one turn costs no epoll_ctl. */
static struct event_base *base_new(void)
{
	struct event_config *config;
	struct event_base   *base;

	/* Without memory the process ends: libevent would send half an answer. */
	event_set_mem_functions(allocate, mem_resize, free);
	event_set_log_callback(libevent_says);
	config = event_config_new();
	event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(config);
	event_config_free(config);
	if (!base)
		descriptor_end(errno, "no loop can be made");
	return base;
}

static struct connections *connections_new(const struct service_options *options, struct service_loop *l)
{
	struct connection_options with = {
		.connections_max = options->connections_max,
		.bytes_max = options->buffered_max,
		.others = &l->requests.ops_bytes,
		.request_ms = options->request_s * INT64_C(1000),
		.idle_ms = options->idle_s * INT64_C(1000),
		.head_max = HEAD_MAX,
		.body_max = options->body_max * 2,
		.tls = options->tls,
		.heard = connection_heard,
		.asked = connection_asked,
		.refused = request_refused,
		.crowded = connection_crowded,
		.arg = &l->requests,
	};

	return connections_open(l->base, options->listen, &with);
}

/* Opens a loop. Its event base is made already. */
static void loop_open(struct service_loop *l, const struct service_options *options, struct common *common)
{
	l->requests = (struct requests){.common = common,
	                                .loop = loop_new(),
	                                .ops_bytes_max = options->buffered_max / 2,
	                                .other = common->loops};
	common->loops = &l->requests;
	l->requests.connections = connections_new(options, l);
	requests_tick(&l->requests);
	l->requests.wake = event_new(l->base, -1, EV_PERSIST, ops_started, &l->requests);
	l->ended = event_new(l->base, loop_fd(l->requests.loop), EV_READ | EV_PERSIST, ops_ended, &l->requests);
	event_add(l->ended, NULL);
}

static void loop_close(struct service_loop *l)
{
	requests_close(&l->requests);
	event_free(l->requests.wake);
	event_free(l->ended);
	connections_free(l->requests.connections);
	event_base_free(l->base);
}

static void loop_end(struct service_loop *l)
{
	loop_run(l->requests.loop);
	assert(l->requests.count == 0);
	loop_free(l->requests.loop);
	requests_fini(&l->requests);
}

static void events_watch(struct service *s)
{
	struct timeval tick = {0, TICK_MS * 1000};

	s->tick = event_new(s->first.base, -1, EV_PERSIST, ticked, s);
	for (size_t i = 0; i < LENGTH(signals); i++) {
		s->signals[i] = evsignal_new(s->first.base, signals[i].signal, signals[i].act, s);
		event_add(s->signals[i], NULL);
	}
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

	s->options = *options;
	s->first.base = base_new();
	if (!listen_start(options->listen, s->first.base, why, why_size)) {
		event_base_free(s->first.base);
		free(s);
		return NULL;
	}
	if (!options->tls)
		clear_text_warn(options->listen);
	s->common = (struct common){.engine = e,
	                            .webhooks = options->webhooks,
	                            .public_hosts = options->public_hosts,
	                            .known_only = options->known_only,
	                            .body_max = options->body_max,
	                            .ready = options->ready,
	                            .ready_arg = options->arg,
	                            .tls = options->tls,
	                            .keys = options->keys,
	                            .counts = counts_new(),
	                            .activity = activity_new()};
	access_watch(options->access, &s->common);
	loop_open(&s->first, options, &s->common);
	activity_tick(&s->common);
	events_watch(s);
	if (options->keys)
		s->common.key_limit = key_limit_open(options->keys, e, s->first.requests.loop);
	return s;
}

int service_run(struct service *s, int64_t *drained_by_ms)
{
	event_base_dispatch(s->first.base);
	*drained_by_ms = s->drain_until_ms;
	return s->first.requests.waiting_count > 0 ? EXIT_TROUBLE : EXIT_DONE;
}

void service_close(struct service *s)
{
	event_free(s->tick);
	for (size_t i = 0; i < LENGTH(signals); i++)
		event_free(s->signals[i]);
	loop_close(&s->first);
	listen_end(s->options.listen);
}

void service_free(struct service *s)
{
	loop_end(&s->first);
	key_limit_free(s->common.key_limit);
	counts_free(s->common.counts);
	activity_free(s->common.activity);
	free(s);
}
