/* locations_call.c - see locations_call.h. */
#include "api/stock/locations_call.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "api/stock/sales_call.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"
#include "jobs/location.h"

struct location_call {
	struct job_call job;
	/* ---- asked */
	char                 code[LOCATION_MAX + 1]; /* of a list: the code after which it begins */
	struct location_wish wish;
	/* ---- answered */
	struct location_row location;
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
}

static void one_write(struct json_writer *w, void *arg)
{
	location_write(w, &((struct location_call *)arg)->location);
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

static enum db_result run_find(struct db *db, void *arg)
{
	struct location_call *call = arg;

	return location_find(db, call->code, &call->location, &call->job.outcome);
}

const struct job_kind get_location = {&noun, NULL, run_find, one_write, NULL};

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

	assert(call->job.list && call->job.limit > 0);
	return location_list(db, call->code, call->job.list, call->job.limit + 1, &call->job.count);
}

static void list_mark(const void *call, const void *location, char *cursor)
{
	(void)call;
	cursor_write_code(cursor, 'l', 0, ((const struct location_row *)location)->is.code);
}

static const struct job_page page = {list_begin, sizeof(struct location_row), location_write, list_mark};

const struct job_kind get_locations = {&noun, NULL, run_list, NULL, &page};
