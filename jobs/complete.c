/* complete.c - see complete.h. Orders of a task end in lists, each list in one transaction. A transaction that was
 * undone is written again from rows read anew. The count of changed rows is the fence. A list that is too large for one
 * transaction, or that the database refuses, is halved until it fits or is a single order: that order fails, with the
 * reason, and its neighbours are done. A list with locked rows is halved too. */
#include "jobs/complete.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/hash.h"
#include "engine/base/ids.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/retry.h"
#include "engine/log/event.h"
#include "engine/shares.h"

#include <stdlib.h>
#include <string.h>

/* LOCKED_MAX: locked orders that are found one by one; further ones are put aside by the part, because each look takes
 * 2 s. REPORT_MS: how long a report of a task is tried again. RELEASE_MAX: orders that a reaper frees in one
 * transaction. ALONE_MAX: orders refused one after the other that show that the database is to blame. */
enum { ALONE_MAX = 8, RELEASE_MAX = 1000, LOCKED_MAX = 4, REPORT_MS = 40000 };

static void fail_row(struct values *rows, const struct reservation *r, const char *error, bool bury);
static void fail_run(struct txn *t, const struct task *task, struct values *rows, size_t orders);
static void bury_tell(struct text *changes, const struct task_answer *a, const struct reservation *r,
                      const char *error);

/* ---- complete */

/* Brings holds whose time has passed to the front; returns their number. Other holds are in the list when the clock
 * that claimed them was ahead. */
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

/* Orders put aside, so that the others of their task proceed. */
struct aside {
	struct reservation **list;
	int64_t             *completed; /* orders completed when this one was put aside */
	size_t               count;
};

/* The completion of one task, part by part. */
struct parts {
	struct db          *db;
	const struct task  *task;
	struct ids          ids;      /* numbers of settlements */
	struct task_answer *a;        /* counts completed orders */
	struct task_answer  gone;     /* orders that failed or were given back, kept when the list is begun anew */
	struct aside        alone;    /* refused one by one, perhaps by a database that refuses all */
	struct aside        locked;   /* orders whose rows somebody else has locked */
	bool                puts_off; /* true: nothing was done outside, so locked orders may go back */
	bool                last;     /* true: refused orders are tried for the last time .. */
	bool                buries;   /* .. and other orders were done since */
	bool                left;     /* true: some refused order stays as it is */
};

static void aside_init(struct aside *aside, size_t max)
{
	aside->list = mem_alloc(max * sizeof(*aside->list));
	aside->completed = mem_alloc(max * sizeof(*aside->completed));
	aside->count = 0;
}

static void aside_fini(struct aside *aside)
{
	free(aside->list);
	free(aside->completed);
}

static void aside_add(struct aside *aside, struct reservation *r, int64_t completed)
{
	aside->list[aside->count] = r;
	aside->completed[aside->count++] = completed;
}

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
	} else {
		stock_give_back(t, list, count);
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

/* Writes rows, units, movement and task. The first *done of the list are completed, the others given back. */
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
	if (*done > 0)
		effect_run(&t, p, list, *done);
	task_count(&t, TASK_COMPLETED, task, *done);
	return txn_commit(&t, verdict);
}

/* Closes a task none of whose named orders is left, if it has no other. A task that was closed meanwhile stays as it
 * is, without a guard. The task is read afterwards: a reaper marks the task before it takes its rows, so the mark says
 * whether the orders were lost to a reaper. */
static enum db_result nothing_write(struct db *db, struct task *task, enum txn_verdict *verdict)
{
	struct txn     t = {0};
	enum db_result result;

	txn_begin(&t, db);
	task_count(&t, TASK_COMPLETED, task, 0);
	result = txn_commit(&t, verdict);
	return result == DB_OK ? task_read(db, task->task_id, task) : result;
}

static void expired_count(const struct task *task, int64_t orders)
{
	if (task->kind == TASK_EXPIRE)
		counter_add(COUNT_EXPIRED, orders);
}

/* True: ALONE_MAX orders were refused in a row, and none was done between them. */
static bool all_are_refused(const struct parts *p)
{
	return p->alone.count >= ALONE_MAX && p->alone.completed[p->alone.count - ALONE_MAX] == p->a->completed;
}

/* Fails an order that cannot be completed by itself, with the reason, a settlement for good. The order is put aside
 * first where the database may be to blame: the error names no row, no order was done since, and the order has attempts
 * left. */
static enum db_result refused_alone(struct parts *p, struct reservation *r, enum txn_verdict *verdict)
{
	bool           slots = *verdict == TXN_MISPLACED, bury = slots || db_refused_row(p->db) || p->buries;
	struct text    reason = {0}, changes = {0};
	struct values  rows = {0};
	struct txn     t = {0};
	enum db_result result;

	if (!bury && r->attempts < ATTEMPTS_MAX) {
		if (!p->last && all_are_refused(p))
			return DB_ERROR;
		if (!p->last)
			aside_add(&p->alone, r, p->a->completed);
		p->left = p->last;
		*verdict = TXN_DONE;
		return DB_OK;
	}
	bury = p->task->kind == TASK_SETTLE;
	text_format(&reason, "the database refused it: %.400s",
	            slots ? "its units are not in the slots that it names" : db_error(p->db));
	txn_begin(&t, p->db);
	txn_enter(&t, r->changed + 1, bury);
	fail_row(&rows, r, reason.data, bury);
	fail_run(&t, p->task, &rows, 1);
	if (bury)
		bury_tell(&changes, p->a, r, reason.data);
	txn_log(&t, &changes);
	task_count(&t, TASK_FAILED, p->task, 1);
	result = txn_commit(&t, verdict);
	if (result == DB_OK && *verdict == TXN_DONE) {
		log_event(LOG_ERROR, "order_refused", "task=%llu order=%s buried=%d why=%s",
		          (unsigned long long)p->task->task_id, r->order_id, bury, reason.data);
		task_lost_add(&p->gone, r->order_id);
		p->gone.refused++;
	}
	text_fini(&reason);
	text_fini(&changes);
	return result;
}

/* Completes the list at once; a list that is too large, refused or locked is halved. Ends at the first trouble of
 * another kind. */
static enum db_result part_complete(struct parts *p, struct reservation **list, size_t count, enum txn_verdict *verdict)
{
	size_t         done, half = count / 2;
	enum db_result result = complete_write(p, list, count, &done, verdict);

	if (result == DB_OK && *verdict == TXN_DONE) {
		p->a->completed += (int64_t)done;
		for (size_t i = done; i < count; i++)
			task_lost_add(&p->gone, list[i]->order_id);
		p->gone.given_back += (int64_t)(count - done);
		return DB_OK;
	}
	if (result == DB_LOCKED && (count == 1 || p->locked.count >= LOCKED_MAX)) {
		for (size_t i = 0; i < count; i++)
			aside_add(&p->locked, list[i], p->a->completed);
		*verdict = TXN_DONE;
		return DB_OK;
	}
	if (result != DB_ERROR && result != DB_LOCKED &&
	    !(result == DB_OK && (*verdict == TXN_MISPLACED || *verdict == TXN_TOO_LARGE)))
		return result;
	if (count == 1)
		return refused_alone(p, list[0], verdict);
	result = part_complete(p, list, half, verdict);
	return result == DB_OK && *verdict == TXN_DONE ? part_complete(p, list + half, count - half, verdict) : result;
}

/* Gives orders back for a while whose rows somebody else has locked. */
static enum db_result locked_put_off(struct parts *p, enum txn_verdict *verdict)
{
	struct txn     t = {0};
	enum db_result result;

	txn_begin(&t, p->db);
	txn_enter(&t, reservations_as_read(NULL, p->locked.list, p->locked.count), false);
	rows_run(&t, TASK_PUT_OFF, p->task, p->locked.list, p->locked.count);
	task_count(&t, TASK_COMPLETED, p->task, 0);
	result = txn_commit(&t, verdict);
	if (result == DB_OK && *verdict == TXN_DONE) {
		log_event(LOG_WARN, "orders_put_off", "task=%llu orders=%zu why=locked",
		          (unsigned long long)p->task->task_id, p->locked.count);
		for (size_t i = 0; i < p->locked.count; i++)
			task_lost_add(&p->gone, p->locked.list[i]->order_id);
		p->gone.given_back += (int64_t)p->locked.count;
		p->locked.count = 0;
	}
	return result;
}

/* Tries refused orders once more: each fails if others were done since, otherwise it stays as it is. */
static enum db_result alone_complete(struct parts *p, enum txn_verdict *verdict)
{
	enum db_result result = DB_OK;

	p->last = true;
	for (size_t i = 0; result == DB_OK && *verdict == TXN_DONE && i < p->alone.count; i++) {
		p->buries = p->a->completed > p->alone.completed[i];
		result = part_complete(p, &p->alone.list[i], 1, verdict);
	}
	p->last = p->buries = false;
	return result == DB_OK && *verdict == TXN_DONE && p->left ? DB_ERROR : result;
}

/* Completes the list, then the orders put aside. */
static enum db_result list_complete(struct parts *p, struct reservation **list, size_t count, enum txn_verdict *verdict)
{
	enum db_result result;

	aside_init(&p->alone, count);
	aside_init(&p->locked, count);
	p->left = false;
	result = part_complete(p, list, count, verdict);
	if (result == DB_OK && *verdict == TXN_DONE && p->locked.count > 0 && p->puts_off)
		result = locked_put_off(p, verdict);
	if (result == DB_OK && *verdict == TXN_DONE)
		result = alone_complete(p, verdict);
	if (result == DB_OK && *verdict == TXN_DONE && p->locked.count > 0)
		result = DB_LOCKED;
	aside_fini(&p->alone);
	aside_fini(&p->locked);
	return result;
}

/* Orders that failed or were given back count as lost, once: rows read anew since may have shown them lost already. */
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

/* Retries of a writer that reads anew before every try. */
static struct retry conflicts(void)
{
	return (struct retry){.results = RETRY_LOCKS, .tries_max = RETRY_TRIES, .until_ms = clock_ms() + REPORT_MS};
}

static enum db_result complete_named(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                                     size_t count, bool puts_off, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result;
	struct parts              parts = {.db = db, .task = &a->task, .a = a, .puts_off = puts_off};
	struct retry              retry = conflicts();

	*a = (struct task_answer){.by = a->by};
	do {
		enum txn_verdict verdict = TXN_DONE;

		result = task_prepare(db, c, task_id, orders, count, a, &open);
		if (result == DB_OK && a->task.state == TASK_OPEN) {
			result = open.count > 0 ? list_complete(&parts, open.list, open.count, &verdict)
			                        : nothing_write(db, &a->task, &verdict);
			a->lease_lost = task_is_lost(&a->task);
		}
		reservations_free(open.list, open.count);
		if (result == DB_OK && verdict != TXN_DONE)
			result = DB_RETRY; /* undone; read and write anew */
	} while (retry_again(&retry, result));
	gone_add(&parts);
	if (result == DB_RETRY)
		return result;
	if (result == DB_OK && a->lease_lost)
		a->completed = 0;
	counter_add(COUNT_FENCED, a->lease_lost ? 1 : a->lost - a->refused - a->given_back);
	expired_count(&a->task, a->completed);
	return result;
}

enum db_result task_complete(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                             size_t count, struct task_answer *a)
{
	return complete_named(db, c, task_id, orders, count, false, a);
}

enum db_result task_complete_claimed(struct db *db, struct catalogue *c, const struct task *task,
                                     struct reservation **orders, size_t count, struct task_answer *a)
{
	enum txn_verdict verdict = TXN_DONE;
	struct parts     parts = {.db = db, .task = task, .a = a, .puts_off = true};
	struct report   *names;
	int64_t          refused;
	enum db_result   result;

	*a = (struct task_answer){.task = *task};
	result = list_complete(&parts, orders, count, &verdict);
	gone_add(&parts);
	if (result == DB_OK && verdict == TXN_DONE) {
		expired_count(task, a->completed);
		return DB_OK;
	}
	refused = a->refused;
	task_answer_fini(a);
	if (result == DB_AWAY || result == DB_ERROR || (result == DB_UNKNOWN && !db_connect(db)))
		return result;
	names = mem_alloc(count * sizeof(*names)); /* orders were taken, or the outcome is open: look, then write */
	for (size_t i = 0; i < count; i++)
		strcpy(names[i].order_id, orders[i]->order_id);
	result = complete_named(db, c, task->task_id, names, count, true, a);
	a->refused += refused;
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

/* The text for last_error. */
static const char *reason_of(const struct report *report)
{
	return report->error && *report->error ? report->error : "no reason was given";
}

/* Adds the row of an order that fails; only a settlement is buried. */
static void fail_row(struct values *rows, const struct reservation *r, const char *error, bool bury)
{
	values_row(rows, V_INT(r->reservation_id), V_INT(r->changed),
	           bury ? V_TEXT(NULL) : V_INT(backoff_ms(r->attempts)), V_TEXT(error));
}

static void fail_run(struct txn *t, const struct task *task, struct values *rows, size_t orders)
{
	txn_run(t, TASK_FAIL,
	        &(struct fill){.rows = rows, .task = (int64_t)task->task_id, .state = task_kind_from(task->kind)});
	txn_expect(t, orders, TXN_MOVED);
	values_fini(rows);
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

static const struct report *report_of(const struct reservation *r, const struct report *orders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(orders[i].order_id, r->order_id) == 0)
			return &orders[i];
	return NULL;
}

static bool is_to_bury(const struct task *task, const struct reservation *r, const struct report *report,
                       unsigned attempts_max)
{
	return task->kind == TASK_SETTLE && (!report->retry || r->attempts >= attempts_max);
}

/* Fails each of the task's rows, by the report that names it, with an event for each that is buried. */
static void fail_rows(struct txn *t, const struct reservation_reader *open, const struct report *orders, size_t count,
                      unsigned attempts_max, const struct task_answer *a)
{
	struct text   changes = {0};
	struct values rows = {0};

	for (size_t i = 0; i < open->count; i++) {
		const struct report *report = report_of(open->list[i], orders, count);
		bool                 bury = is_to_bury(&a->task, open->list[i], report, attempts_max);

		fail_row(&rows, open->list[i], reason_of(report), bury);
		if (bury)
			bury_tell(&changes, a, open->list[i], reason_of(report));
	}
	fail_run(t, &a->task, &rows, open->count);
	txn_log(t, &changes);
	text_fini(&changes);
}

/* Fails orders in one transaction; the task's row is written too while it is open. */
static enum db_result fail_write(struct db *db, const struct reservation_reader *open, const struct report *orders,
                                 size_t count, unsigned attempts_max, struct task_answer *a, enum txn_verdict *verdict)
{
	struct txn t = {0};

	a->retried = a->buried = 0;
	for (size_t i = 0; i < open->count; i++)
		*(is_to_bury(&a->task, open->list[i], report_of(open->list[i], orders, count), attempts_max)
		          ? &a->buried
		          : &a->retried) += 1;
	txn_begin(&t, db);
	t.whole = true; /* CLAIM_MAX orders, each with the longest reason, are 6.5 MB, and twice that where all are
	                   buried */
	txn_enter(&t, reservations_as_read(NULL, open->list, open->count), a->buried > 0);
	fail_rows(&t, open, orders, count, attempts_max, a);
	if (a->task.state == TASK_OPEN)
		task_count(&t, TASK_FAILED, &a->task, open->count);
	return txn_commit(&t, verdict);
}

/* Tells whether an order failed with this reason, which it bears: a repeated call finds the order by that. */
static bool fail_is_repeated(const struct reservation *r, const struct report *report, struct task_answer *a)
{
	bool repeated = r && (r->state == BURIED || r->state == task_kind_from(a->task.kind)) && r->last_error &&
	                strcmp(r->last_error, reason_of(report)) == 0;

	if (repeated)
		*(r->state == BURIED ? &a->buried : &a->retried) += 1;
	return repeated;
}

/* Counts orders that the task did not have: an order that failed before counts as it did then, another one is lost. */
static enum db_result fail_absent(struct db *db, struct catalogue *c, const struct reservation_reader *open,
                                  const struct report *orders, size_t count, struct task_answer *a)
{
	struct reservation_reader found = {.catalogue = c};
	struct values             rows = {0};
	enum db_result            result = DB_OK;

	for (size_t i = 0; i < count; i++)
		if (!task_rows_find(open, orders[i].order_id))
			values_row(&rows, V_TEXT(orders[i].order_id));
	if (rows.count > 0) {
		result = reservations_ask(db, RESERVATION_FIND, &(struct fill){.rows = &rows, .limit = INT64_MAX},
		                          &found);
	}
	a->lost = 0;
	for (size_t i = 0; i < count && result == DB_OK; i++)
		if (!task_rows_find(open, orders[i].order_id) &&
		    !fail_is_repeated(task_rows_find(&found, orders[i].order_id), &orders[i], a))
			task_lost_add(a, orders[i].order_id);
	reservations_free(found.list, found.count);
	values_fini(&rows);
	return result;
}

enum db_result task_fail(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                         size_t count, unsigned attempts_max, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result;
	struct retry              retry = conflicts();

	*a = (struct task_answer){.by = a->by};
	do {
		enum txn_verdict verdict = TXN_DONE;

		result = task_prepare(db, c, task_id, orders, count, a, &open);
		if (result == DB_OK && a->task.state == TASK_OPEN)
			result = open.count > 0 ? fail_write(db, &open, orders, count, attempts_max, a, &verdict)
			                        : nothing_write(db, &a->task, &verdict);
		a->lease_lost = task_is_lost(&a->task) || a->task.state == TASK_RETURNED;
		if (result == DB_OK && verdict != TXN_DONE)
			result = DB_RETRY;
		if (result == DB_OK && a->task.task_id && !a->lease_lost)
			result = fail_absent(db, c, &open, orders, count, a);
		reservations_free(open.list, open.count);
	} while (retry_again(&retry, result));
	if (result != DB_RETRY)
		counter_add(COUNT_FENCED, a->lease_lost ? 0 : a->lost);
	return result;
}

/* Frees the orders in parts, so that no transaction is long. */
static enum db_result release_write(struct db *db, const struct reservation_reader *open, const char *error,
                                    unsigned attempts_max, struct task_answer *a, enum txn_verdict *verdict)
{
	struct report *reports = mem_alloc(RELEASE_MAX * sizeof(*reports));
	enum db_result result = DB_OK;

	*verdict = TXN_DONE;
	for (size_t at = 0; result == DB_OK && *verdict == TXN_DONE && at < open->count; at += RELEASE_MAX) {
		struct reservation_reader part = {.list = open->list + at, .count = open->count - at};
		int64_t                   retried = a->retried, buried = a->buried;

		part.count = part.count < RELEASE_MAX ? part.count : RELEASE_MAX;
		for (size_t k = 0; k < part.count; k++) {
			reports[k] = (struct report){.retry = true, .error = error};
			strcpy(reports[k].order_id, part.list[k]->order_id);
		}
		result = fail_write(db, &part, reports, part.count, attempts_max, a, verdict);
		a->retried = retried + (result == DB_OK && *verdict == TXN_DONE ? a->retried : 0);
		a->buried = buried + (result == DB_OK && *verdict == TXN_DONE ? a->buried : 0);
	}
	free(reports);
	return result;
}

enum db_result task_release(struct db *db, struct catalogue *c, const struct task *task, const char *error,
                            unsigned attempts_max, struct task_answer *a)
{
	struct reservation_reader open;
	enum db_result            result;
	struct retry              retry = {.results = RETRY_CONFLICTS, .tries_max = RETRY_TRIES};

	*a = (struct task_answer){.task = *task};
	a->task.state = TASK_REAPED;
	do {
		enum txn_verdict verdict = TXN_DONE;

		result = task_rows(db, c, task->task_id, task_kind_from(task->kind), &open);
		if (result == DB_OK)
			result = release_write(db, &open, error, attempts_max, a, &verdict);
		if (result == DB_OK && verdict != TXN_DONE)
			result = DB_RETRY;
		reservations_free(open.list, open.count);
	} while (retry_again(&retry, result));
	return result;
}
