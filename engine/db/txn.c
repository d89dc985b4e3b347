/* txn.c - see txn.h. */
#include "engine/db/txn.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/db/writer.h"

bool txn_goes_on(const struct txn *t)
{
	return t->result == DB_OK && t->verdict == TXN_DONE;
}

void txn_refuse(struct txn *t, enum txn_verdict verdict)
{
	if (txn_goes_on(t))
		t->verdict = verdict;
}

void txn_fail(struct txn *t, enum db_result result)
{
	if (txn_goes_on(t))
		t->result = result;
}

static void begin(struct txn *t, struct db *db, const struct txn_fence *fence)
{
	assert(t->sent_count == 0);
	*t = (struct txn){.db = db, .fence = fence, .begun_ms = clock_ms(), .sql = t->sql};
	text_reset(&t->sql);
}

/* ---- without a fence */

void txn_begin(struct txn *t, struct db *db)
{
	begin(t, db, NULL);
	statement_add(&t->sql, TXN_FRAME, NULL);
}

void txn_enter(struct txn *t, int64_t stamp_min, bool logs)
{
	const struct db_writer *w = db_writer(t->db);

	assert(!t->fence);
	txn_fail(t, writer_enter(t->db, 0));
	t->logs = logs && w->logs;
	txn_run(t, TXN_ENTER,
	        &(struct fill){.writer = w->writer_id, .epoch = w->epoch, .stamp_min = stamp_min, .events = t->logs});
	txn_expect(t, 1, TXN_FENCED);
}

void txn_log(struct txn *t, const struct text *changes)
{
	struct values row = {0};

	if (!t->logs)
		return;
	assert(changes->len > 0);
	t->events = changes->count;
	values_row(&row, V_BYTES(changes->data, changes->len));
	txn_run(t, TXN_LOG, &(struct fill){.writer = db_writer(t->db)->writer_id, .rows = &row});
	values_fini(&row);
}

static void verdict_read(void *arg, const struct db_row *row)
{
	int64_t *verdict = arg;

	*verdict = db_int(row, 0);
	if (*verdict < 0 || *verdict >= TXN_VERDICTS)
		db_other(row);
}

static void compound_commit(struct txn *t)
{
	int64_t verdict = TXN_DONE;

	if (t->sql.len > TXN_BYTES_MAX && !t->whole)
		txn_refuse(t, TXN_TOO_LARGE);
	if (!txn_goes_on(t))
		return;
	statement_add(&t->sql, TXN_FRAME_END, NULL);
	t->result = db_query(t->db, t->sql.data, 1, verdict_read, &verdict);
	if (t->result == DB_OK)
		t->verdict = (enum txn_verdict)verdict;
	if (t->verdict == TXN_FENCED)
		db_writer(t->db)->epoch = 0;
	if (t->result == DB_OK && t->verdict == TXN_DONE)
		counter_add(COUNT_EVENTS, (int64_t)t->events);
	if (t->result == DB_RETRY || t->result == DB_LOCKED || t->verdict != TXN_DONE)
		counter_add(COUNT_RETRIES, 1);
}

/* ---- with a fence */

/* Reads what the fence has given back. */
static void entered_read(struct txn *t)
{
	int64_t given = db_last_id(t->db), stamp_max = (INT64_C(1) << STAMP_BITS) - 1;

	t->now = given >> STAMP_BITS;
	t->stamp = (given & stamp_max) < stamp_max ? t->now * 1000 + (given & stamp_max) : 0;
}

/* Reads the answers to all steps that were sent. The first one that is not as it should be decides. */
static void steps_settle(struct txn *t)
{
	t->fence->waits(t->fence->arg);
	for (size_t i = 0; i < t->sent_count; i++) {
		const struct txn_step *step = &t->sent[i];
		enum db_result         result = db_answer(t->db, step->each, step->arg);
		bool                   changed;

		if (!txn_goes_on(t))
			continue;
		t->result = result;
		if (result != DB_OK || step->expected < 0)
			continue;
		changed = db_changed(t->db) == step->expected;
		if (t->now == 0) { /* the first step is the fence, which tells the time */
			entered_read(t);
			if (changed && (t->now <= 0 || t->now > TIME_LAST))
				t->result = db_answered_other(t->db, false);
			else if (changed) /* otherwise no row was read that could tell */
				t->fence->entered(t->fence->arg, t->now, t->begun_ms);
		}
		if (!changed)
			txn_refuse(t, step->verdict);
	}
	t->sent_count = 0;
	t->waits = false;
}

/* A statement that may wait for a row lock (up to 2 s) is sent when no other one that may wait is outstanding: behind a
 * statement that waits in vain it would wait as long again. */
static void step_send(struct txn *t, enum statement name, const struct fill *fill,
                      void (*each)(void *arg, const struct db_row *row), void *arg)
{
	const struct sql_block *block = &statements[name];
	bool                    waits = !(block->flags & STATEMENT_NEVER_WAITS);
	enum db_result          result;

	if (t->sent_count == TXN_AHEAD || (waits && t->waits))
		steps_settle(t);
	if (!txn_goes_on(t))
		return;
	t->waits |= waits;
	if (block->flags & STATEMENT_PREPARED) {
		result = db_send_values(t->db, block->text, fill->rows);
	} else {
		text_reset(&t->sql);
		statement_add(&t->sql, name, fill);
		result = db_send(t->db, t->sql.data, block->columns);
	}
	if (result == DB_OK)
		t->sent[t->sent_count++] = (struct txn_step){-1, TXN_DONE, each, arg};
	else
		t->result = result;
}

/* MariaDB runs the steps already sent even if an earlier one fails, also behind a deadlock, which ends the transaction
 * in the midst. autocommit = 0 keeps them from committing; steps_undo undoes them. */
void txn_begin_fenced(struct txn *t, struct db *db, const struct txn_fence *fence, enum txn_isolation isolation)
{
	begin(t, db, fence);
	db_begin(db);
	if (isolation == REPEATABLE_READ) {
		fence->waits(fence->arg);
		t->result = db_ask(db, TXN_REPEATABLE, NULL, NULL, NULL);
	}
	txn_run(t, fence->enter, &(struct fill){.rows = &fence->values});
	txn_expect(t, 1, TXN_FENCED);
}

void txn_wait(struct txn *t)
{
	steps_settle(t);
}

/* Nothing was committed, whatever became of the connection: a new one waits until the old one's transaction has ended.
 */
static void steps_undo(struct txn *t)
{
	if (db_connected(t->db) && db_end(t->db, false) != DB_OK)
		db_close(t->db);
	if (t->result == DB_UNKNOWN)
		t->result = DB_AWAY;
}

/* A stamp is far ahead of the clock where the clock was set back. */
static void stamp_ask(struct txn *t)
{
	t->result = db_ask(t->db, t->fence->stamp, NULL, db_ints, &t->stamp);
	if (t->result == DB_OK && t->stamp <= 0)
		t->result = db_answered_other(t->db, false);
}

static void steps_commit(struct txn *t)
{
	bool commits;

	steps_settle(t);
	if (txn_goes_on(t) && t->stamp == 0)
		stamp_ask(t);
	commits = txn_goes_on(t);
	assert(!commits || t->now > 0);
	if (commits)
		t->result = db_end(t->db, true);
	if (commits && t->result == DB_UNKNOWN)
		t->result = t->fence->outcome(t->fence->arg, &t->now, &t->stamp);
	else if (!txn_goes_on(t))
		steps_undo(t);
}

/* ---- either */

/* True: the step has no rows although it wants some: the lines of an order may be gone. It is refused, and named. */
static bool is_empty(struct txn *t, enum statement name, const struct fill *fill)
{
	const struct sql_block *block = &statements[name];

	if (!fill || !fill->rows || fill->rows->rows > 0 ||
	    !(block->flags & STATEMENT_PREPARED || strstr(block->text, "{rows}") || strstr(block->text, "{list}")))
		return false;
	t->result = db_answered_other(t->db, true);
	return true;
}

void txn_run(struct txn *t, enum statement name, const struct fill *fill)
{
	if (!txn_goes_on(t) || is_empty(t, name, fill))
		return;
	if (t->fence) {
		step_send(t, name, fill, NULL, NULL);
	} else {
		assert(!(statements[name].flags & STATEMENT_PREPARED));
		statement_add(&t->sql, name, fill);
	}
}

void txn_look(struct txn *t, enum statement name, const struct fill *fill,
              void (*each)(void *arg, const struct db_row *row), void *arg)
{
	assert(t->fence);
	if (txn_goes_on(t) && !is_empty(t, name, fill))
		step_send(t, name, fill, each, arg);
}

void txn_read(struct txn *t, enum statement name, const struct fill *fill,
              void (*each)(void *arg, const struct db_row *row), void *arg)
{
	txn_look(t, name, fill, each, arg);
	if (txn_goes_on(t))
		steps_settle(t);
}

void txn_rows(struct txn *t, enum statement name, const struct values *rows)
{
	if (rows->count > 0)
		txn_run(t, name, &(struct fill){.rows = rows});
}

void txn_move(struct txn *t, enum statement name, const struct fill *fill)
{
	if (fill->rows->count == 0)
		return;
	txn_run(t, name, fill);
	txn_expect(t, fill->rows->rows, TXN_MOVED);
}

void txn_expect(struct txn *t, size_t rows, enum txn_verdict verdict)
{
	size_t sent = t->sent_count;

	if (!txn_goes_on(t))
		return;
	if (!t->fence) {
		statement_add(&t->sql, TXN_GUARD, &(struct fill){.expected = (int64_t)rows, .verdict = verdict});
		return;
	}
	assert(sent > 0);
	t->sent[sent - 1].expected = (int64_t)rows;
	t->sent[sent - 1].verdict = verdict;
}

enum db_result txn_commit(struct txn *t, enum txn_verdict *verdict)
{
	if (t->fence) {
		steps_commit(t);
	} else {
		compound_commit(t);
		txn_fini(t);
	}
	*verdict = t->verdict;
	return t->result;
}

enum db_result txn_commit_or_retry(struct txn *t)
{
	enum txn_verdict verdict;
	enum db_result   result = txn_commit(t, &verdict);

	return result == DB_OK && verdict != TXN_DONE ? DB_RETRY : result;
}

void txn_fini(struct txn *t)
{
	text_fini(&t->sql);
}
