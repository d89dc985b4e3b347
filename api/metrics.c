/* metrics.c - see metrics.h. metrics.def lists every metric; a function here writes the samples of each. */
#include "api/metrics.h"
#include "api/process.h"
#include "commit.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/busy.h"
#include "engine/db/storage.h"
#include "jobs/pause.h"

/* One answer of /metrics: the sources that its functions read. */
struct scrape {
	struct text                *to;
	const struct metrics       *metrics;
	struct engine              *engine;
	const struct lane_metrics  *lanes;
	struct connection_metrics   connections;
	const struct process_state *state;
	const struct census        *census; /* NULL: the database did not answer */
	struct process_figures      process;
	struct node                 node; /* of the database, name empty without a cluster */
	const char                 *name; /* the metric that is being written */
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

/* One thread counts, so nothing comes between the two. */
static void add(_Atomic int64_t *to, int64_t n)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

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
	add(&r->by_status[status - STATUS_MIN], 1);
	add(&r->latency[bucket], 1);
	add(&r->latency_us, took_us);
	if (route == ROUTE_post_reservation || route == ROUTE_post_reservations_batch) {
		add(&m->orders_us[orders_step(took_us)], 1);
		add(&m->orders_refused[INVALID], status == 400);
	}
}

void metrics_ended(struct metrics *m, const struct op *op, enum outcome outcome)
{
	if (op->kind == OP_RESERVE && (outcome == OUTCOME_OK || !outcome_is_repeat(outcome)))
		add(outcome == OUTCOME_OK ? &m->granted : &m->orders_refused[outcome], 1);
	add(&m->settled, outcome == OUTCOME_OK && op->becomes == SETTLED);
}

void metrics_refused(struct metrics *m, enum outcome outcome)
{
	if (outcome != OUTCOME_OK && !outcome_is_repeat(outcome))
		add(&m->refusals[outcome], 1);
}

void metrics_malformed(struct metrics *m, enum outcome why)
{
	metrics_refused(m, why);
	add(&m->orders_refused[why], 1);
}

void metrics_add(struct metrics *sum, const struct metrics *of)
{
	_Atomic int64_t       *to = (_Atomic int64_t *)sum;
	const _Atomic int64_t *from = (const _Atomic int64_t *)of;

	_Static_assert(sizeof(*sum) % sizeof(*to) == 0, "metrics are numbers of one type");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		add(&to[i], from[i]);
}

/* ---- the page. A metric of the database is equal in every process and has a label that says so: it is not added up
 * over processes. */

#define OF_DATABASE "scope=\"database\""

static void write_build(struct scrape *p)
{
	text_format(p->to, "%s{version=\"" HOLDFAST_VERSION "\",commit=\"" HOLDFAST_COMMIT "\"} 1\n", p->name);
}

static void write_certificate(struct scrape *p)
{
	if (p->state->certificate_until != TIME_NONE)
		text_format(p->to, "%s %lld\n", p->name, (long long)p->state->certificate_until / 1000);
}

static void label_value(struct text *to, const char *value)
{
	for (const char *c = value; *c; c++)
		text_format(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
}

static void key_sample(struct scrape *p, const struct secret *s, int64_t ms)
{
	text_format(p->to, "%s{key=\"", p->name);
	label_value(p->to, s->key->name);
	text_format(p->to, "\",secret=\"%s\"} %lld\n", s->old ? "old" : "current", (long long)ms / 1000);
}

static void key_expiry_tell(void *arg, const struct secret *s)
{
	if (s->until != INT64_MAX)
		key_sample(arg, s, s->until);
}

static void key_used_tell(void *arg, const struct secret *s)
{
	if (s->used)
		key_sample(arg, s, s->used);
}

static void write_key_expiry(struct scrape *p)
{
	keys_each(p->state->keys, key_expiry_tell, p);
}

static void write_key_used(struct scrape *p)
{
	keys_each(p->state->keys, key_used_tell, p);
}

/* ---- the room of the database */

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

/* Calls of a group take like times, and one alert serves them. */
enum group { OF_ORDERS, OF_READS, OF_STOCK, OF_EVENTS, OF_TASKS, OF_ADMIN, OF_CONSOLE, GROUPS };
static const char *const group_names[GROUPS] = {"orders", "reads", "stock", "events", "tasks", "admin", "console"};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static enum group group_of(enum route route)
{
	static const struct {
		const char *path;
		enum group  changes, reads; /* reads: GET */
	} groups[] = {{"/v1/reservations/find", OF_READS, OF_READS},
	              {"/v1/reservations", OF_ORDERS, OF_READS},
	              {"/v1/confirmations", OF_ORDERS, OF_READS},
	              {"/v1/releases", OF_ORDERS, OF_READS},
	              {"/v1/settlements", OF_ORDERS, OF_READS},
	              {"/v1/availability", OF_READS, OF_READS},
	              {"/v1/stock", OF_READS, OF_READS},
	              {"/v1/movements", OF_STOCK, OF_READS},
	              {"/v1/skus", OF_STOCK, OF_READS},
	              {"/v1/locations", OF_STOCK, OF_READS},
	              {"/v1/events", OF_EVENTS, OF_EVENTS},
	              {"/v1/tasks", OF_TASKS, OF_TASKS},
	              {"/v1/kicks", OF_TASKS, OF_TASKS},
	              {"/v1/buried", OF_TASKS, OF_TASKS},
	              {"/v1/", OF_ADMIN, OF_ADMIN}};

	const char *label = route_label(route), *path = strchr(label, ' ');

	for (size_t i = 0; path && i < LENGTH(groups); i++)
		if (begins(path + 1, groups[i].path))
			return begins(label, "GET ") ? groups[i].reads : groups[i].changes;
	return OF_CONSOLE; /* health, metrics, and what fits no call, too */
}

static void write_request_seconds(struct scrape *p)
{
	struct route_metrics sums[GROUPS] = {0};

	for (int route = 0; route < ROUTES; route++) {
		const struct route_metrics *r = &p->metrics->routes[route];
		struct route_metrics       *sum = &sums[group_of((enum route)route)];

		for (int i = 0; i <= LATENCY_BUCKETS; i++)
			add(&sum->latency[i], r->latency[i]);
		add(&sum->latency_us, r->latency_us);
	}
	for (int g = 0; g < GROUPS; g++) {
		const char *name = group_names[g];
		int64_t     count = 0;

		for (int i = 0; i < LATENCY_BUCKETS; i++) {
			count += sums[g].latency[i];
			text_format(p->to, "%s_bucket{group=\"%s\",le=\"%g\"} %lld\n", p->name, name,
			            latency_bounds_s[i], (long long)count);
		}
		count += sums[g].latency[LATENCY_BUCKETS];
		text_format(p->to, "%s_bucket{group=\"%s\",le=\"+Inf\"} %lld\n", p->name, name, (long long)count);
		text_format(p->to, "%s_sum{group=\"%s\"} %.6f\n", p->name, name, (double)sums[g].latency_us / 1e6);
		text_format(p->to, "%s_count{group=\"%s\"} %lld\n", p->name, name, (long long)count);
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

static void write_levels_of(struct scrape *p)
{
	if (p->census)
		text_format(p->to, "%s{level=\"low\"," OF_DATABASE "} %lld\n%s{level=\"out\"," OF_DATABASE "} %lld\n",
		            p->name, (long long)p->census->low, p->name, (long long)p->census->out);
}

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
		label_value(p->to, w->webhook_id);
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

void metrics_write(struct text *to, const struct metrics *m, struct engine *e, struct connection_metrics connections,
                   const struct process_state *state, const struct census *census)
{
	struct scrape scrape = {.to = to,
	                        .metrics = m,
	                        .engine = e,
	                        .lanes = engine_metrics(e),
	                        .connections = connections,
	                        .state = state,
	                        .census = census},
		      *p = &scrape;

	process_read(&scrape.process);
	source_node(engine_source(e), &scrape.node);
#define X(function, name, type, help)    begin(p, name, type, help), write_##function(p);
#define SECONDS(name, type, help, value) begin(p, name, type, help), text_format(to, "%s %.2f\n", name, value);
#define OF_CENSUS(name, type, help, member) \
	begin(p, name, type, help);         \
	if (census)                         \
		text_format(to, "%s{" OF_DATABASE "} %lld\n", name, (long long)census->member);
#define AGE(name, type, help, member) \
	begin(p, name, type, help);   \
	if (census)                   \
		text_format(to, "%s{" OF_DATABASE "} %.3f\n", name, (double)census->member / 1e3);
#define BY_KIND(name, type, help, member, unit) \
	begin(p, name, type, help);             \
	if (census)                             \
		by_kind(p, census->member, unit);
#define ONE(name, type, help, value) begin(p, name, type, help), text_format(to, "%s %lld\n", name, (long long)(value));
#include "api/metrics.def"
#undef X
#undef ONE
#undef SECONDS
#undef OF_CENSUS
#undef AGE
#undef BY_KIND
}
