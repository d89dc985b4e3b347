/* service.c - see service.h. The loop serves sockets that have bytes, operations that ended, a tick ten times a second,
 * and signals. All methods are let in, so that a wrong one is answered 405 with Allow. Bodies may be twice as long as
 * the limit before they are cut off, so that a client with a longer one gets a 413 with its X-Request-Id. */
#include "api/service.h"
#include "api/access.h"
#include "api/activity.h"
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
#include <stdlib.h>

enum {
	HEAD_MAX = 32 << 10, /* bytes of a request's head */
	TICK_MS = 100,
	DRAIN_MS = REQUEST_DEADLINE_MS + 500,
	QUIET_TICKS = 2, /* time for the last answers to reach the wire, while a client is there */
};

struct service {
	struct service_options options;
	struct event_base     *base;
	struct requests        requests;
	struct event          *ended, *tick, *signals[3];
	int                    quiet_ticks;   /* ticks since the last answer, while draining */
	int64_t                drain_from_ms; /* the end of the delay before a drain; 0: no drain is wanted yet */
	int64_t                drain_until_ms;
};

/* ---- the loop */

static uint64_t connection_heard(void *arg, struct asked *asked)
{
	return route_takes(arg, asked);
}

static void connection_asked(void *arg, const struct asked *asked)
{
	struct requests *all = arg;
	struct request  *r = request_new(all, asked);

	if (all->notes)
		access_asked(all->told_arg, r, asked);
	route_dispatch(r);
}

/* A new client finds no free place: the reader of events that has waited longest is answered now. */
static void connection_crowded(void *arg)
{
	engine_give_way(((struct requests *)arg)->engine, 1);
}

static void ops_started(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	engine_wake(((struct service *)arg)->requests.engine);
}

static void ops_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	loop_run(((struct service *)arg)->requests.loop);
}

/* No client is left, so the drain ends. If requests of clients that were cut off still wait, a tick ends the drain
 * after their deadline. */
static void emptied(void *arg)
{
	struct service *s = arg;

	if (s->requests.waiting_count == 0)
		event_base_loopexit(s->base, NULL);
}

static void drain(struct service *s)
{
	if (s->requests.draining)
		return;
	s->drain_until_ms = clock_ms() + DRAIN_MS; /* before log_event, as the log may be slow */
	log_event(LOG_INFO, "draining", "requests=%zu", s->requests.count);
	s->requests.draining = true;
	notify_stopping();
	connections_last(s->requests.connections, emptied, s);
	engine_give_way(s->requests.engine, ENGINE_ALL);
}

/* SIGTERM, SIGINT. Readiness ends at once; balancers have the delay to notice. The second signal ends the delay. */
static void asked_to_end(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	bool            again = s->requests.leaving;

	(void)fd, (void)what;
	s->requests.leaving = true;
	s->drain_from_ms = clock_ms() + s->options.drain_delay_s * 1000;
	if (again || s->options.drain_delay_s == 0)
		drain(s);
	else
		log_event(LOG_INFO, "drain_delayed", "seconds=%lld", (long long)s->options.drain_delay_s);
}

static void ticked(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	bool            draining = s->requests.draining;
	const char     *other_schema = source_other_schema(engine_source(s->requests.engine));

	(void)fd, (void)what;
	if (!draining && other_schema) {
		log_event(LOG_ERROR, "other_schema", "why=\"%s\"", other_schema);
		drain(s);
	}
	if (s->drain_from_ms && clock_ms() >= s->drain_from_ms)
		drain(s);
	access_tick(s->options.access);
	connections_tick(s->requests.connections);
	requests_tick(&s->requests);
	activity_tick(&s->requests);
	key_limit_tick(s->requests.key_limit);
	notify_alive();
	if (draining && s->requests.waiting_count == 0 && connections_moving(s->requests.connections) == 0)
		s->quiet_ticks++;
	else
		s->quiet_ticks = 0;
	if (s->quiet_ticks > QUIET_TICKS || (draining && clock_ms() > s->drain_until_ms))
		event_base_loopexit(s->base, NULL);
}

/* SIGHUP: the sender wants files read again, or is a terminal that was closed. The service goes on either way. */
static void hung_up(evutil_socket_t fd, short what, void *arg)
{
	const struct service_options *options = &((struct service *)arg)->options;
	bool                          keys = keys_reload(options->keys), tls = tls_reload(options->tls);

	(void)fd, (void)what;
	if (!access_reopen(options->access) && !keys && !tls)
		log_event(LOG_INFO, "hangup", "hint=\"without keys and certificate there is nothing to read again\"");
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

static struct connections *connections_new(struct service *s)
{
	const struct service_options *options = &s->options;
	struct connection_options     with = {
		    .connections_max = options->connections_max,
		    .bytes_max = options->buffered_max,
		    .others = &s->requests.ops_bytes,
		    .request_ms = options->request_s * INT64_C(1000),
		    .idle_ms = options->idle_s * INT64_C(1000),
		    .http1 = {.head_max = HEAD_MAX, .body_max = options->body_max * 2},
		    .tls = options->tls,
		    .heard = connection_heard,
		    .asked = connection_asked,
		    .refused = request_refused,
		    .crowded = connection_crowded,
		    .arg = &s->requests,
        };

	return connections_open(s->base, options->listen, &with);
}

static void events_watch(struct service *s)
{
	struct timeval tick = {0, TICK_MS * 1000};

	s->requests.wake = event_new(s->base, -1, EV_PERSIST, ops_started, s);
	s->ended = event_new(s->base, loop_fd(s->requests.loop), EV_READ | EV_PERSIST, ops_ended, s);
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

	s->options = *options;
	s->base = base_new();
	if (!listen_start(options->listen, s->base, why, why_size)) {
		event_base_free(s->base);
		free(s);
		return NULL;
	}
	if (!options->tls)
		clear_text_warn(options->listen);
	s->requests = (struct requests){.engine = e,
	                                .loop = loop_new(),
	                                .keys = options->keys,
	                                .public_hosts = options->public_hosts,
	                                .known_only = options->known_only,
	                                .webhooks = options->webhooks,
	                                .body_max = options->body_max,
	                                .ops_bytes_max = options->buffered_max / 2,
	                                .ready = options->ready,
	                                .ready_arg = options->arg};
	access_watch(options->access, &s->requests);
	s->requests.connections = connections_new(s);
	requests_tick(&s->requests);
	s->requests.activity = activity_new();
	activity_tick(&s->requests);
	events_watch(s);
	if (options->keys)
		s->requests.key_limit = key_limit_open(options->keys, e, s->requests.loop);
	return s;
}

int service_run(struct service *s, int64_t *drained_by_ms)
{
	event_base_dispatch(s->base);
	*drained_by_ms = s->drain_until_ms;
	return s->requests.waiting_count > 0 ? EXIT_TROUBLE : EXIT_DONE;
}

void service_close(struct service *s)
{
	requests_close(&s->requests);
	event_free(s->requests.wake);
	event_free(s->ended);
	event_free(s->tick);
	for (size_t i = 0; i < LENGTH(signals); i++)
		event_free(s->signals[i]);
	connections_free(s->requests.connections);
	event_base_free(s->base);
	listen_end(s->options.listen);
}

void service_free(struct service *s)
{
	loop_run(s->requests.loop);
	assert(s->requests.count == 0);
	loop_free(s->requests.loop);
	key_limit_free(s->requests.key_limit);
	requests_fini(&s->requests);
	free(s->requests.activity);
	free(s);
}
