/* reclaim.c - see reclaim.h. Expired holds are found by the claim index. Holds that no other transaction has locked are
 * given back, claimed or not: the worker that claimed one may be dead. Holds have no index by sku, which every order
 * would pay for, so a look walks all holds past their time. A lane remembers for each sku how far it has looked, so
 * that the next look passes only holds that have become due since. */
#include "engine/lane/reclaim.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/lane/blocked.h"
#include "engine/lane/quota.h"
#include "engine/write/fence.h"
#include "engine/promise/shares.h"

enum {
	SWEEP_MAX = 1000,     /* holds given back in one transaction, at most */
	SWEEP_WALK = 20000,   /* holds that a batch passes: some 50 ms */
	SWEEP_AGAIN_MS = 100, /* life of a look: another one in this time adds nothing */
	TELL_MS = 60000,      /* pause between log lines about a hold that cannot be given back */
	LATE_MS = 30000,      /* longer than a transaction lives: a hold may be committed so long after its time */
	SWEPT = 1 << 12,
	CLOCK_MS = 2000, /* a larger change of the difference between the database's clock and ours means that one was
	                    set */
};

/* The last look at a sku for expired holds. The table is direct-mapped: a sku that was pushed out is read again. */
struct swept {
	uint32_t sku_id;
	int64_t  at_ms;      /* clock_ms when the last look began */
	int64_t  to_ms;      /* holds that were due by then (the database's clock) are given back; 0: not known */
	int64_t  clock;      /* the database's clock minus clock_ms when the look began */
	int64_t  started_at; /* started_at of the lane's row, as read then */
	bool     follow;     /* the look took several batches: a look right after it goes on from to_ms */
};

/* A walk under way: all expired holds in the order of the claim index, a part in each batch, for any operation. */
struct walk {
	struct values skus;        /* skus of the walk; empty: none is under way */
	struct swept  look;        /* the look to remember for these skus; it ends at look.to_ms */
	int64_t       from_ms, id; /* the next hold is behind this due_at and reservation_id */
	bool          left;        /* a hold stays: another transaction has it locked, or it cannot be given back */
	struct values locked;      /* skus with holds that other transactions have locked: what is left is not known */
	int64_t       told_ms;     /* clock_ms of the last log line about a hold that cannot be given back; 0: never */
};

struct reclaim {
	struct swept swept[SWEPT];
	struct walk  walk;
};

void reclaim_open(struct lane *l)
{
	l->reclaim = mem_alloc(sizeof(*l->reclaim));
}

void reclaim_close(struct lane *l)
{
	values_fini(&l->reclaim->walk.skus);
	values_fini(&l->reclaim->walk.locked);
	free(l->reclaim);
}

static bool sku_is_in(const struct values *skus, uint32_t sku_id)
{
	for (size_t i = 0; i < skus->count; i++)
		if (skus->list[i].number == sku_id)
			return true;
	return false;
}

static bool lines_are_held_up(const struct lane *l, const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].sku && sku_is_in(&l->reclaim->walk.locked, sku_id(lines[i].sku)))
			return true;
	return false;
}

bool reclaim_holds_up(struct lane *l, const struct op *op)
{
	if (l->reclaim->walk.locked.count == 0 || reclaim_goes_on(l))
		return false;
	return lines_are_held_up(l, op->lines, op->lines_count) ||
	       (op->found && lines_are_held_up(l, op->found->lines, op->found->lines_count));
}

bool reclaim_goes_on(const struct lane *l)
{
	return l->reclaim->walk.skus.count > 0;
}

struct given {
	unsigned swept;  /* holds given back */
	bool     others; /* a hold was changed since it was read, or a row of it is locked */
};

static void hold_stays(struct lane *l, const struct reservation *r)
{
	if (l->reclaim->walk.told_ms && clock_ms() - l->reclaim->walk.told_ms < TELL_MS)
		return;
	l->reclaim->walk.told_ms = clock_ms();
	log_event(LOG_ERROR, "hold_not_given_back", "order_id=%s errno=%u why=\"%s\"", r->order_id, db_errno(l->db),
	          db_error(l->db));
}

/* Gives all holds back together, and after an undone transaction in halves: others may have swept some of the holds or
 * be at work on one. A hold with a damaged slot, or with a locked one when the round waits for no lock, stays and keeps
 * no other. */
static enum db_result expire_list(struct lane *l, struct reservation **list, size_t count, struct given *given)
{
	enum txn_verdict verdict = TXN_DONE;
	enum db_result   result;
	size_t           half = count / 2;

	assert(count > 0);
	result = holds_expire(l->db, list, count, &l->changes, &verdict);
	if (result == DB_OK && verdict == TXN_DONE) {
		given->swept += (unsigned)count;
		return DB_OK;
	}
	if (result == DB_OK && verdict == TXN_FENCED) { /* another process has the writer: the lane connects again */
		db_close(l->db);
		return DB_RETRY;
	}
	if (result != DB_OK && result != DB_ERROR && !(result == DB_LOCKED && l->no_wait))
		return result;
	if (count == 1) {
		given->others |= result == DB_LOCKED || (result == DB_OK && verdict == TXN_MOVED);
		if (result == DB_ERROR)
			hold_stays(l, list[0]);
		return DB_OK;
	}
	result = expire_list(l, list, half, given);
	return result == DB_OK ? expire_list(l, list + half, count - half, given) : result;
}

/* Reads the holds of these ids; expired ones give their units back. */
static enum db_result reservation_expire(struct lane *l, const struct values *ids, struct given *given)
{
	struct reservation_reader in = {.catalogue = l->catalogue};
	size_t                    due = 0;
	enum db_result            result;

	outbox_send(&l->outbox);
	result = reservations_ask(l->db, RESERVATION_BY_ID, &(struct fill){.rows = ids}, &in);
	for (size_t i = 0; i < in.count; i++) {
		if (in.list[i]->state == HELD && reservation_reads(in.list[i]) == EXPIRED)
			in.list[due++] = in.list[i];
		else
			reservation_free(in.list[i]);
	}
	if (result == DB_OK && due > 0)
		result = expire_list(l, in.list, due, given);
	reservations_free(in.list, due);
	return result;
}

/* ---- looks that are remembered */

static struct swept *swept_place(struct lane *l, uint32_t sku_id)
{
	return &l->reclaim->swept[sku_id % SWEPT];
}

static bool looked_since(struct lane *l, uint32_t sku_id, int64_t since_ms)
{
	const struct swept *s = swept_place(l, sku_id);

	return s->sku_id == sku_id && s->at_ms >= since_ms;
}

struct lapsed {
	bool    exists;
	int64_t now;        /* the present by the database's clock */
	int64_t started_at; /* start of the lane's run, as its row says */
	int64_t epoch;      /* of its writer */
};

static void lapsed_read(void *arg, const struct db_row *row)
{
	*(struct lapsed *)arg =
		(struct lapsed){db_int(row, 0) != 0, time_parse(row->col[1]), time_parse(row->col[2]), db_int(row, 3)};
}

/* The due_at from which the sku is to be looked at. After a clock or the times of the tables were set, this is the
 * beginning: a hold may be due before the last look's end and have been absent then. */
static int64_t look_from(struct lane *l, uint32_t sku_id, const struct lapsed *lapsed)
{
	const struct swept *s = swept_place(l, sku_id);
	int64_t             drift = lapsed->now - clock_ms() - s->clock;

	if (s->sku_id != sku_id || s->to_ms == 0 || s->started_at != lapsed->started_at || drift > CLOCK_MS ||
	    drift < -CLOCK_MS)
		return 0;
	return s->follow ? s->to_ms : s->to_ms - LATE_MS;
}

/* Remembers for a sku that none of its holds due by `to_ms` is left; 0: some are. */
static void swept_put(struct lane *l, uint32_t sku_id, const struct swept *as)
{
	struct swept *s = swept_place(l, sku_id);

	if (as->to_ms == 0 && s->sku_id == sku_id) {
		s->at_ms = as->at_ms;
	} else {
		*s = *as;
		s->sku_id = sku_id;
	}
}

/* ---- a walk */

/* The grounds of refusals, balances first, then quotas. */
struct doubt {
	uint32_t sku_id;
	bool     doubted, *swept;
};

static size_t doubts_count(const struct lane *l)
{
	return l->batch.balances_count + l->batch.quotas->count;
}

static struct doubt doubt_at(struct lane *l, size_t i)
{
	struct batch *b = &l->batch;

	if (i < b->balances_count) {
		struct balance *p = &b->balances[b->order[i]];

		return (struct doubt){p->sku_id, p->doubted, &p->swept};
	}
	return (struct doubt){b->quotas->list[i - b->balances_count].sku_id,
	                      b->quotas->list[i - b->balances_count].doubted,
	                      &b->quotas->list[i - b->balances_count].swept};
}

static bool is_due(struct lane *l, const struct doubt *d, int64_t since_ms)
{
	return d->doubted && !*d->swept && !looked_since(l, d->sku_id, since_ms) &&
	       !sku_is_in(&l->reclaim->walk.locked, d->sku_id);
}

/* Begins a walk for the skus in doubt that were not looked at since. l->reclaim->walk.skus stays empty where nothing is
 * to be found: no sku in doubt, or no hold at all that is past its time. */
static enum db_result walk_begin(struct lane *l, int64_t since_ms)
{
	struct lapsed  lapsed = {0};
	struct walk   *w = &l->reclaim->walk;
	enum db_result result;

	assert(w->skus.count == 0); /* no other is under way */
	values_reset(&l->rows);
	for (size_t i = 0; i < doubts_count(l); i++) {
		struct doubt d = doubt_at(l, i);

		if (is_due(l, &d, since_ms))
			values_row(&l->rows, V_INT(d.sku_id));
	}
	if (l->rows.count == 0)
		return DB_OK;
	w->look = (struct swept){.at_ms = clock_ms()};
	result = lane_ask(l, EXPIRED_EXISTS, &(struct fill){.writer = l->writer->writer_id}, lapsed_read, &lapsed);
	if (result == DB_OK && lapsed.epoch != l->writer->epoch) {
		db_close(l->db); /* shut out, perhaps by a change of a kind that is not known here */
		return DB_RETRY;
	}
	w->look.to_ms = lapsed.now;
	w->look.started_at = lapsed.started_at;
	w->look.clock = lapsed.now - w->look.at_ms;
	w->from_ms = INT64_MAX;
	w->id = 0;
	w->left = false;
	for (size_t i = 0; result == DB_OK && i < doubts_count(l); i++) {
		struct doubt d = doubt_at(l, i);

		if (!is_due(l, &d, since_ms))
			continue;
		*d.swept = !lapsed.exists;
		if (look_from(l, d.sku_id, &lapsed) < w->from_ms)
			w->from_ms = look_from(l, d.sku_id, &lapsed);
	}
	values_reset(&w->skus);
	for (size_t i = 0; result == DB_OK && lapsed.exists && i < l->rows.count; i++)
		values_row(&w->skus, V_INT(l->rows.list[i].number));
	return result;
}

/* Remembers the look at the walk's skus. A sku with a hold that stays is looked at from the same place again. */
static void walk_end(struct lane *l)
{
	struct walk *w = &l->reclaim->walk;

	assert(w->skus.count > 0);
	if (w->left) { /* the look may have waited for the lock of the hold that stays */
		w->look.to_ms = 0;
		w->look.at_ms = clock_ms();
	}
	for (size_t i = 0; i < w->skus.count; i++)
		if (!sku_is_in(&w->locked, (uint32_t)w->skus.list[i].number))
			swept_put(l, (uint32_t)w->skus.list[i].number, &w->look);
	values_reset(&w->skus);
}

struct place { /* a place in the claim index */
	int64_t due_at, id;
};

static void place_read(void *arg, const struct db_row *row)
{
	*(struct place *)arg = (struct place){time_parse(row->col[0]), db_int(row, 1)};
}

/* Expired holds of the walk's skus up to a place, by number. */
struct found {
	struct values all, free; /* free: those that no other transaction has locked */
};

static enum db_result walk_find(struct lane *l, const struct place *end, struct found *found)
{
	const struct walk *w = &l->reclaim->walk;
	struct fill        fill = {.rows = &w->skus,
	                           .after_at = w->from_ms,
	                           .after_id = w->id,
	                           .until_at = end->due_at,
	                           .until_id = end->id,
	                           .limit = SWEEP_MAX};
	enum db_result     result;

	values_reset(&found->all);
	values_reset(&found->free);
	result = lane_ask(l, EXPIRED_OF_SKUS, &fill, db_numbers, &found->all);
	if (result == DB_OK && found->all.count > 0)
		result = lane_ask(l, RESERVATION_PROBE, &(struct fill){.rows = &found->all}, db_numbers, &found->free);
	return result;
}

static void locked_read(void *arg, const struct db_row *row)
{
	struct walk *w = arg;
	uint32_t     sku_id = (uint32_t)db_int(row, 0);

	if (sku_is_in(&w->skus, sku_id) && !sku_is_in(&w->locked, sku_id))
		values_row(&w->locked, V_INT(sku_id));
}

static int number_order(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Notes the skus of the holds that others are at work on: those that are locked, and also the free ones if `all`. */
static enum db_result walk_locked(struct lane *l, struct found *found, bool all)
{
	struct values  locked = {0};
	enum db_result result = DB_OK;

	all |= found->free.count == 0;
	if (!all)
		qsort(found->free.list, found->free.count, sizeof(found->free.list[0]), number_order);
	for (size_t i = 0; i < found->all.count; i++)
		if (all || !bsearch(&found->all.list[i], found->free.list, found->free.count,
		                    sizeof(found->free.list[0]), number_order))
			values_row(&locked, V_INT(found->all.list[i].number));
	if (locked.count > 0)
		result = lane_ask(l, RESERVATION_SKUS, &(struct fill){.rows = &locked}, locked_read, &l->reclaim->walk);
	values_fini(&locked);
	return result;
}

/* Gives back expired holds of the walk's skus up to `end`, but for those on which other transactions are at work: these
 * are probably giving them back. */
static enum db_result walk_part(struct lane *l, const struct place *end)
{
	struct found   found = {0};
	struct given   given;
	enum db_result result;

	do {
		given = (struct given){0};
		result = walk_find(l, end, &found);
		if (result == DB_OK && found.free.count > 0) {
			lock_wait_drop(l, true);
			result = reservation_expire(l, &found.free, &given);
			lock_wait_drop(l, false);
		}
		counter_add(COUNT_EXPIRED, given.swept);
	} while (result == DB_OK && given.swept > 0);
	l->reclaim->walk.left |= found.all.count > 0;
	if (result == DB_OK)
		result = walk_locked(l, &found, given.others);
	values_fini(&found.all);
	values_fini(&found.free);
	return result;
}

/* Walks as far as one batch goes. *full: the walk is not at its end. */
static enum db_result walk_go(struct lane *l, bool *full)
{
	struct walk *w = &l->reclaim->walk;
	struct place end = {0};
	struct fill fill = {.after_at = w->from_ms, .after_id = w->id, .until_at = w->look.to_ms, .offset = SWEEP_WALK};
	enum db_result result = lane_ask(l, EXPIRED_AHEAD, &fill, place_read, &end);

	assert(w->skus.count > 0);
	*full = end.id != 0;
	w->look.follow |= *full;
	if (!*full)
		end = (struct place){w->look.to_ms, INT64_MAX};
	if (result == DB_OK)
		result = walk_part(l, &end);
	if (result != DB_OK)
		return result;
	w->from_ms = end.due_at;
	w->id = end.id;
	if (!*full)
		walk_end(l);
	return DB_OK;
}

void reclaim_forget(struct lane *l)
{
	memset(l->reclaim->swept, 0, sizeof(l->reclaim->swept));
	values_reset(&l->reclaim->walk.skus);
	values_reset(&l->reclaim->walk.locked);
}

/* Marks balances and quotas swept after each walk, because two skus may share a place in l->reclaim->swept, and the
 * later one wins. */
static void doubts_mark(struct lane *l, int64_t since_ms)
{
	for (size_t i = 0; i < doubts_count(l); i++) {
		struct doubt d = doubt_at(l, i);

		*d.swept |= d.doubted && looked_since(l, d.sku_id, since_ms);
	}
}

enum db_result reclaim_run(struct lane *l)
{
	int64_t        since_ms = clock_ms() - SWEEP_AGAIN_MS;
	bool           full = false;
	enum db_result result = DB_OK;

	lock_wait_drop(l, false);
	if (l->reclaim->walk.skus.count == 0)
		values_reset(&l->reclaim->walk.locked);
	do {
		if (l->reclaim->walk.skus.count == 0)
			result = walk_begin(l, since_ms);
		if (result != DB_OK || l->reclaim->walk.skus.count == 0)
			break;
		result = walk_go(l, &full);
		doubts_mark(l, since_ms);
	} while (result == DB_OK && !full);
	doubts_mark(l, since_ms);
	if (result == DB_LOCKED) /* the next batch is not to meet the same lock */
		values_reset(&l->reclaim->walk.skus);
	if (result == DB_RETRY && db_connected(l->db)) /* another transaction gives these back: their units are read
	                                                * next */
		result = db_text(l->db, "ROLLBACK", NULL, NULL);
	lock_wait_drop(l, true);
	return result;
}
