/* tune.c - the command `tune`: a short load with 1, 2, 4 and 8 slots, so that the number of lanes can be chosen by
 * measuring.
 *
 * The load goes through an engine as the service's own orders do, in a database of its own beside the live one:
 * NAME_tune, on the same server. Tune makes the database where its account may, and otherwise uses one that an
 * administrator has made. Tune removes it at the end, also after a signal; if a tune was killed, the next one removes
 * its tables. */
#include "commands/tune.h"
#include "commands/database.h"
#include "commands/options.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/db/db.h"
#include "engine/db/retry.h"
#include "engine/engine.h"
#include "engine/loop.h"
#include "jobs/stop.h"
#include "schema/migrate.h"

#include <poll.h>
#include <stdio.h>

#define TUNE_SKU "tune"

enum {
	FLYING = 256,        /* orders under way at any time, as if there were so many buyers */
	UNITS = 1000000000,  /* received once; far more than can be reserved */
	TTL_S = 86400,       /* longer than the load, so that no hold is swept meanwhile */
	WARM_MS = 500,       /* time for lanes to gather units into their slots */
	START_MS = 10000,    /* time for lanes to connect */
	DROP_TRIES = 5,      /* tries, 2 s each, to outwait a killed tune's last transactions */
	NEARLY_PERCENT = 95, /* fewer slots that reach this share of the best are preferred */
};

static const unsigned sizes[] = {1, 2, 4, 8};

/* Row locks of the server since it was started. */
struct waits {
	int64_t count, ms;
};

/* The measurement of one number of slots. */
struct trial {
	unsigned     slots;
	int64_t      reservations, batches, us; /* figures of the window */
	struct waits waits;
};

struct tune {
	struct db     *db;     /* connection to the live database */
	struct source *source; /* of the database NAME_tune */
	struct stop   *stop;
	struct engine *engine;
	struct loop   *loop;
	int64_t        orders, answered;
	int            flying;
	bool           ends;   /* true: no order is started any more */
	enum outcome   failed; /* the last refusal; OUTCOME_OK: none */
	struct trial   trials[LENGTH(sizes)];
};

/* ---- the database of its own */

static enum db_result number_find(struct db *db, enum statement name, int64_t *number)
{
	*number = 0;
	return db_ask(db, name, NULL, db_ints, number);
}

static void lines_print(void *arg, const struct db_row *row)
{
	(void)arg;
	fprintf(stderr, "%s\n%s\n", db_word(row, 0), db_word(row, 1));
}

static int trouble(struct db *db)
{
	return say_status(EXIT_UNAVAILABLE, "the database did not do it: %s", db_error(db));
}

/* Prints the SQL by which an administrator makes the database for this account. */
static int grants_print(struct tune *t, const char *why)
{
	int status = EXIT_CONFIG;

	say("tune works in a database of its own, which this account may not make (%s). An administrator runs:", why);
	if (db_ask(t->db, TUNE_GRANTS, NULL, lines_print, NULL) != DB_OK)
		status = trouble(t->db);
	return status;
}

static enum db_result scratch_drop(struct tune *t)
{
	struct retry   retry = {.results = RETRY_LOCKS, .tries_max = DROP_TRIES};
	enum db_result result;
	int64_t        none;

	do
		result = number_find(t->db, TUNE_DROP, &none);
	while (retry_again(&retry, result));
	return result;
}

/* Makes the tables of a new installation. */
static int schema_make(struct tune *t)
{
	struct db *db = db_new(t->source);
	char       why[512];
	int        status = EXIT_DONE;

	if (!db_connect(db))
		status = db_refused(db) ? grants_print(t, db_error(db)) : trouble(db);
	else if (!schema_migrate(db, why, sizeof(why)))
		status = db_denied(db) ? grants_print(t, why) : trouble(db);
	db_free(db);
	return status;
}

static int scratch_make(struct tune *t)
{
	int64_t        ours = 0;
	enum db_result result = scratch_drop(t);

	if (result == DB_OK)
		result = number_find(t->db, TUNE_MAKE, &ours);
	if (result == DB_ERROR && db_denied(t->db))
		return grants_print(t, db_error(t->db));
	if (result != DB_OK)
		return trouble(t->db);
	if (ours)
		return schema_make(t);
	return say_status(EXIT_CONFIG, "%s has tables that tune did not make; tune needs it empty, or not there",
	                  source_target(t->source)->database);
}

/* ---- the load */

static void order_start(struct tune *t);

static void order_done(void *arg, struct op *op)
{
	struct tune *t = arg;

	t->flying--;
	if (op->outcome == OUTCOME_OK)
		t->answered++;
	else
		t->failed = op->outcome;
	op_free(op);
	order_start(t);
}

static void op_send(struct tune *t, struct op *op)
{
	bool sent;

	assert(t->flying < FLYING);
	op_line(op, TUNE_SKU, strlen(TUNE_SKU), NULL, 0, op->kind == OP_MOVE ? UNITS : 1);
	op_seal(op, NULL);
	sent = engine_start(t->engine, op, t->loop, order_done, t);
	assert(sent); /* the queue is longer than FLYING */
	t->flying++;
}

static struct op *op_make(enum op_kind kind)
{
	struct op *op = op_new(kind, 1, sizeof(TUNE_SKU) + LOCATION_MAX + 2);

	assert(op);
	return op;
}

static void order_start(struct tune *t)
{
	struct op *op;

	if (t->ends || t->failed != OUTCOME_OK)
		return;
	op = op_make(OP_RESERVE);
	snprintf(op->id, sizeof(op->id), "%lld", (long long)t->orders++);
	op->reserve.ttl_s = TTL_S;
	op_send(t, op);
}

/* Runs until `until_us`, or until no order is under way. */
static void loop_until(struct tune *t, int64_t until_us)
{
	struct pollfd ready = {loop_fd(t->loop), POLLIN, 0};
	int64_t       left_us;

	engine_wake(t->engine);
	while (t->flying > 0 && (left_us = until_us - clock_us()) > 0) {
		poll(&ready, 1, left_us < 100000 ? (int)(left_us / 1000) + 1 : 100);
		loop_run(t->loop);
		engine_wake(t->engine);
		t->ends = t->ends || stop_wait(t->stop, 0);
	}
}

static void units_receive(struct tune *t)
{
	struct op *op = op_make(OP_MOVE);

	snprintf(op->id, sizeof(op->id), "receipt");
	op->move.kind = RECEIPT;
	t->ends = true;
	op_send(t, op);
	loop_until(t, INT64_MAX);
	t->ends = stop_wait(t->stop, 0);
}

static void waits_read(void *arg, const struct db_row *row)
{
	struct waits *w = arg;

	if (strcasecmp(db_word(row, 0), "Innodb_row_lock_waits") == 0)
		w->count = db_int(row, 1);
	if (strcasecmp(db_word(row, 0), "Innodb_row_lock_time") == 0)
		w->ms = db_int(row, 1);
}

static bool waits_find(struct tune *t, struct waits *w)
{
	return db_ask(t->db, TUNE_WAITS, NULL, waits_read, w) == DB_OK;
}

/* Measures a window between a warm-up and the answers that are still to come. */
static bool trial_measure(struct tune *t, struct trial *trial, int64_t seconds)
{
	const struct lane_metrics *figures = engine_metrics(t->engine);
	struct waits               before, after;
	int64_t                    begun_us, answered, batches;
	bool                       known;

	for (int i = 0; i < FLYING; i++)
		order_start(t);
	loop_until(t, clock_us() + WARM_MS * 1000);
	known = waits_find(t, &before);
	answered = t->answered;
	batches = atomic_load(&figures->batch_count);
	begun_us = clock_us();
	loop_until(t, begun_us + seconds * 1000000);
	trial->us = clock_us() - begun_us;
	trial->reservations = t->answered - answered;
	trial->batches = atomic_load(&figures->batch_count) - batches;
	known = waits_find(t, &after) && known;
	trial->waits = (struct waits){after.count - before.count, after.ms - before.ms};
	t->ends = true;
	loop_until(t, INT64_MAX);
	return known;
}

/* Measures one number of slots. EXIT_DONE, or the exit status without a figure. */
static int trial_run(struct tune *t, struct trial *trial, int64_t seconds)
{
	int64_t until_ms = clock_ms() + START_MS;
	bool    ok;

	t->engine = engine_open(&(struct engine_options){.source = t->source, .lanes = trial->slots});
	while (!engine_ready(t->engine) && clock_ms() < until_ms && !stop_wait(t->stop, 20))
		continue;
	t->ends = stop_wait(t->stop, 0);
	ok = engine_ready(t->engine) || t->ends;
	if (ok && !t->ends && t->orders == 0)
		units_receive(t);
	ok = ok && (t->ends || trial_measure(t, trial, seconds));
	engine_close(t->engine);
	if (t->failed != OUTCOME_OK)
		say("an order was answered: %s", outcome_detail(t->failed));
	if (!ok)
		return EXIT_UNAVAILABLE;
	return t->failed != OUTCOME_OK || stop_wait(t->stop, 0) ? EXIT_TROUBLE : EXIT_DONE;
}

/* ---- the report */

static int64_t rate_of(const struct trial *trial)
{
	return trial->us > 0 ? trial->reservations * 1000000 / trial->us : 0;
}

static void trial_print(const struct trial *trial)
{
	printf("%5u %15lld %11.1f %11lld %14lld\n", trial->slots, (long long)rate_of(trial),
	       trial->batches ? (double)trial->reservations / (double)trial->batches : 0, (long long)trial->waits.count,
	       (long long)trial->waits.ms);
	fflush(stdout);
}

/* The fewest slots that come near to the best: fewer rows for each sku, units less scattered. */
static unsigned slots_best(const struct tune *t)
{
	int64_t most = 0;
	size_t  best = 0;

	for (size_t i = 0; i < LENGTH(sizes); i++)
		most = rate_of(&t->trials[i]) > most ? rate_of(&t->trials[i]) : most;
	while (rate_of(&t->trials[best]) < most * NEARLY_PERCENT / 100)
		best++;
	return sizes[best];
}

static void report_json(const struct tune *t, int64_t seconds)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_int(&w, "seconds", seconds);
	json_open_array(&w, "trials");
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		const struct trial *trial = &t->trials[i];

		json_open_object(&w, NULL);
		json_put_int(&w, "slots", trial->slots);
		json_put_int(&w, "reservations_per_s", rate_of(trial));
		json_put_int(&w, "reservations", trial->reservations);
		json_put_int(&w, "batches", trial->batches);
		json_put_int(&w, "lock_waits", trial->waits.count);
		json_put_int(&w, "lock_wait_ms", trial->waits.ms);
		json_close_object(&w);
	}
	json_close_array(&w);
	json_put_int(&w, "best", slots_best(t));
	json_close_object(&w);
	printf("%s\n", out.data);
	text_fini(&out);
}

static void advice_print(unsigned best)
{
	printf("\n%u slot%s: `holdfast serve --lanes %u`", best, best > 1 ? "s" : "", best);
	if (best > 1)
		printf(", or as many lanes in all processes on this database together");
	printf(".\n");
}

static int trials_run(struct tune *t, int64_t seconds, bool json)
{
	int status = EXIT_DONE;

	if (!json)
		printf("slots  reservations/s  per commit  lock waits  ms of waiting\n");
	for (size_t i = 0; i < LENGTH(sizes) && status == EXIT_DONE; i++) {
		t->trials[i].slots = sizes[i];
		status = trial_run(t, &t->trials[i], seconds);
		if (status == EXIT_DONE && !json)
			trial_print(&t->trials[i]);
	}
	if (status == EXIT_DONE && json)
		report_json(t, seconds);
	else if (status == EXIT_DONE)
		advice_print(slots_best(t));
	return status;
}

/* ---- the command */

/* Runs a whole tune, while its lock is held. */
static int tune_locked(struct tune *t, int64_t seconds)
{
	int status = scratch_make(t);

	if (status == EXIT_DONE) {
		t->loop = loop_new();
		status = trials_run(t, seconds, option_given(OPTION_json));
		loop_free(t->loop);
		if (status == EXIT_UNAVAILABLE)
			trouble(t->db);
	}
	if (scratch_drop(t) == DB_OK)
		return status;
	say("%s is still there; the next tune removes it", source_target(t->source)->database);
	return trouble(t->db);
}

/* The database of tune itself, on the same server; tune makes it, of this program's schema. */
static struct source *source_beside(const struct source *live)
{
	struct db_target target = *source_target(live);
	size_t           len = strlen(target.database);
	struct source   *beside;

	snprintf(target.database + len, sizeof(target.database) - len, "_tune");
	beside = source_new(&target);
	explicit_bzero(&target, sizeof(target));
	return beside;
}

static int tune_on(struct database *database, struct stop *stop, int64_t seconds)
{
	struct tune t = {.stop = stop, .failed = OUTCOME_OK};
	int64_t     locked = 0;
	int         status;

	t.db = database_connect(database);
	if (!t.db)
		return EXIT_UNAVAILABLE;
	if (atomic_load(source_cluster(database->source))) {
		db_free(t.db);
		return say_status(EXIT_CONFIG, "tune does not run on a cluster: making and removing its tables would"
		                               " stop all nodes; run it on one server of the same kind");
	}
	t.source = source_beside(database->source);
	if (number_find(t.db, TUNE_LOCK, &locked) != DB_OK)
		status = trouble(t.db);
	else if (locked)
		status = tune_locked(&t, seconds);
	else
		status = say_status(EXIT_TROUBLE, "another tune is at work on this database");
	db_free(t.db);
	source_free(t.source);
	return status;
}

int tune_run(void)
{
	struct database database;
	struct stop    *stop;
	int             status;

	if (!option_given(OPTION_log_level))
		log_level = LOG_WARN; /* lanes that come and go are no news here */
	stop = stop_on_signals(NULL);
	status = database_open(&database, EMBEDDED_FIND, false);
	if (status != EXIT_DONE)
		return status;
	status = tune_on(&database, stop, option_count(OPTION_seconds, 0));
	return database_close(&database, status);
}
