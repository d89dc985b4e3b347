/* metrics.c - see metrics.h. metrics.def lists every metric; a function here writes the samples of each. */
#include "api/metrics.h"
#include "api/http/connection.h"
#include "api/process.h"
#include "engine/base/counters.h"
#include "engine/busy.h"
#include "engine/db/storage.h"
#include "jobs/pause.h"

#include <string.h>

/* One answer of /metrics: the sources that its functions read. */
struct scrape {
	struct text               *to;
	const struct metrics      *metrics;
	struct engine             *engine;
	const struct lane_metrics *lanes;
	struct connection_metrics  connections;
	const struct census       *census; /* NULL: the database did not answer */
	struct process_figures     process;
	struct node                node; /* of the database, name empty without a cluster */
	const char                *name; /* the metric that is being written */
};

static const double latency_bounds_s[LATENCY_BUCKETS] = {.0005, .001, .002, .003, .005, .0075, .01, .02, .03,
                                                         .05,   .1,   .25,  .5,   1,    2.5,   5,   10};

const char *route_label(enum route route)
{
	static const char *const labels[ROUTES] = {
#define X(method, path, handler, callers) #method " " path,
#include "api/routes.def"
#undef X
		"none"};

	return labels[route];
}

/* ---- counting */

/* The two bits after the highest one of the time give the quarter of its doubling. */
static size_t orders_step(int64_t took_us)
{
	uint64_t us = took_us < 64 ? 64 : (uint64_t)took_us;
	unsigned bit = 63 - (unsigned)__builtin_clzll(us);
	size_t   step = (bit - 6) * 4 + (us >> (bit - 2) & 3);

	return step < ORDERS_STEPS ? step : ORDERS_STEPS - 1;
}

void metrics_answered(struct metrics *m, enum route route, int status, int64_t took_us)
{
	struct route_metrics *r = &m->routes[route];
	size_t                bucket = 0;

	assert(route < ROUTES && status >= STATUS_MIN && status < STATUS_END);
	while (bucket < LATENCY_BUCKETS && (double)took_us > latency_bounds_s[bucket] * 1e6)
		bucket++;
	r->by_status[status - STATUS_MIN]++;
	r->latency[bucket]++;
	r->latency_us += took_us;
	if (route == ROUTE_post_reservation || route == ROUTE_post_reservations_batch) {
		m->orders_us[orders_step(took_us)]++;
		m->orders_refused[INVALID] += status == 400;
	}
}

void metrics_ended(struct metrics *m, const struct op *op, enum outcome outcome)
{
	if (op->kind == OP_RESERVE && !outcome_is_repeat(outcome))
		(*(outcome == OUTCOME_OK ? &m->granted : &m->orders_refused[outcome]))++;
	m->settled += outcome == OUTCOME_OK && op->becomes == SETTLED;
}

void metrics_refused(struct metrics *m, enum outcome outcome)
{
	if (outcome != OUTCOME_OK && !outcome_is_repeat(outcome))
		m->refusals[outcome]++;
}

/* ---- the page. A metric of the database is equal in every process and has a label that says so: it is not added up
 * over processes. */

#define OF_DATABASE "scope=\"database\""

/* Writes a metric that has one value. */
#define VALUE(function, value)                                                \
	static void write_##function(struct scrape *p)                        \
	{                                                                     \
		text_format(p->to, "%s %lld\n", p->name, (long long)(value)); \
	}
VALUE(connections, p->connections.open)
VALUE(connections_cut, p->connections.cut)
VALUE(gathers, p->lanes->gathers)
VALUE(replays, p->lanes->replays)
VALUE(expired, counter_here(COUNT_EXPIRED))
VALUE(fenced, counter_here(COUNT_FENCED))
VALUE(reaped, counter_here(COUNT_REAPED_TASKS))
VALUE(events_written, counter_here(COUNT_EVENTS))
VALUE(deadlocks, counter_here(COUNT_DEADLOCKS))
VALUE(retries, counter_here(COUNT_RETRIES))
VALUE(delivered, counter_here(COUNT_DELIVERED))
VALUE(undelivered, counter_here(COUNT_UNDELIVERED))
VALUE(levels, counter_here(COUNT_LEVELS))
VALUE(unknown, p->lanes->unknown_outcomes)
VALUE(events_waiting, engine_waiting(p->engine))
VALUE(cached_skus, catalogue_skus(engine_catalogue(p->engine)))
VALUE(process_resident, p->process.resident_bytes)
VALUE(process_virtual, p->process.virtual_bytes)
VALUE(process_threads, p->process.threads)
VALUE(process_fds, p->process.fds)
VALUE(process_fds_max, p->process.fds_max)

static void write_process_cpu(struct scrape *p)
{
	text_format(p->to, "%s %.2f\n", p->name, p->process.cpu_s);
}

static void write_process_start(struct scrape *p)
{
	text_format(p->to, "%s %.2f\n", p->name, p->process.started_s);
}

static void write_build(struct scrape *p)
{
	text_format(p->to, "%s{version=\"" HOLDFAST_VERSION "\"} 1\n", p->name);
}

/* ---- the room of the database */

static void write_storage_full(struct scrape *p)
{
	text_format(p->to, "%s %d\n", p->name, storage_is_full(engine_source(p->engine)));
}

static void write_storage_free(struct scrape *p)
{
	int64_t bytes = storage_free(source_storage(engine_source(p->engine))->folder);

	if (bytes >= 0)
		text_format(p->to, "%s %lld\n", p->name, (long long)bytes);
}

/* ---- the node of a cluster */

static void write_node(struct scrape *p)
{
	if (*p->node.name)
		text_format(p->to, "%s{node=\"%s\",state=\"%s\",status=\"%s\"} 1\n", p->name, p->node.name,
		            p->node.state, p->node.status);
}

static void write_node_size(struct scrape *p)
{
	if (*p->node.name)
		text_format(p->to, "%s %lld\n", p->name, (long long)p->node.size);
}

static void write_node_seconds(struct scrape *p)
{
	if (*p->node.name)
		text_format(p->to, "%s{of=\"commit\"} %.6f\n%s{of=\"wait\"} %.6f\n", p->name,
		            (double)p->node.commit_us / 1e6, p->name, (double)p->node.wait_us / 1e6);
}

static void write_node_paused(struct scrape *p)
{
	if (*p->node.name)
		text_format(p->to, "%s %.3f\n", p->name, p->node.paused);
}

/* ---- calls */

static void write_requests(struct scrape *p)
{
	for (int route = 0; route < ROUTES; route++)
		for (int i = 0; i < STATUS_END - STATUS_MIN; i++)
			if (p->metrics->routes[route].by_status[i])
				text_format(p->to, "%s{route=\"%s\",status=\"%d\"} %lld\n", p->name,
				            route_label((enum route)route), STATUS_MIN + i,
				            (long long)p->metrics->routes[route].by_status[i]);
}

static void write_request_seconds(struct scrape *p)
{
	for (int route = 0; route < ROUTES; route++) {
		const struct route_metrics *r = &p->metrics->routes[route];
		const char                 *label = route_label((enum route)route);
		int64_t                     count = 0;

		for (int i = 0; i < LATENCY_BUCKETS; i++) {
			count += r->latency[i];
			text_format(p->to, "%s_bucket{route=\"%s\",le=\"%g\"} %lld\n", p->name, label,
			            latency_bounds_s[i], (long long)count);
		}
		count += r->latency[LATENCY_BUCKETS];
		text_format(p->to, "%s_bucket{route=\"%s\",le=\"+Inf\"} %lld\n", p->name, label, (long long)count);
		text_format(p->to, "%s_sum{route=\"%s\"} %.6f\n", p->name, label, (double)r->latency_us / 1e6);
		text_format(p->to, "%s_count{route=\"%s\"} %lld\n", p->name, label, (long long)count);
	}
}

static void write_queue_depth(struct scrape *p)
{
	for (unsigned lane = 0; lane < engine_lanes(p->engine); lane++)
		text_format(p->to, "%s{lane=\"%u\"} %zu\n", p->name, lane, engine_queue_depth(p->engine, lane));
}

static void write_busy(struct scrape *p)
{
	for (enum busy_cause c = 0; c < BUSY_CAUSES; c++)
		text_format(p->to, "%s{cause=\"%s\"} %lld\n", p->name, busy_name(c), (long long)busy_counted(c));
}

static void write_batch_requests(struct scrape *p)
{
	int64_t count = 0;

	for (size_t i = 0; i < LENGTH(p->lanes->batch_requests_bucket); i++) {
		count += p->lanes->batch_requests_bucket[i];
		text_format(p->to, "%s_bucket{le=\"%d\"} %lld\n", p->name, 1 << i, (long long)count);
	}
	text_format(p->to, "%s_bucket{le=\"+Inf\"} %lld\n", p->name, (long long)count);
	text_format(p->to, "%s_sum %lld\n", p->name, (long long)p->lanes->batch_requests);
	text_format(p->to, "%s_count %lld\n", p->name, (long long)count);
}

static void write_batch_seconds(struct scrape *p)
{
	text_format(p->to, "%s_sum %.6f\n", p->name, (double)p->lanes->batch_us / 1e6);
	text_format(p->to, "%s_count %lld\n", p->name, (long long)p->lanes->batch_count);
}

/* Several outcomes may share a code: the first of them writes the sum. */
static void write_refusals(struct scrape *p)
{
	for (int o = 0; o < OUTCOMES; o++) {
		const char *code = outcome_code((enum outcome)o);
		int64_t     sum = 0;
		int         first = o;

		for (int k = OUTCOMES - 1; k >= 0; k--)
			if (strcmp(outcome_code((enum outcome)k), code) == 0) {
				sum += p->metrics->refusals[k];
				first = k;
			}
		if (*code && first == o)
			text_format(p->to, "%s{code=\"%s\"} %lld\n", p->name, code, (long long)sum);
	}
}

static void write_reservations(struct scrape *p)
{
	for (int s = HELD; p->census && s < STATES; s++)
		text_format(p->to, "%s{state=\"%s\"," OF_DATABASE "} %lld\n", p->name,
		            reservation_state_name((enum reservation_state)s), (long long)p->census->by_state[s]);
}

/* A number for each kind of job, by the state of the reservations that it claims. */
static void by_kind(struct scrape *p, const int64_t *of_state, double unit)
{
	text_format(p->to, "%s{kind=\"expire\"," OF_DATABASE "} %.12g\n", p->name, (double)of_state[HELD] / unit);
	text_format(p->to, "%s{kind=\"settle\"," OF_DATABASE "} %.12g\n", p->name, (double)of_state[CONFIRMED] / unit);
}

/* Writes a metric of the census, by a call; nothing without a census. */
#define COUNTED(function, write)                       \
	static void write_##function(struct scrape *p) \
	{                                              \
		if (p->census)                         \
			write;                         \
	}
#define ONE(format, value) text_format(p->to, "%s{" OF_DATABASE "} " format "\n", p->name, value)
COUNTED(ready, by_kind(p, p->census->ready, 1))
COUNTED(claimed, by_kind(p, p->census->claimed, 1))
COUNTED(oldest_ready, by_kind(p, p->census->oldest_ready_ms, 1e3))
COUNTED(tasks_open, ONE("%lld", (long long)p->census->tasks_open))
COUNTED(oldest_lease, ONE("%.3f", (double)p->census->oldest_lease_ms / 1e3))
COUNTED(oldest_event, ONE("%.3f", (double)p->census->oldest_event_ms / 1e3))
COUNTED(levels_behind, ONE("%.3f", (double)p->census->levels_behind_ms / 1e3))

static void write_job_paused(struct scrape *p)
{
	for (enum job_name j = JOB_SETTLE; j < JOB_NAMES; j++)
		text_format(p->to, "%s{job=\"%s\"," OF_DATABASE "} %d\n", p->name, job_word(j), pause_known(j));
}

static void write_undelivered_age(struct scrape *p)
{
	for (size_t i = 0; p->census && i < p->census->webhooks_count; i++) {
		const struct webhook_behind *w = &p->census->webhooks[i];

		text_format(p->to, "%s{webhook=\"", p->name);
		for (const char *c = w->webhook_id; *c; c++)
			text_format(p->to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
		text_format(p->to, "\"," OF_DATABASE "} %.3f\n", (double)w->undelivered_ms / 1e3);
	}
}

static void write_events_kept(struct scrape *p)
{
	if (!p->census)
		return;
	text_format(p->to, "%s{kind=\"rows\"," OF_DATABASE "} %lld\n", p->name, (long long)p->census->event_rows);
	text_format(p->to, "%s{kind=\"bytes\"," OF_DATABASE "} %lld\n", p->name, (long long)p->census->event_bytes);
}

static void begin(struct scrape *p, const char *name, const char *type, const char *help)
{
	p->name = name;
	text_format(p->to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_write(struct text *to, const struct metrics *m, struct engine *e, const struct connections *connections,
                   const struct census *census)
{
	struct scrape scrape = {.to = to,
	                        .metrics = m,
	                        .engine = e,
	                        .lanes = engine_metrics(e),
	                        .connections = connections_metrics(connections),
	                        .census = census},
		      *p = &scrape;

	process_read(&scrape.process);
	source_node(engine_source(e), &scrape.node);
#define X(function, name, type, help) begin(p, name, type, help), write_##function(p);
#include "api/metrics.def"
#undef X
}
