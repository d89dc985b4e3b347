/* locations_call.c - see locations_call.h. */
#include "api/stock/locations_call.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "api/stock/sales_call.h"
#include "engine/base/memory.h"
#include "engine/read/census.h"
#include "engine/read/cursor.h"
#include "jobs/location.h"

struct location_call {
	struct job_call job;
	/* ---- asked */
	char                 code[LOCATION_MAX + 1]; /* of a list: the code after which it begins */
	struct location_wish wish;
	/* ---- answered */
	struct location_row location;
	int64_t             counted_at; /* of the sums; ms */
};

static void *call_new(struct request *r)
{
	struct location_call *call = mem_alloc(sizeof(*call));

	strcpy(call->code, r->param[0]);
	call->wish.expected_at = -1;
	call->wish.sales.by = r->key ? r->key->line.key_id : 0;
	return call;
}

static const struct job_noun noun = {call_new, NULL};

/* ---- the answer */

/* The words are those of sku_total_write. What the location says of sales is younger than the sums. */
static void stock_write(struct json_writer *w, const struct location_row *l)
{
	const struct location_sum *s = &l->stock;
	bool                       in_house = location_in_house(&l->is);
	int64_t                    stopped = location_stopped(&l->is) ? s->available : s->stopped;

	if (in_house && !location_sells(&l->is))
		stopped = 0;
	json_open_object(w, "stock");
	json_put_int(w, "skus", s->skus);
	json_put_int(w, "available", s->available - stopped);
	json_put_int(w, "reserved", s->reserved);
	json_put_int(w, "on_hand", in_house ? s->available + s->reserved : 0);
	if (stopped > 0)
		json_put_int(w, "stopped", stopped);
	json_close_object(w);
}

static void location_write(struct json_writer *w, const void *location)
{
	const struct location_row *l = location;

	json_put_string(w, "location", l->is.code);
	json_put_string(w, "kind", location_kind_name(location_kind(&l->is)));
	if (l->is.expected_at > 0)
		json_put_time(w, "expected_at", l->is.expected_at);
	if (l->waits_at[0])
		json_put_string(w, "waits_at", l->waits_at);
	if (location_stopped(&l->is))
		json_put_bool(w, "for_sale", false);
	if (l->reason[0])
		json_put_string(w, "reason", l->reason);
	if (l->stock.location_id)
		stock_write(w, l);
}

static void counted_write(struct json_writer *w, const struct location_call *call)
{
	if (call->job.counts)
		json_put_time(w, "counted_at", call->counted_at);
}

static void one_write(struct json_writer *w, void *arg)
{
	location_write(w, &((struct location_call *)arg)->location);
	counted_write(w, arg);
}

/* ---- made, or given another kind */

/* The words in the order of their numbers; after the last one is NULL. */
static void read_put(struct json_reader *in, void *arg)
{
	static const char *const kinds[LOCATION_KINDS] = {
#define X(name, number, word) [number - 1] = word,
#include "engine/catalogue/location_kinds.def"
#undef X
	};
	struct location_call *call = arg;
	int                   kind = -1;
	const char           *waits_at = NULL;
	size_t                len = 0;

	json_word(in, "kind", JSON_OPTIONAL, kinds, &kind);
	call->wish.kind = (enum location_kind)(kind + 1);
	if (json_null(in, "expected_at"))
		call->wish.expected_at = 0;
	else
		json_time(in, "expected_at", JSON_OPTIONAL, &call->wish.expected_at);
	call->wish.waits = json_has(in, "waits_at");
	if (!json_null(in, "waits_at"))
		json_code(in, "waits_at", JSON_OPTIONAL, LOCATION_MAX, &waits_at, &len);
	if (waits_at)
		memcpy(call->wish.waits_at, waits_at, len);
	call->wish.sells = sales_take(in, JSON_OPTIONAL, &call->wish.sales);
}

static enum db_result run_put(struct db *db, void *arg)
{
	struct location_call *call = arg;
	bool                  made = false;
	enum db_result result = location_put(db, call->code, &call->wish, &call->location, &made, &call->job.outcome);

	call->job.field = call->wish.fault;
	if (made) {
		call->job.made = "";
		strcpy(call->job.made_id, call->code);
	}
	return result;
}

const struct job_kind put_location = {&noun, read_put, run_put, one_write, NULL};

/* ---- one, and the list */

static void *read_new(struct request *r)
{
	const char           *sums = query_text(r, "sums");
	struct location_call *call;

	if (sums && strcmp(sums, "true") != 0) {
		reply_invalid(r, "sums", "must be true, or left out");
		return NULL;
	}
	call = call_new(r);
	call->job.counts = sums;
	return call;
}

static const struct job_noun read_noun = {read_new, NULL};

/* Adds the sums to locations that were read, if they are asked for. */
static enum db_result sums_add(struct db *db, struct location_call *call, struct location_row *list, size_t count)
{
	enum db_result result;

	if (!call->job.counts)
		return DB_OK;
	result = location_sums_read(db, &call->counted_at);
	for (size_t i = 0; i < count && result == DB_OK; i++)
		list[i].stock = location_sum(list[i].is.location_id);
	return result;
}

static enum db_result run_find(struct db *db, void *arg)
{
	struct location_call *call = arg;
	enum db_result        result = location_find(db, call->code, &call->location, &call->job.outcome);

	return result == DB_OK && call->job.outcome == OUTCOME_OK ? sums_add(db, call, &call->location, 1) : result;
}

const struct job_kind get_location = {&read_noun, NULL, run_find, one_write, NULL};

static bool list_begin(void *arg, const char *cursor)
{
	struct location_call *call = arg;
	size_t                len = 0;
	bool                  good = !cursor || cursor_read_code(cursor, 'l', 0, call->code, LOCATION_MAX, &len);

	call->code[good ? len : 0] = '\0';
	return good;
}

static enum db_result run_list(struct db *db, void *arg)
{
	struct location_call *call = arg;
	enum db_result        result;

	assert(call->job.list && call->job.limit > 0);
	result = location_list(db, call->code, call->job.list, call->job.limit + 1, &call->job.count);
	return result == DB_OK ? sums_add(db, call, call->job.list, call->job.count) : result;
}

static void list_write(struct json_writer *w, void *call)
{
	job_page_write(w, call);
	counted_write(w, call);
}

static void list_mark(const void *call, const void *location, char *cursor)
{
	(void)call;
	cursor_write_code(cursor, 'l', 0, ((const struct location_row *)location)->is.code);
}

static const struct job_page page = {list_begin, sizeof(struct location_row), location_write, list_mark};

const struct job_kind get_locations = {&read_noun, NULL, run_list, list_write, &page};
