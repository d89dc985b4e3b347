/* reap.c - see reap.h. First the task is marked, if it is still open and overdue: from then on its worker changes
 * nothing. Then its orders go back by primary key. Many reapers may run. If a reaper dies between the two steps, the
 * next one finds the orders: it looks for orders of tasks that are not open. */
#include "jobs/task/reap.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/op.h"
#include "engine/catalogue/past.h"
#include "jobs/task/complete.h"

#include <stdio.h>

/* AWAY_MS: how much longer than the pause the database may seem away. DRIFT: a clock that is corrected slowly is wrong
 * by less than this part of the time. GRACE_S: more time for leases that ran out meanwhile, enough to connect again and
 * to renew at a third of a lease of 90 s. WALK_MS: between two walks for times that lie ahead. */
enum { TASKS = 100, AHEAD = 1000, AWAY_MS = 1000, DRIFT = 100, GRACE_S = 30, WALK_MS = 30000 };

struct reap {
	struct db        *db;
	struct catalogue *catalogue;
	struct reaper    *reaper;
	void (*each)(void *arg, const struct task *task, int64_t orders);
	void *arg;
};

static enum db_result task_mark(struct reap *r, const struct task *task, bool *ours)
{
	enum db_result result = db_ask(r->db, TASK_REAP,
	                               &(struct fill){.task = (int64_t)task->task_id,
	                                              .stale_s = r->reaper->stale_s,
	                                              .looked_at = r->reaper->looked_at},
	                               NULL, NULL);

	assert(!r->reaper->dry);
	*ours = result == DB_OK && db_changed(r->db) == 1;
	if (*ours)
		counter_add(COUNT_REAPED_TASKS, 1);
	return result;
}

/* Frees the orders of a closed task: each one waits and is tried again, or is buried after attempts_max attempts. */
static enum db_result orders_free(struct reap *r, const struct task *task, int64_t *freed)
{
	struct task_answer a;
	char               error[LEASE_WORDS];
	enum db_result     result;

	snprintf(error, sizeof(error), LEASE_RAN_OUT, task->worker);
	result = task_release(r->db, task, error, r->reaper->attempts_max, &a);
	*freed = a.retried + a.buried;
	task_answer_fini(&a);
	return result;
}

static enum db_result orders_count(struct reap *r, const struct task *task, int64_t *count)
{
	struct reservation_reader in;
	enum db_result            result = task_rows(r->db, task->task_id, task_kind_from(task->kind), &in);

	*count = (int64_t)in.count;
	reservations_free(in.list, in.count);
	return result;
}

static enum db_result reap_one(struct reap *r, const struct task *task)
{
	bool           dry = r->reaper->dry, ours = dry || task->state != TASK_OPEN;
	int64_t        orders = 0;
	enum db_result result = DB_OK;

	if (task_kind_from(task->kind) == 0)
		return DB_OK; /* a later version knows the kind and frees its orders */
	if (!ours)
		result = task_mark(r, task, &ours);
	if (result == DB_OK && ours)
		result = dry ? orders_count(r, task, &orders) : orders_free(r, task, &orders);
	if (result == DB_OK && ours && r->each)
		r->each(r->arg, task, orders);
	/* Locked rows are left to the next pass, so that the other tasks do not wait for them. */
	return result == DB_LOCKED || result == DB_RETRY ? DB_OK : result;
}

/* Frees the orders of all tasks that the statement finds, page by page, so that tasks with locked rows do not end the
 * pass. */
static enum db_result reap_all(struct reap *r, enum statement name, struct fill fill)
{
	struct task   *found = mem_alloc(TASKS * sizeof(*found));
	size_t         count;
	enum db_result result;

	fill.limit = TASKS;
	do {
		result = task_page(r->db, name, &fill, found, TASKS, &count);
		for (size_t i = 0; result == DB_OK && i < count; i++) {
			fill.after_at = found[i].lease_until;
			fill.after_id = (int64_t)found[i].task_id;
			result = reap_one(r, &found[i]);
		}
	} while (result == DB_OK && count == TASKS);
	free(found);
	return result;
}

/* ---- clocks */

/* Skips rows that are locked: no other reaper can free a locked task, either. */
static enum db_result leases_prolong(struct reap *r)
{
	enum db_result result = db_ask(
		r->db, TASK_PROLONG,
		&(struct fill){.from_at = r->reaper->looked_at, .lease_s = GRACE_S, .limit = INT64_MAX}, NULL, NULL);

	if (result == DB_OK && db_changed(r->db) > 0)
		log_event(LOG_WARN, "leases_prolonged", "leases=%lld", (long long)db_changed(r->db));
	return result;
}

/* Looks at both clocks. The last time at which every worker could renew its lease is the end of the last pass. The
 * duration of a pass does not count: otherwise a pass that has much to do would never find a task overdue. */
static enum db_result reaper_look(struct reap *r)
{
	struct reaper *reaper = r->reaper;
	int64_t        now_at = 0, now_ms, passed_ms, jumped_ms;
	enum db_result result;
	bool           away;

	result = db_ask(r->db, TASK_CLOCK, NULL, db_time, &now_at);
	if (result != DB_OK)
		return result;
	now_ms = clock_ms();
	passed_ms = now_ms - reaper->looked_ms;
	jumped_ms = now_at - reaper->looked_at - passed_ms;
	away = reaper->ended_ms &&
	       (now_ms - reaper->ended_ms > reaper->pause_ms + AWAY_MS || jumped_ms > AWAY_MS + passed_ms / DRIFT);
	if (away && !reaper->dry)
		result = leases_prolong(r);
	if (result == DB_OK) {
		reaper->looked_at = now_at;
		reaper->looked_ms = now_ms;
	}
	return result;
}

/* The numbers of the rows; of reservations also `changed` as read. */
static enum db_result ahead_page(struct db *db, enum statement find, struct values *found)
{
	values_reset(found);
	return db_ask(db, find, &(struct fill){.limit = AHEAD}, db_numbers, found);
}

/* Changes all rows that `find` finds, page by page. Locked rows are left to the next pass. */
static enum db_result ahead_change(struct db *db, enum statement find, enum statement change, int64_t *changed)
{
	struct values  found = {0};
	int64_t        before;
	enum db_result result;

	do {
		before = *changed;
		result = ahead_page(db, find, &found);
		if (result != DB_OK || found.rows == 0)
			break;
		result = db_ask(db, change, &(struct fill){.rows = &found, .limit = INT64_MAX}, NULL, NULL);
		if (result == DB_OK)
			*changed += db_changed(db);
	} while (result == DB_OK && found.rows >= AHEAD && *changed > before);
	values_fini(&found);
	return result == DB_LOCKED || result == DB_RETRY ? DB_OK : result;
}

static const struct {
	enum statement find, change;
	bool           walks;
} aheads[AHEAD_KINDS] = {
#define X(name, word, find, change, walks) [name] = {find, change, walks},
#include "engine/read/ahead.def"
#undef X
};

static void ahead_log(int64_t rows, const int64_t changed[AHEAD_KINDS])
{
	log_event(LOG_WARN, "clock_was_ahead", "rows=%lld"
#define X(name, word, find, change, walks) " " word "=%lld"
#include "engine/read/ahead.def"
#undef X
	          ,
	          (long long)rows
#define X(name, word, find, change, walks) , (long long)changed[name]
#include "engine/read/ahead.def"
#undef X
	);
}

/* Corrects times that a clock ahead of the others has given: without this the rows would wait until those times. */
static enum db_result ahead_bring_back(struct reap *r)
{
	bool           walks = clock_due(&r->reaper->walk_ms, WALK_MS);
	int64_t        changed[AHEAD_KINDS] = {0}, rows = 0;
	enum db_result result = DB_OK;

	for (int k = 0; k < AHEAD_KINDS && result == DB_OK; k++) {
		if (walks || !aheads[k].walks)
			result = ahead_change(r->db, aheads[k].find, aheads[k].change, &changed[k]);
		rows += changed[k];
	}
	if (rows > 0)
		ahead_log(rows, changed);
	return result;
}

enum db_result task_reap(struct db *db, struct reaper                                           *reaper,
                         void (*each)(void *arg, const struct task *task, int64_t orders), void *arg)
{
	struct catalogue *c = past_catalogue(db);
	struct reap       r = {db, c, reaper, each, arg};
	enum db_result    result = reaper_look(&r);
	bool              looked = result == DB_OK;

	if (result == DB_OK && !reaper->dry)
		result = ahead_bring_back(&r);
	if (result == DB_OK)
		result = reap_all(&r, TASK_OVERDUE,
		                  (struct fill){.stale_s = reaper->stale_s, .looked_at = reaper->looked_at});
	for (enum task_kind k = 1; result == DB_OK && k < TASK_KINDS; k++)
		result = reap_all(&r, TASK_ORPHANS, (struct fill){.state = task_kind_from(k), .kind = k});
	if (looked && result != DB_AWAY && result != DB_UNKNOWN) /* a database that refuses is not away */
		reaper->ended_ms = clock_ms();
	return result;
}
