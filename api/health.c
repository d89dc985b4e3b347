/* health.c - see health.h. A census of the database for /metrics is taken when a call needs one and the last census is
 * ten seconds old. A call that comes meanwhile gets the last census, if young enough, or waits for the next. No call
 * waits for the brief census, which is for the activity. */
#include "api/health.h"
#include "api/http/tls.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/db/storage.h"
#include "engine/read/census.h"

#include <pthread.h>

enum { CENSUS_AGE_MS = 10000, CENSUS_OLD_MS = 15000 };

static const struct {
	const char *name, *text;
} contract[] = {
#include "openapi.h"
};

void get_openapi(struct request *r)
{
	if (query_end(r))
		reply_as(r, 200, "application/yaml", contract[0].text, strlen(contract[0].text));
}

/* ---- livez and readyz */

static void checks_write(struct json_writer *w, void *arg)
{
	json_put_json(w, "checks", ((const struct text *)arg)->data);
}

static void ok_write(struct json_writer *w, void *arg)
{
	json_put_string(w, "status", "ok");
	if (arg)
		checks_write(w, arg);
}

void get_livez(struct request *r)
{
	struct text checks = {0};
	bool        verbose = query_text(r, "verbose") != NULL;

	text_add(&checks, "[{\"name\":\"process\",\"status\":\"ok\"}]");
	if (query_end(r))
		reply_object(r, 200, ok_write, verbose ? &checks : NULL);
	text_fini(&checks);
}

void get_readyz(struct request *r)
{
	struct common *common = r->all->common;
	bool           draining = common->leaving || common->draining, verbose = query_text(r, "verbose") != NULL;
	bool           full = storage_is_full(engine_source(common->engine));
	struct text    checks = {0};

	if (!query_end(r))
		return;
	if (common->ready(common->ready_arg, &checks) && !draining)
		reply_object(r, 200, ok_write, verbose ? &checks : NULL);
	else
		reply_problem(r, 503, outcome_code(full && !draining ? STORAGE_FULL : DATABASE_AWAY), NULL,
		              draining ? "the process is ending"
		              : full   ? "the database has no room to write"
		                       : "the database does not answer",
		              verbose ? checks_write : NULL, &checks);
	text_fini(&checks);
}

/* ---- counts */

struct counts {
	pthread_mutex_t lock;
	struct last {
		struct census census;    /* counted_ms 0: no census yet */
		bool          under_way; /* the next one */
	} whole, brief;
};

struct counts *counts_new(void)
{
	struct counts *c = mem_alloc(sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void counts_free(struct counts *c)
{
	pthread_mutex_destroy(&c->lock);
	free(c);
}

bool counts_renew(struct counts *c, struct census *to)
{
	const struct census *newest;
	bool                 newer;

	pthread_mutex_lock(&c->lock);
	newest = c->whole.census.counted_ms > c->brief.census.counted_ms ? &c->whole.census : &c->brief.census;
	newer = newest->counted_ms > to->counted_ms;
	if (newer)
		*to = *newest;
	pthread_mutex_unlock(&c->lock);
	return newer;
}

static void census_take(struct counts *c, struct last *to, const struct op *op, enum outcome outcome)
{
	pthread_mutex_lock(&c->lock);
	to->under_way = false;
	if (outcome == OUTCOME_OK)
		to->census = *op->census;
	pthread_mutex_unlock(&c->lock);
}

/* Begins a whole census for a call. */
static void census_ask(struct request *r, int64_t age_max_ms, void (*answer)(struct request *r))
{
	struct counts *c = r->all->common->counts;
	struct op     *op = op_new(OP_COUNTS, 0, 0);

	op->census->age_max_ms = age_max_ms;
	pthread_mutex_lock(&c->lock);
	c->whole.under_way = true;
	pthread_mutex_unlock(&c->lock);
	request_start(r, op, answer);
}

/* ---- metrics */

/* Writes the sums of all loops. */
static void metrics_sum(struct request *r, const struct census *census, struct text *to)
{
	struct common            *common = r->all->common;
	struct metrics           *sum = mem_alloc(sizeof(*sum));
	struct connection_metrics connections = {0};
	struct process_state      state = {.draining = common->leaving || common->draining,
	                                   .certificate_until = tls_expires(common->tls),
	                                   .keys = common->keys};
	struct text               checks = {0};

	for (const struct requests *all = common->loops; all; all = all->other) {
		struct connection_metrics of = {0};

		if (all->connections)
			of = connections_metrics(all->connections);
		metrics_add(sum, &all->metrics);
		connections.open += of.open;
		connections.cut += of.cut;
	}
	state.ready = common->ready(common->ready_arg, &checks) && !common->leaving && !common->draining;
	metrics_write(to, sum, common->engine, connections, &state, census);
	text_fini(&checks);
	free(sum);
}

/* Writes the metrics with the last census, if that is younger than `age_ms`, or than `age_under_way_ms` while the next
 * one is under way. If it is older, `must` decides: true writes them without a census, false writes nothing. True: the
 * metrics were written. */
static bool metrics_young(struct request *r, int64_t age_ms, int64_t age_under_way_ms, bool must, struct text *to)
{
	struct counts       *c = r->all->common->counts;
	const struct census *census = &c->whole.census;
	bool                 young;

	pthread_mutex_lock(&c->lock);
	assert(census->counted_ms <= clock_boot_ms());
	young = census->counted_ms &&
	        clock_boot_ms() - census->counted_ms < (c->whole.under_way ? age_under_way_ms : age_ms);
	if (young || must)
		metrics_sum(r, young ? census : NULL, to);
	pthread_mutex_unlock(&c->lock);
	return young || must;
}

static void reply_metrics(struct request *r, const struct text *body)
{
	reply_as(r, 200, "text/plain; version=0.0.4; charset=utf-8", body->data, body->len);
}

static void metrics_answer_request(struct request *r)
{
	struct counts *c = r->all->common->counts;
	struct text    body = {0};

	census_take(c, &c->whole, r->ops[0], request_outcome(r, 0));
	(void)metrics_young(r, CENSUS_OLD_MS, CENSUS_OLD_MS, true, &body);
	reply_metrics(r, &body);
	text_fini(&body);
}

/* No call waits for a database that does not answer. */
void get_metrics(struct request *r)
{
	bool        ready = engine_ready(r->all->common->engine);
	struct text body = {0};

	if (!query_end(r))
		return;
	if (metrics_young(r, CENSUS_AGE_MS, CENSUS_OLD_MS, !ready, &body))
		reply_metrics(r, &body);
	else
		census_ask(r, CENSUS_AGE_MS, metrics_answer_request);
	text_fini(&body);
}

/* ---- stats */

static void figure_write(void *arg, const char *name, int64_t n)
{
	json_put_int(arg, name, n);
}

static void stats_write(struct json_writer *w, void *arg)
{
	const struct census *census = arg;

	census_tell(census, figure_write, w);
	json_put_time(w, "counted_at", census->counted_at);
}

static void stats_answer_request(struct request *r)
{
	struct counts *c = r->all->common->counts;
	enum outcome   outcome = request_outcome(r, 0);

	census_take(c, &c->whole, r->ops[0], outcome);
	if (outcome == OUTCOME_OK)
		reply_object(r, 200, stats_write, r->ops[0]->census);
	else
		reply_refused(r, outcome, NULL, NULL);
}

void get_stats(struct request *r)
{
	if (query_end(r))
		census_ask(r, 0, stats_answer_request);
}

static void health_count_done(void *arg, struct op *op)
{
	struct counts *c = arg;

	census_take(c, &c->brief, op, op->outcome);
	op_free(op);
}

void health_count(struct requests *all)
{
	struct counts *c = all->common->counts;
	struct engine *e = all->common->engine;
	struct op     *op;
	bool           begins;

	pthread_mutex_lock(&c->lock);
	begins = !c->brief.under_way && engine_ready(e);
	c->brief.under_way |= begins;
	pthread_mutex_unlock(&c->lock);
	if (!begins)
		return;
	op = op_new(OP_COUNTS, 0, 0);
	op->census->brief = true;
	if (engine_start(e, op, all->loop, health_count_done, c)) {
		engine_wake(e);
		return;
	}
	op->outcome = BUSY;
	health_count_done(c, op);
}

/* ---- key */

static void key_write(struct json_writer *w, void *arg)
{
	const struct request *r = arg;
	struct text           roles = {0};
	char                 *rest;

	roles_write(&roles, r->key ? r->roles : ROLE_ADMIN);
	if (r->key)
		json_put_string(w, "name", r->key->name);
	json_open_array(w, "roles");
	rest = roles.data;
	for (char *role; (role = strsep(&rest, ","));)
		json_put_string(w, NULL, role);
	json_close_array(w);
	json_put_string(w, "service", "holdfast " HOLDFAST_VERSION);
	json_put_string(w, "instance", process_mark());
	text_fini(&roles);
}

void get_key(struct request *r)
{
	if (query_end(r))
		reply_object(r, 200, key_write, r);
}
