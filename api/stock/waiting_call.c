/* waiting_call.c - see waiting_call.h. */
#include "api/stock/waiting_call.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"
#include "jobs/waiting/queue_page.h"

#include <inttypes.h>
#include <stdio.h>

struct waiting_call {
	struct job_call       job;
	char                  sku[SKU_MAX + 1], location[LOCATION_MAX + 1]; /* empty: everywhere */
	struct queue_position after;
};

static void *call_new(struct request *r)
{
	struct waiting_call *call;
	const char          *location;

	if (!query_word(r, "location", QUERY_CODE, LOCATION_MAX, &location))
		return NULL;
	call = mem_alloc(sizeof(*call));
	strcpy(call->sku, r->param[0]);
	if (location)
		strcpy(call->location, location);
	return call;
}

static const struct job_noun noun = {call_new, NULL};

/* A cursor names the last line of its page, by numbers of a fixed length. */
#define POSITION_FORM "%08" PRIx32 "%1x%011" PRIx64 "%016" PRIx64 "%016" PRIx64
enum { POSITION_LEN = 8 + 1 + 11 + 16 + 16 };

/* A cursor is of one sku, at one location or everywhere. */
static uint32_t filter_of(const struct waiting_call *call)
{
	char filter[SKU_MAX + LOCATION_MAX + 2];
	int  len = snprintf(filter, sizeof(filter), "%s\n%s", call->sku, call->location);

	return hash_stable(filter, (size_t)len);
}

static bool list_begin(void *arg, const char *cursor)
{
	struct waiting_call *call = arg;
	char                 code[POSITION_LEN + 1];
	size_t               len = 0;
	unsigned             held = 0;
	uint64_t             since = 0;

	if (!cursor)
		return true;
	if (!cursor_read_code(cursor, 'q', filter_of(call), code, POSITION_LEN, &len) || len != POSITION_LEN)
		return false;
	code[len] = '\0';
	if (sscanf(code, "%8" SCNx32 "%1x%11" SCNx64 "%16" SCNx64 "%16" SCNx64, &call->after.location_id, &held, &since,
	           &call->after.first_id, &call->after.reservation_id) != 5)
		return false;
	call->after.held = held != 0;
	call->after.waits_since = (int64_t)since;
	return call->after.location_id > 0;
}

static enum db_result run_list(struct db *db, void *arg)
{
	struct waiting_call *call = arg;

	assert(call->job.list && call->job.limit > 0);
	return queue_page_read(db, call->sku, call->location[0] ? call->location : NULL, &call->after, call->job.list,
	                       call->job.limit + 1, &call->job.count, &call->job.outcome);
}

static void order_write(struct json_writer *w, const void *order)
{
	const struct queue_order *waits = order;

	json_put_string(w, "order_id", waits->order_id);
	json_put_string(w, "location", waits->location);
	json_put_int(w, "qty", waits->qty);
	json_put_string(w, "state", reservation_state_name(waits->state));
	json_put_time(w, "waits_since", waits->position.waits_since);
}

static void list_mark(const void *call, const void *order, char *cursor)
{
	const struct queue_position *last = &((const struct queue_order *)order)->position;
	char                         code[POSITION_LEN + 1];

	snprintf(code, sizeof(code), POSITION_FORM, last->location_id, (unsigned)last->held,
	         (uint64_t)last->waits_since, last->first_id, last->reservation_id);
	cursor_write_code(cursor, 'q', filter_of(call), code);
}

static const struct job_page page = {list_begin, sizeof(struct queue_order), order_write, list_mark};

const struct job_kind get_waiting = {&noun, NULL, run_list, NULL, &page};
