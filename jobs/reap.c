/* reap.c - frees the orders of tasks whose worker went silent.
 *
 * First the task is marked, if it is still open and overdue: from then on its worker changes nothing. Then its orders
 * go back by primary key. Many reapers may run; one that dies between the two steps is finished by the next, which
 * finds orders of tasks that are not open. */
#include "task.h"
#include "engine/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 100, ERROR_MAX = 160 };

struct tasks {
	struct task list[TASKS];
	size_t      count;
};

static void task_row(void *arg, const struct db_row *row)
{
	struct tasks *in = arg;
	struct task  *t = &in->list[in->count++];

	assert(in->count <= TASKS);
	*t = (struct task){.task_id = (uint64_t)db_int(row, 0),
	                   .kind = (enum task_kind)db_int(row, 1),
	                   .state = (enum task_state)db_int(row, 3),
	                   .lease_until = time_parse(row->col[4])};
	memcpy(t->worker, row->col[2], row->len[2]);
}

/* The orders of a task that is closed: each waits and is tried again, or is buried when it had its share of attempts.
 */
static enum db_result orders_free(struct db *db, struct catalogue *c, const struct task *task, unsigned attempts_max,
                                  int64_t *freed)
{
	struct task_answer a;
	char               error[ERROR_MAX];
	enum db_result     result;

	snprintf(error, sizeof(error), "the lease of worker %s ran out", task->worker);
	result = task_release(db, c, task, error, attempts_max, &a);
	*freed = a.retried + a.buried;
	task_answer_fini(&a);
	return result;
}

static enum db_result orders_count(struct db *db, struct catalogue *c, const struct task *task, int64_t *count)
{
	struct reservation_reader in;
	enum db_result            result = task_rows(db, c, task->task_id, task_kind_from(task->kind), &in);

	*count = (int64_t)in.count;
	reservations_free(in.list, in.count);
	return result;
}

static enum db_result task_mark(struct db *db, const struct task *task, int64_t stale_s, bool *ours)
{
	struct text    sql = {0};
	enum db_result result;

	statement_add(&sql, TASK_REAP, &(struct fill){.task = (int64_t)task->task_id, .lease = stale_s});
	result = db_run(db, &sql, NULL, NULL);
	*ours = result == DB_OK && db_changed(db) == 1;
	if (*ours)
		counter_add(COUNT_REAPED_TASKS, 1);
	text_fini(&sql);
	return result;
}

struct reap {
	struct db        *db;
	struct catalogue *catalogue;
	int64_t           stale_s;
	unsigned          attempts_max;
	bool              dry;
	void (*each)(void *arg, const struct task *task, int64_t orders);
	void *arg;
};

static enum db_result reap_one(struct reap *r, const struct task *task, bool marked)
{
	bool           ours = marked;
	int64_t        orders = 0;
	enum db_result result = DB_OK;

	if (r->dry)
		result = orders_count(r->db, r->catalogue, task, &orders);
	else if (!marked)
		result = task_mark(r->db, task, r->stale_s, &ours);
	if (result == DB_OK && !r->dry && ours)
		result = orders_free(r->db, r->catalogue, task, r->attempts_max, &orders);
	if (result == DB_OK && r->each && (r->dry || ours))
		r->each(r->arg, task, orders);
	return result;
}

/* A page of tasks, each done. */
static enum db_result reap_page(struct reap *r, enum statement name, const struct fill *fill, bool marked,
                                struct tasks *found)
{
	struct text    sql = {0};
	enum db_result result;

	found->count = 0;
	statement_add(&sql, name, fill);
	result = db_run(r->db, &sql, task_row, found);
	for (size_t i = 0; result == DB_OK && i < found->count; i++)
		result = reap_one(r, &found->list[i], marked);
	text_fini(&sql);
	return result;
}

/* Page by page, so that tasks that somebody else holds up do not end the pass. */
static enum db_result reap_overdue(struct reap *r, struct tasks *found)
{
	struct text    lease = {0};
	struct task    last = {0};
	enum db_result result;

	do {
		text_reset(&lease);
		row_time(&lease, last.lease_until);
		result = reap_page(
			r, TASK_OVERDUE,
			&(struct fill){
				.lease = r->stale_s, .count = TASKS, .rows = &lease, .low = (int64_t)last.task_id},
			false, found);
		if (found->count > 0)
			last = found->list[found->count - 1];
	} while (result == DB_OK && found->count == TASKS);
	text_fini(&lease);
	return result;
}

static enum db_result reap_orphans(struct reap *r, enum task_kind kind, struct tasks *found)
{
	struct fill    fill = {.state = task_kind_from(kind), .kind = kind, .count = TASKS};
	enum db_result result;

	do {
		result = reap_page(r, TASK_ORPHANS, &fill, true, found);
		if (found->count > 0)
			fill.low = (int64_t)found->list[found->count - 1].task_id;
	} while (result == DB_OK && found->count == TASKS);
	return result;
}

enum db_result task_reap(struct db *db, struct catalogue *c, int64_t stale_s, unsigned attempts_max, bool dry,
                         void (*each)(void *arg, const struct task *task, int64_t orders), void *arg)
{
	struct reap    r = {db, c, stale_s, attempts_max, dry, each, arg};
	struct tasks  *found = mem_alloc(sizeof(*found));
	enum db_result result = reap_overdue(&r, found);

	for (int k = 1; result == DB_OK && k < TASK_KINDS; k++)
		result = reap_orphans(&r, (enum task_kind)k, found);
	free(found);
	return result;
}
