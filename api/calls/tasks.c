/* tasks.c - see tasks.h. jobs/ does the work itself, on the background reader's connection. A struct task_call carries
 * the questions of a call and their answers, and belongs to an operation. */
#include "api/calls/tasks.h"
#include "api/calls/page.h"
#include "api/keys.h"
#include "api/request.h"
#include "engine/base/memory.h"
#include "engine/rows_json.h"
#include "jobs/claim.h"
#include "jobs/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLAIM_STANDARD = 100, LEASE_MAX = 3600, ORDERS_MAX = CLAIM_MAX, ERROR_MAX = 500 };

/* One call, from its reading to its answer. The operation owns it. */
struct task_call {
	/* ---- asked */
	struct task    task;    /* a claim's kind and worker */
	uint64_t       task_id; /* a list: the number below which it begins */
	int64_t        limit, lease_s;
	struct report *reports; /* owned, as are their errors */
	size_t         reports_count;
	/* ---- answered */
	struct task_answer   answer;
	struct reservation **orders;
	size_t               orders_count;
	struct task         *tasks;
	size_t               tasks_count;
};

static void call_free(void *arg)
{
	struct task_call *call = arg;

	for (size_t i = 0; i < call->reports_count; i++)
		free((char *)(uintptr_t)call->reports[i].error);
	free(call->reports);
	free(call->tasks);
	reservations_free(call->orders, call->orders_count);
	task_answer_fini(&call->answer);
	free(call);
}

static void call_start(struct request *r, struct task_call *call,
                       enum db_result (*run)(struct db *db, struct catalogue *c, void *arg),
                       void (*answer)(struct request *r))
{
	struct op *op = op_new(OP_RUN, 0, 0);

	op->job.run = run;
	op->job.arg = call;
	op->job.run_free = call_free;
	request_start(r, op, answer);
}

/* Makes a call, with the task's number where its path has one. NULL: already answered. */
static struct task_call *call_new(struct request *r)
{
	struct task_call *call;
	size_t            len = strlen(r->param[0]);
	char              rule[100];

	if (len > 0 && (len > 18 || strspn(r->param[0], "0123456789") != len || (*r->param[0] == '0' && len > 1))) {
		snprintf(rule, sizeof(rule), INTEGER_RULE, 0LL, 999999999999999999LL);
		reply_invalid(r, "task_id", rule);
		return NULL;
	}
	call = mem_alloc(sizeof(*call));
	call->task_id = strtoull(r->param[0], NULL, 10);
	call->answer.by = r->key ? r->key->line.key_id : 0;
	return call;
}

/* ---- answers */

static void task_write(struct json_writer *w, const struct task *t)
{
	json_put_int(w, "task_id", (int64_t)t->task_id);
	json_put_string(w, "kind", task_kind_name(t->kind));
	json_put_string(w, "worker", t->worker);
	json_put_string(w, "state", task_state_name(t->state));
	json_put_time(w, "lease_until", t->lease_until);
	json_put_int(w, "claimed", t->claimed);
	json_put_int(w, "completed", t->completed);
	json_put_int(w, "failed", t->failed);
	json_put_time(w, "created_at", t->created_at);
}

/* The reason why the call could not be done, or OUTCOME_OK. */
static enum outcome call_outcome(struct request *r)
{
	const struct task_call *call = r->ops[0]->job.arg;
	enum outcome            outcome = request_outcome(r, 0);

	if (outcome != OUTCOME_OK)
		return outcome;
	if (call->answer.task.task_id == 0)
		return NO_TASK;
	return call->answer.lease_lost ? LEASE_LOST : OUTCOME_OK;
}

/* Answers with the members that `write` puts, or with the reason of the failure. */
static void answer_with(struct request *r, void (*write)(struct json_writer *w, void *arg))
{
	enum outcome outcome = call_outcome(r);

	if (outcome == OUTCOME_OK)
		reply_object(r, 200, write, r->ops[0]->job.arg);
	else
		reply_refused(r, outcome, NULL, NULL);
}

static void read_write(struct json_writer *w, void *arg)
{
	task_write(w, &((struct task_call *)arg)->answer.task);
}

static void answer_task(struct request *r)
{
	answer_with(r, read_write);
}

static void lost_write(struct json_writer *w, const struct task_answer *a)
{
	json_put_int(w, "lost", a->lost);
	json_open_array(w, "lost_orders");
	for (int64_t i = 0; i < a->lost; i++)
		json_put_string(w, NULL, a->lost_orders[i]);
	json_close_array(w);
}

static void completed_write(struct json_writer *w, void *arg)
{
	const struct task_answer *a = &((struct task_call *)arg)->answer;

	json_put_int(w, "completed", a->completed);
	lost_write(w, a);
}

static void answer_complete(struct request *r)
{
	answer_with(r, completed_write);
}

static void failed_write(struct json_writer *w, void *arg)
{
	const struct task_answer *a = &((struct task_call *)arg)->answer;

	json_put_int(w, "retried", a->retried);
	json_put_int(w, "buried", a->buried);
	lost_write(w, a);
}

static void answer_fail(struct request *r)
{
	answer_with(r, failed_write);
}

/* ---- claim */

static enum db_result run_claim(struct db *db, struct catalogue *c, void *arg)
{
	static struct claimer claimers[TASK_KINDS]; /* no lock: only the background reader's thread runs this */
	struct task_call     *call = arg;

	reservations_free(call->orders, call->orders_count);
	return task_claim(db, c, &claimers[call->task.kind], &call->task, call->limit, call->lease_s, &call->orders,
	                  &call->orders_count);
}

static void order_write(struct json_writer *w, const struct reservation *r)
{
	json_open_object(w, NULL);
	json_put_string(w, "order_id", r->order_id);
	json_put_int(w, "attempts", r->attempts);
	lines_json(w, r->lines, r->lines_count);
	json_close_object(w);
}

static void claim_write(struct json_writer *w, void *arg)
{
	const struct task_call *call = arg;

	json_put_int(w, "task_id", (int64_t)call->task.task_id);
	json_put_string(w, "kind", task_kind_name(call->task.kind));
	json_put_string(w, "worker", call->task.worker);
	json_put_time(w, "lease_until", call->task.lease_until);
	json_open_array(w, "orders");
	for (size_t i = 0; i < call->orders_count; i++)
		order_write(w, call->orders[i]);
	json_close_array(w);
}

static void answer_claim(struct request *r)
{
	const struct task_call *call = r->ops[0]->job.arg;
	char                    id[24];

	if (request_outcome(r, 0) != OUTCOME_OK) {
		reply_refused(r, request_outcome(r, 0), NULL, NULL);
	} else if (call->task.task_id == 0) {
		reply_as(r, 204, "", NULL, 0);
	} else {
		snprintf(id, sizeof(id), "%llu", (unsigned long long)call->task.task_id);
		reply_location(r, "tasks/", id);
		reply_object(r, 201, claim_write, r->ops[0]->job.arg);
	}
}

void post_task(struct request *r)
{
	static const char *const words[] = {"settle", "expire", NULL};
	struct json_reader       in;
	struct json_fault        fault;
	const char              *worker = "";
	size_t                   len = 0;
	int                      kind = 0;
	struct task_call        *call;

	if (!read_body(r, &in, &fault) || !(call = call_new(r)))
		return;
	call->limit = CLAIM_STANDARD;
	call->lease_s = LEASE_S;
	json_word(&in, "kind", JSON_REQUIRED, words, &kind);
	json_code(&in, "worker", JSON_REQUIRED, ID_MAX, &worker, &len);
	json_int(&in, "limit", JSON_OPTIONAL, 1, CLAIM_MAX, &call->limit);
	json_int(&in, "lease_s", JSON_OPTIONAL, 1, LEASE_MAX, &call->lease_s);
	if (!read_end(r, &in, &fault)) {
		call_free(call);
		return;
	}
	call->task.kind = task_kind_find(words[kind]);
	memcpy(call->task.worker, worker, len);
	call_start(r, call, run_claim, answer_claim);
}

/* ---- heartbeat, return, one task */

static enum db_result run_heartbeat(struct db *db, struct catalogue *c, void *arg)
{
	struct task_call *call = arg;

	(void)c;
	return task_heartbeat(db, call->task_id, call->lease_s, &call->answer);
}

void post_task_heartbeat(struct request *r)
{
	struct json_reader in;
	struct json_fault  fault;
	struct task_call  *call;

	if (!read_body(r, &in, &fault) || !(call = call_new(r)))
		return;
	call->lease_s = LEASE_S;
	json_int(&in, "lease_s", JSON_OPTIONAL, 1, LEASE_MAX, &call->lease_s);
	if (read_end(r, &in, &fault))
		call_start(r, call, run_heartbeat, answer_task);
	else
		call_free(call);
}

static enum db_result run_return(struct db *db, struct catalogue *c, void *arg)
{
	struct task_call *call = arg;

	task_answer_fini(&call->answer);
	return task_return(db, c, call->task_id, &call->answer);
}

void post_task_return(struct request *r)
{
	struct json_reader in;
	struct json_fault  fault;
	struct task_call  *call;

	if (!read_body(r, &in, &fault) || !(call = call_new(r)))
		return;
	if (read_end(r, &in, &fault))
		call_start(r, call, run_return, answer_task);
	else
		call_free(call);
}

static enum db_result run_read(struct db *db, struct catalogue *c, void *arg)
{
	struct task_call *call = arg;

	(void)c;
	return task_read(db, call->task_id, &call->answer.task);
}

void get_task(struct request *r)
{
	struct task_call *call;

	if (query_end(r) && (call = call_new(r)))
		call_start(r, call, run_read, answer_task);
}

/* ---- complete and fail */

static enum db_result run_complete(struct db *db, struct catalogue *c, void *arg)
{
	struct task_call *call = arg;

	task_answer_fini(&call->answer);
	return task_complete(db, c, call->task_id, call->reports, call->reports_count, &call->answer);
}

void post_task_complete(struct request *r)
{
	struct json_reader in;
	struct json_fault  fault;
	const void        *element;
	const char        *id = "";
	size_t             count = 0, len = 0;
	struct task_call  *call;

	if (!read_body(r, &in, &fault) || !(call = call_new(r)))
		return;
	if (json_has(&in, "order_ids"))
		count = json_array(&in, "order_ids", 1, ORDERS_MAX, &element);
	call->reports = mem_alloc(count * sizeof(*call->reports));
	for (size_t i = 0; i < count && !in.failed; i++) {
		element = json_array_code(&in, "order_ids", i, element, ID_MAX, &id, &len);
		if (!in.failed)
			memcpy(call->reports[call->reports_count++].order_id, id, len);
	}
	if (read_end(r, &in, &fault))
		call_start(r, call, run_complete, answer_complete);
	else
		call_free(call);
}

static enum db_result run_fail(struct db *db, struct catalogue *c, void *arg)
{
	struct task_call *call = arg;

	task_answer_fini(&call->answer);
	return task_fail(db, c, call->task_id, call->reports, call->reports_count, ATTEMPTS_MAX, &call->answer);
}

static void read_failure(struct json_reader *order, struct task_call *call)
{
	const char    *id = "", *error = "";
	size_t         id_len = 0, error_len = 0;
	bool           retry = false;
	struct report *report;

	json_code(order, "order_id", JSON_REQUIRED, ID_MAX, &id, &id_len);
	json_string(order, "error", JSON_REQUIRED, &error, &error_len);
	if (error_len > ERROR_MAX)
		json_refuse(order, "error", "may have at most 500 bytes");
	json_bool(order, "retry", JSON_REQUIRED, &retry);
	if (order->failed)
		return;
	report = &call->reports[call->reports_count++];
	memcpy(report->order_id, id, id_len);
	report->retry = retry;
	report->error = mem_copy(error);
}

void post_task_fail(struct request *r)
{
	struct json_reader in, order;
	struct json_fault  fault;
	const void        *element;
	size_t             count;
	struct task_call  *call;

	if (!read_body(r, &in, &fault) || !(call = call_new(r)))
		return;
	count = json_array(&in, "orders", 1, ORDERS_MAX, &element);
	call->reports = mem_alloc(count * sizeof(*call->reports));
	for (size_t i = 0; i < count && !in.failed; i++) {
		element = json_array_object(&in, "orders", i, element, &order);
		read_failure(&order, call);
		json_leave(&order, &in);
	}
	if (read_end(r, &in, &fault))
		call_start(r, call, run_fail, answer_fail);
	else
		call_free(call);
}

/* ---- the list; its cursor is t.NUMBER */

static enum db_result run_list(struct db *db, struct catalogue *c, void *arg)
{
	struct task_call *call = arg;

	(void)c;
	return task_list(db, call->task_id, call->tasks, (size_t)call->limit + 1, &call->tasks_count);
}

static void list_write(struct json_writer *w, void *arg)
{
	const struct task_call *call = ((const struct op *)arg)->job.arg;
	bool                    more = call->tasks_count > (size_t)call->limit;
	size_t                  count = call->tasks_count - more;
	char                    cursor[32] = "";

	json_open_array(w, "items");
	for (size_t i = 0; i < count; i++) {
		json_open_object(w, NULL);
		task_write(w, &call->tasks[i]);
		json_close_object(w);
	}
	json_close_array(w);
	if (more)
		snprintf(cursor, sizeof(cursor), "t.%llu", (unsigned long long)call->tasks[count - 1].task_id);
	page_write(w, cursor);
}

static void answer_list(struct request *r)
{
	reply_op(r, list_write);
}

void get_tasks(struct request *r)
{
	const char       *cursor;
	int64_t           limit;
	struct task_call *call;

	if (!page_read(r, &limit, &cursor) || !query_end(r))
		return;
	if (cursor && (strncmp(cursor, "t.", 2) != 0 || strlen(cursor) < 3 || strlen(cursor) > 20 ||
	               strspn(cursor + 2, "0123456789") != strlen(cursor + 2))) {
		reply_refused(r, BAD_CURSOR, NULL, NULL);
		return;
	}
	call = mem_alloc(sizeof(*call));
	call->limit = limit;
	call->task_id = cursor ? strtoull(cursor + 2, NULL, 10) : INT64_MAX;
	call->tasks = mem_alloc((size_t)(limit + 1) * sizeof(*call->tasks));
	call_start(r, call, run_list, answer_list);
}
