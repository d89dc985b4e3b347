/* status.c - how the service is: livez, readyz, metrics, and its contract. */
#include "api/http.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS_AGE_MS = 10000, COUNTS_OLD_MS = 15000 };

static const struct {
	const char *name, *text;
} contract[] = {
#include "openapi.h"
};

/* ---- health */

static void reply_health(struct request *r, bool verbose, const struct text *checks)
{
	struct text        body = {.tries = true};
	struct json_writer w = {.to = &body};

	json_open_object(&w, NULL);
	json_put_string(&w, "status", "ok");
	if (verbose) {
		text_add(&body, ",\"checks\":");
		text_bytes(&body, checks->data, checks->len);
	}
	json_close_object(&w);
	reply(r, 200, &body);
	text_fini(&body);
}

void get_livez(struct request *r)
{
	struct text checks = {.tries = true};
	bool        verbose = query_text(r, "verbose") != NULL;

	text_add(&checks, "[{\"name\":\"process\",\"status\":\"ok\"}]");
	if (query_end(r))
		reply_health(r, verbose, &checks);
	text_fini(&checks);
}

static void checks_member(struct json_writer *w, void *arg)
{
	const struct text *checks = arg;

	text_add(w->to, ",\"checks\":");
	text_bytes(w->to, checks->data, checks->len);
}

void get_readyz(struct request *r)
{
	const struct service_options *options = service_options(request_service(r));
	bool                          draining = service_is_draining(request_service(r));
	bool                          verbose = query_text(r, "verbose") != NULL, ready;
	struct text                   checks = {.tries = true};

	if (!query_end(r))
		return;
	ready = options->ready(options->arg, &checks) && !draining;
	if (ready)
		reply_health(r, verbose, &checks);
	else
		reply_problem(r, 503, outcome_code(DATABASE_AWAY), NULL,
		              draining ? "the process is ending" : "the database does not answer",
		              verbose ? checks_member : NULL, &checks);
	text_fini(&checks);
}

/* ---- the contract */

void get_openapi(struct request *r)
{
	if (query_end(r))
		reply_as(r, 200, "application/yaml", contract[0].text, strlen(contract[0].text));
}

/* ---- metrics. Each function writes the samples of one. */

struct metrics {
	struct text               *to;
	struct request            *r;
	struct engine             *engine;
	const struct lane_metrics *figures;
	const struct census       *counts; /* NULL: the database did not answer */
	const char                *name;
};

static void sample(struct metrics *m, int64_t value)
{
	text_format(m->to, "%s %lld\n", m->name, (long long)value);
}

/* What every process of a database tells alike says so: it is not added up over processes. */
#define OF_DATABASE "scope=\"database\""

static void counter(struct metrics *m, enum counter c)
{
	sample(m, counter_here(c));
}

static const double latency_bounds_s[LATENCY_BUCKETS] = {.0005, .001, .002, .003, .005, .0075, .01,
                                                         .02,   .03,  .05,  .1,   .25,  1,     5};
static const int    statuses[STATUSES] = {200, 201, 204, 400, 401, 403, 404, 405, 409, 413, 415, 417, 422, 429, 503};

void figures_count(struct route_figures *f, int status, int64_t took_us)
{
	size_t i = 0, bucket = 0;

	while (i < STATUSES - 1 && statuses[i] != status)
		i++;
	f->by_status[i]++;
	while (bucket < LATENCY_BUCKETS && (double)took_us > latency_bounds_s[bucket] * 1e6)
		bucket++;
	f->latency[bucket]++;
	f->latency_us += took_us;
}

static void write_requests(struct metrics *m)
{
	const struct route_figures *f = service_figures(request_service(m->r));

	for (int route = 0; route < ROUTES; route++)
		for (int i = 0; i < STATUSES && statuses[i]; i++)
			if (f[route].by_status[i])
				text_format(m->to, "%s{route=\"%s\",status=\"%d\"} %lld\n", m->name,
				            route_name((enum route)route), statuses[i],
				            (long long)f[route].by_status[i]);
}

static void write_request_seconds(struct metrics *m)
{
	const struct route_figures *f = service_figures(request_service(m->r));

	for (int route = 0; route < ROUTES; route++) {
		const char *path = route_name((enum route)route);
		int64_t     count = 0;

		for (int i = 0; i < LATENCY_BUCKETS; i++) {
			count += f[route].latency[i];
			text_format(m->to, "%s_bucket{route=\"%s\",le=\"%g\"} %lld\n", m->name, path,
			            latency_bounds_s[i], (long long)count);
		}
		count += f[route].latency[LATENCY_BUCKETS];
		text_format(m->to, "%s_bucket{route=\"%s\",le=\"+Inf\"} %lld\n", m->name, path, (long long)count);
		text_format(m->to, "%s_sum{route=\"%s\"} %.6f\n", m->name, path, (double)f[route].latency_us / 1e6);
		text_format(m->to, "%s_count{route=\"%s\"} %lld\n", m->name, path, (long long)count);
	}
}

static void write_queue_depth(struct metrics *m)
{
	for (unsigned lane = 0; lane < engine_lanes(m->engine); lane++)
		text_format(m->to, "%s{lane=\"%u\"} %zu\n", m->name, lane, engine_queue_depth(m->engine, lane));
}

static void write_batch_requests(struct metrics *m)
{
	int64_t count = 0;

	for (size_t i = 0; i < LENGTH(m->figures->batch_requests_bucket); i++) {
		count += m->figures->batch_requests_bucket[i];
		text_format(m->to, "%s_bucket{le=\"%d\"} %lld\n", m->name, 1 << i, (long long)count);
	}
	text_format(m->to, "%s_bucket{le=\"+Inf\"} %lld\n", m->name, (long long)count);
	text_format(m->to, "%s_sum %lld\n", m->name, (long long)m->figures->batch_requests);
	text_format(m->to, "%s_count %lld\n", m->name, (long long)count);
}

static void write_batch_seconds(struct metrics *m)
{
	text_format(m->to, "%s_sum %.6f\n", m->name, (double)m->figures->batch_us / 1e6);
	text_format(m->to, "%s_count %lld\n", m->name, (long long)m->figures->batch_count);
}

/* Several outcomes may share a code: the sum stands at the first of them. */
static void write_refusals(struct metrics *m)
{
	const int64_t *refusals = service_refusals(request_service(m->r));

	for (int o = 0; o < OUTCOMES; o++) {
		const char *code = outcome_code((enum outcome)o);
		int64_t     sum = 0;
		int         first = o;

		for (int k = OUTCOMES - 1; k >= 0; k--)
			if (strcmp(outcome_code((enum outcome)k), code) == 0) {
				sum += refusals[k];
				first = k;
			}
		if (*code && first == o)
			text_format(m->to, "%s{code=\"%s\"} %lld\n", m->name, code, (long long)sum);
	}
}

static void write_reservations(struct metrics *m)
{
	for (int s = HELD; m->counts && s < STATES; s++)
		text_format(m->to, "%s{state=\"%s\"," OF_DATABASE "} %lld\n", m->name,
		            reservation_state_name((enum reservation_state)s), (long long)m->counts->by_state[s]);
}

/* A number for each kind of job, by the state of the reservations that it claims. */
static void by_kind(struct metrics *m, const int64_t *of_state, double unit)
{
	if (!m->counts)
		return;
	text_format(m->to, "%s{kind=\"expire\"," OF_DATABASE "} %.12g\n", m->name, (double)of_state[HELD] / unit);
	text_format(m->to, "%s{kind=\"settle\"," OF_DATABASE "} %.12g\n", m->name, (double)of_state[CONFIRMED] / unit);
}

static void write_ready(struct metrics *m)
{
	by_kind(m, m->counts ? m->counts->ready : NULL, 1);
}

static void write_claimed(struct metrics *m)
{
	by_kind(m, m->counts ? m->counts->claimed : NULL, 1);
}

static void write_oldest_ready(struct metrics *m)
{
	by_kind(m, m->counts ? m->counts->oldest_ready_ms : NULL, 1e3);
}

static void write_connections(struct metrics *m)
{
	sample(m, connections_figures(service_connections(request_service(m->r))).open);
}

static void write_connections_cut(struct metrics *m)
{
	sample(m, connections_figures(service_connections(request_service(m->r))).cut);
}

static void write_gathers(struct metrics *m)
{
	sample(m, m->figures->gathers);
}

static void write_replays(struct metrics *m)
{
	sample(m, m->figures->replays);
}

static void write_expired(struct metrics *m)
{
	counter(m, COUNT_EXPIRED);
}

static void write_tasks_open(struct metrics *m)
{
	if (m->counts)
		text_format(m->to, "%s{" OF_DATABASE "} %lld\n", m->name, (long long)m->counts->tasks_open);
}

static void write_oldest_lease(struct metrics *m)
{
	if (m->counts)
		text_format(m->to, "%s{" OF_DATABASE "} %.3f\n", m->name, (double)m->counts->oldest_lease_ms / 1e3);
}

static void write_fenced(struct metrics *m)
{
	counter(m, COUNT_FENCED);
}

static void write_reaped(struct metrics *m)
{
	counter(m, COUNT_REAPED_TASKS);
}

static void write_deadlocks(struct metrics *m)
{
	counter(m, COUNT_DEADLOCKS);
}

static void write_retries(struct metrics *m)
{
	counter(m, COUNT_RETRIES);
}

static void write_unknown(struct metrics *m)
{
	sample(m, m->figures->unknown_outcomes);
}

static void write_cached_skus(struct metrics *m)
{
	sample(m, (int64_t)catalogue_skus(engine_catalogue(m->engine)));
}

static const struct {
	void (*write)(struct metrics *m);
	const char *name, *type, *help;
} metrics[] = {
#define X(function, name, type, help) {write_##function, name, type, help},
#include "api/metrics.def"
#undef X
};

static void reply_metrics(struct request *r, const struct census *counts)
{
	struct text    body = {.tries = true};
	struct metrics m = {&body, r, request_engine(r), engine_metrics(request_engine(r)), counts, NULL};

	for (size_t i = 0; i < LENGTH(metrics); i++) {
		m.name = metrics[i].name;
		text_format(&body, "# HELP %s %s\n# TYPE %s %s\n", m.name, metrics[i].help, m.name, metrics[i].type);
		metrics[i].write(&m);
	}
	if (body.failed)
		reply_no_memory(r);
	else
		reply_as(r, 200, "text/plain; version=0.0.4; charset=utf-8", body.data, body.len);
	text_fini(&body);
}

/* The last count, and whether the next one is under way; the loop's thread alone. */
static struct {
	struct census counts; /* counted_ms 0: there is none */
	bool          under_way;
} census;

static const struct census *counts_of_late(int64_t age_ms)
{
	bool late = census.counts.counted_ms && clock_boot_ms() - census.counts.counted_ms < age_ms;

	return late ? &census.counts : NULL;
}

static void metrics_answer_request(struct request *r)
{
	census.under_way = false;
	if (request_outcome(r, 0) == OUTCOME_OK)
		census.counts = *r->ops[0]->census;
	reply_metrics(r, counts_of_late(COUNTS_OLD_MS));
}

/* What must be counted in the database is counted when somebody asks and the last count is ten seconds old. Whoever
 * asks meanwhile gets the last one, as long as it may be told, or waits for the next. */
void get_metrics(struct request *r)
{
	const struct census *counts = counts_of_late(census.under_way ? COUNTS_OLD_MS : COUNTS_AGE_MS);
	struct op           *op;

	if (!query_end(r))
		return;
	if (counts || !engine_ready(request_engine(r))) { /* no waiting for a database that does not answer */
		reply_metrics(r, counts);
		return;
	}
	op = op_new(OP_COUNTS, 0, 0);
	if (!op) {
		reply_no_memory(r);
		return;
	}
	census.under_way = true;
	request_start(r, op, metrics_answer_request);
}
