/* job.c - see job.h. */
#include "api/calls/job.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"

static void call_free(void *arg)
{
	struct job_call *call = arg;

	if (call->kind->noun->fini)
		call->kind->noun->fini(call);
	free(call->list);
	free(call);
}

void job_page_write(struct json_writer *w, void *arg)
{
	const struct job_call *call = arg;
	const struct job_page *page = call->kind->page;
	bool                   more = call->count > call->limit;
	size_t                 count = call->count - more;
	char                   cursor[CURSOR_SIZE] = "";

	assert(count <= call->limit);
	if (more)
		page->mark(call, (const char *)call->list + (count - 1) * page->size, cursor);
	page_write(w, call->list, count, page->size, page->put, cursor);
}

static void answer(struct request *r)
{
	struct job_call *call = r->ops[0]->job.arg;
	enum outcome     outcome = request_outcome(r, 0);
	const char      *field = NULL;

	assert(call->kind);
	if (outcome == OUTCOME_OK) { /* otherwise the work may be under way still */
		outcome = call->outcome;
		field = call->field;
	}
	if (outcome == OUTCOME_REPLAYED) {
		reply_header(r, "Idempotent-Replayed", "true");
		reply_object(r, 200, call->kind->write, call);
	} else if (outcome != OUTCOME_OK) {
		reply_outcome(r, outcome, field, outcome_detail(outcome), NULL, NULL);
	} else if (call->empty) {
		if (call->later)
			reply_header(r, "Retry-After", "5");
		reply_as(r, 204, "", NULL, 0);
	} else {
		if (call->made)
			reply_location(r, call->made, call->made_id);
		reply_object(r, call->made ? 201 : 200, call->kind->write ? call->kind->write : job_page_write, call);
	}
}

static void start(struct request *r, struct job_call *call)
{
	struct op *op = op_new(call->counts ? OP_TALLY : OP_RUN, 0, 0);

	op->job = (struct job){.run = call->kind->run, .run_free = call_free, .onward = call->onward, .arg = call};
	request_start(r, op, answer);
}

static struct job_call *call_new(struct request *r, const struct job_kind *kind)
{
	struct job_call *call = kind->noun->make(r);

	if (call)
		call->kind = kind;
	return call;
}

static void post(struct request *r, const struct job_kind *kind)
{
	struct json_reader in;
	struct json_fault  fault;
	struct job_call   *call = read_body(r, &in, &fault) ? call_new(r, kind) : NULL;

	if (!call)
		return;
	if (kind->read)
		kind->read(&in, call);
	if (read_end(r, &in, &fault))
		start(r, call);
	else
		call_free(call);
}

static void list(struct request *r, const struct job_kind *kind)
{
	const char      *cursor;
	int64_t          limit;
	struct job_call *call;

	if (!page_read(r, &limit, &cursor) || !(call = call_new(r, kind)))
		return;
	call->limit = (size_t)limit;
	call->list = mem_alloc((call->limit + 1) * kind->page->size);
	if (query_end(r) && (kind->page->begin(call, cursor) || reply_refused(r, BAD_CURSOR, NULL, NULL)))
		start(r, call);
	else
		call_free(call);
}

void job_handle(struct request *r, const struct job_kind *kind)
{
	struct job_call *call;

	if (kind->page)
		list(r, kind);
	else if (strcmp(r->asked->method, "POST") == 0 || strcmp(r->asked->method, "PUT") == 0)
		post(r, kind);
	else if ((call = call_new(r, kind)))
		start(r, call);
}
