/* activity.c - see activity.h. A second stands in the ring at its time modulo the ring's length. A second during which
 * the loop stood still is never closed: it is missing and reads null. */
#include "api/activity.h"
#include "api/health.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/busy.h"

#include <string.h>
#include <time.h>

enum { SECONDS = 600 };

/* SUMS grow: a second has their difference. MOSTS belong to the second alone. COUNTS are read from the database. */
enum figure {
	ANSWERED,
	GRANTED,
	BUSIES,
	BATCHES,
	SETTLED_HERE,
	DELIVERED,
	SUMS,
	QUEUE = SUMS,
	P50,
	P99,
	OLDEST_DUE,
	BURIED_ALL,
	TASKS,
	UNDELIVERED,
	FIGURES
};
static const char *const names[FIGURES] = {
	[ANSWERED] = "answered",
	[GRANTED] = "granted",
	[BUSIES] = "busy",
	[BATCHES] = "batches",
	[SETTLED_HERE] = "settled",
	[DELIVERED] = "delivered",
	[QUEUE] = "queue",
	[P50] = "p50_ms",
	[P99] = "p99_ms",
	[OLDEST_DUE] = "oldest_due_s",
	[BURIED_ALL] = "buried",
	[TASKS] = "tasks",
	[UNDELIVERED] = "undelivered",
};

struct second {
	int64_t  at;               /* s since 1970; 0: none */
	int64_t  figures[FIGURES]; /* -1: nothing; P50 and P99 in us */
	uint32_t refused[OUTCOMES];
};

struct activity {
	struct second ring[SECONDS];
	struct second now;        /* the second that is not over yet */
	int64_t       sums[SUMS]; /* at the beginning of `now`, as all below */
	int64_t       refused[OUTCOMES], orders_us[ORDERS_STEPS];
	int64_t       counted_ms; /* time of the last count of the database that was taken over */
};

struct activity *activity_new(void)
{
	return mem_alloc(sizeof(struct activity));
}

/* ---- a second */

static void sums_read(struct requests *all, int64_t sums[SUMS])
{
	const struct metrics *m = &all->metrics;

	memset(sums, 0, SUMS * sizeof(*sums));
	for (int route = 0; route < ROUTES; route++)
		for (int i = 0; i <= LATENCY_BUCKETS; i++)
			if (route != ROUTE_get_activity && route != ROUTE_get_livez && route != ROUTE_get_readyz &&
			    route != ROUTE_get_console)
				sums[ANSWERED] += m->routes[route].latency[i];
	for (enum busy_cause c = 0; c < BUSY_CAUSES; c++)
		sums[BUSIES] += busy_counted(c);
	sums[GRANTED] = m->granted;
	sums[BATCHES] = engine_metrics(all->engine)->batch_count;
	sums[SETTLED_HERE] = m->settled + counter_here(COUNT_SETTLED);
	sums[DELIVERED] = counter_here(COUNT_DELIVERED);
}

/* The time within which `percent` of the calls were answered; -1: there was no call. */
static int64_t percentile(const struct activity *a, const struct metrics *m, int percent)
{
	int64_t count = 0, passed = 0;

	for (int i = 0; i < ORDERS_STEPS; i++)
		count += m->orders_us[i] - a->orders_us[i];
	for (int i = 0; count > 0 && i < ORDERS_STEPS; i++) {
		passed += m->orders_us[i] - a->orders_us[i];
		if (passed * 100 >= count * percent)
			return (INT64_C(64) << i / 4) * (5 + i % 4) / 4;
	}
	return -1;
}

static void second_close(struct activity *a, struct requests *all)
{
	const struct metrics *m = &all->metrics;
	int64_t               sums[SUMS];

	sums_read(all, sums);
	for (int i = 0; i < SUMS; i++)
		a->now.figures[i] = sums[i] - a->sums[i];
	a->now.figures[P50] = percentile(a, m, 50);
	a->now.figures[P99] = percentile(a, m, 99);
	for (int o = 0; o < OUTCOMES; o++)
		a->now.refused[o] = (uint32_t)(m->orders_refused[o] - a->refused[o]);
	a->ring[a->now.at % SECONDS] = a->now;
}

static void second_begin(struct activity *a, struct requests *all, int64_t at)
{
	sums_read(all, a->sums);
	memcpy(a->refused, all->metrics.orders_refused, sizeof(a->refused));
	memcpy(a->orders_us, all->metrics.orders_us, sizeof(a->orders_us));
	a->now = (struct second){.at = at};
	for (int i = OLDEST_DUE; i < FIGURES; i++)
		a->now.figures[i] = -1;
}

static void census_take(struct activity *a, const struct census *c)
{
	int64_t *to = a->now.figures;

	if (c->counted_ms == a->counted_ms)
		return;
	a->counted_ms = c->counted_ms;
	to[OLDEST_DUE] = c->oldest_ready_ms[HELD] / 1000;
	if (c->oldest_ready_ms[CONFIRMED] / 1000 > to[OLDEST_DUE])
		to[OLDEST_DUE] = c->oldest_ready_ms[CONFIRMED] / 1000;
	to[BURIED_ALL] = c->by_state[BURIED];
	to[TASKS] = c->tasks_open;
	to[UNDELIVERED] = 0;
	for (size_t i = 0; i < c->webhooks_count; i++)
		if (c->webhooks[i].undelivered_ms / 1000 > to[UNDELIVERED])
			to[UNDELIVERED] = c->webhooks[i].undelivered_ms / 1000;
}

/* If the clock was set back, the ring is emptied: its seconds would lie in the future. */
void activity_tick(struct requests *all)
{
	struct activity *a = all->activity;
	int64_t          at = time(NULL), queued = 0;

	for (unsigned lane = 0; lane < engine_lanes(all->engine); lane++)
		queued += (int64_t)engine_queue_depth(all->engine, lane);
	if (queued > a->now.figures[QUEUE])
		a->now.figures[QUEUE] = queued;
	census_take(a, health_census());
	if (at == a->now.at)
		return;
	if (at < a->now.at)
		memset(a->ring, 0, sizeof(a->ring));
	else if (a->now.at > 0)
		second_close(a, all);
	second_begin(a, all, at);
}

/* ---- the answer */

struct span {
	const struct activity *a;
	int64_t                from, until; /* seconds from .. and before .. */
};

static const struct second *second_find(const struct activity *a, int64_t at)
{
	const struct second *s = &a->ring[at % SECONDS];

	return s->at == at ? s : NULL;
}

static void figure_put(struct json_writer *w, enum figure f, const struct second *s)
{
	if (!s || s->figures[f] < 0)
		json_put_null(w, NULL);
	else
		json_put_int(w, NULL, f == P50 || f == P99 ? (s->figures[f] + 999) / 1000 : s->figures[f]);
}

static bool is_of_code(int o, const char *code)
{
	return *code && strcmp(outcome_code((enum outcome)o), code) == 0;
}

/* Adds up the outcomes that share a code. */
static void code_write(struct json_writer *w, const struct span *span, const char *code)
{
	json_open_array(w, code);
	for (int64_t at = span->from; at < span->until; at++) {
		const struct second *s = second_find(span->a, at);
		int64_t              n = 0;

		for (int o = 0; s && o < OUTCOMES; o++)
			n += s->refused[o] && is_of_code(o, code) ? s->refused[o] : 0;
		if (s)
			json_put_int(w, NULL, n);
		else
			json_put_null(w, NULL);
	}
	json_close_array(w);
}

static void refused_write(struct json_writer *w, const struct span *span)
{
	int64_t all[OUTCOMES] = {0};

	for (int64_t at = span->from; at < span->until; at++)
		for (int o = 0; second_find(span->a, at) && o < OUTCOMES; o++)
			all[o] += second_find(span->a, at)->refused[o];
	json_open_object(w, "refused");
	for (int o = 0; o < OUTCOMES; o++) {
		const char *code = outcome_code((enum outcome)o);
		int64_t     n = 0;
		int         first = OUTCOMES;

		for (int k = OUTCOMES; k-- > 0;)
			if (is_of_code(k, code)) {
				n += all[k];
				first = k;
			}
		if (n > 0 && first == o)
			code_write(w, span, code);
	}
	json_close_object(w);
}

static void activity_write(struct json_writer *w, void *arg)
{
	const struct span *span = arg;

	json_put_time(w, "now", span->until * 1000);
	json_put_string(w, "instance", process_mark());
	json_put_int(w, "step_s", 1);
	json_put_time(w, "since", span->from * 1000);
	json_open_object(w, "series");
	for (enum figure f = 0; f < FIGURES; f++) {
		json_open_array(w, names[f]);
		for (int64_t at = span->from; at < span->until; at++)
			figure_put(w, f, second_find(span->a, at));
		json_close_array(w);
	}
	refused_write(w, span);
	json_close_object(w);
}

void get_activity(struct request *r)
{
	struct activity *a = r->all->activity;
	const char      *since = query_text(r, "since");
	struct span      span = {.a = a, .from = a->now.at - SECONDS, .until = a->now.at};
	int64_t          us;

	if (since && !time_read(since, &us)) {
		reply_invalid(r, "since", "must be a time as RFC 3339 has it, 2026-11-22T08:00:00Z");
		return;
	}
	/* A time ahead was answered before the clock was set back: answer with the whole ring again. */
	if (since && (us + 999999) / 1000000 > span.from && us / 1000000 <= a->now.at)
		span.from = (us + 999999) / 1000000;
	if (span.from > span.until)
		span.from = span.until;
	if (!query_end(r))
		return;
	health_count(r->all);
	reply_object(r, 200, activity_write, &span);
}
