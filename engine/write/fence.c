/* fence.c - see fence.h.
 *
 * The lane's writer is the first step of every transaction of the lane. Every transaction leaves its batch_no there:
 * where the answer to a COMMIT was lost, this one row tells. */
#include "engine/write/fence.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/log.h"
#include "engine/db/retry.h"
#include "engine/db/storage.h"
#include "engine/db/writer.h"
#include "engine/catalogue/past.h"
#include "engine/catalogue/sku_limits.h"

enum { CLOCK_STEP_MS = 1000 };

/* ---- the connection and the lane's writer */

enum db_result lane_ask(struct lane *l, enum statement name, const struct fill *fill,
                        void (*each)(void *arg, const struct db_row *row), void *arg)
{
	outbox_send(&l->outbox);
	text_reset(&l->txn.sql);
	statement_add(&l->txn.sql, name, fill);
	return db_query(l->db, l->txn.sql.data, statements[name].columns, each, arg);
}

static enum db_result statements_prepare(struct lane *l)
{
	enum db_result result = DB_OK;

	for (int name = 0; result == DB_OK && name < STATEMENT_COUNT; name++)
		if (statements[name].flags & STATEMENT_PREPARED)
			result = db_prepare(l->db, statements[name].text);
	return result;
}

/* Sets the database's clock minus ours, one for all lanes, so that their ids agree on what is newer. The database said
 * `now` at some time between sent_ms and the present, each of them cut to whole ms. The known difference is moved as
 * little as that allows, so it stays as it is while no clock is set. */
static void clock_learn(struct shared *s, int64_t now, int64_t sent_ms)
{
	int64_t known_ms = atomic_load(&s->clock_offset_ms);
	int64_t least_ms = now - (clock_ms() + 1), most_ms = now + 1 - sent_ms;

	if (known_ms < least_ms || known_ms > most_ms)
		atomic_store(&s->clock_offset_ms, known_ms < least_ms ? least_ms : most_ms);
}

/* Handles a writer that is another one, or says less than was committed: the database is another one, or in another
 * past, whatever its mark is. Another process may have taken the writer, too: this costs no more than to learn
 * everything again. Another writer has batch_no 0, which no batch has, so the batch under way is not taken for
 * committed: its ids are looked up. */
static void writer_compare(struct lane *l, const struct db_writer *before)
{
	if (before->mark && (l->writer->mark != before->mark || l->writer->batch_no < l->committed_no))
		catalogue_forget(l->catalogue);
	l->committed_no = l->writer->batch_no;
}

/* Makes sure of the writer, and learns what a transaction rests on that looks at nothing: a change of a kind and a stop
 * of sales shut out the writers that entered before. */
static enum db_result fence_take_up(struct lane *l)
{
	enum db_result result = writer_enter(l->db, l->slot);

	if (result == DB_OK)
		result = past_locations(l->db);
	return result == DB_OK ? sku_limits_read(l->db) : result;
}

bool lane_enter_again(struct lane *l)
{
	struct db_writer before = *l->writer;
	int64_t          committed_no = l->committed_no;
	enum db_result   result;

	outbox_send(&l->outbox);
	l->writer->epoch = 0;
	result = fence_take_up(l);
	if (result == DB_OK)
		writer_compare(l, &before);
	if (result == DB_OK && l->writer->mark == before.mark && l->writer->batch_no == committed_no)
		return true;
	db_close(l->db);
	return false;
}

/* Connects, and makes sure that nothing of an earlier connection can still land. Afterwards the writer says which batch
 * was committed last. */
bool lane_connect(struct lane *l)
{
	struct db_writer before = *l->writer;
	int64_t          sent_ms;
	enum db_result   result;

	if (!db_connect(l->db))
		return false;
	outbox_send(&l->outbox);
	result = statements_prepare(l);
	sent_ms = clock_ms();
	if (result == DB_OK)
		result = fence_take_up(l);
	if (result != DB_OK) {
		db_close(l->db);
		return false;
	}
	writer_compare(l, &before);
	l->wait_s = LOCK_WAIT_S;
	l->reconnected = true;
	l->touched_ms = clock_ms();
	clock_learn(l->shared, l->writer->now, sent_ms);
	l->id_maker.clock_offset_ms = atomic_load(&l->shared->clock_offset_ms);
	l->id_maker.owner = (uint64_t)l->writer->writer_id;
	log_event(before.mark && !storage_is_full(l->shared->source) ? LOG_INFO : LOG_DEBUG, "lane_connected",
	          "writer=%lld slot=%u epoch=%lld", (long long)l->writer->writer_id, l->slot,
	          (long long)l->writer->epoch);
	return true;
}

bool lane_check(struct lane *l)
{
	if (!db_check(l->db))
		return false;
	if (clock_ms() - l->touched_ms < WRITER_TOUCH_MS)
		return true;
	l->touched_ms = clock_ms();
	return writer_touch(l->db) == DB_OK || db_connected(l->db); /* a lock of another transaction is no trouble */
}

void lane_leave(struct lane *l)
{
	writer_leave(l->db);
}

uint64_t lane_new_id(struct lane *l)
{
	l->id_maker.clock_offset_ms = atomic_load(&l->shared->clock_offset_ms);
	return id_make(&l->id_maker);
}

/* ---- the fence of the lane's transactions */

static void fence_waits(void *lane)
{
	struct lane *l = lane;

	outbox_send(&l->outbox);
}

/* The ids of the transaction were made by the clock that was known before. Where the clock has been set meanwhile they
 * are made again: lists go by them. A clock that is set all the time fails no second try. */
static void fence_entered(void *lane, int64_t now, int64_t sent_ms)
{
	struct lane *l = lane;
	int64_t      before_ms = l->id_maker.clock_offset_ms;

	clock_learn(l->shared, now, sent_ms);
	l->id_maker.clock_offset_ms = atomic_load(&l->shared->clock_offset_ms);
	if (!l->last_failed && llabs(l->id_maker.clock_offset_ms - before_ms) > CLOCK_STEP_MS)
		txn_fail(&l->txn, DB_RETRY);
}

static enum db_result fence_outcome(void *lane, int64_t *now, int64_t *stamp)
{
	struct lane *l = lane;
	struct retry retry = {.results = 1 << DB_AWAY, .until_ms = l->batch.ops[0]->arrived_ms + WAIT_MS};

	atomic_fetch_add(&l->shared->metrics.unknown_outcomes, 1);
	log_event(LOG_WARN, "outcome_unknown", "writer=%lld batch=%lld why=\"%s\"", (long long)l->writer->writer_id,
	          (long long)l->batch_no, db_error(l->db));
	while (!lane_connect(l))
		if (db_other_schema(l->db) || !retry_again(&retry, DB_AWAY))
			return DB_UNKNOWN;
	*now = l->writer->batch_at;
	*stamp = l->writer->stamp;
	return l->writer->batch_no == l->batch_no ? DB_OK : DB_AWAY; /* not committed, and never will be */
}

static int64_t losers_stamp(const struct losses *losses, int64_t min)
{
	for (size_t i = 0; i < losses->losers_count; i++)
		if (losses->losers[i].reservation->changed >= min)
			min = losses->losers[i].reservation->changed + 1;
	return min;
}

/* A stamp is later than those of the reservations that the batch has read and may change. */
static int64_t stamp_min(const struct batch *b)
{
	int64_t min = 0;

	for (size_t i = 0; b->needs & (NEEDS_ROW | NEEDS(OP_MOVE)) && i < b->count; i++) {
		const struct reservation *changes = op_changes(b->ops[i]);

		if (changes && changes->changed >= min)
			min = changes->changed + 1;
		if (b->ops[i]->losses)
			min = losers_stamp(b->ops[i]->losses, min);
	}
	return min;
}

void lane_begin(struct lane *l, enum txn_isolation isolation, bool logs)
{
	struct values *values = &l->fence.values;

	l->fence = (struct txn_fence){LANE_ENTER, LANE_STAMP, *values, fence_waits, fence_entered, fence_outcome, l};
	l->batch_no++;
	values_reset(values);
	values_row(values, V_INT(l->batch.count /* workers see the load by it: jobs/work.c */),
	           V_INT(logs && l->writer->logs), V_INT(stamp_min(&l->batch)), V_INT(l->batch_no),
	           V_INT(l->writer->writer_id), V_INT(l->writer->epoch), V_INT(l->committed_no));
	txn_begin_fenced(&l->txn, l->db, &l->fence, isolation);
	if (l->last_failed)
		txn_wait(&l->txn);
}

void lane_log(struct lane *l)
{
	if (!l->writer->logs || !txn_goes_on(&l->txn))
		return;
	assert(l->changes.len > 0);
	values_reset(&l->rows);
	l->txn.events = l->changes.count;
	values_row(&l->rows, V_INT(l->writer->writer_id), V_BYTES(l->changes.data, l->changes.len));
	txn_run(&l->txn, EVENT_ADD, &(struct fill){.rows = &l->rows});
}

enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now)
{
	enum db_result result = txn_commit(&l->txn, verdict);

	l->touched_ms = clock_ms();
	if (result == DB_OK && *verdict == TXN_DONE) {
		l->committed_no = l->batch_no;
		counter_add(COUNT_EVENTS, (int64_t)l->txn.events);
	}
	*now = l->txn.now;
	return result;
}
