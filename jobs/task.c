/* task.c - see task.h. */
#include "jobs/task.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/db/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LOCKED_MS: how long a claimer remembers that it met a lock, which cost it a second. */
enum { FULL_WALK_MS = 3000, LOW_MARGIN_MS = 2000, FRESH_MS = 1500, LOCKED_MS = 10000 };

static const struct {
	const char            *word;
	enum reservation_state from;
	enum statement         complete;
} kinds[TASK_KINDS] = {
#define X(name, number, word, from, statement) [name] = {word, from, statement},
#include "jobs/kinds.def"
#undef X
};

const char *task_kind_name(enum task_kind k)
{
	return kinds[k].word;
}

enum task_kind task_kind_find(const char *word)
{
	for (int k = 1; k < TASK_KINDS; k++)
		if (strcmp(kinds[k].word, word) == 0)
			return (enum task_kind)k;
	return TASK_NO_KIND;
}

enum statement task_kind_statement(enum task_kind k)
{
	return kinds[k].complete;
}

enum reservation_state task_kind_from(enum task_kind k)
{
	return kinds[k].from;
}

const char *task_state_name(enum task_state s)
{
	static const char *const names[TASK_STATES] = {
		"",
#define X(name, number, word) [number] = word,
#include "jobs/task_states.def"
#undef X
	};

	assert(s < TASK_STATES);
	return names[s];
}

void task_answer_fini(struct task_answer *a)
{
	free(a->lost_orders);
	*a = (struct task_answer){0};
}

/* ---- reading */

struct task_reader {
	struct task *list;
	size_t       count, max;
};

static void task_row(void *arg, const struct db_row *row)
{
	struct task_reader *in = arg;
	struct task        *t = &in->list[in->count++];

	assert(in->count <= in->max && row->len[2] <= ID_MAX);
	*t = (struct task){.task_id = (uint64_t)db_int(row, 0),
	                   .kind = (enum task_kind)db_int(row, 1),
	                   .state = (enum task_state)db_int(row, 3),
	                   .lease_until = time_parse(row->col[4]),
	                   .claimed = db_int(row, 5),
	                   .completed = db_int(row, 6),
	                   .failed = db_int(row, 7),
	                   .created_at = time_parse(row->col[8]),
	                   .overdue = db_int(row, 9) != 0};
	memcpy(t->worker, row->col[2], row->len[2]);
}

static enum db_result tasks_read(struct db *db, enum statement name, const struct fill *fill, struct task_reader *in)
{
	return txn_ask(db, name, fill, task_row, in);
}

enum db_result task_read(struct db *db, uint64_t task_id, struct task *task)
{
	struct task_reader in = {.list = task, .max = 1};

	*task = (struct task){0};
	return tasks_read(db, TASK_READ, &(struct fill){.task = (int64_t)task_id}, &in);
}

enum db_result task_list(struct db *db, uint64_t low, struct task *list, size_t max, size_t *count)
{
	struct task_reader in = {.list = list, .max = max};
	enum db_result     result =
		tasks_read(db, TASK_LIST, &(struct fill){.before_id = (int64_t)low, .limit = (int64_t)max}, &in);

	*count = in.count;
	return result;
}

/* What the task has in `state`, by id: the order in which rows are locked. */
enum db_result task_rows(struct db *db, struct catalogue *c, uint64_t task_id, enum reservation_state state,
                         struct reservation_reader *in)
{
	enum db_result result;

	*in = (struct reservation_reader){.catalogue = c};
	result = txn_ask(db, TASK_ROWS, &(struct fill){.task = (int64_t)task_id, .state = state}, reservation_read, in);
	reservations_join(in);
	return result;
}

/* ---- what a task has */

void task_id_rows(struct values *rows, struct reservation **list, size_t count)
{
	values_begin(rows, 1);
	for (size_t i = 0; i < count; i++)
		values_int(rows, (int64_t)list[i]->reservation_id);
}

static bool is_named(const struct reservation *r, const struct report *orders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(orders[i].order_id, r->order_id) == 0)
			return true;
	return count == 0;
}

void task_lost_add(struct task_answer *a, const char *order_id)
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

const struct reservation *task_rows_find(const struct reservation_reader *in, const char *order_id)
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
		task_lost_add(a, released.list[i]->order_id);
	reservations_free(released.list, released.count);
	return result;
}

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
		if (!task_rows_find(&done, orders[i].order_id) && !task_rows_find(open, orders[i].order_id))
			task_lost_add(a, orders[i].order_id);
	if (result == DB_OK && !a->lease_lost && count == 0)
		result = released_read(db, c, a);
	reservations_free(done.list, done.count);
	return result;
}

/* ---- claim */

static void claim_read(void *arg, const struct db_row *row)
{
	struct task *task = arg;

	task->task_id = (uint64_t)db_int(row, 0);
	task->claimed = db_int(row, 1);
	task->lease_until = time_parse(row->col[2]);
	task->met_lock = row->columns > 3 && db_int(row, 3) != 0;
}

/* What became of a claim with this mark, whose answer was lost. */
static enum db_result claim_look(struct db *db, struct task *task)
{
	task->task_id = 0;
	return txn_ask(db, TASK_OF_MARK, &(struct fill){.mark = task->mark}, claim_read, task);
}

static enum db_result claim_run(struct db *db, struct claimer *claimer, struct task *task, int64_t limit,
                                int64_t lease_s, int64_t low_ms)
{
	struct fill    fill = {.worker = task->worker,
	                       .mark = task->mark,
	                       .kind = task->kind,
	                       .state = kinds[task->kind].from,
	                       .limit = limit,
	                       .met_lock = clock_ms() < claimer->locked_until_ms,
	                       .lease_s = lease_s,
	                       .from_at = low_ms};
	enum db_result result;

	task->task_id = 0;
	task->met_lock = false;
	result = txn_ask(db, TASK_CLAIM, &fill, claim_read, task);
	if (task->met_lock && clock_ms() >= claimer->locked_until_ms)
		claimer->locked_until_ms = clock_ms() + LOCKED_MS;
	return result == DB_DUPLICATE ? claim_look(db, task) : result;
}

static int64_t mark_new(void)
{
	int64_t mark;

	random_bytes(&mark, sizeof(mark));
	return mark & INT64_MAX ? mark & INT64_MAX : 1;
}

/* Moves the low-water mark to the last one that was claimed, the walk being in the order of due_at. A full batch of old
 * ones: more wait, so the next claim is of the fresh ones. */
static void claimer_note(struct claimer *claimer, const struct task *task, const struct reservation_reader *in,
                         int64_t limit, int64_t lease_s)
{
	int64_t last = 0, fresh = task->lease_until - lease_s * 1000 - FRESH_MS;

	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->due_at > last)
			last = in->list[i]->due_at;
	if (last - LOW_MARGIN_MS > claimer->low_ms)
		claimer->low_ms = last - LOW_MARGIN_MS;
	if (claimer->both_ends && (int64_t)in->count == limit && last < fresh)
		claimer->fresh_ms = fresh;
}

/* Where the claimer thinks that the oldest are; then from the beginning, because something older may have come back. */
static enum db_result claim_walk(struct db *db, struct claimer *claimer, struct task *task, int64_t limit,
                                 int64_t lease_s, bool *fresh)
{
	enum db_result result = DB_OK;
	int64_t        fresh_ms = claimer->fresh_ms;

	if (clock_ms() >= claimer->full_at_ms) {
		claimer->low_ms = 0;
		claimer->full_at_ms = clock_ms() + FULL_WALK_MS;
	}
	claimer->fresh_ms = 0;
	if (fresh_ms > 0)
		result = claim_run(db, claimer, task, limit, lease_s, fresh_ms);
	*fresh = task->task_id > 0;
	if (result == DB_OK && !*fresh)
		result = claim_run(db, claimer, task, limit, lease_s, claimer->low_ms);
	if (result == DB_OK && task->task_id == 0 && claimer->low_ms > 0) {
		claimer->low_ms = 0;
		result = claim_run(db, claimer, task, limit, lease_s, 0);
	}
	return result;
}

enum db_result task_claim(struct db *db, struct catalogue *c, struct claimer *claimer, struct task *task, int64_t limit,
                          int64_t lease_s, struct reservation ***orders, size_t *count)
{
	struct reservation_reader in = {0};
	enum db_result            result;
	bool                      again = task->mark != 0, fresh;

	*orders = NULL;
	*count = 0;
	task->task_id = 0;
	if (!again)
		task->mark = mark_new();
	result = claim_walk(db, claimer, task, limit, lease_s, &fresh);
	/* Nothing is due, perhaps because the claim that was not heard of has taken it. */
	if (result == DB_OK && task->task_id == 0 && again)
		result = claim_look(db, task);
	if (result != DB_OK || task->task_id == 0)
		return result;
	task->state = TASK_OPEN;
	result = task_rows(db, c, task->task_id, kinds[task->kind].from, &in);
	*orders = in.list;
	*count = in.count;
	if (!fresh)
		claimer_note(claimer, task, &in, limit, lease_s);
	return result;
}

/* The orders as they are now, whoever has them. */
static enum db_result rows_now(struct db *db, struct catalogue *c, struct reservation **mine, size_t count,
                               struct reservation_reader *in)
{
	struct values  rows = {.columns = 1};
	enum db_result result;

	for (size_t i = 0; i < count; i++)
		values_text(&rows, mine[i]->order_id);
	in->catalogue = c;
	result = txn_ask(db, RESERVATION_FIND, &(struct fill){.rows = &rows, .limit = INT64_MAX}, reservation_read, in);
	reservations_join(in);
	values_fini(&rows);
	return result;
}

enum db_result task_take_up(struct db *db, struct catalogue *c, struct task *task, int64_t lease_s,
                            struct reservation **mine, size_t mine_count, struct reservation ***now, size_t *count)
{
	struct reservation_reader in = {0};
	struct values             rows = {.columns = 2};
	enum db_result            result;
	int64_t                   of = (int64_t)task->task_id;

	if (task->mark == 0)
		task->mark = mark_new();
	for (size_t i = 0; i < mine_count; i++) {
		values_int(&rows, (int64_t)mine[i]->reservation_id);
		values_int(&rows, mine[i]->attempts);
	}
	result = txn_ask(db, TASK_TAKE_UP,
	                 &(struct fill){.rows = &rows,
	                                .mark = task->mark,
	                                .task = of,
	                                .state = kinds[task->kind].from,
	                                .lease_s = lease_s},
	                 claim_read, task);
	values_fini(&rows);
	if (result == DB_DUPLICATE)
		result = claim_look(db, task);
	if (result == DB_OK)
		result = rows_now(db, c, mine, mine_count, &in);
	if (result != DB_OK)
		task->task_id = (uint64_t)of; /* to be asked again */
	*now = in.list;
	*count = in.count;
	return result;
}

/* ---- return and heartbeat */

enum db_result task_return(struct db *db, struct catalogue *c, uint64_t task_id, struct task_answer *a)
{
	struct reservation_reader open = {0};
	struct values             rows = {.columns = 1};
	struct txn                t = {0};
	enum txn_verdict          verdict = TXN_DONE;
	enum db_result            result = task_prepare(db, c, task_id, NULL, 0, a, &open);
	const struct fill         fill = {.rows = &rows, .task = (int64_t)task_id, .state = kinds[a->task.kind].from};

	a->lease_lost = a->task.state == TASK_REAPED;
	if (result == DB_OK && a->task.state == TASK_OPEN) {
		txn_begin(&t, db);
		task_id_rows(&rows, open.list, open.count);
		if (open.count > 0) {
			txn_run(&t, TASK_GIVE_BACK, &fill);
			txn_expect(&t, open.count, TXN_MOVED);
		}
		txn_run(&t, TASK_MARK_RETURNED, &fill);
		txn_expect(&t, 1, TXN_CLOSED);
		result = txn_commit(&t, &verdict);
	}
	reservations_free(open.list, open.count);
	values_fini(&rows);
	if (result == DB_OK && verdict != TXN_DONE)
		return DB_RETRY;
	return result == DB_OK && !a->lease_lost ? task_read(db, task_id, &a->task) : result;
}

enum db_result task_heartbeat(struct db *db, uint64_t task_id, int64_t lease_s, struct task_answer *a)
{
	struct txn       t = {0};
	enum txn_verdict verdict;
	enum db_result   result;

	*a = (struct task_answer){0};
	txn_begin(&t, db);
	txn_run(&t, TASK_HEARTBEAT, &(struct fill){.task = (int64_t)task_id, .lease_s = lease_s});
	result = txn_commit(&t, &verdict);
	if (result == DB_OK)
		result = task_read(db, task_id, &a->task);
	a->lease_lost = a->task.task_id && a->task.state != TASK_OPEN;
	return result;
}
