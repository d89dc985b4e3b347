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

#include <pthread.h>
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

/* The counters of all loops, added up. */
struct sums {
	int64_t figures[SUMS];
	int64_t refused[OUTCOMES], orders_us[ORDERS_STEPS];
};

struct activity {
	struct census   census; /* the last count of the database that was taken over; the first loop's alone */
	pthread_mutex_t lock;   /* of all below */
	struct second   ring[SECONDS];
	struct second   now;   /* the second that is not over yet */
	struct sums     begun; /* at the beginning of `now` */
};

struct activity *activity_new(void)
{
	struct activity *a = mem_alloc(sizeof(*a));

	pthread_mutex_init(&a->lock, NULL);
	return a;
}

void activity_free(struct activity *a)
{
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- a second */

static void metrics_take(struct sums *to, const struct metrics *m)
{
	for (int route = 0; route < ROUTES; route++)
		for (int i = 0; i <= LATENCY_BUCKETS; i++)
			if (route != ROUTE_get_activity && route != ROUTE_get_livez && route != ROUTE_get_readyz &&
			    route != ROUTE_get_console)
				to->figures[ANSWERED] += m->routes[route].latency[i];
	to->figures[GRANTED] += m->granted;
	to->figures[SETTLED_HERE] += m->settled;
	for (int o = 0; o < OUTCOMES; o++)
		to->refused[o] += m->orders_refused[o];
	for (int i = 0; i < ORDERS_STEPS; i++)
		to->orders_us[i] += m->orders_us[i];
}

static void sums_read(const struct common *common, struct sums *to)
{
	*to = (struct sums){0};
	for (const struct requests *all = common->loops; all; all = all->other)
		metrics_take(to, &all->metrics);
	for (enum busy_cause c = 0; c < BUSY_CAUSES; c++)
		to->figures[BUSIES] += busy_counted(c);
	to->figures[BATCHES] = engine_metrics(common->engine)->batch_count;
	to->figures[SETTLED_HERE] += counter_here(COUNT_SETTLED);
	to->figures[DELIVERED] = counter_here(COUNT_DELIVERED);
}

/* The time within which `percent` of the calls were answered; -1: there was no call. */
static int64_t percentile(const struct sums *begun, const struct sums *ended, int percent)
{
	int64_t count = 0, passed = 0;

	for (int i = 0; i < ORDERS_STEPS; i++)
		count += ended->orders_us[i] - begun->orders_us[i];
	for (int i = 0; count > 0 && i < ORDERS_STEPS; i++) {
		passed += ended->orders_us[i] - begun->orders_us[i];
		if (passed * 100 >= count * percent)
			return (INT64_C(64) << i / 4) * (5 + i % 4) / 4;
	}
	return -1;
}

static void second_close(struct activity *a, const struct sums *ended)
{
	assert(a->now.at > 0);
	for (int i = 0; i < SUMS; i++)
		a->now.figures[i] = ended->figures[i] - a->begun.figures[i];
	a->now.figures[P50] = percentile(&a->begun, ended, 50);
	a->now.figures[P99] = percentile(&a->begun, ended, 99);
	for (int o = 0; o < OUTCOMES; o++)
		a->now.refused[o] = (uint32_t)(ended->refused[o] - a->begun.refused[o]);
	a->ring[a->now.at % SECONDS] = a->now;
}

/* Begins the second `at`. If the clock was set back, the ring is emptied: its seconds would lie in the future. */
static void second_begin(struct activity *a, const struct common *common, int64_t at)
{
	struct sums sums;

	sums_read(common, &sums);
	if (at < a->now.at)
		memset(a->ring, 0, sizeof(a->ring));
	else if (a->now.at > 0)
		second_close(a, &sums);
	a->begun = sums;
	a->now = (struct second){.at = at};
	for (int i = OLDEST_DUE; i < FIGURES; i++)
		a->now.figures[i] = -1;
}

static void census_take(struct second *now, const struct census *c)
{
	int64_t *to = now->figures;

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

void activity_tick(struct common *common)
{
	struct activity *a = common->activity;
	int64_t          at = time(NULL), queued = 0;
	bool             counted = counts_renew(common->counts, &a->census);

	for (unsigned lane = 0; lane < engine_lanes(common->engine); lane++)
		queued += (int64_t)engine_queue_depth(common->engine, lane);
	pthread_mutex_lock(&a->lock);
	if (queued > a->now.figures[QUEUE])
		a->now.figures[QUEUE] = queued;
	if (counted)
		census_take(&a->now, &a->census);
	if (at != a->now.at)
		second_begin(a, common, at);
	pthread_mutex_unlock(&a->lock);
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

static void activity_write(struct json_writer *w, const struct span *span)
{
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

/* A time ahead was answered before the clock was set back: the answer is the whole ring again. */
static void span_read(struct activity *a, bool given, int64_t since_us, struct span *to)
{
	*to = (struct span){.a = a, .from = a->now.at - SECONDS, .until = a->now.at};
	if (given && (since_us + 999999) / 1000000 > to->from && since_us / 1000000 <= a->now.at)
		to->from = (since_us + 999999) / 1000000;
	if (to->from > to->until)
		to->from = to->until;
}

void get_activity(struct request *r)
{
	struct activity   *a = r->all->common->activity;
	const char        *since = query_text(r, "since");
	struct span        span;
	int64_t            us = 0;
	struct text        body = {0};
	struct json_writer w = {.to = &body};

	if (since && !time_read(since, &us)) {
		reply_invalid(r, "since", "must be a time as RFC 3339 has it, 2026-11-22T08:00:00Z");
		return;
	}
	if (!query_end(r))
		return;
	health_count(r->all);
	pthread_mutex_lock(&a->lock);
	span_read(a, since != NULL, us, &span);
	json_open_object(&w, NULL);
	activity_write(&w, &span);
	json_close_object(&w);
	pthread_mutex_unlock(&a->lock);
	reply_as(r, 200, "application/json", body.data, body.len);
	text_fini(&body);
}
