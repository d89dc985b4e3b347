/* fence.c - see fence.h.
 *
 * The lane's row is the first step of every transaction of the lane. The row's lock keeps these transactions in line.
 * By its epoch a connection that was given up commits nothing any more: a new connection raises it first, which waits
 * for the old one's transaction. Every transaction writes its batch_no: where the answer to a COMMIT was lost, this one
 * row tells. */
#include "engine/lane/fence.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/db/retry.h"

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
	text_reset(&l->txn.sql);
	statement_add(&l->txn.sql, name, fill);
	return db_run(l->db, &l->txn.sql, each, arg);
}

/* A statement about the lane's own row. */
static enum db_result row_ask(struct lane *l, enum statement name, void (*each)(void *, const struct db_row *),
                              struct lane_row *row)
{
	return lane_ask(l, name, &(struct fill){.lane = l->lane_id, .slot = l->slot, .mark = l->mark}, each, row);
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

/* Handles a lane's row that is gone, or says less than was committed: the database is another one, or in another past,
 * whatever its mark is. Somebody may have removed the row, too: that costs no more than to learn everything anew. */
static void row_compare(struct lane *l, const struct lane_row *last)
{
	if (last->epoch == 0)
		l->lane_id = 0; /* a new row has batch_no 0, which no batch has, so the batch under way is not taken for
		                   committed */
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
 * transaction that holds the lane's row, and lets one that comes later commit nothing. Afterwards *last is the
 * lane's row, with the batch committed last. */
static bool lane_enter(struct lane *l, struct lane_row *last)
{
	int64_t        sent_ms;
	enum db_result result;

	*last = (struct lane_row){0};
	if (!db_connect(l->db))
		return false;
	result = statements_prepare(l);
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
	assert(l->lane_id > 0 && last->epoch > 0);
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

/* ---- the fence of the lane's transactions */

static void fence_waits(void *lane)
{
	struct lane *l = lane;

	outbox_send(&l->outbox);
}

static void fence_entered(void *lane, int64_t now, int64_t sent_ms)
{
	struct lane *l = lane;

	clock_learn(l->shared, now, sent_ms);
}

static enum db_result fence_outcome(void *lane, int64_t *now)
{
	struct lane    *l = lane;
	struct retry    retry = {.results = 1 << DB_AWAY, .until_ms = l->batch.ops[0]->arrived_ms + WAIT_MS};
	struct lane_row last;

	atomic_fetch_add(&l->shared->metrics.unknown_outcomes, 1);
	log_event(LOG_WARN, "outcome_unknown", "lane=%lld batch=%lld why=\"%s\"", (long long)l->lane_id,
	          (long long)l->batch_no, db_error(l->db));
	while (!lane_enter(l, &last))
		if (db_other_schema() || !retry_again(&retry, DB_AWAY))
			return DB_UNKNOWN;
	*now = last.batch_at;
	return last.batch_no == l->batch_no ? DB_OK : DB_AWAY; /* not committed, and never will be */
}

/* A stamp is later than those of the reservations that the batch has read and may change. */
static int64_t stamp_min(const struct batch *b)
{
	int64_t min = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct reservation *changes = op_changes(b->ops[i]);

		if (changes && changes->changed >= min)
			min = changes->changed + 1;
	}
	return min;
}

void lane_begin(struct lane *l, enum txn_isolation isolation)
{
	struct values *values = &l->fence.values;

	l->fence = (struct txn_fence){LANE_ENTER, *values, fence_waits, fence_entered, fence_outcome, l};
	l->batch_no++;
	values_reset(values);
	values_row(values, V_INT(l->batch_no), V_INT(l->batch.count /* workers see the load by it: jobs/work.c */),
	           V_INT(stamp_min(&l->batch)), V_INT(l->lane_id), V_INT(l->epoch), V_INT(l->committed_no));
	txn_begin_fenced(&l->txn, l->db, &l->fence, isolation);
	if (l->last_failed)
		txn_wait(&l->txn);
}

enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now)
{
	enum db_result result = txn_commit(&l->txn, verdict);

	if (result == DB_OK && *verdict == TXN_DONE)
		l->committed_no = l->batch_no;
	*now = l->txn.now;
	return result;
}
