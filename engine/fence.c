/* fence.c - a lane's row in the database, and what it is for.
 *
 * Its lock keeps the transactions of one lane in line. Its epoch shuts out a connection that was given up: a new
 * connection raises it first, which waits for what the old one still does. Its batch_no is written by every guarded
 * transaction, so that whoever does not know whether COMMIT was done reads one row and knows.
 *
 * A transaction of many rows is run step by step, prepared and in bulk; one of few rows is written down and goes at
 * once. */
#include "guard.h"
#include "lane.h"

#include <string.h>
#include <unistd.h>

/* ---- the connection and the lane's row */

struct lane_row {
	int64_t lane_id, epoch, batch_no, batch_at, now;
};

static void lane_made(void *arg, const struct db_row *row)
{
	struct lane_row *r = arg;

	r->lane_id = db_int(row, 0);
	r->epoch = 1;
	r->now = time_parse(row->col[1]);
}

static void row_read(void *arg, const struct db_row *row)
{
	struct lane_row *r = arg;

	r->epoch = db_int(row, 0);
	r->batch_no = db_int(row, 1);
	r->batch_at = time_parse(row->col[2]);
	r->now = time_parse(row->col[3]);
}

static enum db_result lane_statement(struct lane *l, enum statement name, void (*each)(void *, const struct db_row *),
                                     struct lane_row *row)
{
	struct text    sql = {0};
	enum db_result result;

	statement_add(&sql, name, &(struct fill){.lane = l->lane_id, .slot = l->slot});
	result = db_run(l->db, &sql, each, row);
	text_fini(&sql);
	return result;
}

/* The database's clock minus ours, one for all lanes, so that their ids agree on what is newer. The way back only makes
 * it smaller, so the largest is the best; far smaller means that a clock was set. */
static void clock_learn(struct engine *e, int64_t offset_ms)
{
	int64_t known_ms = atomic_load(&e->clock_offset_ms);

	if (offset_ms > known_ms || offset_ms < known_ms - 1000)
		atomic_store(&e->clock_offset_ms, offset_ms);
}

/* Connects, and makes sure that nothing of an earlier connection can still land: raising the epoch waits for a
 * transaction that holds the lane's row and shuts out one that comes later. Afterwards *last is what was committed
 * last. */
static bool lane_enter(struct lane *l, struct lane_row *last)
{
	enum db_result result;

	*last = (struct lane_row){0};
	l->prepared = false;
	if (!db_connect(l->db))
		return false;
	if (l->lane_id) {
		result = lane_statement(l, LANE_RAISE, NULL, NULL);
		if (result == DB_OK)
			result = lane_statement(l, LANE_READ, row_read, last);
		if (result == DB_OK && last->epoch == 0)
			l->lane_id = 0; /* somebody removed the row: begin anew. A new row has batch_no 0, which no
			                 * batch has, so what was under way is not taken for committed */
	}
	if (l->lane_id == 0) {
		result = lane_statement(l, LANE_MAKE, lane_made, last);
		l->lane_id = last->lane_id;
	}
	if (result != DB_OK) {
		db_close(l->db);
		return false;
	}
	l->epoch = last->epoch;
	memset(l->hints, 0, sizeof(l->hints)); /* it may be another server, or another past */
	clock_learn(l->engine, last->now - clock_ms());
	l->id_maker.owner = (uint64_t)l->lane_id;
	log_event(LOG_INFO, "lane_connected", "lane=%lld slot=%u epoch=%lld", (long long)l->lane_id, l->slot,
	          (long long)l->epoch);
	return true;
}

bool lane_connect(struct lane *l)
{
	struct lane_row last;

	return lane_enter(l, &last);
}

void lane_leave(struct lane *l)
{
	if (db_connected(l->db) && lane_statement(l, LANE_DROP, NULL, NULL) != DB_OK)
		log_event(LOG_WARN, "lane_stays", "lane=%lld why=\"%s\"", (long long)l->lane_id, db_error(l->db));
}

uint64_t lane_new_id(struct lane *l)
{
	l->id_maker.clock_offset_ms = atomic_load(&l->engine->clock_offset_ms);
	return id_make(&l->id_maker);
}

/* ---- one guarded transaction, at once: a compound of what it is told to do */

/* Statements that a compound executes by name. */
static const enum statement executed[] = {STOCK_DEDUCT_ONE, RESERVATION_ADD, RESERVATION_LINE_ADD};

static enum db_result compound_prepare(struct lane *l)
{
	enum db_result result;

	text_reset(&l->sql);
	text_add(&l->sql, "BEGIN NOT ATOMIC ");
	for (size_t i = 0; i < COUNT(executed); i++)
		statement_prepare(&l->sql, executed[i]);
	text_add(&l->sql, "END");
	result = db_run(l->db, &l->sql, NULL, NULL);
	l->prepared = result == DB_OK;
	return result;
}

static void compound_begin(struct lane *l)
{
	text_reset(&l->compound);
	guard_begin(&l->compound);
	statement_add(&l->compound, LANE_MARK,
	              &(struct fill){.count = l->batch_no, .lane = l->lane_id, .epoch = l->epoch});
	guard_expect(&l->compound, 1, VERDICT_FENCED);
	if (!l->prepared)
		l->step.result = compound_prepare(l);
}

static void value_write(struct text *to, const struct db_value *value)
{
	switch (value->type) {
	case DB_INT:
		row_int(to, value->number);
		break;
	case DB_BYTES:
		row_hex(to, value->bytes, (size_t)value->number);
		break;
	case DB_TIME:
		row_t_after(to, value->number);
		break;
	}
}

static void compound_execute(struct lane *l, enum statement name)
{
	const struct db_values *v = &l->values;

	for (size_t row = 0; row < v->count; row += v->columns) {
		text_reset(&l->sql);
		for (size_t i = 0; i < v->columns; i++)
			value_write(&l->sql, &v->list[row + i]);
		statement_execute(&l->compound, name, &l->sql);
	}
}

static void verdict_read(void *arg, const struct db_row *row)
{
	struct step *step = arg;

	step->verdict = (enum verdict)db_int(row, 0);
	step->now = time_parse(row->col[1]);
}

static void compound_run(struct lane *l)
{
	statement_add(&l->compound, GUARD_END, NULL);
	l->step.result = db_run(l->db, &l->compound, verdict_read, &l->step);
	assert(l->step.result != DB_OK || l->step.now > 0);
}

/* ---- one guarded transaction, at either pace */

bool lane_goes_on(const struct lane *l)
{
	return l->step.result == DB_OK && l->step.verdict == VERDICT_DONE;
}

static void lane_text(struct lane *l, const char *sql)
{
	if (lane_goes_on(l))
		l->step.result = db_text(l->db, sql, NULL, NULL);
}

static void entered_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = time_parse(row->col[0]);
}

static void steps_begin(struct lane *l)
{
	if (l->step.pace == STEP_BY_STEP_REPEATABLE)
		lane_text(l, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	lane_text(l, "START TRANSACTION");
	db_values_begin(&l->values, 3);
	db_values_int(&l->values, l->batch_no);
	db_values_int(&l->values, l->lane_id);
	db_values_int(&l->values, l->epoch);
	if (lane_goes_on(l))
		l->step.result = db_execute(l->db, statement_text(LANE_ENTER), &l->values, entered_read, &l->step.now);
	if (lane_goes_on(l) && l->step.now == TIME_NONE)
		lane_refuse(l, VERDICT_FENCED);
}

void lane_begin(struct lane *l, enum pace pace)
{
	l->step = (struct step){DB_OK, VERDICT_DONE, pace == AT_ONCE ? 0 : TIME_NONE, pace};
	l->batch_no += l->batch.count > 0 ? (int64_t)l->batch.count : 1; /* so that it also says how busy the lane is */
	if (pace == AT_ONCE)
		compound_begin(l);
	else
		steps_begin(l);
}

void lane_read(struct lane *l, enum statement name, const struct fill *fill,
               void (*each)(void *arg, const struct db_row *row), void *arg)
{
	struct fill with = fill ? *fill : (struct fill){0};

	if (!lane_goes_on(l))
		return;
	with.now = l->step.now;
	if (l->step.pace == AT_ONCE) {
		assert(!each);
		statement_add(&l->compound, name, &with);
		return;
	}
	text_reset(&l->sql);
	statement_add(&l->sql, name, &with);
	l->step.result = db_run(l->db, &l->sql, each, arg);
}

void lane_run(struct lane *l, enum statement name, const struct fill *fill)
{
	lane_read(l, name, fill, NULL, NULL);
}

void lane_execute(struct lane *l, enum statement name)
{
	if (!lane_goes_on(l))
		return;
	if (l->step.pace == AT_ONCE)
		compound_execute(l, name);
	else
		l->step.result = db_execute(l->db, statement_text(name), &l->values, NULL, NULL);
}

void lane_refuse(struct lane *l, enum verdict verdict)
{
	if (lane_goes_on(l))
		l->step.verdict = verdict;
}

void lane_expect(struct lane *l, int64_t count, enum verdict verdict)
{
	if (l->step.pace == AT_ONCE)
		guard_expect(&l->compound, count, (int)verdict);
	else if (db_changed(l->db) != count)
		lane_refuse(l, verdict);
}

/* The connection is gone and nobody knows whether the batch was committed: the lane's row does. */
static enum db_result outcome_find(struct lane *l, int64_t *now)
{
	int64_t         until = l->batch.ops[0]->arrived_ms + WAIT_MS;
	struct lane_row last;

	atomic_fetch_add(&l->engine->figures.unknown_outcomes, 1);
	log_event(LOG_WARN, "outcome_unknown", "lane=%lld batch=%lld why=\"%s\"", (long long)l->lane_id,
	          (long long)l->batch_no, db_error(l->db));
	while (!lane_enter(l, &last)) {
		if (clock_ms() > until)
			return DB_UNKNOWN;
		usleep(50000);
	}
	*now = last.batch_at;
	return last.batch_no == l->batch_no ? DB_OK : DB_AWAY; /* not committed, and never will be */
}

/* Nothing was committed, whatever became of the connection: a new one waits for the end of the old one's transaction.
 */
static void lane_roll_back(struct lane *l)
{
	if (db_connected(l->db) && db_text(l->db, "ROLLBACK", NULL, NULL) != DB_OK)
		db_close(l->db);
	if (l->step.result == DB_UNKNOWN)
		l->step.result = DB_AWAY;
}

enum db_result lane_commit(struct lane *l, enum verdict *verdict, int64_t *now)
{
	bool commits = lane_goes_on(l);

	if (commits && l->step.pace == AT_ONCE)
		compound_run(l);
	else
		lane_text(l, "COMMIT");
	if (commits && l->step.result == DB_UNKNOWN)
		l->step.result = outcome_find(l, &l->step.now);
	else if (!lane_goes_on(l))
		lane_roll_back(l);
	*verdict = l->step.verdict;
	*now = l->step.now;
	return l->step.result;
}
