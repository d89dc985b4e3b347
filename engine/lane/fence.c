/* fence.c - a lane's row in the database, and what it is for.
 *
 * Its lock keeps the transactions of one lane in line. By its epoch a connection that was given up commits nothing
 * any more: a new connection raises it first, which waits for what the old one still does. Its batch_no is written by
 * every guarded transaction, so that whoever does not know whether COMMIT was done reads one row and knows. */
#include "engine/lane/fence.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"

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

enum db_result lane_ask(struct lane *l, enum statement name, const struct fill *fill,
                        void (*each)(void *arg, const struct db_row *row), void *arg)
{
	outbox_send(&l->outbox);
	text_reset(&l->sql);
	statement_add(&l->sql, name, fill);
	return db_run(l->db, &l->sql, each, arg);
}

/* Of the lane's own row. */
static enum db_result row_ask(struct lane *l, enum statement name, void (*each)(void *, const struct db_row *),
                              struct lane_row *row)
{
	return lane_ask(l, name, &(struct fill){.lane = l->lane_id, .slot = l->slot, .mark = l->mark}, each, row);
}

/* What is done again and again: for lane_execute. */
static enum db_result lane_prepare(struct lane *l)
{
	static const enum statement often[] = {LANE_ENTER, STOCK_DEDUCT_ONE, RESERVATION_ADD, RESERVATION_LINE_ADD};
	enum db_result              result = DB_OK;

	for (size_t i = 0; result == DB_OK && i < LENGTH(often); i++)
		result = db_prepare(l->db, statement_text(often[i]));
	return result;
}

/* The database's clock minus ours, one for all lanes, so that their ids agree on what is newer. The database said `now`
 * at some time between sent_ms and the present, each of them cut to whole ms: what was known is moved as little as that
 * allows, so that it stays as it is while no clock is set. */
static void clock_learn(struct shared *s, int64_t now, int64_t sent_ms)
{
	int64_t known_ms = atomic_load(&s->clock_offset_ms);
	int64_t least_ms = now - (clock_ms() + 1), most_ms = now + 1 - sent_ms;

	if (known_ms < least_ms || known_ms > most_ms)
		atomic_store(&s->clock_offset_ms, known_ms < least_ms ? least_ms : most_ms);
}

/* The lane's row is gone, or says less than was committed: the database is another one, or in another past, whatever
 * its mark is. Somebody may have removed the row, too: that costs no more than to learn everything anew. */
static void row_compare(struct lane *l, const struct lane_row *last)
{
	if (last->epoch == 0)
		l->lane_id = 0; /* a row is made anew. It has batch_no 0, which no batch has, so what was under way is
		                 * not taken for committed */
	if (last->epoch == 0 || last->batch_no < l->committed_no)
		catalogue_forget(l->catalogue);
	l->committed_no = last->batch_no;
}

static enum db_result row_make(struct lane *l, struct lane_row *last)
{
	enum db_result result;

	random_bytes(&l->mark, sizeof(l->mark));
	l->mark &= INT64_MAX;
	result = row_ask(l, LANE_MAKE, lane_made, last);
	l->lane_id = last->lane_id;
	return result;
}

/* Connects, and makes sure that nothing of an earlier connection can still land: raising the epoch waits for a
 * transaction that holds the lane's row, and lets one that comes later commit nothing. Afterwards *last is what was
 * committed last. */
static bool lane_enter(struct lane *l, struct lane_row *last)
{
	int64_t        sent_ms;
	enum db_result result;

	*last = (struct lane_row){0};
	if (!db_connect(l->db))
		return false;
	result = lane_prepare(l);
	if (result == DB_OK && l->lane_id) {
		result = row_ask(l, LANE_RAISE, NULL, NULL);
		sent_ms = clock_ms();
		if (result == DB_OK)
			result = row_ask(l, LANE_READ, row_read, last);
		if (result == DB_OK)
			row_compare(l, last);
	}
	if (result == DB_OK && l->lane_id == 0) {
		sent_ms = clock_ms();
		result = row_make(l, last);
	}
	if (result == DB_OK)
		result = past_check(&l->shared->past, l->db, l->catalogue);
	if (result != DB_OK) {
		db_close(l->db);
		return false;
	}
	l->epoch = last->epoch;
	l->wait_s = LOCK_WAIT_S;
	l->reconnected = true;
	clock_learn(l->shared, last->now, sent_ms);
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
	if (db_connected(l->db) && row_ask(l, LANE_DROP, NULL, NULL) != DB_OK)
		log_event(LOG_WARN, "lane_stays", "lane=%lld why=\"%s\"", (long long)l->lane_id, db_error(l->db));
}

uint64_t lane_new_id(struct lane *l)
{
	l->id_maker.clock_offset_ms = atomic_load(&l->shared->clock_offset_ms);
	return id_make(&l->id_maker);
}

/* ---- one guarded transaction */

bool lane_goes_on(const struct lane *l)
{
	return l->step.result == DB_OK && l->step.verdict == VERDICT_DONE;
}

void lane_refuse(struct lane *l, enum txn_verdict verdict)
{
	if (lane_goes_on(l))
		l->step.verdict = verdict;
}

/* All that was sent is answered, and the first that is not as it should be says what becomes of the transaction. */
static void steps_settle(struct lane *l)
{
	outbox_send(&l->outbox);
	for (size_t i = 0; i < l->step.sent_count; i++) {
		const struct sent *sent = &l->step.sent[i];
		enum db_result     result = db_answer(l->db, sent->each, sent->arg);

		if (!lane_goes_on(l))
			continue;
		l->step.result = result;
		if (result == DB_OK && l->step.now == 0) { /* the first is the lane's row, which tells the time */
			l->step.now = db_last_id(l->db);
			if (db_changed(l->db) == 1) /* otherwise no row was read that could tell */
				clock_learn(l->shared, l->step.now, l->step.sent_ms);
		}
		if (result == DB_OK && sent->count != ANY_COUNT && db_changed(l->db) != sent->count)
			lane_refuse(l, sent->verdict);
	}
	l->step.sent_count = 0;
	l->step.waits = false;
}

/* Statements that may wait for a row, 2 s of it in vain, are sent one at a time: what comes behind the first in vain
 * would only wait as long again. Not these, which make new rows, nor the lane's own row. */
static bool may_wait(enum statement name)
{
	static const enum statement never[] = {LANE_ENTER,   RESERVATION_ADD, RESERVATION_LINE_ADD,
	                                       KEY_HOLD_ADD, MOVEMENT_ADD,    MOVEMENT_LINE_ADD};

	for (size_t i = 0; i < LENGTH(never); i++)
		if (never[i] == name)
			return false;
	return true;
}

static bool step_goes(struct lane *l, enum statement name)
{
	bool waits = may_wait(name);

	if (l->step.sent_count == STEPS_AHEAD || (waits && l->step.waits))
		steps_settle(l);
	l->step.waits |= waits;
	return lane_goes_on(l);
}

static void step_sent(struct lane *l, enum db_result result, void (*each)(void *arg, const struct db_row *row),
                      void *arg)
{
	if (result == DB_OK)
		l->step.sent[l->step.sent_count++] = (struct sent){ANY_COUNT, VERDICT_DONE, each, arg};
	else
		l->step.result = result;
}

void lane_read(struct lane *l, enum statement name, const struct fill *fill,
               void (*each)(void *arg, const struct db_row *row), void *arg)
{
	if (!lane_goes_on(l))
		return;
	text_reset(&l->sql);
	statement_add(&l->sql, name, fill);
	if (step_goes(l, name))
		step_sent(l, db_send(l->db, l->sql.data), each, arg);
	if (each)
		steps_settle(l);
}

void lane_run(struct lane *l, enum statement name, const struct fill *fill)
{
	lane_read(l, name, fill, NULL, NULL);
}

void lane_execute(struct lane *l, enum statement name)
{
	if (!lane_goes_on(l))
		return;
	if (step_goes(l, name))
		step_sent(l, db_send_values(l->db, statement_text(name), &l->values), NULL, NULL);
}

void lane_expect(struct lane *l, int64_t count, enum txn_verdict verdict)
{
	size_t sent = l->step.sent_count;

	if (!lane_goes_on(l))
		return;
	assert(sent > 0);
	l->step.sent[sent - 1].count = count;
	l->step.sent[sent - 1].verdict = verdict;
}

/* What was sent behind a step that fails is run all the same, and must not stand by itself: so nothing commits by
 * itself, also behind a deadlock, which ends the transaction in the midst; the steps behind it begin another, which is
 * undone. A lane that has just failed looks at its row before it sends what would wait like it. */
void lane_begin(struct lane *l, enum isolation isolation)
{
	l->step = (struct step){.sent_ms = clock_ms()};
	l->batch_no++;
	db_begin(l->db);
	if (isolation == REPEATABLE_READ) {
		outbox_send(&l->outbox);
		l->step.result = db_text(l->db, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", NULL, NULL);
	}
	db_values_begin(&l->values, 5);
	db_values_int(&l->values, l->batch_no);
	db_values_int(&l->values, (int64_t)l->batch.count); /* workers see the load by it (jobs/work.c) */
	db_values_int(&l->values, l->lane_id);
	db_values_int(&l->values, l->epoch);
	db_values_int(&l->values, l->committed_no);
	lane_execute(l, LANE_ENTER);
	lane_expect(l, 1, VERDICT_FENCED);
	if (l->last_failed)
		steps_settle(l);
}

/* The connection is gone and nobody knows whether the batch was committed: the lane's row does. */
static enum db_result outcome_find(struct lane *l, int64_t *now)
{
	int64_t         until = l->batch.ops[0]->arrived_ms + WAIT_MS;
	struct lane_row last;

	atomic_fetch_add(&l->shared->metrics.unknown_outcomes, 1);
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
	if (db_connected(l->db) && db_end(l->db, false) != DB_OK)
		db_close(l->db);
	if (l->step.result == DB_UNKNOWN)
		l->step.result = DB_AWAY;
}

enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now)
{
	bool commits;

	steps_settle(l);
	commits = lane_goes_on(l);
	assert(!commits || l->step.now > 0);
	if (commits)
		l->step.result = db_end(l->db, true);
	if (commits && l->step.result == DB_UNKNOWN)
		l->step.result = outcome_find(l, &l->step.now);
	else if (!lane_goes_on(l))
		lane_roll_back(l);
	if (commits && l->step.result == DB_OK)
		l->committed_no = l->batch_no;
	*verdict = l->step.verdict;
	*now = l->step.now;
	return l->step.result;
}
