/* thresholds.c - see thresholds.h. */
#include "api/stock/thresholds.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"
#include "jobs/levels/threshold.h"

struct threshold_call {
	struct job_call job;
	char            sku[SKU_MAX + 1], location[LOCATION_MAX + 1]; /* the location empty: over all */
	int64_t         low;                                          /* below 0: none */
	int64_t         after; /* a page is behind this location; -1: the first one */
};

static void *call_new(struct request *r)
{
	struct threshold_call *call = mem_alloc(sizeof(*call));

	strcpy(call->sku, r->param[0]);
	return call;
}

static const struct job_noun noun = {call_new, NULL};

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

static enum db_result run_put(struct db *db, void *arg)
{
	struct threshold_call *call = arg;
	enum outcome          *outcome = &call->job.outcome;
	enum db_result         result =
		threshold_put(db, call->sku, *call->location ? call->location : NULL, call->low, outcome);

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

/* ---- deleted */

static void *delete_new(struct request *r)
{
	const char            *location;
	struct threshold_call *call;

	if (!query_word(r, "location", QUERY_CODE, LOCATION_MAX, &location))
		return NULL;
	call = call_new(r);
	strcpy(call->location, location ? location : "");
	return call;
}

static enum db_result run_delete(struct db *db, void *arg)
{
	struct threshold_call *call = arg;

	call->job.empty = true;
	return threshold_delete(db, call->sku, *call->location ? call->location : NULL, &call->job.outcome);
}

static const struct job_noun deleted = {delete_new, NULL};

const struct job_kind delete_threshold = {&deleted, NULL, run_delete, NULL, NULL};

/* ---- listed */

/* A cursor is of one sku. */
static int64_t filter_of(const struct threshold_call *call)
{
	return hash_stable(call->sku, strlen(call->sku));
}

static bool list_begin(void *arg, const char *cursor)
{
	struct threshold_call *call = arg;
	int64_t                none[2];

	call->after = -1;
	return !cursor || cursor_read(cursor, 'h', filter_of(call), &call->after, &none[0], &none[1]);
}

static enum db_result run_list(struct db *db, void *arg)
{
	struct threshold_call *call = arg;

	assert(call->job.list && call->job.limit > 0);
	return threshold_list(db, call->sku, call->after, call->job.list, call->job.limit + 1, &call->job.count,
	                      &call->job.outcome);
}

static void item_write(struct json_writer *w, const void *item)
{
	const struct threshold *t = item;

	if (*t->location)
		json_put_string(w, "location", t->location);
	json_put_int(w, "low", t->low);
}

static void list_mark(const void *call, const void *threshold, char *cursor)
{
	cursor_write(cursor, 'h', filter_of(call), ((const struct threshold *)threshold)->location_id, 0, 0);
}

static const struct job_page page = {list_begin, sizeof(struct threshold), item_write, list_mark};

const struct job_kind get_thresholds = {&noun, NULL, run_list, NULL, &page};
