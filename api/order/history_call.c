/* history_call.c - see history_call.h. */
#include "api/order/history_call.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "engine/log/history.h"
#include "engine/read/cursor.h"

struct history_call {
	struct job_call job;
	char            order_id[ID_MAX + 1];
	struct history  history;
};

static void call_fini(void *call)
{
	history_fini(&((struct history_call *)call)->history);
}

static void *call_new(struct request *r)
{
	struct history_call *call = mem_alloc(sizeof(*call));

	strcpy(call->order_id, r->param[0]);
	call->history.order_id = call->order_id;
	return call;
}

static const struct job_noun noun = {call_new, call_fini};

static int64_t filter_of(const struct history_call *call)
{
	return hash_stable(call->order_id, strlen(call->order_id));
}

static bool list_begin(void *arg, const char *cursor)
{
	struct history_call *call = arg;
	int64_t              link = 0, place = 0, none;

	if (!cursor)
		return true;
	if (!cursor_read(cursor, 'h', filter_of(call), &link, &place, &none) || link <= 0 || place < 0 ||
	    place > UINT32_MAX)
		return false;
	call->history.begun = true;
	call->history.at = (struct history_place){(uint64_t)link, (uint32_t)place};
	return true;
}

/* The place where the page begins stays, because it may be read again. */
static enum db_result run_list(struct db *db, void *arg)
{
	struct history_call *call = arg;
	struct history_place at = call->history.at;
	enum db_result       result = history_read(db, &call->history, call->job.limit, &call->job.outcome);

	if (result != DB_OK)
		call->history.at = at;
	call->job.count = call->history.count;
	return result;
}

static void list_write(struct json_writer *w, void *arg)
{
	const struct history_call *call = arg;
	const struct history      *h = &call->history;
	struct text                event = {0};
	char                       cursor[CURSOR_SIZE] = "";

	json_open_array(w, "items");
	for (size_t i = 0; i < h->count; i++) {
		text_reset(&event);
		event_json(&event, h->events[i]);
		json_put_json(w, NULL, event.data);
	}
	json_close_array(w);
	text_fini(&event);
	if (h->at.link)
		cursor_write(cursor, 'h', filter_of(call), (int64_t)h->at.link, h->at.place, 0);
	page_end(w, cursor);
}

static const struct job_page page = {.begin = list_begin};

const struct job_kind get_history = {&noun, NULL, run_list, list_write, &page};
