/* arrival.c - see arrival.h. A step is one transaction: the first of the line get their units, or, where nobody waits,
 * the rest is for sale. Its first guards are the sum of promises and what is left of the arrival, so of two who hand
 * out one arrival the second is undone and reads anew. */
#include "jobs/locations/arrival.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/retry.h"
#include "engine/log/event.h"
#include "engine/past.h"
#include "jobs/locations/handout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* STEP_ARRIVALS: arrivals that take turns. LOOK_MS: between two looks for open ones; SLICE_MS: how long the others of
 * the background thread wait. BLOCKED_MS: how long somebody who is locked holds up the line. */
enum { STEP_ARRIVALS = 16, LOOK_MS = 250, SLICE_MS = 250, BLOCKED_MS = 150, BLOCKED_PAUSE_US = 5000 };

struct arrival {
	uint64_t          movement_no;
	const struct sku *sku;
	uint32_t          from_id, to_id;
	int64_t           left;
	char              movement_id[ID_MAX + 1];
};

struct arrivals {
	struct catalogue *catalogue;
	struct arrival    list[STEP_ARRIVALS];
	size_t            count;
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

static struct fill fill_of(struct db *db, const struct arrival *a, int64_t units, int64_t filled)
{
	return (struct fill){.writer = db_writer(db)->writer_id,
	                     .movement = (int64_t)a->movement_no,
	                     .sku = sku_id(a->sku),
	                     .location = a->from_id,
	                     .to = a->to_id,
	                     .units = units,
	                     .filled = filled,
	                     .left = a->left};
}

/* The first steps of a transaction that hands out these units. */
static void lower(struct txn *t, const struct fill *fill)
{
	txn_run(t, PROMISE_LOWER, fill);
	txn_expect(t, 1, TXN_MOVED);
	txn_run(t, ARRIVAL_LOWER, fill);
	txn_expect(t, 1, TXN_MOVED);
	txn_run(t, ARRIVAL_CLOSE, fill);
}

/* The last ones, but for the log. */
static void move(struct txn *t, const struct fill *fill)
{
	txn_run(t, ARRIVAL_MOVE, fill);
	txn_expect(t, 2, TXN_MOVED);
	txn_run(t, ARRIVAL_TELL, fill);
	txn_expect(t, 1, TXN_MOVED);
}

/* DB_RETRY: it was undone. */
static enum db_result commit(struct txn *t)
{
	enum txn_verdict verdict;
	enum db_result   result = txn_commit(t, &verdict);

	return result == DB_OK && verdict != TXN_DONE ? DB_RETRY : result;
}

static enum db_result serve(struct db *db, struct arrival *a, struct handout *h)
{
	const struct fill fill = fill_of(db, a, h->given, h->given);
	struct text       changes = {0};
	struct txn        t = {0};
	enum db_result    result;

	txn_begin(&t, db);
	txn_enter(&t, h->stamp_min, true);
	lower(&t, &fill);
	handout_write(&t, h, STOCK_SETTLE, NULL, a->movement_id, &changes);
	move(&t, &fill);
	txn_log(&t, &changes);
	result = commit(&t);
	text_fini(&changes);
	handout_done(h, result == DB_OK);
	if (result == DB_OK)
		a->left -= h->given;
	return result;
}

/* ---- what is left over */

struct rest {
	struct shares slots; /* `qty` units each leave `available` */
	int64_t       left;
};

static void slot_read(void *arg, const struct db_row *row)
{
	struct rest *in = arg;
	int64_t      qty = db_int(row, 1) < in->left ? db_int(row, 1) : in->left;

	if (qty > 0)
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

/* For whoever watches levels. */
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

/* Nobody waits: all that is left goes on sale, in the slots of the same numbers. */
static enum db_result rest_sell(struct db *db, struct catalogue *c, struct arrival *a)
{
	const struct fill fill = fill_of(db, a, a->left, 0);
	struct rest       rest = {.left = a->left};
	struct text       changes = {0};
	struct txn        t = {0};
	enum db_result    result = db_ask(db, PROMISE_SLOTS, &fill, slot_read, &rest);

	if (result == DB_OK && rest.left == 0) {
		txn_begin(&t, db);
		txn_enter(&t, 0, true);
		lower(&t, &fill);
		if (a->from_id < a->to_id) /* the order of locks */
			rest_take(&t, &rest, a, &fill);
		slots_run(&t, STOCK_ADD, &rest, a, a->to_id);
		if (a->from_id > a->to_id)
			rest_take(&t, &rest, a, &fill);
		move(&t, &fill);
		placed_tell(&changes, c, a);
		txn_log(&t, &changes);
		result = commit(&t);
		if (result == DB_OK)
			a->left = 0;
	} else if (result == DB_OK) {
		result = DB_RETRY; /* somebody has reserved them just now, and waits */
	}
	text_fini(&changes);
	shares_fini(&rest.slots);
	return result;
}

/* ---- turns */

/* One transaction, or two where holds are past their time. *moved: something has changed by it. */
static enum db_result step(struct db *db, struct catalogue *c, struct arrival *a, struct handout *h, bool *moved)
{
	enum db_result result;

	*h = (struct handout){.sku_id = sku_id(a->sku),
	                      .from_id = a->from_id,
	                      .to_id = a->to_id,
	                      .units = a->left,
	                      .limit = h->limit,
	                      .passes = h->passes};
	result = handout_read(db, c, h);
	if (result == DB_OK && h->lapsed_count > 0)
		result = handout_sweep(db, h);
	*moved |= result == DB_OK && h->lapsed_count + h->count > 0;
	if (result == DB_OK && h->count > 0) {
		result = serve(db, a, h);
	} else if (result == DB_OK && h->waiting == 0) {
		result = rest_sell(db, c, a);
		*moved |= result == DB_OK;
	}
	handout_fini(h);
	return result;
}

static enum db_result arrivals_find(struct db *db, struct arrivals *all, uint64_t movement_no)
{
	all->count = 0;
	return db_ask(db, ARRIVALS_OPEN,
	              &(struct fill){.from_id = (int64_t)movement_no,
	                             .until_id = movement_no ? (int64_t)movement_no : INT64_MAX,
	                             .taken = movement_no > 0,
	                             .writer = db_writer(db)->writer_id,
	                             .limit = STEP_ARRIVALS},
	              arrival_read, all);
}

enum db_result arrivals_run(struct db *db, struct catalogue *c, uint64_t movement_no, int64_t slice_ms, bool *more)
{
	struct arrivals all = {.catalogue = c};
	struct handout  h = {0};
	int64_t         moved_ms = clock_ms(), until_ms = moved_ms + slice_ms;
	bool            moved;
	enum db_result  result = DB_OK;

	*more = true;
	for (unsigned tries = 0; *more && clock_ms() < until_ms;) {
		h.passes = clock_ms() >= moved_ms + BLOCKED_MS;
		moved = false;
		result = arrivals_find(db, &all, movement_no);
		*more = all.count > 0 || result != DB_OK;
		for (size_t i = 0; result == DB_OK && i < all.count && clock_ms() < until_ms; i++)
			result = step(db, c, &all.list[i], &h, &moved);
		if (result == DB_RETRY)
			retry_pause(result, tries++);
		else if (result != DB_OK)
			break;
		else if (moved)
			moved_ms = clock_ms();
		else if (*more)
			usleep(BLOCKED_PAUSE_US);
	}
	return result == DB_RETRY ? DB_OK : result;
}

static enum db_result turn(void *arg, struct db *db, int64_t *pause_ms)
{
	bool           more = false;
	enum db_result result = arrivals_run(db, arg, 0, SLICE_MS, &more);

	*pause_ms = more ? 0 : LOOK_MS;
	return result;
}

static void leave(void *arg, struct db *db)
{
	(void)arg, (void)db;
}

struct chore arrival_chore(struct catalogue *c)
{
	return (struct chore){"arrivals", turn, leave, c};
}
