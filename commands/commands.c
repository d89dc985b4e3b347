/* commands.c - the commands work, reap, kick and purge: options in, one run, a few lines out. */
#include "commands/commands.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "commands/webhook_options.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/checks.h"
#include "engine/db/retry.h"
#include "engine/db/txn.h"
#include "engine/log/keeping.h"
#include "engine/catalogue/past.h"
#include "jobs/exec.h"
#include "jobs/task/kick.h"
#include "jobs/webhooks/deliver.h"
#include "jobs/work.h"

#include <stdio.h>
#include <unistd.h>

enum { KICK_BATCH = 500, PURGE_BATCH = 500 };

/* ---- work and reap */

/* Starts `count` workers, and waits for their end. */
static int workers_join(const struct work *work, unsigned count)
{
	struct worker *workers[WORKERS_MAX];
	int            status = EXIT_DONE;

	for (unsigned i = 0; i < count; i++)
		workers[i] = worker_start(work, i);
	for (unsigned i = 0; i < count; i++) {
		int of_worker = worker_join(workers[i]);

		status = of_worker ? of_worker : status;
	}
	return status;
}

/* Opens the database and runs `count` workers to their end. */
static int workers_run(struct work *work, unsigned count)
{
	struct catalogue *c;
	struct database   database;
	int               status;

	work->stop = stop_on_signals(exec_kill_all);
	status = database_open(&database, EMBEDDED_FIND, false);
	if (status != EXIT_DONE)
		return status;
	c = catalogue_new();
	past_watch(database.source, c);
	database_watch(&database);
	work->source = database.source;
	status = database_close(&database, workers_join(work, count));
	catalogue_free(c);
	return status;
}

int work_run(void)
{
	static const char *const kinds[] = {"settle", "expire", "deliver"};

	struct webhook_options webhooks = {0};
	const char            *kind = operand(0);
	struct work            work = {.kind = kind ? task_kind_find(kind) : TASK_NO_KIND};
	bool                   delivers = kind && strcmp(kind, "deliver") == 0;
	int                    status;

	if (work.kind == TASK_NO_KIND && !delivers)
		return operand_wrong(kind, kinds, LENGTH(kinds),
		                     "work settle, expire or deliver; try `holdfast work --help`");
	if (option_given(OPTION_once) && option_given(OPTION_every))
		return say_status(EXIT_USAGE, "--once and --every do not go together; try `holdfast work --help`");
	if (delivers && (status = webhook_options_read(&webhooks)) != EXIT_DONE)
		return status;
	work.batch = option_count(OPTION_batch, 0);
	work.lease_s = option_count(OPTION_lease, 0);
	work.attempts_max = (unsigned)option_count(OPTION_max_attempts, 0);
	work.exec = option_text(OPTION_exec);
	work.once = option_given(OPTION_once);
	work.pause_ms = option_count(OPTION_every, 1) * 1000;
	work.webhooks = delivers ? &webhooks : NULL;
	status = workers_run(&work, (unsigned)option_count(OPTION_workers, 1));
	vault_fini(&webhooks.vault);
	return status;
}

/* The output of `reap`. */
struct reaped {
	bool    json, dry, once;
	int64_t tasks; /* tasks freed, or to be freed in a dry run */
};

static void reaped_json(const struct task *task, int64_t orders, bool freed)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_int(&w, "task_id", (int64_t)task->task_id);
	json_put_string(&w, "kind", task_kind_name(task->kind));
	json_put_string(&w, "worker", task->worker);
	json_put_int(&w, "orders", orders);
	json_put_bool(&w, "freed", freed);
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
}

/* Prints a task. If nothing was freed, the output for people says so; a program sees no line. */
static void reaped_print(void *arg, const struct task *task, int64_t orders)
{
	struct reaped *r = arg;

	r->tasks += task != NULL;
	if (task && r->json)
		reaped_json(task, orders, !r->dry);
	else if (task)
		printf("task %llu of %s (%s): %lld orders %s\n", (unsigned long long)task->task_id, task->worker,
		       task_kind_name(task->kind), (long long)orders, r->dry ? "would be freed" : "freed");
	else if (r->once && !r->json && r->tasks == 0)
		puts("nothing to free");
}

int reap_run(void)
{
	struct reaped reaped = {0};
	struct work   work = {.kind = TASK_NO_KIND, .reaped = reaped_print, .reaped_arg = &reaped};

	if (option_given(OPTION_once) && option_given(OPTION_every))
		return say_status(EXIT_USAGE, "--once and --every do not go together; try `holdfast reap --help`");
	reaped.json = option_given(OPTION_json);
	setvbuf(stdout, NULL, _IOLBF, 0); /* flushed by the line: a reader of a pipe sees each task when it is freed */
	work.attempts_max = (unsigned)option_count(OPTION_max_attempts, 0);
	work.stale_s = option_count(OPTION_stale_after, 0);
	work.dry = reaped.dry = option_given(OPTION_dry_run);
	work.once = reaped.once = !option_given(OPTION_every);
	work.pause_ms = option_count(OPTION_every, 1) * 1000;
	return workers_run(&work, 1);
}

/* ---- kick */

/* Kicks the reservation with this order_id; NULL: all buried ones, page by page. */
static enum db_result kick_pages(struct db *db, const char *order_id, struct reservation_reader *in, int64_t *kicked)
{
	struct catalogue *c = catalogue_new();
	struct values     ids = {0};
	int64_t           of_page;
	enum db_result    result = DB_OK;

	past_watch(db_source(db), c);
	*kicked = 0;
	do {
		values_reset(&ids);
		of_page = 0;
		if (order_id)
			values_row(&ids, V_TEXT(order_id));
		else
			result = db_ask(db, BURIED_PAGE, &(struct fill){.limit = KICK_BATCH}, db_numbers, &ids);
		if (result == DB_OK && ids.rows > 0)
			result = kick_list(db, order_id ? RESERVATION_FIND : RESERVATION_BY_ID, &ids, 0, in, &of_page);
		*kicked += of_page;
	} while (!order_id && result == DB_OK && ids.rows > 0);
	values_fini(&ids);
	past_watch(db_source(db), NULL);
	catalogue_free(c);
	return result;
}

static int kick_act(struct db *db, void *arg)
{
	const char               *order_id = arg;
	struct reservation_reader in = {0};
	int64_t                   kicked;
	enum db_result            result = kick_pages(db, order_id, &in, &kicked);
	int                       status = result != DB_OK ? EXIT_UNAVAILABLE : EXIT_DONE;

	if (!order_id)
		printf(option_given(OPTION_json) ? "{\"kicked\":%lld}\n" : "%lld reservations are confirmed again\n",
		       (long long)kicked);
	else if (result == DB_OK && kicked == 0)
		say("%s is %s", order_id, in.count ? reservation_state_name(in.list[0]->state) : "not known");
	else if (result == DB_OK && option_given(OPTION_json))
		puts("{\"kicked\":1}");
	else if (result == DB_OK)
		printf("%s is confirmed again\n", order_id);
	if (order_id && kicked == 0 && status == EXIT_DONE)
		status = EXIT_TROUBLE;
	reservations_free(in.list, in.count);
	return status;
}

int kick_run(void)
{
	if (!operand(0) == !option_given(OPTION_all))
		return say_status(EXIT_USAGE, "kick ORDER_ID or kick --all; try `holdfast kick --help`");
	return database_run(EMBEDDED_FIND, false, kick_act, operand(0));
}

/* ---- purge */

/* One `purge`: a walk over the reservations, then one over the tasks. */
struct purge {
	int64_t       days, last, seen, removed;
	int64_t       passed; /* rows of the walk so far */
	struct values ids;    /* rows of a page that may go */
};

static void purge_read(void *arg, const struct db_row *row)
{
	struct purge *p = arg;

	p->last = db_int(row, 0);
	p->seen++;
	if (db_int(row, 1))
		values_row(&p->ids, V_INT(p->last));
}

/* Removes a batch of reservations with their lines, in one transaction. Movements stay, the history of on_hand. */
static enum db_result purge_reservations(struct db *db, struct purge *p)
{
	const struct fill fill = {.rows = &p->ids};
	enum txn_verdict  verdict;
	enum db_result    result;
	struct txn        t = {0};

	txn_begin(&t, db);
	txn_run(&t, PURGE_CUSTOMERS, &fill);
	txn_run(&t, PURGE_ROWS, &fill);
	txn_expect(&t, p->ids.rows, TXN_MOVED);
	txn_run(&t, PURGE_NOTHING_HAD, &fill);
	txn_run(&t, PURGE_LINES, &fill);
	txn_run(&t, PURGE_NOTES, &fill);
	txn_run(&t, PURGE_SHORTS, &fill);
	txn_run(&t, PURGE_HOLDS, &fill); /* without limits of keys, nothing else removes these */
	txn_run(&t, PURGE_SPLITS, &fill);
	txn_run(&t, PURGE_AMENDS, &fill);
	txn_run(&t, PURGE_RETURNED, &fill);
	txn_run(&t, ON_HOLD_REMOVE, &fill); /* of orders that expired */
	result = txn_commit(&t, &verdict);
	if (result == DB_OK && verdict == TXN_DONE)
		p->removed += (int64_t)p->ids.rows;
	return result;
}

static enum db_result purge_tasks(struct db *db, struct purge *p)
{
	const struct fill fill = {.rows = &p->ids};
	enum db_result    result = db_ask(db, PURGE_TASKS_LOST, &fill, NULL, NULL);

	if (result == DB_OK)
		result = db_ask(db, PURGE_TASKS, &fill, NULL, NULL);
	if (result == DB_OK)
		p->removed += db_changed(db);
	return result;
}

/* Removes events that are older than they are kept, and then writers, which need no page. */
static enum db_result purge_events(struct db *db, struct purge *p)
{
	enum { BUDGET_MS = 1000 };
	int64_t        before;
	enum db_result result;

	do {
		before = p->removed;
		result = keeping_pass(db, BUDGET_MS, &p->removed);
		bar_set(p->removed);
	} while (result == DB_OK && p->removed > before);
	return result == DB_OK ? db_ask(db, WRITER_PURGE, NULL, NULL, NULL) : result;
}

/* A batch that lost a conflict with the service was undone, and is done again. */
static enum db_result purge_batch(struct db *db, struct purge *p, enum db_result (*batch)(struct db *, struct purge *))
{
	struct retry   retry = {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES};
	enum db_result result;

	do
		result = batch(db, p);
	while (retry_again(&retry, result));
	return result;
}

/* Walks page by page; `batch` removes the rows of a page that may go. */
static enum db_result purge_walk(struct db *db, struct purge *p, enum statement page,
                                 enum db_result (*batch)(struct db *db, struct purge *p))
{
	enum db_result result;

	p->last = p->removed = p->passed = 0;
	do {
		p->seen = 0;
		values_reset(&p->ids);
		result = db_ask(db, page,
		                &(struct fill){.after_id = p->last, .limit = PURGE_BATCH, .keep_days = p->days},
		                purge_read, p);
		if (result == DB_OK && p->ids.count > 0)
			result = purge_batch(db, p, batch);
		bar_set(p->passed += p->seen);
	} while (result == DB_OK && p->seen == PURGE_BATCH);
	return result;
}

/* EXIT_TROUBLE: a clock is wrong. A row that looks old by a wrong clock may be young. */
static int purge_allowed(struct db *db)
{
	int64_t ahead_s;

	if (option_given(OPTION_force))
		return EXIT_DONE;
	if (db_clock_apart(db, &ahead_s) != DB_OK)
		return EXIT_UNAVAILABLE;
	if (llabs(ahead_s) <= CLOCKS_APART_S)
		return EXIT_DONE;
	return say_status(EXIT_TROUBLE,
	                  "the database's clock is %lld s %s this machine's: nothing was removed; set the clock that "
	                  "is wrong, or --force",
	                  llabs(ahead_s), ahead_s > 0 ? "ahead of" : "behind");
}

static int purge_act(struct db *db, void *arg)
{
	struct purge  *p = arg;
	int            status = purge_allowed(db);
	int64_t        reservations, tasks;
	enum db_result result;

	if (status != EXIT_DONE)
		return status;
	bar_of_table(db, "reservations", "reservation");
	result = purge_walk(db, p, PURGE_PAGE, purge_reservations);
	reservations = p->removed;
	p->removed = 0;
	bar_of_table(db, "tasks", "task");
	if (result == DB_OK)
		result = purge_walk(db, p, PURGE_TASKS_PAGE, purge_tasks);
	tasks = p->removed;
	p->removed = 0;
	bar_begin("events", 0);
	if (result == DB_OK)
		result = purge_batch(db, p, purge_events);
	bar_end();
	printf(option_given(OPTION_json) ? "{\"reservations\":%lld,\"tasks\":%lld,\"event_rows\":%lld}\n"
	                                 : "%lld reservations and %lld tasks removed, %lld rows of events\n",
	       (long long)reservations, (long long)tasks, (long long)p->removed);
	values_fini(&p->ids);
	return result == DB_OK ? EXIT_DONE : EXIT_UNAVAILABLE;
}

int purge_run(void)
{
	struct purge p = {.days = option_count(OPTION_keep, 0)};

	if (!option_given(OPTION_keep))
		return say_status(EXIT_USAGE, "purge needs --keep DAYS; try `holdfast purge --help`");
	return database_run(EMBEDDED_FIND, false, purge_act, &p);
}
