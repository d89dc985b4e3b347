/* complete.c - see complete.h. Orders of a task are completed in lists, each list in one transaction. A transaction
 * that was undone is written again, from rows that are read again. The count of changed rows is the fence. A list that
 * is too large for one transaction, or that the database refuses, is halved until it fits or is a single order. That
 * order fails, with the reason, and the others are done. A list with locked rows is halved, too. */
#include "jobs/task/complete.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/hash.h"
#include "engine/base/ids.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/retry.h"
#include "engine/log/event.h"
#include "engine/catalogue/past.h"
#include "engine/write/on_hold.h"
#include "engine/promise/noted.h"
#include "engine/promise/shares.h"
#include "engine/promise/waiting.h"
#include "jobs/task/order_index.h"

/* LOCKED_MAX: locked orders that are found one by one; further ones are put aside as whole lists, because each look
 * takes 2 s. REPORT_MS: how long a report of a task is tried again. RELEASE_MAX: orders that a reaper frees in one
 * transaction. ALONE_MAX: when so many orders are refused one after the other, the database is to blame. */
enum { ALONE_MAX = 8, RELEASE_MAX = 1000, LOCKED_MAX = 4, REPORT_MS = 40000 };

/* Adds to the completed or failed orders of the task, which is done if no order is left. */
static void task_count(struct txn *t, enum statement name, const struct task *task, size_t orders)
{
	txn_run(t, name,
	        &(struct fill){.task = (int64_t)task->task_id,
	                       .state = task_kind_from(task->kind),
	                       .orders = (int64_t)orders,
	                       .lease_s = LEASE_S});
	if (orders > 0) /* a count of nothing may change nothing */
		txn_expect(t, 1, TXN_CLOSED);
}

/* ---- orders that fail */

/* min(600, 2^attempts) seconds, give or take 10 %. */
static int64_t backoff_ms(unsigned attempts)
{
	unsigned char chance;
	int64_t       s = attempts < 10 ? INT64_C(1) << attempts : 600;

	random_bytes(&chance, sizeof(chance));
	return (s < 600 ? s : 600) * (900 + 200 * chance / 255);
}

/* The text for last_error. */
static const char *reason_of(const struct report *report)
{
	return report->error && *report->error ? report->error : "no reason was given";
}

/* Appends the event of a burial. */
static void bury_tell(struct text *changes, const struct task_answer *a, const struct reservation *r, const char *error)
{
	struct event_head  head = {.type = EVENT_BURIED, .by = a->by, .task_id = a->task.task_id};
	struct reservation now = *r;

	now.last_error = (char *)error;
	now.state = BURIED;
	event_reservation(changes, &head, &now, r->lines, r->lines_count, false);
}

/* Fails orders in one transaction, each by the report that names it (no report names any: all by `every`), with an
 * event for each order that is buried. Only settlements are buried. Writes the task's row too while the task is open.
 * Adds to the answer. */
static enum db_result fail_write(struct db *db, const struct reservation_reader *open,
                                 const struct order_index *reports, const struct report *every, unsigned attempts_max,
                                 struct task_answer *a)
{
	const struct task *task = &a->task;
	struct txn         t = {0};
	struct text        changes = {0};
	struct values      rows = {0};
	int64_t            buried = 0;
	enum db_result     result;

	for (size_t i = 0; i < open->count; i++) {
		const struct reservation *r = open->list[i];
		const struct report      *report = reports ? order_index_find(reports, r->order_id) : every;
		bool bury = task->kind == TASK_SETTLE && (!report->retry || r->attempts >= attempts_max);

		values_row(&rows, V_INT(r->reservation_id), V_INT(r->changed),
		           bury ? V_TEXT(NULL) : V_INT(backoff_ms(r->attempts)), V_TEXT(reason_of(report)));
		if (bury)
			bury_tell(&changes, a, r, reason_of(report));
		buried += bury;
	}
	txn_begin(&t, db);
	t.whole = true; /* CLAIM_MAX orders, each with the longest reason, are 6.5 MB, and twice that where all are
	                   buried */
	txn_enter(&t, reservations_as_read(NULL, open->list, open->count), buried > 0);
	txn_run(&t, TASK_FAIL,
	        &(struct fill){.rows = &rows, .task = (int64_t)task->task_id, .state = task_kind_from(task->kind)});
	txn_expect(&t, open->count, TXN_MOVED);
	if (buried > 0)
		noted_follow(&t, open->list, open->count);
	txn_log(&t, &changes);
	if (task->state == TASK_OPEN)
		task_count(&t, TASK_FAILED, task, open->count);
	values_fini(&rows);
	text_fini(&changes);
	result = txn_commit_or_retry(&t);
	if (result == DB_OK) {
		a->retried += (int64_t)open->count - buried;
		a->buried += buried;
	}
	return result;
}

/* ---- complete */

/* Brings the holds that are past their time to the front; returns their number. The list has other holds if a clock
 * that was ahead claimed them. */
static size_t past_first(struct reservation **list, size_t count)
{
	size_t past = 0;

	for (size_t i = 0; i < count; i++)
		if (reservation_reads(list[i]) != HELD) {
			struct reservation *r = list[i];

			memmove(list + past + 1, list + past, (i - past) * sizeof(*list));
			list[past++] = r;
		}
	return past;
}

/* The completion of one task, part by part. */
struct parts {
	struct db          *db;
	const struct task  *task;
	struct ids          ids;  /* numbers of settlements */
	struct task_answer *a;    /* counts completed orders */
	struct task_answer  gone; /* orders that failed or were given back, kept when the list is read again */
	/* Orders put aside, so that the others of their task proceed. */
	struct reservation **alone;           /* refused one by one, perhaps by a database that refuses all */
	int64_t             *alone_completed; /* orders completed when this one was put aside */
	struct reservation **locked;          /* orders with rows that other transactions have locked */
	size_t               alone_count, locked_count;
	bool                 puts_off; /* true: no program has worked on the orders, so locked ones may go back */
	bool                 last;     /* true: refused orders are tried for the last time .. */
	bool                 buries;   /* .. and other orders were done since */
	bool                 left;     /* true: some refused order stays as it is */
};

/* The effect of a completion, and its event row. */
static void effect_run(struct txn *t, struct parts *p, struct reservation **list, size_t count)
{
	bool              settles = p->task->kind == TASK_SETTLE;
	struct settlement settlement;
	struct event_head head = {
		.type = settles ? EVENT_SETTLED : EVENT_EXPIRED, .by = p->a->by, .task_id = p->task->task_id};
	struct text changes = {0};

	p->ids.owner = p->task->task_id;
	p->ids.clock_offset_ms = list[0]->read_at - clock_ms();
	if (settles) {
		settlement_of_task(&settlement, p->task->task_id, list[0]->reservation_id);
		settlement.movement_no = id_make(&p->ids);
		stock_settle(t, list, count, &settlement);
		on_hold_end(t, list, count); /* holds that are over */
	} else {
		stock_give_back(t, list, count);
		waiting_end(t, list, count);
	}
	if (t->logs) {
		for (size_t i = 0; i < count; i++)
			event_entered(&changes, &head, list[i], settles ? SETTLED : EXPIRED);
		if (settles)
			settlement_tell(&changes, &head, list, count, &settlement);
		txn_log(t, &changes);
	}
	text_fini(&changes);
}

/* Adds a statement that changes `count` of these rows. */
static void rows_run(struct txn *t, enum statement name, const struct task *task, struct reservation **list,
                     size_t count)
{
	struct values rows = {0};

	if (count > 0) {
		reservations_as_read(&rows, list, count);
		txn_run(t, name,
		        &(struct fill){.rows = &rows,
		                       .task = (int64_t)task->task_id,
		                       .state = task_kind_from(task->kind),
		                       .error = ERROR_LOCKED});
		txn_expect(t, count, TXN_MOVED);
	}
	values_fini(&rows);
}

/* Writes rows, units, movement and task. The first *done of the list are completed, the others are given back. */
static enum db_result complete_write(struct parts *p, struct reservation **list, size_t count, size_t *done,
                                     enum txn_verdict *verdict)
{
	const struct task *task = p->task;
	struct txn         t = {0};

	*done = task->kind == TASK_EXPIRE ? past_first(list, count) : count;
	assert(count > 0 && *done <= count);
	txn_begin(&t, p->db);
	t.whole = count == 1;
	txn_enter(&t, reservations_as_read(NULL, list, count), *done > 0);
	rows_run(&t, task_kind_complete(task->kind), task, list, *done);
	rows_run(&t, TASK_GIVE_BACK_HELD, task, list + *done, count - *done);
	noted_follow(&t, list, *done);
	if (*done > 0)
		effect_run(&t, p, list, *done);
	task_count(&t, TASK_COMPLETED, task, *done);
	return txn_commit(&t, verdict);
}

/* None of the named orders is left: closes the task if it has no other order. A task that was closed meanwhile stays as
 * it is; nothing guards this. Then reads the task: a reaper marks a task before it takes its rows, so the mark says
 * whether a reaper took the orders. */
static enum db_result nothing_write(struct db *db, struct task *task)
{
	struct txn     t = {0};
	enum db_result result;

	txn_begin(&t, db);
	task_count(&t, TASK_COMPLETED, task, 0);
	result = txn_commit_or_retry(&t);
	return result == DB_OK ? task_read(db, task->task_id, task) : result;
}

static void ended_count(const struct task *task, int64_t orders)
{
	counter_add(task->kind == TASK_EXPIRE ? COUNT_EXPIRED : COUNT_SETTLED, orders);
}

/* True: the last ALONE_MAX orders were all refused, and no order was completed between them. */
static bool all_are_refused(const struct parts *p)
{
	return p->alone_count >= ALONE_MAX && p->alone_completed[p->alone_count - ALONE_MAX] == p->a->completed;
}

/* Fails an order that cannot be completed by itself, with the reason; a settlement is buried. The order is first put
 * aside if the database may be to blame: the error names no row, no other order was completed since, and the order has
 * attempts left. */
static enum db_result refused_alone(struct parts *p, struct reservation *r, bool misplaced)
{
	struct reservation_reader one = {.list = &r, .count = 1};
	struct task_answer        failed = {.by = p->a->by, .task = *p->task};
	struct text               reason = {0};
	enum db_result            result;

	if (!misplaced && !db_refused_row(p->db) && !p->buries && r->attempts < ATTEMPTS_MAX) {
		if (p->last) {
			p->left = true;
			return DB_OK;
		}
		if (all_are_refused(p))
			return DB_ERROR;
		p->alone[p->alone_count] = r;
		p->alone_completed[p->alone_count++] = p->a->completed;
		return DB_OK;
	}
	text_format(&reason, "the database refused it: %.400s",
	            misplaced ? "its units are not in the slots that it names" : db_error(p->db));
	result = fail_write(p->db, &one, NULL, &(struct report){.error = reason.data}, ATTEMPTS_MAX, &failed);
	if (result == DB_OK) {
		log_event(LOG_ERROR, "order_refused", "task=%llu order=%s buried=%d why=%s",
		          (unsigned long long)p->task->task_id, r->order_id, failed.buried > 0, reason.data);
		task_lost_add(&p->gone, r->order_id);
		p->gone.refused++;
	}
	text_fini(&reason);
	return result;
}

static void given_back_add(struct parts *p, struct reservation **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		task_lost_add(&p->gone, list[i]->order_id);
	p->gone.given_back += (int64_t)count;
}

/* Completes the list in one transaction; halves a list that is too large, refused or locked. Ends at the first error of
 * another kind. */
static enum db_result part_complete(struct parts *p, struct reservation **list, size_t count)
{
	size_t           done, half = count / 2;
	enum txn_verdict verdict;
	enum db_result   result = complete_write(p, list, count, &done, &verdict);

	if (result == DB_OK && verdict == TXN_DONE) {
		p->a->completed += (int64_t)done;
		given_back_add(p, list + done, count - done);
		return DB_OK;
	}
	if (result == DB_LOCKED && (count == 1 || p->locked_count >= LOCKED_MAX)) {
		memcpy(p->locked + p->locked_count, list, count * sizeof(*list));
		p->locked_count += count;
		return DB_OK;
	}
	if (result == DB_OK && verdict != TXN_MISPLACED && verdict != TXN_TOO_LARGE)
		return DB_RETRY; /* undone; the caller reads the rows and writes again */
	if (result != DB_OK && result != DB_ERROR && result != DB_LOCKED)
		return result;
	if (count == 1)
		return refused_alone(p, list[0], verdict == TXN_MISPLACED);
	result = part_complete(p, list, half);
	return result == DB_OK ? part_complete(p, list + half, count - half) : result;
}

/* Gives locked orders back, to be due again in 10 s. */
static enum db_result locked_put_off(struct parts *p)
{
	struct txn     t = {0};
	enum db_result result;

	txn_begin(&t, p->db);
	txn_enter(&t, reservations_as_read(NULL, p->locked, p->locked_count), false);
	rows_run(&t, TASK_PUT_OFF, p->task, p->locked, p->locked_count);
	task_count(&t, TASK_COMPLETED, p->task, 0);
	result = txn_commit_or_retry(&t);
	if (result == DB_OK) {
		log_event(LOG_WARN, "orders_put_off", "task=%llu orders=%zu why=locked",
		          (unsigned long long)p->task->task_id, p->locked_count);
		given_back_add(p, p->locked, p->locked_count);
		p->locked_count = 0;
	}
	return result;
}

/* Tries refused orders once more. An order that is refused again fails if others were completed since its first try;
 * otherwise it stays as it is. */
static enum db_result alone_complete(struct parts *p)
{
	enum db_result result = DB_OK;

	p->last = true;
	for (size_t i = 0; result == DB_OK && i < p->alone_count; i++) {
		p->buries = p->a->completed > p->alone_completed[i];
		result = part_complete(p, &p->alone[i], 1);
	}
	p->last = p->buries = false;
	return result == DB_OK && p->left ? DB_ERROR : result;
}

/* Completes the list, then the orders put aside. DB_RETRY: read the rest of them again, and write again. */
static enum db_result list_complete(struct parts *p, struct reservation **list, size_t count)
{
	enum db_result result;

	p->alone = mem_alloc(count * sizeof(*p->alone));
	p->alone_completed = mem_alloc(count * sizeof(*p->alone_completed));
	p->locked = mem_alloc(count * sizeof(*p->locked));
	p->alone_count = p->locked_count = 0;
	p->left = false;
	result = part_complete(p, list, count);
	if (result == DB_OK && p->locked_count > 0 && p->puts_off)
		result = locked_put_off(p);
	if (result == DB_OK)
		result = alone_complete(p);
	if (result == DB_OK && p->locked_count > 0)
		result = DB_LOCKED;
	free(p->alone);
	free(p->alone_completed);
	free(p->locked);
	return result;
}

/* Adds the orders that failed or were given back to the lost ones, each once: the rows as read again may have counted
 * them as lost already. */
static void gone_add(struct parts *p)
{
	int64_t seen = p->a->lost;

	for (int64_t i = 0; i < p->gone.lost; i++) {
		int64_t k = 0;

		while (k < seen && strcmp(p->a->lost_orders[k], p->gone.lost_orders[i]) != 0)
			k++;
		if (k == seen)
			task_lost_add(p->a, p->gone.lost_orders[i]);
	}
	p->a->refused = p->gone.refused;
	p->a->given_back = p->gone.given_back;
	task_answer_fini(&p->gone);
}

/* Retries of a writer that reads the rows again before every try. */
static struct retry conflicts(void)
{
	return (struct retry){.results = RETRY_LOCKS, .tries_max = RETRY_TRIES, .until_ms = clock_ms() + REPORT_MS};
}

static enum db_result complete_named(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                                     bool puts_off, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result;
	struct parts              parts = {.db = db, .task = &a->task, .a = a, .puts_off = puts_off};
	struct retry              retry = conflicts();

	*a = (struct task_answer){.by = a->by};
	do {
		result = task_prepare(db, task_id, orders, count, a, &open);
		if (result == DB_OK && a->task.state == TASK_OPEN) {
			result = open.count > 0 ? list_complete(&parts, open.list, open.count)
			                        : nothing_write(db, &a->task);
			a->lease_lost = task_is_lost(&a->task);
		}
		reservations_free(open.list, open.count);
	} while (retry_again(&retry, result));
	gone_add(&parts);
	if (result == DB_RETRY)
		return result;
	if (result == DB_OK && a->lease_lost)
		a->completed = 0;
	counter_add(COUNT_FENCED, a->lease_lost ? 1 : a->lost - a->refused - a->given_back);
	ended_count(&a->task, a->completed);
	return result;
}

enum db_result task_complete(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                             struct task_answer *a)
{
	return complete_named(db, task_id, orders, count, false, a);
}

enum db_result task_complete_claimed(struct db *db, const struct task *task, struct reservation **orders, size_t count,
                                     struct task_answer *a)
{
	struct parts   parts = {.db = db, .task = task, .a = a, .puts_off = true};
	struct report *names;
	int64_t        refused;
	enum db_result result;

	*a = (struct task_answer){.task = *task};
	result = list_complete(&parts, orders, count);
	gone_add(&parts);
	if (result == DB_OK) {
		ended_count(task, a->completed);
		return DB_OK;
	}
	refused = a->refused;
	task_answer_fini(a);
	if (result == DB_AWAY || result == DB_ERROR || (result == DB_UNKNOWN && !db_connect(db)))
		return result;
	names = mem_alloc(count *
	                  sizeof(*names)); /* some orders were taken, or the outcome is unknown: read, then write */
	for (size_t i = 0; i < count; i++)
		strcpy(names[i].order_id, orders[i]->order_id);
	result = complete_named(db, task->task_id, names, count, true, a);
	a->refused += refused;
	free(names);
	return result;
}

/* ---- fail */

/* Tells whether the order failed with this reason before: last_error has it, and a repeated call finds the order by
 * that. */
static bool fail_is_repeated(const struct reservation *r, const struct report *report, struct task_answer *a)
{
	bool repeated = r && (r->state == BURIED || r->state == task_kind_from(a->task.kind)) && r->last_error &&
	                strcmp(r->last_error, reason_of(report)) == 0;

	if (repeated)
		*(r->state == BURIED ? &a->buried : &a->retried) += 1;
	return repeated;
}

/* Counts orders that the task did not have. An order that failed before with this reason counts as it did then; any
 * other is lost. */
static enum db_result fail_absent(struct db *db, const struct reservation_reader *open, const struct report *orders,
                                  size_t count, struct task_answer *a)
{
	struct reservation_reader found = {.catalogue = past_catalogue(db)};
	struct order_index        had = order_index_rows(open), is;
	struct values             rows = {0};
	enum db_result            result = DB_OK;

	for (size_t i = 0; i < count; i++)
		if (!order_index_find(&had, orders[i].order_id))
			values_row(&rows, V_TEXT(orders[i].order_id));
	if (rows.count > 0) {
		result = reservations_ask(db, RESERVATION_FIND, &(struct fill){.rows = &rows, .limit = INT64_MAX},
		                          &found);
	}
	a->lost = 0;
	is = order_index_rows(&found);
	for (size_t i = 0; i < count && result == DB_OK; i++)
		if (!order_index_find(&had, orders[i].order_id) &&
		    !fail_is_repeated(order_index_row(&is, orders[i].order_id), &orders[i], a))
			task_lost_add(a, orders[i].order_id);
	order_index_fini(&had);
	order_index_fini(&is);
	reservations_free(found.list, found.count);
	values_fini(&rows);
	return result;
}

enum db_result task_fail(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                         unsigned attempts_max, struct task_answer *a)
{
	struct reservation_reader open;
	struct order_index        reports = order_index_list(orders, count, sizeof(*orders));
	enum db_result            result;
	struct retry              retry = conflicts();

	*a = (struct task_answer){.by = a->by};
	do {
		result = task_prepare(db, task_id, orders, count, a, &open);
		if (result == DB_OK && a->task.state == TASK_OPEN)
			result = open.count > 0 ? fail_write(db, &open, &reports, NULL, attempts_max, a)
			                        : nothing_write(db, &a->task);
		a->lease_lost = task_is_lost(&a->task) || a->task.state == TASK_RETURNED;
		if (result == DB_OK && a->task.task_id && !a->lease_lost)
			result = fail_absent(db, &open, orders, count, a);
		reservations_free(open.list, open.count);
	} while (retry_again(&retry, result));
	order_index_fini(&reports);
	if (result != DB_RETRY)
		counter_add(COUNT_FENCED, a->lease_lost ? 0 : a->lost);
	return result;
}

/* Frees the orders in parts, so that no transaction is long. */
static enum db_result release_write(struct db *db, const struct reservation_reader *open, const struct report *report,
                                    unsigned attempts_max, struct task_answer *a)
{
	enum db_result result = DB_OK;

	for (size_t at = 0; result == DB_OK && at < open->count; at += RELEASE_MAX) {
		struct reservation_reader part = {.list = open->list + at, .count = open->count - at};

		part.count = part.count < RELEASE_MAX ? part.count : RELEASE_MAX;
		result = fail_write(db, &part, NULL, report, attempts_max, a);
	}
	return result;
}

enum db_result task_release(struct db *db, const struct task *task, const char *error, unsigned attempts_max,
                            struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result;
	const struct report       report = {.retry = true, .error = error};
	struct retry              retry = {.results = RETRY_CONFLICTS, .tries_max = RETRY_TRIES};

	*a = (struct task_answer){.task = *task};
	a->task.state = TASK_REAPED;
	do {
		result = task_rows(db, task->task_id, task_kind_from(task->kind), &open);
		if (result == DB_OK)
			result = release_write(db, &open, &report, attempts_max, a);
		reservations_free(open.list, open.count);
	} while (retry_again(&retry, result));
	return result;
}
