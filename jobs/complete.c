/* complete.c - orders of a task that are done, or failed: one guarded transaction each, written again from what is read
 * anew whenever it undid itself. The count of changed rows is the fence. */
#include "task.h"
#include "engine/guard.h"
#include "engine/statement.h"

#include <stdlib.h>
#include <string.h>

enum { WRITE_TRIES = 20 };

/* ---- complete */

void task_id_rows(struct text *rows, struct reservation **list, size_t count)
{
	text_reset(rows);
	for (size_t i = 0; i < count; i++)
		row_int(rows, (int64_t)list[i]->reservation_id);
}

/* One transaction: rows, units, movement, task. */
static enum db_result complete_write(struct db *db, const struct task *task, struct reservation **list, size_t count,
                                     int *verdict)
{
	struct ids        ids = {.clock_offset_ms = list[0]->read_at - clock_ms(), .owner = task->task_id};
	struct settlement settlement = {task->task_id, list[0]->reservation_id, id_make(&ids)};
	struct text       sql = {0}, rows = {0};
	const struct fill fill = {.rows = &rows,
	                          .task = (int64_t)task->task_id,
	                          .state = task_kind_from(task->kind),
	                          .count = (int64_t)count,
	                          .lease = LEASE_S};
	enum db_result    result;

	guard_begin(&sql);
	task_id_rows(&rows, list, count);
	statement_add(&sql, task_kind_statement(task->kind), &fill);
	guard_expect(&sql, (int64_t)count, ROWS_MOVED);
	if (task->kind == TASK_SETTLE)
		stock_settle(&sql, list, count, &settlement, SLOTS_MOVED);
	else
		stock_give_back(&sql, list, count, SLOTS_MOVED);
	statement_add(&sql, TASK_COMPLETED, &fill);
	guard_expect(&sql, 1, TASK_CLOSED);
	result = guard_run(db, &sql, verdict);
	text_fini(&sql);
	text_fini(&rows);
	return result;
}

/* Nothing of what was named is left: the task is done if nothing else is. Without a guard: a task that was closed
 * meanwhile stays as it is. It is looked at afterwards: a reaper marks the task before it takes its rows, so they were
 * lost to one if it is marked by now. */
static enum db_result nothing_write(struct db *db, struct task *task, int *verdict)
{
	struct text    sql = {0};
	enum db_result result;

	guard_begin(&sql);
	statement_add(
		&sql, TASK_COMPLETED,
		&(struct fill){.task = (int64_t)task->task_id, .state = task_kind_from(task->kind), .lease = LEASE_S});
	result = guard_run(db, &sql, verdict);
	text_fini(&sql);
	return result == DB_OK ? task_read(db, task->task_id, task) : result;
}

static bool is_named(const struct reservation *r, const struct report *orders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(orders[i].order_id, r->order_id) == 0)
			return true;
	return count == 0;
}

static void lost_add(struct task_answer *a, const char *order_id)
{
	a->lost_orders = mem_resize(a->lost_orders, (size_t)(a->lost + 1) * sizeof(a->lost_orders[0]));
	strcpy(a->lost_orders[a->lost++], order_id);
}

/* Keeps the rows that are named, by their order; the others are freed. */
static void rows_keep(struct reservation_reader *in, const struct report *orders, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < in->count; i++) {
		if (is_named(in->list[i], orders, count))
			in->list[kept++] = in->list[i];
		else
			reservation_free(in->list[i]);
	}
	in->count = kept;
}

static const struct reservation *rows_find(const struct reservation_reader *in, const char *order_id)
{
	for (size_t i = 0; i < in->count; i++)
		if (strcmp(in->list[i]->order_id, order_id) == 0)
			return in->list[i];
	return NULL;
}

/* Orders that were released while the task had them keep its number: lost. */
static enum db_result released_read(struct db *db, struct catalogue *c, struct task_answer *a)
{
	struct reservation_reader released;
	enum db_result            result = task_rows(db, c, a->task.task_id, RELEASED, &released);

	for (size_t i = 0; result == DB_OK && i < released.count; i++)
		lost_add(a, released.list[i]->order_id);
	reservations_free(released.list, released.count);
	return result;
}

/* Reads the task and what it has; counts what was completed before and what is lost. */
enum db_result task_prepare(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                            size_t count, struct task_answer *a, struct reservation_reader *open)
{
	struct reservation_reader done = {0};
	enum db_result            result;

	task_answer_fini(a);
	*open = (struct reservation_reader){0};
	result = task_read(db, task_id, &a->task);
	if (result != DB_OK || a->task.task_id == 0)
		return result;
	/* In this order: what is completed between the two reads is found in both, and the write tries anew. */
	result = task_rows(db, c, task_id, task_kind_from(a->task.kind), open);
	if (result == DB_OK)
		result = task_rows(db, c, task_id, a->task.kind == TASK_SETTLE ? SETTLED : EXPIRED, &done);
	rows_keep(&done, orders, count);
	rows_keep(open, orders, count);
	a->completed = (int64_t)done.count;
	a->lease_lost = a->task.state == TASK_REAPED;
	for (size_t i = 0; result == DB_OK && !a->lease_lost && i < count; i++)
		if (!rows_find(&done, orders[i].order_id) && !rows_find(open, orders[i].order_id))
			lost_add(a, orders[i].order_id);
	if (result == DB_OK && !a->lease_lost && count == 0)
		result = released_read(db, c, a);
	reservations_free(done.list, done.count);
	return result;
}

static void expired_count(const struct task *task, int64_t orders)
{
	if (task->kind == TASK_EXPIRE)
		counter_add(COUNT_EXPIRED, orders);
}

enum db_result task_complete(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                             size_t count, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result = DB_OK;
	int                       verdict = ROWS_MOVED;

	*a = (struct task_answer){0};
	for (int i = 0; i < WRITE_TRIES && result == DB_OK && verdict != GUARD_DONE; i++) {
		result = task_prepare(db, c, task_id, orders, count, a, &open);
		verdict = GUARD_DONE;
		if (result == DB_OK && a->task.state == TASK_OPEN) {
			result = open.count > 0 ? complete_write(db, &a->task, open.list, open.count, &verdict)
			                        : nothing_write(db, &a->task, &verdict);
			a->completed += (int64_t)open.count;
			a->lease_lost = a->task.state == TASK_REAPED;
			if (result == DB_DUPLICATE || result == DB_RETRY || result == DB_LOCKED) {
				verdict = ROWS_MOVED; /* undone; read and write anew */
				result = DB_OK;
			}
		}
		reservations_free(open.list, open.count);
	}
	if (result == DB_OK && verdict != GUARD_DONE)
		return DB_RETRY;
	if (result == DB_OK && a->lease_lost)
		a->completed = 0;
	counter_add(COUNT_FENCED, a->lease_lost ? 1 : a->lost);
	expired_count(&a->task, a->completed);
	return result;
}

enum db_result task_complete_claimed(struct db *db, struct catalogue *c, const struct task *task,
                                     struct reservation **orders, size_t count, struct task_answer *a)
{
	int            verdict = ROWS_MOVED;
	enum db_result result = complete_write(db, task, orders, count, &verdict);
	struct report *names;

	*a = (struct task_answer){.task = *task, .completed = (int64_t)count};
	if (result == DB_OK && verdict == GUARD_DONE) {
		expired_count(task, (int64_t)count);
		return DB_OK;
	}
	if (result == DB_AWAY || (result == DB_UNKNOWN && !db_connect(db)))
		return result;
	names = mem_alloc(count * sizeof(*names)); /* somebody took some of them, or nobody knows: look, then write */
	for (size_t i = 0; i < count; i++)
		strcpy(names[i].order_id, orders[i]->order_id);
	result = task_complete(db, c, task->task_id, names, count, a);
	free(names);
	return result;
}

/* ---- fail */

/* min(600, 2^attempts) seconds, give or take 10 %. */
static int64_t backoff_ms(unsigned attempts)
{
	unsigned char chance;
	int64_t       s = attempts < 10 ? INT64_C(1) << attempts : 600;

	random_bytes(&chance, sizeof(chance));
	return (s < 600 ? s : 600) * (900 + 200 * chance / 255);
}

/* What is kept as last_error. */
static const char *reason_of(const struct report *report)
{
	return report->error && *report->error ? report->error : "no reason was given";
}

static void fail_row(struct text *sql, const struct task *task, const struct reservation *r, const char *error,
                     bool bury)
{
	struct text words = {0};

	row_hex(&words, error, strlen(error));
	statement_add(sql,
	              bury                        ? TASK_BURY
	              : task->kind == TASK_EXPIRE ? TASK_RETRY_HELD
	                                          : TASK_RETRY,
	              &(struct fill){.rows = &words,
	                             .id = (int64_t)r->reservation_id,
	                             .task = (int64_t)task->task_id,
	                             .state = task_kind_from(task->kind),
	                             .count = backoff_ms(r->attempts)});
	guard_expect(sql, 1, ROWS_MOVED);
	text_fini(&words);
}

static const struct report *report_of(const struct reservation *r, const struct report *orders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(orders[i].order_id, r->order_id) == 0)
			return &orders[i];
	return NULL;
}

/* Appends what happens to each of the task's rows that a report names; counts them. */
static void fail_rows(struct text *sql, const struct reservation_reader *open, const struct report *orders,
                      size_t count, unsigned attempts_max, struct task_answer *a)
{
	for (size_t i = 0; i < open->count; i++) {
		const struct report *report = report_of(open->list[i], orders, count);
		bool bury = a->task.kind == TASK_SETTLE && (!report->retry || open->list[i]->attempts >= attempts_max);

		fail_row(sql, &a->task, open->list[i], reason_of(report), bury);
		*(bury ? &a->buried : &a->retried) += 1;
	}
}

/* In one transaction; the task's row is written too while it is open. */
static enum db_result fail_write(struct db *db, const struct reservation_reader *open, const struct report *orders,
                                 size_t count, unsigned attempts_max, struct task_answer *a, int *verdict)
{
	struct text    sql = {0};
	enum db_result result;

	a->retried = a->buried = 0;
	guard_begin(&sql);
	fail_rows(&sql, open, orders, count, attempts_max, a);
	if (a->task.state == TASK_OPEN) {
		statement_add(&sql, TASK_FAILED,
		              &(struct fill){.task = (int64_t)a->task.task_id,
		                             .state = task_kind_from(a->task.kind),
		                             .count = (int64_t)open->count});
		guard_expect(&sql, 1, TASK_CLOSED);
	}
	result = guard_run(db, &sql, verdict);
	text_fini(&sql);
	return result;
}

/* An order that failed bears the reason: it is found again by whoever repeats the call. */
static bool fail_is_repeated(const struct reservation *r, const struct report *report, struct task_answer *a)
{
	bool repeated = r && (r->state == BURIED || r->state == task_kind_from(a->task.kind)) && r->last_error &&
	                strcmp(r->last_error, reason_of(report)) == 0;

	if (repeated)
		*(r->state == BURIED ? &a->buried : &a->retried) += 1;
	return repeated;
}

/* Orders that the task did not have: those that failed before count as they did, the others are lost. */
static enum db_result fail_absent(struct db *db, struct catalogue *c, const struct reservation_reader *open,
                                  const struct report *orders, size_t count, struct task_answer *a)
{
	struct reservation_reader found = {.catalogue = c};
	struct text               sql = {0}, rows = {0};
	enum db_result            result = DB_OK;

	for (size_t i = 0; i < count; i++)
		if (!rows_find(open, orders[i].order_id))
			row_hex(&rows, orders[i].order_id, strlen(orders[i].order_id));
	if (rows.len > 0) {
		statement_add(&sql, RESERVATION_FIND, &(struct fill){.rows = &rows, .count = INT64_MAX});
		result = db_run(db, &sql, reservation_read, &found);
		reservations_join(&found);
	}
	a->lost = 0;
	for (size_t i = 0; i < count && result == DB_OK; i++)
		if (!rows_find(open, orders[i].order_id) &&
		    !fail_is_repeated(rows_find(&found, orders[i].order_id), &orders[i], a))
			lost_add(a, orders[i].order_id);
	reservations_free(found.list, found.count);
	text_fini(&sql);
	text_fini(&rows);
	return result;
}

enum db_result task_fail(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                         size_t count, unsigned attempts_max, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result = DB_OK;
	int                       verdict = ROWS_MOVED;

	*a = (struct task_answer){0};
	for (int i = 0; i < WRITE_TRIES && result == DB_OK && verdict != GUARD_DONE; i++) {
		result = task_prepare(db, c, task_id, orders, count, a, &open);
		verdict = GUARD_DONE;
		if (result == DB_OK && a->task.state == TASK_OPEN)
			result = open.count > 0 ? fail_write(db, &open, orders, count, attempts_max, a, &verdict)
			                        : nothing_write(db, &a->task, &verdict);
		a->lease_lost = a->task.state == TASK_REAPED || a->task.state == TASK_RETURNED;
		if (result == DB_OK && verdict == GUARD_DONE && a->task.task_id && !a->lease_lost) {
			result = fail_absent(db, c, &open, orders, count, a);
		}
		if (result == DB_RETRY || result == DB_LOCKED) {
			verdict = ROWS_MOVED;
			result = DB_OK;
		}
		reservations_free(open.list, open.count);
	}
	if (result == DB_OK && verdict != GUARD_DONE)
		return DB_RETRY;
	counter_add(COUNT_FENCED, a->lease_lost ? 0 : a->lost);
	return result;
}

enum db_result task_release(struct db *db, struct catalogue *c, const struct task *task, const char *error,
                            unsigned attempts_max, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result = DB_OK;
	int                       verdict = ROWS_MOVED;

	*a = (struct task_answer){.task = *task};
	a->task.state = TASK_REAPED;
	for (int i = 0; i < WRITE_TRIES && result == DB_OK && verdict != GUARD_DONE; i++) {
		struct report *reports;

		result = task_rows(db, c, task->task_id, task_kind_from(task->kind), &open);
		verdict = GUARD_DONE;
		reports = mem_alloc(open.count * sizeof(*reports));
		for (size_t k = 0; k < open.count; k++) {
			reports[k] = (struct report){.retry = true, .error = error};
			strcpy(reports[k].order_id, open.list[k]->order_id);
		}
		if (result == DB_OK && open.count > 0)
			result = fail_write(db, &open, reports, open.count, attempts_max, a, &verdict);
		if (result == DB_RETRY || result == DB_LOCKED) {
			verdict = ROWS_MOVED;
			result = DB_OK;
		}
		free(reports);
		reservations_free(open.list, open.count);
	}
	if (result == DB_OK && verdict != GUARD_DONE)
		return DB_RETRY;
	return result;
}
