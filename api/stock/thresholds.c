/* thresholds.c - see thresholds.h. */
#include "api/stock/thresholds.h"
#include "api/request.h"
#include "engine/base/memory.h"
#include "jobs/levels/threshold.h"

#include <stdlib.h>
#include <string.h>

struct threshold_call {
	struct job_call job;
	char            sku[SKU_MAX + 1], location[LOCATION_MAX + 1]; /* the location empty: over all */
	int64_t         low;                                          /* below 0: none */
};

static void *call_new(struct request *r)
{
	struct threshold_call *call = mem_alloc(sizeof(*call));

	strcpy(call->sku, r->param[0]);
	return call;
}

static const struct job_noun noun = {call_new, free};

static void read_put(struct json_reader *in, void *arg)
{
	struct threshold_call *call = arg;
	const char            *location = "";
	size_t                 len = 0;

	call->low = -1;
	if (!json_null(in, "low"))
		json_int(in, "low", JSON_REQUIRED, 0, QTY_MAX, &call->low);
	json_code(in, "location", JSON_OPTIONAL, LOCATION_MAX, &location, &len);
	memcpy(call->location, location, len);
}

static enum db_result run_put(struct db *db, struct catalogue *c, void *arg)
{
	struct threshold_call *call = arg;
	enum outcome          *outcome = &call->job.outcome;
	enum db_result         result =
		threshold_put(db, call->sku, *call->location ? call->location : NULL, call->low, outcome);

	(void)c;
	call->job.field = *outcome == NO_LOCATION || *outcome == WRONG_KIND ? "location" : NULL;
	return result;
}

static void threshold_write(struct json_writer *w, void *arg)
{
	const struct threshold_call *call = arg;

	json_put_string(w, "sku", call->sku);
	if (*call->location)
		json_put_string(w, "location", call->location);
	if (call->low >= 0)
		json_put_int(w, "low", call->low);
}

const struct job_kind put_threshold = {&noun, read_put, run_put, threshold_write, NULL};
