/* arrival.c - see arrival.h. A step is one transaction: the first orders of the queue get their units, or, if no order
 * waits, the rest goes on sale. Its first guards are the sum of promises and the units left of the arrival. So if two
 * writers hand out one arrival, the second is undone and reads again. */
#include "jobs/waiting/arrival.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/retry.h"
#include "engine/db/writer.h"
#include "engine/log/event.h"
#include "engine/catalogue/past.h"
#include "jobs/waiting/deferred.h"
#include "jobs/waiting/handout.h"

#include <stdio.h>

/* STEP_ARRIVALS: arrivals that take turns. LOOK_MS: between two looks for open arrivals. SLICE_MS: how long the other
 * chores of the background thread wait. BLOCKED_MS: how long a locked order blocks the orders behind it, and how long a
 * group that meets conflicts is tried again as a group. PAUSE_TRIES: if no arrival moved, the pause is that after this
 * many conflicts: 0 to 8 ms. GROUP_FRONT: orders of each queue that are served together with those of other skus.
 * APART_MS: how long no groups are made after a group has failed. */
enum { STEP_ARRIVALS = 64, LOOK_MS = 250, SLICE_MS = 250, BLOCKED_MS = 150, PAUSE_TRIES = 4 };
enum { GROUP_FRONT = 8, APART_MS = 60000 };

struct arrival {
	uint64_t          movement_no;
	const struct sku *sku;
	uint32_t          from_id, to_id;
	int64_t           left;
	char              movement_id[ID_MAX + 1];
};

struct arrivals {
	struct catalogue *catalogue; /* of the connection that reads */
	const char       *chore;     /* for the log; NULL: a call, which leaves failures to the chore */
	struct arrival    list[STEP_ARRIVALS];
	size_t            count, passed; /* passed: this many of the oldest open ones are skipped */
	struct deferred   deferred;
	int64_t           apart_ms;    /* clock_ms until which each arrival is handed out by itself */
	int64_t           conflict_ms; /* clock_ms since which groups meet conflicts; 0: the last group met none */
};

static void arrival_read(void *arg, const struct db_row *row)
{
	struct arrivals *in = arg;
	struct arrival  *a;

	if (in->count == LENGTH(in->list)) {
		db_other(row);
		return;
	}
	a = &in->list[in->count++];
	*a = (struct arrival){
		.movement_no = (uint64_t)db_int(row, 0),
		.sku = catalogue_sku_enter(in->catalogue, (uint32_t)db_int(row, 1), db_word(row, 6), row->len[6]),
		.from_id = (uint32_t)db_int(row, 2),
		.to_id = (uint32_t)db_int(row, 3),
		.left = db_int(row, 4)};
	db_copy(row, 5, a->movement_id, sizeof(a->movement_id));
}

static struct fill fill_of(const struct arrival *a, int64_t units, int64_t filled)
{
	return (struct fill){.movement = (int64_t)a->movement_no,
	                     .sku = sku_id(a->sku),
	                     .location = a->from_id,
	                     .to = a->to_id,
	                     .units = units,
	                     .filled = filled,
	                     .left = a->left};
}

/* The first steps of a transaction that hands out these units. The connection has its writer since txn_enter. */
static void lower(struct txn *t, struct fill fill)
{
	fill.writer = db_writer(t->db)->writer_id;
	txn_run(t, PROMISE_LOWER, &fill);
	txn_expect(t, 1, TXN_MOVED);
	txn_run(t, ARRIVAL_LOWER, &fill);
	txn_expect(t, 1, TXN_MOVED);
	txn_run(t, ARRIVAL_CLOSE, &fill);
}

/* The last steps, but for the log. */
static void move(struct txn *t, const struct fill *fill)
{
	txn_run(t, ARRIVAL_MOVE, fill);
	txn_expect(t, 2, TXN_MOVED);
	txn_run(t, ARRIVAL_TELL, fill);
	txn_expect(t, 1, TXN_MOVED);
}

/* Serves arrivals of one movement, each of another sku. */
static enum db_result serve(struct db *db, struct arrival *list, const struct handout *h, size_t count)
{
	struct text    changes = {0};
	struct txn     t = {0};
	struct fill    fill;
	int64_t        stamp_min = 0;
	enum db_result result;

	for (size_t i = 0; i < count; i++)
		stamp_min = h[i].stamp_min > stamp_min ? h[i].stamp_min : stamp_min;
	txn_begin(&t, db);
	txn_enter(&t, stamp_min, true);
	for (size_t i = 0; i < count; i++)
		if (h[i].count > 0)
			lower(&t, fill_of(&list[i], h[i].given, h[i].given));
	handouts_write(&t, h, count, STOCK_SETTLE, list[0].movement_id, &changes);
	for (size_t i = 0; i < count; i++)
		if (h[i].count > 0) {
			fill = fill_of(&list[i], h[i].given, h[i].given);
			move(&t, &fill);
		}
	txn_log(&t, &changes);
	result = txn_commit_or_retry(&t);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		list[i].left -= h[i].given;
	text_fini(&changes);
	return result;
}

/* ---- several skus together */

/* False: the writer was shut out since the look, so what was found may be stopped by now. */
static bool is_entered(struct db *db)
{
	return db_writer(db)->epoch != 0;
}

/* The arrival is deferred, or its row is damaged (no units left). */
static bool is_left_out(const struct arrivals *all, const struct arrival *a)
{
	return a->left < 1 ||
	       deferred_is(&all->deferred, &(struct giving){a->movement_no, sku_id(a->sku), a->from_id, a->to_id});
}

/* The arrivals from number `first` on that are handed out together: of one movement, each of another sku. */
static size_t group_count(const struct arrivals *all, size_t first)
{
	size_t end = first + 1;

	assert(first < all->count);
	while (end < all->count && all->list[end].movement_no == all->list[first].movement_no &&
	       sku_id(all->list[end].sku) > sku_id(all->list[end - 1].sku) && !is_left_out(all, &all->list[end]))
		end++;
	return end - first;
}

static enum db_result group_serve(struct db *db, struct arrival *list, size_t count, bool *moved)
{
	struct handout *h = mem_alloc(count * sizeof(*h));
	size_t          served = 0;
	enum db_result  result;

	for (size_t i = 0; i < count; i++)
		h[i] = (struct handout){.sku_id = sku_id(list[i].sku),
		                        .from_id = list[i].from_id,
		                        .to_id = list[i].to_id,
		                        .units = list[i].left,
		                        .orders_max = GROUP_FRONT};
	result = handouts_read(db, h, count);
	for (size_t i = 0; i < count; i++)
		served += h[i].count;
	if (result == DB_OK && served > 0) {
		result = serve(db, list, h, count);
		*moved |= result == DB_OK;
	}
	for (size_t i = 0; i < count; i++)
		handout_fini(&h[i]);
	free(h);
	return result;
}

/* The first orders of each queue get their units in one transaction. So an order of many lines is read, written and
 * told once for all of them. After a failure the steps of single skus go on for a while, and show which sku fails.
 * DB_RETRY: the group has met a conflict. It is tried again before the single steps, which would tell its orders once
 * for each sku. */
static enum db_result serve_together(struct db *db, struct arrivals *all, int64_t until_ms, bool *moved)
{
	int64_t begun_ms = clock_ms();
	bool    conflict = false;

	for (size_t i = 0, count; i < all->count && clock_ms() < until_ms && clock_ms() >= all->apart_ms; i += count) {
		enum db_result result = DB_OK;

		if (!is_entered(db))
			break;
		count = group_count(all, i);
		if (count > 1 && !is_left_out(all, &all->list[i]))
			result = group_serve(db, &all->list[i], count, moved);
		conflict |= result == DB_RETRY;
		if (result != DB_OK && result != DB_RETRY)
			all->apart_ms = clock_ms() + APART_MS;
	}
	if (!conflict || all->conflict_ms == 0)
		all->conflict_ms = conflict ? begun_ms : 0;
	return conflict && clock_ms() < all->conflict_ms + BLOCKED_MS ? DB_RETRY : DB_OK;
}

/* ---- what is left over */

struct rest {
	struct shares slots; /* each slot loses `qty` units of `available` */
	int64_t       left;
};

static void slot_read(void *arg, const struct db_row *row)
{
	struct rest *in = arg;
	int64_t      qty = db_int(row, 1) < in->left ? db_int(row, 1) : in->left;

	if (qty <= 0)
		return;
	share_add(&in->slots, 0, 0, (uint16_t)db_int(row, 0), qty, 0);
	in->left -= qty;
}

static void slots_run(struct txn *t, enum statement name, const struct rest *rest, const struct arrival *a,
                      uint32_t location_id)
{
	struct values rows = {0};

	for (size_t i = 0; i < rest->slots.count; i++)
		values_row(&rows, V_INT(sku_id(a->sku)), V_INT(location_id), V_INT(rest->slots.list[i].slot),
		           V_INT(rest->slots.list[i].qty), V_INT(0));
	txn_run(t, name, &(struct fill){.rows = &rows});
	values_fini(&rows);
}

/* Tells the new units to the watcher of levels. */
static void placed_tell(struct text *changes, struct catalogue *c, const struct arrival *a)
{
	struct movement m = {.kind = ARRIVAL, .created_at = 0};
	struct line     line = {.sku = a->sku, .location = catalogue_location_by_id(c, a->to_id), .granted = a->left};

	snprintf(m.movement_id, sizeof(m.movement_id), "%s", a->movement_id);
	event_movement(changes, &(struct event_head){.type = EVENT_PLACED}, &m, 0, &line, 1);
}

static void rest_take(struct txn *t, const struct rest *rest, const struct arrival *a, const struct fill *fill)
{
	txn_run(t, SLOTS_RAISE, fill);
	txn_run(t, SLOTS_LOWER, fill);
	txn_run(t, PROMISE_UNWAITED, fill);
	txn_expect(t, 1, TXN_MOVED);
	slots_run(t, STOCK_TAKE, rest, a, a->from_id);
	txn_expect(t, 2 * rest->slots.count, TXN_SHORT);
}

/* No order waits: all units that are left go on sale, in the slots of the same numbers. */
static enum db_result rest_sell(struct db *db, struct arrival *a)
{
	struct catalogue *c = past_catalogue(db);
	const struct fill fill = fill_of(a, a->left, 0);
	struct rest       rest = {.left = a->left};
	struct text       changes = {0};
	struct txn        t = {0};
	enum db_result    result = db_ask(db, PROMISE_SLOTS, &fill, slot_read, &rest);

	if (result == DB_OK && rest.left == 0) {
		txn_begin(&t, db);
		txn_enter(&t, 0, true);
		lower(&t, fill);
		if (a->from_id < a->to_id) /* the order of locks */
			rest_take(&t, &rest, a, &fill);
		slots_run(&t, STOCK_ADD, &rest, a, a->to_id);
		if (a->from_id > a->to_id)
			rest_take(&t, &rest, a, &fill);
		move(&t, &fill);
		placed_tell(&changes, c, a);
		txn_log(&t, &changes);
		result = txn_commit_or_retry(&t);
		if (result == DB_OK)
			a->left = 0;
	} else if (result == DB_OK) {
		result = DB_RETRY; /* an order has reserved them just now, and waits */
	}
	text_fini(&changes);
	shares_fini(&rest.slots);
	return result;
}

/* ---- turns */

/* One transaction, or two if there are expired holds. *moved: it has changed something. */
static enum db_result step(struct db *db, struct arrival *a, struct handout *h, bool *moved)
{
	enum db_result result;

	if (a->left < 1)
		return DB_OK; /* handed out with others, or damaged */
	*h = (struct handout){.sku_id = sku_id(a->sku),
	                      .from_id = a->from_id,
	                      .to_id = a->to_id,
	                      .units = a->left,
	                      .orders_max = h->orders_max,
	                      .passes = h->passes};
	result = handout_read(db, h);
	if (result == DB_OK && h->lapsed_count > 0) {
		result = handout_sweep(db, h);
		*moved |= result == DB_OK;
	}
	if (result == DB_OK && h->count > 0) {
		result = serve(db, a, h, 1);
		handout_done(h, result == DB_OK);
		*moved |= result == DB_OK;
	} else if (result == DB_OK && h->waiting == 0) {
		result = rest_sell(db, a);
		*moved |= result == DB_OK;
	}
	handout_fini(h);
	return result;
}

static enum db_result arrivals_look(struct db *db, struct arrivals *all, uint64_t movement_no)
{
	all->catalogue = past_catalogue(db);
	all->count = 0;
	return db_ask(db, ARRIVALS_OPEN,
	              &(struct fill){.from_id = (int64_t)movement_no,
	                             .until_id = movement_no ? (int64_t)movement_no : INT64_MAX,
	                             .offset = (int64_t)all->passed,
	                             .taken = movement_no > 0,
	                             .writer = db_writer(db)->writer_id,
	                             .limit = STEP_ARRIVALS},
	              arrival_read, all);
}

/* The writer has entered before the look that counts: a stop of sales behind that look shuts it out. */
static enum db_result arrivals_find(struct db *db, struct arrivals *all, uint64_t movement_no)
{
	enum db_result result = arrivals_look(db, all, movement_no);

	if (result != DB_OK || all->count == 0 || is_entered(db))
		return result;
	result = writer_enter(db, 0);
	return result == DB_OK ? arrivals_look(db, all, movement_no) : result;
}

/* Does one step of each arrival that was found. A failure does not stop the others. */
static enum db_result round_run(struct db *db, struct arrivals *all, struct handout *h, int64_t until_ms, bool *tried,
                                bool *moved)
{
	enum db_result result = DB_OK;

	for (size_t i = 0; result == DB_OK && i < all->count && clock_ms() < until_ms && is_entered(db); i++) {
		struct arrival     *a = &all->list[i];
		const struct giving giving = {a->movement_no, sku_id(a->sku), a->from_id, a->to_id};

		if (deferred_is(&all->deferred, &giving))
			continue;
		*tried = true;
		result = deferred_begin(&all->deferred, db, &giving);
		if (result == DB_OK)
			result = step(db, a, h, moved);
		result = deferred_end(&all->deferred, db, &giving, all->chore, result);
	}
	return result;
}

/* If the oldest arrivals make no progress, the next ones get a turn, until all had one. *more: something is left that
 * is not deferred. */
static enum db_result hand_out(struct db *db, struct arrivals *all, uint64_t movement_no, int64_t slice_ms, bool *more)
{
	struct handout h = {0};
	int64_t        moved_ms = clock_ms(), until_ms = moved_ms + slice_ms;
	bool           tried, moved, again;
	enum db_result result = DB_OK;

	for (*more = true; result == DB_OK && *more && clock_ms() < until_ms;) {
		h.passes = clock_ms() >= moved_ms + BLOCKED_MS;
		tried = moved = false;
		result = arrivals_find(db, all, movement_no);
		*more = all->count > 0 || all->passed > 0 || result != DB_OK;
		again = result == DB_OK && serve_together(db, all, until_ms, &moved) == DB_RETRY;
		tried = again;
		if (result == DB_OK && !again)
			result = round_run(db, all, &h, until_ms, &tried, &moved);
		if (!again)
			all->passed = moved || all->count < STEP_ARRIVALS ? 0 : all->passed + all->count;
		*more &= tried || moved || all->passed > 0 || clock_ms() >= until_ms;
		if (moved)
			moved_ms = clock_ms();
		else if (result == DB_OK && tried)
			retry_pause(DB_RETRY, PAUSE_TRIES);
	}
	return result == DB_RETRY ? DB_OK : result;
}

enum db_result arrivals_run(struct db *db, uint64_t movement_no, int64_t slice_ms, bool *more)
{
	struct arrivals all = {0};
	enum db_result  result = hand_out(db, &all, movement_no, slice_ms, more);

	deferred_fini(&all.deferred);
	return result;
}

/* ---- the chore */

struct arrivals *arrivals_new(void)
{
	struct arrivals *all = mem_alloc(sizeof(*all));

	all->chore = "arrivals";
	return all;
}

void arrivals_free(struct arrivals *all)
{
	deferred_fini(&all->deferred);
	free(all);
}

static enum db_result turn(void *arg, struct db *db, int64_t *pause_ms)
{
	bool           more = false;
	int64_t        until_ms = clock_ms() + SLICE_MS;
	enum db_result result = hand_out(db, arg, 0, SLICE_MS, &more);

	*pause_ms = more && clock_ms() >= until_ms ? 0 : LOOK_MS;
	return result;
}

static void leave(void *arg, struct db *db)
{
	(void)arg, (void)db;
}

struct chore arrival_chore(struct arrivals *all)
{
	return (struct chore){all->chore, turn, leave, all};
}
