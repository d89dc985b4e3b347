/* job.c - see job.h. */
#include "api/calls/job.h"
#include "api/calls/page.h"
#include "api/request.h"

#include <string.h>

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
		reply_problem(r, outcome_status(outcome), outcome_code(outcome), field, outcome_detail(outcome), NULL,
		              NULL);
	} else if (call->empty) {
		if (call->later)
			reply_header(r, "Retry-After", "5");
		reply_as(r, 204, "", NULL, 0);
	} else {
		if (call->made)
			reply_location(r, call->made, call->made_id);
		reply_object(r, call->made ? 201 : 200, call->kind->write, call);
	}
}

static void start(struct request *r, const struct job_kind *kind, struct job_call *call)
{
	struct op *op = op_new(OP_RUN, 0, 0);

	call->kind = kind;
	op->job = (struct job){.run = kind->run, .run_free = kind->noun->free, .onward = call->onward, .arg = call};
	request_start(r, op, answer);
}

static void post(struct request *r, const struct job_kind *kind)
{
	struct json_reader in;
	struct json_fault  fault;
	struct job_call   *call = read_body(r, &in, &fault) ? kind->noun->make(r) : NULL;

	if (!call)
		return;
	if (kind->read)
		kind->read(&in, call);
	if (read_end(r, &in, &fault))
		start(r, kind, call);
	else
		kind->noun->free(call);
}

static void list(struct request *r, const struct job_kind *kind)
{
	const char      *cursor;
	int64_t          limit;
	struct job_call *call;

	if (!page_read(r, &limit, &cursor) || !(call = kind->noun->make(r)))
		return;
	if (!query_end(r)) {
		kind->noun->free(call);
		return;
	}
	call->limit = (size_t)limit;
	if (kind->begin(call, cursor)) {
		start(r, kind, call);
	} else {
		kind->noun->free(call);
		reply_refused(r, BAD_CURSOR, NULL, NULL);
	}
}

void job_handle(struct request *r, const struct job_kind *kind)
{
	struct job_call *call;

	if (kind->begin)
		list(r, kind);
	else if (strcmp(r->asked->method, "POST") == 0 || strcmp(r->asked->method, "PUT") == 0)
		post(r, kind);
	else if ((call = kind->noun->make(r)))
		start(r, kind, call);
}
