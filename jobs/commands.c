/* commands.c - the commands work, reap, kick and purge: options in, one run, a few lines out. */
#include "jobs/commands.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/db/guard.h"
#include "jobs/claim.h"
#include "jobs/database.h"
#include "jobs/work.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KICK_BATCH = 500, PURGE_BATCH = 500, CONFLICTS_MAX = 20 };

/* ---- work and reap */

_Static_assert((int)OPTION_BATCH_MAX == (int)CLAIM_MAX && (int)OPTION_WORKERS_MAX == (int)WORKERS_MAX,
               "options.h has the limits of claim.h and work.h");

/* Opens the database and runs `count` workers to their end. */
static int workers_run(struct work *work, unsigned count)
{
	static struct stop      stop; /* the signal thread outlives this function */
	struct worker          *workers[WORKERS_MAX];
	struct database         database;
	struct database_options options = option_database(EMBEDDED_FIND);
	int                     status;

	stop_init(&stop);
	stop_on_signals(&stop, exec_kill_all);
	status = database_open(&database, &options);
	if (status != EXIT_DONE)
		return status;
	work->target = database.target;
	work->catalogue = catalogue_new();
	work->stop = &stop;
	for (unsigned i = 0; i < count; i++)
		workers[i] = worker_start(work, i);
	for (unsigned i = 0; i < count; i++) {
		int of_worker = worker_join(workers[i]);

		status = of_worker ? of_worker : status;
	}
	catalogue_free(work->catalogue);
	database_close(&database);
	return status;
}

int work_run(const struct command *self, int argc, char **argv)
{
	struct work work = {0};
	char       *kind = NULL;
	int         status = options_read(self, argc, argv, &kind, 1);

	if (status != EXIT_DONE)
		return status;
	work.kind = kind ? task_kind_find(kind) : TASK_NO_KIND;
	if (work.kind == TASK_NO_KIND || (option_given(OPTION_once) && option_given(OPTION_every))) {
		say("%s; try `holdfast work --help`",
		    work.kind ? "--once and --every do not go together" : "work settle or work expire");
		return EXIT_USAGE;
	}
	work.batch = option_count(OPTION_batch, 0);
	work.lease_s = option_count(OPTION_lease, 0);
	work.attempts_max = (unsigned)option_count(OPTION_max_attempts, 0);
	work.exec = option_text(OPTION_exec);
	work.once = option_given(OPTION_once);
	work.pause_ms = option_count(OPTION_every, 1) * 1000;
	return workers_run(&work, (unsigned)option_count(OPTION_workers, 1));
}

/* The print-out of `reap`. */
struct reaped {
	bool    json, dry, once;
	int64_t tasks; /* freed, or to be freed */
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

/* A person is told that there was nothing; a program reads no line as none. */
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

int reap_run(const struct command *self, int argc, char **argv)
{
	struct reaped reaped = {0};
	struct work   work = {.kind = TASK_NO_KIND, .reaped = reaped_print, .reaped_arg = &reaped};
	int           status = options_read(self, argc, argv, NULL, 0);

	if (status != EXIT_DONE)
		return status;
	if (option_given(OPTION_once) && option_given(OPTION_every)) {
		say("--once and --every do not go together; try `holdfast reap --help`");
		return EXIT_USAGE;
	}
	reaped.json = option_given(OPTION_json);
	setvbuf(stdout, NULL, _IOLBF, 0); /* a reader of a pipe sees each task when it is freed */
	work.attempts_max = (unsigned)option_count(OPTION_max_attempts, 0);
	work.stale_s = option_count(OPTION_stale_after, 0);
	work.dry = reaped.dry = option_given(OPTION_dry_run);
	work.once = reaped.once = !option_given(OPTION_every);
	work.pause_ms = option_count(OPTION_every, 1) * 1000;
	return workers_run(&work, 1);
}

/* ---- kick */

/* What lost a conflict with the service was undone, and is done again. */
static bool is_conflict(enum db_result result, int tries)
{
	return (result == DB_RETRY || result == DB_LOCKED) && tries < CONFLICTS_MAX;
}

static enum db_result run_again(struct db *db, const struct text *sql)
{
	enum db_result result;
	int            tries = 0;

	do
		result = db_run(db, sql, NULL, NULL);
	while (is_conflict(result, ++tries));
	return result;
}

static void id_read(void *arg, const struct db_row *row)
{
	row_int(arg, db_int(row, 0));
}

static int kick_all(struct db *db, int64_t *kicked)
{
	struct text sql = {0}, rows = {0};
	int         status = EXIT_DONE;

	for (*kicked = 0;;) {
		text_reset(&rows);
		text_reset(&sql);
		statement_add(&sql, BURIED_PAGE, &(struct fill){.count = KICK_BATCH});
		if (db_run(db, &sql, id_read, &rows) != DB_OK)
			status = EXIT_UNAVAILABLE;
		if (status != EXIT_DONE || rows.len == 0)
			break;
		text_reset(&sql);
		statement_add(&sql, BURIED_KICK, &(struct fill){.rows = &rows});
		if (run_again(db, &sql) != DB_OK)
			status = EXIT_UNAVAILABLE;
		else
			*kicked += db_changed(db);
	}
	text_fini(&sql);
	text_fini(&rows);
	return status;
}

struct state_reader {
	struct text id;
	int64_t     state;
};

static void state_read(void *arg, const struct db_row *row)
{
	struct state_reader *in = arg;

	in->state = db_int(row, 3);
	text_reset(&in->id);
	row_int(&in->id, db_int(row, 1));
}

static int kick_one(struct db *db, const char *order_id)
{
	struct state_reader in = {0};
	struct text         sql = {0}, rows = {0};
	int                 status = EXIT_TROUBLE;

	row_hex(&rows, order_id, strlen(order_id));
	statement_add(&sql, RESERVATION_FIND, &(struct fill){.rows = &rows, .count = INT64_MAX});
	if (db_run(db, &sql, state_read, &in) != DB_OK) {
		status = EXIT_UNAVAILABLE;
	} else if (in.state != BURIED) {
		say("%s is %s", order_id,
		    in.state ? reservation_state_name((enum reservation_state)in.state) : "not known");
	} else {
		text_reset(&sql);
		statement_add(&sql, BURIED_KICK, &(struct fill){.rows = &in.id});
		if (run_again(db, &sql) != DB_OK)
			status = EXIT_UNAVAILABLE;
		else if (db_changed(db) == 0)
			say("%s is not buried any more", order_id);
		else
			status = EXIT_DONE;
	}
	text_fini(&sql);
	text_fini(&rows);
	text_fini(&in.id);
	return status;
}

static int kick_act(struct db *db, void *arg)
{
	int64_t kicked;
	int     status;

	if (arg) {
		status = kick_one(db, arg);
		if (status == EXIT_DONE && option_given(OPTION_json))
			puts("{\"kicked\":1}");
		else if (status == EXIT_DONE)
			printf("%s is confirmed again\n", (char *)arg);
		return status;
	}
	status = kick_all(db, &kicked);
	printf(option_given(OPTION_json) ? "{\"kicked\":%lld}\n" : "%lld reservations are confirmed again\n",
	       (long long)kicked);
	return status;
}

int kick_run(const struct command *self, int argc, char **argv)
{
	struct database_options database;
	char                   *order_id = NULL;
	int                     status = options_read(self, argc, argv, &order_id, 1);

	if (status != EXIT_DONE)
		return status;
	if (!order_id == !option_given(OPTION_all)) {
		say("kick ORDER_ID or kick --all; try `holdfast kick --help`");
		return EXIT_USAGE;
	}
	database = option_database(EMBEDDED_FIND);
	return database_run(&database, kick_act, order_id);
}

/* ---- purge */

/* One `purge`: a walk over the reservations, then one over the tasks. */
struct purge {
	int64_t     days;
	int64_t     last, seen; /* of a page: the last id, and how many */
	struct text rows;       /* the ids of the page that may go .. */
	int64_t     rows_count; /* .. and how many */
	int64_t     removed;
};

static void purge_read(void *arg, const struct db_row *row)
{
	struct purge *p = arg;

	p->last = db_int(row, 0);
	p->seen++;
	if (db_int(row, 1)) {
		row_int(&p->rows, p->last);
		p->rows_count++;
	}
}

/* Removes a batch of reservations with their lines. Movements stay: they are the history of on_hand. */
static enum db_result purge_try(struct db *db, struct purge *p)
{
	struct text    sql = {0};
	int            verdict;
	enum db_result result;

	guard_begin(&sql);
	statement_add(&sql, PURGE_ROWS, &(struct fill){.rows = &p->rows});
	guard_expect(&sql, p->rows_count, 1);
	statement_add(&sql, PURGE_LINES, &(struct fill){.rows = &p->rows});
	result = guard_run(db, &sql, &verdict);
	if (result == DB_OK && verdict == GUARD_DONE)
		p->removed += p->rows_count;
	text_fini(&sql);
	return result;
}

static enum db_result purge_reservations(struct db *db, struct purge *p)
{
	enum db_result result;
	int            tries = 0;

	do
		result = purge_try(db, p);
	while (is_conflict(result, ++tries));
	return result;
}

static enum db_result purge_tasks(struct db *db, struct purge *p)
{
	struct text    sql = {0};
	enum db_result result;

	statement_add(&sql, PURGE_TASKS, &(struct fill){.rows = &p->rows});
	result = run_again(db, &sql);
	if (result == DB_OK)
		p->removed += db_changed(db);
	text_fini(&sql);
	return result;
}

/* Walks page by page; `batch` removes the rows of a page that may go. */
static int purge_walk(struct db *db, struct purge *p, enum statement page,
                      enum db_result (*batch)(struct db *db, struct purge *p))
{
	struct text sql = {0};
	int         status = EXIT_DONE;

	p->last = p->removed = 0;
	do {
		p->seen = p->rows_count = 0;
		text_reset(&p->rows);
		text_reset(&sql);
		statement_add(&sql, page, &(struct fill){.low = p->last, .count = PURGE_BATCH, .lease = p->days});
		if (db_run(db, &sql, purge_read, p) != DB_OK || (p->rows_count > 0 && batch(db, p) != DB_OK))
			status = EXIT_UNAVAILABLE;
	} while (status == EXIT_DONE && p->seen == PURGE_BATCH);
	text_fini(&sql);
	return status;
}

static int purge_lanes(struct db *db, const struct purge *p)
{
	struct text sql = {0};
	int         status;

	statement_add(&sql, LANE_PURGE, &(struct fill){.count = p->days});
	status = run_again(db, &sql) == DB_OK ? EXIT_DONE : EXIT_UNAVAILABLE;
	text_fini(&sql);
	return status;
}

/* A row that is old by a wrong clock may be young. */
static int purge_allowed(struct db *db)
{
	int64_t ahead_s;

	if (option_given(OPTION_force))
		return EXIT_DONE;
	if (db_clock_apart(db, &ahead_s) != DB_OK)
		return EXIT_UNAVAILABLE;
	if (llabs(ahead_s) <= CLOCKS_APART_S)
		return EXIT_DONE;
	say("the database's clock is %lld s %s this machine's: nothing was removed; set the clock that is wrong, or "
	    "--force",
	    llabs(ahead_s), ahead_s > 0 ? "ahead of" : "behind");
	return EXIT_TROUBLE;
}

static int purge_act(struct db *db, void *arg)
{
	struct purge *p = arg;
	int           status = purge_allowed(db);
	int64_t       reservations;

	if (status != EXIT_DONE)
		return status;
	status = purge_walk(db, p, PURGE_PAGE, purge_reservations);
	reservations = p->removed;
	p->removed = 0;
	if (status == EXIT_DONE)
		status = purge_walk(db, p, PURGE_TASKS_PAGE, purge_tasks);
	if (status == EXIT_DONE)
		status = purge_lanes(db, p);
	printf(option_given(OPTION_json) ? "{\"reservations\":%lld,\"tasks\":%lld}\n"
	                                 : "%lld reservations and %lld tasks removed\n",
	       (long long)reservations, (long long)p->removed);
	text_fini(&p->rows);
	return status;
}

int purge_run(const struct command *self, int argc, char **argv)
{
	struct database_options database;
	struct purge            p = {0};
	int                     status = options_read(self, argc, argv, NULL, 0);

	if (status != EXIT_DONE)
		return status;
	if (!option_given(OPTION_keep)) {
		say("purge needs --keep DAYS; try `holdfast purge --help`");
		return EXIT_USAGE;
	}
	p.days = option_count(OPTION_keep, 0);
	database = option_database(EMBEDDED_FIND);
	return database_run(&database, purge_act, &p);
}
