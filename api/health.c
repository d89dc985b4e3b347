/* health.c - see health.h. A census of the database for /metrics is taken when a call needs one and the last census is
 * ten seconds old. A call that comes meanwhile gets the last census, if young enough, or waits for the next. */
#include "api/health.h"
#include "api/request.h"
#include "engine/base/clock.h"

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
	const struct text *checks = arg;

	text_add(w->to, ",\"checks\":");
	text_bytes(w->to, checks->data, checks->len);
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
	struct text checks = {0};

	if (!query_end(r))
		return;
	if (r->all->ready(r->all->ready_arg, &checks) && !draining)
		reply_object(r, 200, ok_write, verbose ? &checks : NULL);
	else
		reply_problem(r, 503, outcome_code(DATABASE_AWAY), NULL,
		              draining ? "the process is ending" : "the database does not answer",
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

/* The last census, and whether the next one is under way; used on the loop's thread only. */
static struct {
	struct census census; /* counted_ms 0: no census yet */
	bool          under_way;
} last;

static const struct census *census_within(int64_t age_ms)
{
	assert(last.census.counted_ms <= clock_boot_ms());
	bool young = last.census.counted_ms && clock_boot_ms() - last.census.counted_ms < age_ms;

	return young ? &last.census : NULL;
}

static void metrics_answer_request(struct request *r)
{
	last.under_way = false;
	if (request_outcome(r, 0) == OUTCOME_OK)
		last.census = *r->ops[0]->census;
	reply_metrics(r, census_within(CENSUS_OLD_MS));
}

void get_metrics(struct request *r)
{
	const struct census *census = census_within(last.under_way ? CENSUS_OLD_MS : CENSUS_AGE_MS);

	if (!query_end(r))
		return;
	if (census || !engine_ready(r->all->engine)) { /* a database that does not answer is not waited for */
		reply_metrics(r, census);
		return;
	}
	last.under_way = true;
	request_start(r, op_new(OP_COUNTS, 0, 0), metrics_answer_request);
}
