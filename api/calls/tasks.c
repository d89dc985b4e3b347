/* tasks.c - see tasks.h. */
#include "api/calls/tasks.h"
#include "api/calls/page.h"
#include "api/keys.h"
#include "api/request.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"
#include "engine/rows_json.h"
#include "jobs/task/claim.h"
#include "jobs/task/complete.h"

#include <stdio.h>

enum { CLAIM_STANDARD = 100, LEASE_MAX = 3600, ORDERS_MAX = CLAIM_MAX, ERROR_MAX = 500 };

struct task_call {
	struct job_call job;
	/* ---- asked */
	struct task    task;    /* a claim's kind and worker */
	uint64_t       task_id; /* a list: the number below which it begins */
	int64_t        claim_max, lease_s;
	struct report *reports; /* owned, as are their errors */
	size_t         reports_count;
	/* ---- answered */
	struct task_answer   answer;
	struct reservation **orders;
	size_t               orders_count;
};

static void call_fini(void *arg)
{
	struct task_call *call = arg;

	for (size_t i = 0; i < call->reports_count; i++)
		free((char *)(uintptr_t)call->reports[i].error);
	free(call->reports);
	reservations_free(call->orders, call->orders_count);
	task_answer_fini(&call->answer);
}

/* Makes a call, with the task's number if the path has one. */
static void *call_new(struct request *r)
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
	call->answer.by = r->key ? r->key->key_id : 0;
	return call;
}

static const struct job_noun noun = {call_new, call_fini};

/* Takes the result of a call on one task, and sets the outcome by the answer. */
static enum db_result judged(struct task_call *call, enum db_result result)
{
	call->job.outcome = call->answer.lease_lost ? LEASE_LOST : OUTCOME_OK;
	if (call->answer.task.task_id == 0)
		call->job.outcome = NO_TASK;
	return result;
}

/* ---- answers */

static void task_write(struct json_writer *w, const void *task)
{
	const struct task *t = task;

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

static void one_write(struct json_writer *w, void *arg)
{
	task_write(w, &((struct task_call *)arg)->answer.task);
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

static void failed_write(struct json_writer *w, void *arg)
{
	const struct task_answer *a = &((struct task_call *)arg)->answer;

	json_put_int(w, "retried", a->retried);
	json_put_int(w, "buried", a->buried);
	lost_write(w, a);
}

/* ---- claim */

static enum db_result run_claim(struct db *db, void *arg)
{
	static struct claimer claimers[TASK_KINDS]; /* no lock: only the background reader's thread runs this */
	struct task_call     *call = arg;
	struct task          *task = &call->task;
	enum db_result        result;

	reservations_free(call->orders, call->orders_count);
	result = task_claim(db, &claimers[task->kind], task, call->claim_max, call->lease_s, &call->orders,
	                    &call->orders_count);
	call->job.empty = task->task_id == 0;
	call->job.later = task->paused;
	call->job.made = "tasks/";
	snprintf(call->job.made_id, sizeof(call->job.made_id), "%llu", (unsigned long long)task->task_id);
	return result;
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

static void read_claim(struct json_reader *in, void *arg)
{
	static const char *const words[] = {
#define X(name, number, word, from, statement) [name - 1] = word,
#include "jobs/task/kinds.def"
#undef X
		[TASK_KINDS - 1] = NULL};
	struct task_call *call = arg;
	const char       *worker = "";
	size_t            len = 0;
	int               kind = 0;

	call->claim_max = CLAIM_STANDARD;
	call->lease_s = LEASE_S;
	json_word(in, "kind", JSON_REQUIRED, words, &kind);
	json_id(in, "worker", JSON_REQUIRED, &worker, &len);
	json_int(in, "limit", JSON_OPTIONAL, 1, CLAIM_MAX, &call->claim_max);
	json_int(in, "lease_s", JSON_OPTIONAL, 1, LEASE_MAX, &call->lease_s);
	call->task.kind = (enum task_kind)(kind + 1);
	memcpy(call->task.worker, worker, len);
}

const struct job_kind post_task = {&noun, read_claim, run_claim, claim_write, NULL};

/* ---- heartbeat, return, one task */

static void read_heartbeat(struct json_reader *in, void *arg)
{
	struct task_call *call = arg;

	call->lease_s = LEASE_S;
	json_int(in, "lease_s", JSON_OPTIONAL, 1, LEASE_MAX, &call->lease_s);
}

static enum db_result run_heartbeat(struct db *db, void *arg)
{
	struct task_call *call = arg;

	return judged(call, task_heartbeat(db, call->task_id, call->lease_s, &call->answer));
}

const struct job_kind post_task_heartbeat = {&noun, read_heartbeat, run_heartbeat, one_write, NULL};

static enum db_result run_return(struct db *db, void *arg)
{
	struct task_call *call = arg;

	task_answer_fini(&call->answer);
	return judged(call, task_return(db, call->task_id, &call->answer));
}

const struct job_kind post_task_return = {&noun, NULL, run_return, one_write, NULL};

static enum db_result run_read(struct db *db, void *arg)
{
	struct task_call *call = arg;

	return judged(call, task_read(db, call->task_id, &call->answer.task));
}

const struct job_kind get_task = {&noun, NULL, run_read, one_write, NULL};

/* ---- complete and fail */

static void read_completed(struct json_reader *in, void *arg)
{
	struct task_call *call = arg;
	const void       *element;
	const char       *id = "";
	size_t            count = 0, len = 0;

	if (json_has(in, "order_ids"))
		count = json_array(in, "order_ids", 1, ORDERS_MAX, &element);
	call->reports = mem_alloc(count * sizeof(*call->reports));
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_id(in, "order_ids", i, element, &id, &len);
		if (!in->failed)
			memcpy(call->reports[call->reports_count++].order_id, id, len);
	}
}

static enum db_result run_complete(struct db *db, void *arg)
{
	struct task_call *call = arg;

	task_answer_fini(&call->answer);
	return judged(call, task_complete(db, call->task_id, call->reports, call->reports_count, &call->answer));
}

const struct job_kind post_task_complete = {&noun, read_completed, run_complete, completed_write, NULL};

static void read_failure(struct json_reader *order, struct task_call *call)
{
	const char    *id = "", *error = "";
	size_t         id_len = 0, error_len = 0;
	bool           retry = false;
	struct report *report;

	json_id(order, "order_id", JSON_REQUIRED, &id, &id_len);
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

static void read_failures(struct json_reader *in, void *arg)
{
	struct task_call  *call = arg;
	struct json_reader order;
	const void        *element;
	size_t             count = json_array(in, "orders", 1, ORDERS_MAX, &element);

	call->reports = mem_alloc(count * sizeof(*call->reports));
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_object(in, "orders", i, element, &order);
		read_failure(&order, call);
		json_leave(&order, in);
	}
}

static enum db_result run_fail(struct db *db, void *arg)
{
	struct task_call *call = arg;

	task_answer_fini(&call->answer);
	return judged(call,
	              task_fail(db, call->task_id, call->reports, call->reports_count, ATTEMPTS_MAX, &call->answer));
}

const struct job_kind post_task_fail = {&noun, read_failures, run_fail, failed_write, NULL};

/* ---- the list */

static bool list_begin(void *arg, const char *cursor)
{
	struct task_call *call = arg;
	int64_t           low = INT64_MAX, none[2];
	bool              good = !cursor || (cursor_read(cursor, 't', 0, &low, &none[0], &none[1]) && low >= 0);

	call->task_id = (uint64_t)low;
	return good;
}

static enum db_result run_list(struct db *db, void *arg)
{
	struct task_call *call = arg;

	return task_list(db, call->task_id, call->job.list, call->job.limit + 1, &call->job.count);
}

static void list_mark(const void *call, const void *task, char *cursor)
{
	(void)call;
	cursor_write(cursor, 't', 0, (int64_t)((const struct task *)task)->task_id, 0, 0);
}

static const struct job_page page = {list_begin, sizeof(struct task), task_write, list_mark};

const struct job_kind get_tasks = {&noun, NULL, run_list, NULL, &page};
