/* claim.c - see claim.h. The statements of task.sql make a claim in one trip; this file knows where in the index to
 * begin. */
#include "jobs/task/claim.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/db/retry.h"
#include "engine/db/txn.h"
#include "engine/log/event.h"
#include "engine/catalogue/past.h"
#include "jobs/task/order_index.h"
#include "engine/promise/noted.h"

#include <stdio.h>

/* LOCK_MET_MS: how long a claimer remembers that it met a lock. Meeting one costs a second. BACK_MS: how long the
 * claimer tries to give a claim back. */
enum { FULL_WALK_MS = 3000, LOW_MARGIN_MS = 2000, LOCK_MET_MS = 10000, BACK_MS = 5000 };

static void claim_read(void *arg, const struct db_row *row)
{
	struct task *task = arg;

	task->task_id = (uint64_t)db_int(row, 0);
	task->claimed = db_int(row, 1);
	task->lease_until = time_parse(row->col[2]);
	task->met_lock = row->columns > 3 && db_int(row, 3) != 0;
	task->paused = row->columns > 4 && db_int(row, 4) != 0;
}

/* Finds the task of a claim with this mark, after the answer was lost. task_id 0: that claim was not committed. */
static enum db_result claim_look(struct db *db, struct task *task)
{
	task->task_id = 0;
	return db_ask(db, TASK_OF_MARK, &(struct fill){.mark = task->mark}, claim_read, task);
}

static enum db_result claim_run(struct db *db, struct claimer *claimer, struct task *task, int64_t limit,
                                int64_t lease_s)
{
	struct fill    fill = {.worker = task->worker,
	                       .mark = task->mark,
	                       .kind = task->kind,
	                       .state = task_kind_from(task->kind),
	                       .limit = limit,
	                       .met_lock = clock_ms() < claimer->locked_until_ms,
	                       .lease_s = lease_s,
	                       .from_at = claimer->low_ms};
	enum db_result result;

	task->task_id = 0;
	task->met_lock = false;
	result = db_ask(db, TASK_CLAIM, &fill, claim_read, task);
	if (task->met_lock && clock_ms() >= claimer->locked_until_ms)
		claimer->locked_until_ms = clock_ms() + LOCK_MET_MS;
	return result == DB_DUPLICATE ? claim_look(db, task) : result;
}

/* Moves the low-water mark to the last order claimed: the walk is in the order of due_at. */
static void claimer_note(struct claimer *claimer, const struct reservation_reader *in)
{
	int64_t last = 0;

	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->due_at > last)
			last = in->list[i]->due_at;
	if (last - LOW_MARGIN_MS > claimer->low_ms)
		claimer->low_ms = last - LOW_MARGIN_MS;
}

/* Walks from the low-water mark, and then from the beginning if nothing was found: an older order may have come
 * back. */
static enum db_result claim_walk(struct db *db, struct claimer *claimer, struct task *task, int64_t limit,
                                 int64_t lease_s)
{
	enum db_result result;

	if (clock_ms() >= claimer->full_at_ms) {
		claimer->low_ms = 0;
		claimer->full_at_ms = clock_ms() + FULL_WALK_MS;
	}
	result = claim_run(db, claimer, task, limit, lease_s);
	if (result == DB_OK && task->task_id == 0 && claimer->low_ms > 0 && !task->paused) {
		claimer->low_ms = 0;
		result = claim_run(db, claimer, task, limit, lease_s);
	}
	return result;
}

/* Takes the attempt back from orders that left the claim before the claimer read them, by a split, for instance: they
 * are not handed out. An order that another claim has taken since stays as that claim handed it out. */
static enum db_result lost_uncharge(struct db *db, const struct task *task, const struct reservation_reader *in)
{
	const struct fill         of_task = {.task = (int64_t)task->task_id, .state = task_kind_from(task->kind)};
	struct reservation_reader lost = {.catalogue = past_catalogue(db)};
	struct values             rows = {0};
	struct txn                t = {0};
	struct order_index        had = order_index_rows(in);
	enum db_result            result = reservations_ask(db, TASK_LOST_ROWS, &of_task, &lost);

	for (size_t i = 0; i < lost.count; i++)
		if (!order_index_find(&had, lost.list[i]->order_id))
			reservations_as_read(&rows, &lost.list[i], 1);
	if (result == DB_OK && rows.rows > 0) {
		txn_begin(&t, db);
		txn_enter(&t, reservations_as_read(NULL, lost.list, lost.count), false);
		txn_run(&t, TASK_UNCHARGE, &(struct fill){.rows = &rows, .state = of_task.state});
		txn_expect(&t, rows.rows, TXN_MOVED);
		result = txn_commit_or_retry(&t);
	}
	values_fini(&rows);
	order_index_fini(&had);
	reservations_free(lost.list, lost.count);
	return result;
}

/* Makes one claim, and reads its orders as they are now. If lost_uncharge fails, the orders are handed out all the
 * same: one attempt too many does no harm. */
static enum db_result claim_once(struct db *db, struct claimer *claimer, struct task *task, int64_t limit,
                                 int64_t lease_s, struct reservation_reader *in)
{
	struct retry   retry = {.results = 1 << DB_RETRY, .tries_max = RETRY_TRIES};
	enum db_result result;
	bool           again = task->mark != 0;

	if (!again)
		task->mark = random_number();
	result = claim_walk(db, claimer, task, limit, lease_s);
	/* Nothing is due: the first claim may have taken the orders, and its answer was lost. */
	if (result == DB_OK && task->task_id == 0 && again)
		result = claim_look(db, task);
	if (result != DB_OK || task->task_id == 0)
		return result;
	task->state = TASK_OPEN;
	result = task_rows(db, task->task_id, task_kind_from(task->kind), in);
	claimer_note(claimer, in);
	if (result == DB_OK && (int64_t)in->count < task->claimed)
		while (retry_again(&retry, lost_uncharge(db, task, in)))
			;
	return result;
}

enum db_result task_give_back(struct db *db, const struct task *task)
{
	struct retry   retry = {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES, .until_ms = clock_ms() + BACK_MS};
	enum db_result result;

	do {
		struct task_answer answer = {0};

		result = task_return(db, task->task_id, &answer);
		task_answer_fini(&answer);
	} while (retry_again(&retry, result));
	return result;
}

enum db_result task_claim(struct db *db, struct claimer *claimer, struct task *task, int64_t limit, int64_t lease_s,
                          struct reservation ***orders, size_t *count)
{
	struct reservation_reader in = {0};
	enum db_result            result;

	assert(limit > 0 && limit <= CLAIM_MAX && lease_s > 0);
	do {
		result = claim_once(db, claimer, task, limit, lease_s, &in);
		if (result != DB_OK || task->task_id == 0 || in.count > 0)
			break;
		result = task_give_back(db, task); /* all were released, split or expired before they were read */
		task->mark = result == DB_OK ? 0 : task->mark;
	} while (result == DB_OK);
	*orders = in.list;
	*count = in.count;
	return result;
}

/* Reads the orders as they are now, whichever task has them. */
static enum db_result rows_now(struct db *db, struct reservation **mine, size_t count, struct reservation_reader *in)
{
	struct catalogue *c = past_catalogue(db);
	struct values     rows = {0};
	enum db_result    result;

	for (size_t i = 0; i < count; i++)
		values_row(&rows, V_TEXT(mine[i]->order_id));
	*in = (struct reservation_reader){.catalogue = c};
	result = reservations_ask(db, RESERVATION_FIND, &(struct fill){.rows = &rows, .limit = INT64_MAX}, in);
	values_fini(&rows);
	return result;
}

/* True: no other worker has had the order since the reaper freed it. The order still names the task, or it is free or
 * buried with the reaper's words. If another worker claimed it and was reaped too, the order has one attempt more, and
 * other words. An order that waits for units, or is held back, is not taken up. */
static bool is_free_since(const struct task *task, const struct reservation *mine, const struct reservation *now)
{
	enum reservation_state from = task_kind_from(task->kind);
	char                   words[LEASE_WORDS];

	if (now->reservation_id != mine->reservation_id || lines_wait(now->lines, now->lines_count) ||
	    reservation_on_hold(now) || (now->attempts != mine->attempts && now->attempts != 0))
		return false;
	if (now->state == from && now->task_id == task->task_id)
		return true;
	snprintf(words, sizeof(words), LEASE_RAN_OUT, task->worker);
	return (now->state == BURIED || (now->state == from && now->task_id == 0)) && now->last_error &&
	       strcmp(now->last_error, words) == 0;
}

/* Lists the orders that may be taken up: (reservation_id, attempts as claimed, changed as it is now). Adds the events
 * of those that were buried. */
static void take_up_rows(const struct task *task, struct reservation **mine, size_t count,
                         const struct reservation_reader *now, struct values *rows, struct text *changes)
{
	struct order_index by_id = order_index_rows(now);

	for (size_t i = 0; i < count; i++) {
		const struct reservation *r = order_index_row(&by_id, mine[i]->order_id);

		if (!r || !is_free_since(task, mine[i], r))
			continue;
		values_row(rows, V_INT(r->reservation_id), V_INT(mine[i]->attempts), V_INT(r->changed));
		if (r->state == BURIED) {
			struct reservation again = *r;

			again.state = task_kind_from(task->kind);
			again.attempts = r->attempts ? r->attempts : 1;
			event_reservation(changes, &(struct event_head){.type = EVENT_KICKED, .task_id = task->task_id},
			                  &again, r->lines, r->lines_count, false);
		}
	}
	order_index_fini(&by_id);
}

/* Reads the orders again, and drops those that were changed since the first look. */
static enum db_result look_again(struct db *db, struct reservation **mine, size_t count,
                                 struct reservation_reader *first)
{
	struct reservation_reader now = {0};
	struct order_index        by_id = order_index_rows(first);
	enum db_result            result = rows_now(db, mine, count, &now);
	size_t                    kept = 0;

	for (size_t i = 0; i < now.count; i++) {
		const struct reservation *before = order_index_row(&by_id, now.list[i]->order_id);

		if (before && before->changed == now.list[i]->changed)
			now.list[kept++] = now.list[i];
		else
			reservation_free(now.list[i]);
	}
	now.count = kept;
	order_index_fini(&by_id);
	reservations_free(first->list, first->count);
	*first = now;
	return result;
}

/* Takes up the orders of the first look in one transaction: all of the rows, or none. DB_RETRY: another transaction
 * changed a row, and nothing was done. */
static enum db_result take_up(struct db *db, const struct task *task, int64_t lease_s, struct reservation **mine,
                              size_t count, const struct reservation_reader *first)
{
	struct values    rows = {0};
	struct text      changes = {0};
	struct txn       t = {0};
	enum txn_verdict verdict = TXN_DONE;
	enum db_result   result = DB_OK;
	struct fill      fill = {.rows = &rows,
	                         .mark = task->mark,
	                         .task = (int64_t)task->task_id,
	                         .state = task_kind_from(task->kind),
	                         .lease_s = lease_s};

	take_up_rows(task, mine, count, first, &rows, &changes);
	fill.orders = (int64_t)rows.rows;
	if (rows.rows > 0) {
		txn_begin(&t, db);
		txn_enter(&t, reservations_as_read(NULL, first->list, first->count), changes.len > 0);
		txn_run(&t, TASK_TAKE_UP, &fill);
		txn_expect(&t, 1, TXN_CLOSED);
		txn_run(&t, TASK_TAKE_UP_ORDERS, &fill);
		txn_expect(&t, rows.rows, TXN_MOVED);
		if (changes.len > 0) /* some were buried */
			noted_follow(&t, first->list, first->count);
		txn_log(&t, &changes);
		result = txn_commit(&t, &verdict);
	}
	values_fini(&rows);
	text_fini(&changes);
	return result == DB_OK && (verdict == TXN_MOVED || verdict == TXN_FENCED) ? DB_RETRY : result;
}

enum db_result task_take_up(struct db *db, struct task *task, int64_t lease_s, struct reservation **mine, size_t count,
                            struct reservation_reader *now)
{
	struct retry   retry = {.results = 1 << DB_RETRY, .tries_max = RETRY_TRIES};
	uint64_t       of = task->task_id;
	enum db_result result = rows_now(db, mine, count, now);

	if (task->mark == 0)
		task->mark = random_number();
	while (result == DB_OK && retry_again(&retry, result = take_up(db, task, lease_s, mine, count, now)))
		result = look_again(db, mine, count, now);
	reservations_free(now->list, now->count);
	*now = (struct reservation_reader){0};
	if (result == DB_OK || result == DB_DUPLICATE)
		result = claim_look(db, task); /* task_id 0: nothing was left for it */
	if (result == DB_OK)
		result = rows_now(db, mine, count, now);
	if (result != DB_OK)
		task->task_id = of; /* the caller asks for this task again */
	return result;
}
