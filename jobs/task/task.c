/* task.c - see task.h. */
#include "jobs/task/task.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/txn.h"
#include "engine/catalogue/past.h"
#include "jobs/task/order_index.h"

static const struct {
	const char            *word;
	enum reservation_state from;
	enum statement         complete;
} kinds[TASK_KINDS] = {
#define X(name, number, word, from, statement) [name] = {word, from, statement},
#include "jobs/task/kinds.def"
#undef X
};

const char *task_kind_name(enum task_kind k)
{
	return k > 0 && k < TASK_KINDS ? kinds[k].word : "unknown";
}

enum task_kind task_kind_find(const char *word)
{
	for (int k = 1; k < TASK_KINDS; k++)
		if (strcmp(kinds[k].word, word) == 0)
			return (enum task_kind)k;
	return TASK_NO_KIND;
}

enum statement task_kind_complete(enum task_kind k)
{
	return kinds[k < TASK_KINDS ? k : TASK_NO_KIND].complete;
}

enum reservation_state task_kind_from(enum task_kind k)
{
	return kinds[k < TASK_KINDS ? k : TASK_NO_KIND].from;
}

const char *task_state_name(enum task_state s)
{
	static const char *const names[TASK_STATES] = {
#define X(name, number, word) [number] = word,
#include "jobs/task/task_states.def"
#undef X
	};

	return s > 0 && s < TASK_STATES ? names[s] : "unknown";
}

bool task_is_lost(const struct task *t)
{
	return t->state == TASK_REAPED || t->state < TASK_OPEN || t->state >= TASK_STATES;
}

void task_answer_fini(struct task_answer *a)
{
	free(a->lost_orders);
	*a = (struct task_answer){.by = a->by};
}

/* ---- reading */

struct task_reader {
	struct task *list;
	size_t       count, max;
};

static void task_row(void *arg, const struct db_row *row)
{
	struct task_reader *in = arg;
	struct task        *t;

	if (in->count == in->max) {
		db_other(row);
		return;
	}
	t = &in->list[in->count++];
	*t = (struct task){.task_id = (uint64_t)db_int(row, 0),
	                   .kind = (enum task_kind)db_int(row, 1),
	                   .state = (enum task_state)db_int(row, 3),
	                   .lease_until = time_parse(row->col[4]),
	                   .claimed = db_int(row, 5),
	                   .completed = db_int(row, 6),
	                   .failed = db_int(row, 7),
	                   .created_at = time_parse(row->col[8])};
	db_copy(row, 2, t->worker, sizeof(t->worker));
	if (t->kind == TASK_NO_KIND || t->kind >= TASK_KINDS)
		t->state = TASK_NO_STATE;
}

enum db_result task_page(struct db *db, enum statement name, const struct fill *fill, struct task *list, size_t max,
                         size_t *count)
{
	struct task_reader in = {.list = list, .max = max};
	enum db_result     result = db_ask(db, name, fill, task_row, &in);

	assert(in.count <= max);
	*count = in.count;
	return result;
}

enum db_result task_read(struct db *db, uint64_t task_id, struct task *task)
{
	size_t count;

	*task = (struct task){0};
	return task_page(db, TASK_READ, &(struct fill){.task = (int64_t)task_id}, task, 1, &count);
}

enum db_result task_list(struct db *db, uint64_t low, struct task *list, size_t max, size_t *count)
{
	return task_page(db, TASK_LIST, &(struct fill){.before_id = (int64_t)low, .limit = (int64_t)max}, list, max,
	                 count);
}

enum db_result task_rows(struct db *db, uint64_t task_id, enum reservation_state state, struct reservation_reader *in)
{
	struct catalogue *c = past_catalogue(db);
	*in = (struct reservation_reader){.catalogue = c};
	return reservations_ask(db, TASK_ROWS, &(struct fill){.task = (int64_t)task_id, .state = state}, in);
}

/* ---- the orders of a task */

void task_lost_add(struct task_answer *a, const char *order_id)
{
	if ((a->lost & (a->lost - 1)) == 0) /* the room is a power of two */
		a->lost_orders =
			mem_resize(a->lost_orders, (size_t)(a->lost ? 2 * a->lost : 1) * sizeof(a->lost_orders[0]));
	strcpy(a->lost_orders[a->lost++], order_id);
}

/* Keeps the rows that are named (`named` is empty: all); frees the others. */
static void rows_keep(struct reservation_reader *in, const struct order_index *named)
{
	size_t kept = 0;

	for (size_t i = 0; i < in->count; i++) {
		if (named->count == 0 || order_index_find(named, in->list[i]->order_id))
			in->list[kept++] = in->list[i];
		else
			reservation_free(in->list[i]);
	}
	in->count = kept;
}

/* The named orders that are neither open nor done. */
static void lost_count(const struct report *orders, size_t count, const struct reservation_reader *open,
                       const struct reservation_reader *done, struct task_answer *a)
{
	struct order_index by_id = order_index_rows(open), done_by_id = order_index_rows(done);

	for (size_t i = 0; i < count; i++)
		if (!order_index_find(&done_by_id, orders[i].order_id) && !order_index_find(&by_id, orders[i].order_id))
			task_lost_add(a, orders[i].order_id);
	order_index_fini(&by_id);
	order_index_fini(&done_by_id);
}

static void lost_read(void *arg, const struct db_row *row)
{
	task_lost_add(arg, db_word(row, 0));
}

/* Finds lost orders: those that were released while the task had them keep its number; those that were split are in
 * task_lost. */
static enum db_result lost_find(struct db *db, struct task_answer *a)
{
	struct reservation_reader released;
	enum db_result            result = task_rows(db, a->task.task_id, RELEASED, &released);

	for (size_t i = 0; result == DB_OK && i < released.count; i++)
		task_lost_add(a, released.list[i]->order_id);
	reservations_free(released.list, released.count);
	return result == DB_OK
	               ? db_ask(db, TASK_LOST_FIND, &(struct fill){.task = (int64_t)a->task.task_id}, lost_read, a)
	               : result;
}

enum db_result task_prepare(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                            struct task_answer *a, struct reservation_reader *open)
{
	struct reservation_reader done = {0};
	struct order_index        named;
	enum db_result            result;

	task_answer_fini(a);
	*open = (struct reservation_reader){0};
	result = task_read(db, task_id, &a->task);
	if (result != DB_OK || a->task.task_id == 0)
		return result;
	/* The order of the reads matters: an order completed between the two is found in both, and the write is tried
	 * again. */
	result = task_rows(db, task_id, task_kind_from(a->task.kind), open);
	if (result == DB_OK)
		result = task_rows(db, task_id, a->task.kind == TASK_SETTLE ? SETTLED : EXPIRED, &done);
	named = order_index_list(orders, count, sizeof(*orders));
	rows_keep(&done, &named);
	rows_keep(open, &named);
	order_index_fini(&named);
	a->completed = (int64_t)done.count;
	a->lease_lost = task_is_lost(&a->task);
	if (result == DB_OK && !a->lease_lost)
		lost_count(orders, count, open, &done, a);
	if (result == DB_OK && !a->lease_lost && count == 0)
		result = lost_find(db, a);
	reservations_free(done.list, done.count);
	return result;
}

/* ---- writing */

enum db_result task_return(struct db *db, uint64_t task_id, struct task_answer *a)
{
	struct reservation_reader open = {0};
	struct values             rows = {0};
	struct txn                t = {0};
	enum db_result            result = task_prepare(db, task_id, NULL, 0, a, &open);
	const struct fill fill = {.rows = &rows, .task = (int64_t)task_id, .state = task_kind_from(a->task.kind)};

	a->lease_lost = task_is_lost(&a->task);
	if (result == DB_OK && a->task.state == TASK_OPEN) {
		txn_begin(&t, db);
		txn_enter(&t, reservations_as_read(&rows, open.list, open.count), false);
		if (open.count > 0) {
			txn_run(&t, TASK_GIVE_BACK, &fill);
			txn_expect(&t, open.count, TXN_MOVED);
		}
		txn_run(&t, TASK_MARK_RETURNED, &fill);
		txn_expect(&t, 1, TXN_CLOSED);
		result = txn_commit_or_retry(&t);
	}
	reservations_free(open.list, open.count);
	values_fini(&rows);
	return result == DB_OK && !a->lease_lost ? task_read(db, task_id, &a->task) : result;
}

enum db_result task_heartbeat(struct db *db, uint64_t task_id, int64_t lease_s, struct task_answer *a)
{
	struct txn     t = {0};
	enum db_result result;

	*a = (struct task_answer){0};
	txn_begin(&t, db);
	txn_run(&t, TASK_HEARTBEAT, &(struct fill){.task = (int64_t)task_id, .lease_s = lease_s});
	result = txn_commit_or_retry(&t);
	if (result == DB_OK)
		result = task_read(db, task_id, &a->task);
	a->lease_lost = a->task.task_id && a->task.state != TASK_OPEN;
	return result;
}
