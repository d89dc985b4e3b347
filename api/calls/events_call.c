/* events_call.c - see events_call.h. The page comes as text, which readers that waited together share. */
#include "api/calls/events_call.h"
#include "api/request.h"
#include "engine/base/memory.h"

enum { EVENTS_STANDARD = 100, EVENTS_MAX = 1000 };

static void after_refused(struct request *r)
{
	reply_invalid(r, "after", "is neither a cursor of the events nor a time");
}

static void events_answer_request(struct request *r)
{
	enum outcome       outcome = request_outcome(r, 0);
	struct follow     *found = r->ops[0]->follow;
	const struct text *page;

	if (outcome == BAD_CURSOR) {
		after_refused(r);
		return;
	}
	if (outcome != OUTCOME_OK) {
		reply_refused(r, outcome, NULL, NULL);
		return;
	}
	page = &found->page->text;
	r->last |= found->gives_way;
	reply_as(r, 200, "application/json", page->data, page->len);
}

void get_events(struct request *r)
{
	const char *after = query_text(r, "after"), *types = query_text(r, "types");
	int64_t     limit = EVENTS_STANDARD, wait_s = 0;
	struct op  *op;

	if (!query_int(r, "limit", 1, EVENTS_MAX, &limit) || !query_int(r, "wait_s", 0, FOLLOW_S_MAX, &wait_s))
		return;
	if (after && !*after) { /* a cursor that got lost would read everything again */
		after_refused(r);
		return;
	}
	op = op_new(OP_FOLLOW, 0, 0);
	op->follow->limit = (unsigned)limit;
	op->follow->wait_s = (int)wait_s;
	op->follow->after = mem_copy(after);
	if (event_filter_read(types, &op->follow->filter) && !(types && !*types)) {
		r->wait_s = (int)wait_s;
		request_start(r, op, events_answer_request);
		return;
	}
	op_free(op);
	reply_invalid(r, "types", "names a type of event that there is not");
}
