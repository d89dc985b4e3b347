/* health.c - see health.h. A census of the database for /metrics is taken when a call needs one and the last census is
 * ten seconds old. A call that comes meanwhile gets the last census, if young enough, or waits for the next. No call
 * waits for the brief census, which is for the activity. */
#include "api/health.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/db/storage.h"
#include "engine/read/census.h"

#include <string.h>

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
	bool        draining = r->all->leaving || r->all->draining, verbose = query_text(r, "verbose") != NULL;
	bool        full = storage_is_full(engine_source(r->all->engine));
	struct text checks = {0};

	if (!query_end(r))
		return;
	if (r->all->ready(r->all->ready_arg, &checks) && !draining)
		reply_object(r, 200, ok_write, verbose ? &checks : NULL);
	else
		reply_problem(r, 503, outcome_code(full && !draining ? STORAGE_FULL : DATABASE_AWAY), NULL,
		              draining ? "the process is ending"
		              : full   ? "the database has no room to write"
		                       : "the database does not answer",
		              verbose ? checks_write : NULL, &checks);
	text_fini(&checks);
}

/* ---- metrics */

static void reply_metrics(struct request *r, const struct census *census)
{
	struct text body = {0};

	metrics_write(&body, &r->all->metrics, r->all->engine, r->all->connections, census);
	reply_as(r, 200, "text/plain; version=0.0.4; charset=utf-8", body.data, body.len);
	text_fini(&body);
}

/* The last census, whole and brief, and whether the next one is under way; used on the loop's thread only. */
static struct last {
	struct census census; /* counted_ms 0: no census yet */
	bool          under_way;
} last, last_brief;

static const struct census *census_within(int64_t age_ms)
{
	assert(last.census.counted_ms <= clock_boot_ms());
	bool young = last.census.counted_ms && clock_boot_ms() - last.census.counted_ms < age_ms;

	return young ? &last.census : NULL;
}

static void census_take(struct last *to, const struct op *op, enum outcome outcome)
{
	to->under_way = false;
	if (outcome == OUTCOME_OK)
		to->census = *op->census;
}

static void metrics_answer_request(struct request *r)
{
	census_take(&last, r->ops[0], request_outcome(r, 0));
	reply_metrics(r, census_within(CENSUS_OLD_MS));
}

static struct op *census_op(int64_t age_max_ms)
{
	struct op *op = op_new(OP_COUNTS, 0, 0);

	op->census->age_max_ms = age_max_ms;
	last.under_way = true;
	return op;
}

void get_metrics(struct request *r)
{
	const struct census *census = census_within(last.under_way ? CENSUS_OLD_MS : CENSUS_AGE_MS);

	if (!query_end(r))
		return;
	if (census || !engine_ready(r->all->engine)) /* no call waits for a database that does not answer */
		reply_metrics(r, census);
	else
		request_start(r, census_op(CENSUS_AGE_MS), metrics_answer_request);
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
	enum outcome outcome = request_outcome(r, 0);

	census_take(&last, r->ops[0], outcome);
	if (outcome == OUTCOME_OK)
		reply_object(r, 200, stats_write, r->ops[0]->census);
	else
		reply_refused(r, outcome, NULL, NULL);
}

void get_stats(struct request *r)
{
	if (query_end(r))
		request_start(r, census_op(0), stats_answer_request);
}

const struct census *health_census(void)
{
	return last.census.counted_ms > last_brief.census.counted_ms ? &last.census : &last_brief.census;
}

static void health_count_done(void *arg, struct op *op)
{
	(void)arg;
	census_take(&last_brief, op, op->outcome);
	op_free(op);
}

void health_count(struct requests *all)
{
	struct op *op;

	if (last_brief.under_way || !engine_ready(all->engine))
		return;
	op = op_new(OP_COUNTS, 0, 0);
	op->census->brief = true;
	last_brief.under_way = true;
	if (engine_start(all->engine, op, all->loop, health_count_done, NULL)) {
		engine_wake(all->engine);
		return;
	}
	last_brief.under_way = false;
	op_free(op);
}

/* ---- key */

static void key_write(struct json_writer *w, void *arg)
{
	const struct key *key = arg;
	struct text       roles = {0};
	char             *rest;

	roles_write(&roles, key ? key->line.roles : ROLE_ADMIN);
	if (key)
		json_put_string(w, "name", key->name);
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
		reply_object(r, 200, key_write, r->key);
}
