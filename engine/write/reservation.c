/* reservation.c - see reservation.h.
 *
 * Rows are read without a lock, decided on in C (decide.c) and written with the decision's premise in the WHERE: the
 * state, `changed`, the stamp of the last change, which vouches for the lines too, and `attempts`, which a claim moves.
 */
#include "engine/write/reservation.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/write/amend.h"
#include "engine/write/fence.h"
#include "engine/write/note.h"
#include "engine/write/on_hold.h"
#include "engine/write/split.h"
#include "engine/write/waits.h"

/* ---- the look-up of a batch */

static bool wants_look_up(const struct op *op)
{
	return op->lookup_due && (!op_trait(op)->of_movement || op->other_id);
}

static void look_up_row(struct lane *l, const struct op *op)
{
	if (!op_trait(op)->of_movement)
		values_row(&l->rows, V_TEXT(op->id));
	if (op->other_id)
		values_row(&l->rows, V_TEXT(op->other_id));
}

/* Lists in l->rows the ids of the first lookups_max operations that want a look-up, or of one atomic call; the batch
 * ends behind them. *alone: one unit (op_unit) wants it. */
static size_t look_up_rows(struct lane *l, bool *alone)
{
	size_t asked = 0, kept = 0, units = 0;

	values_reset(&l->rows);
	for (size_t end; kept < l->batch.count; kept = end) {
		size_t wants = 0;

		end = kept + op_unit(l->batch.ops + kept, l->batch.count - kept);
		for (size_t i = kept; i < end; i++)
			wants += wants_look_up(l->batch.ops[i]);
		if (wants == 0)
			continue;
		if (asked > 0 && asked + wants > l->lookups_max)
			break;
		for (size_t i = kept; i < end; i++)
			if (wants_look_up(l->batch.ops[i]))
				look_up_row(l, l->batch.ops[i]);
		asked += wants;
		units++;
	}
	if (kept < l->batch.count)
		batch_cut(&l->batch, kept);
	*alone = units == 1;
	return asked;
}

/* Where a reservation of this id belongs; a movement of the same id has nothing to do with it. NULL: nowhere. */
static struct reservation **look_up_place(struct lane *l, const char *order_id)
{
	struct op *op = batch_find(&l->batch, false, order_id);

	if (!op)
		return NULL;
	return op_trait(op)->of_movement || strcmp(op->id, order_id) != 0 ? &op->other : &op->found;
}

static unsigned row_needs(const struct reservation *r)
{
	bool waits = r->waits_since > 0 || lines_wait(r->lines, r->lines_count);

	return NEEDS_ROW | (waits ? NEEDS_QUEUE : 0) | (r->noted & NOTED_ON_HOLD ? NEEDS_ON_HOLD : 0);
}

static void look_up_meet(struct lane *l, struct reservation_reader *in)
{
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op                *op = l->batch.ops[i];
		const struct reservation *before = op_before(op);

		if (!wants_look_up(op))
			continue;
		op->other_before = before ? before->changed : -1;
		reservation_free(op->found);
		reservation_free(op->other);
		op->found = op->other = NULL;
		op->lookup_due = op_trait(op)->of_movement; /* movements_look_up follows */
		op->lookup_seq = l->batch.read_seq;
	}
	for (size_t i = 0; i < in->count; i++) {
		struct reservation **to = look_up_place(l, in->list[i]->order_id);

		if (to && !*to) {
			*to = in->list[i];
			l->batch.needs |= row_needs(*to);
		} else {
			reservation_free(in->list[i]);
		}
	}
	free(in->list);
}

static size_t rows_read(const struct reservation_reader *in)
{
	size_t rows = 0;

	for (size_t i = 0; i < in->count; i++)
		rows += in->list[i]->lines_count ? in->list[i]->lines_count : 1;
	return rows;
}

/* Cuts the batch by the lines that it reads: at most twice the lines that it may write. Orders of 1,000 lines are
 * looked up a few at a time, and the rest of them is not read to be put back. One operation or atomic call alone is
 * looked up whole: hand-outs and losses add lines to an order, without a bound. */
static enum db_result reservations_find(struct lane *l)
{
	enum { ROWS = 2 * BATCH_LINES };

	for (;;) {
		struct reservation_reader in = {.catalogue = l->catalogue};
		bool                      alone;
		size_t                    asked = look_up_rows(l, &alone), rows;
		struct fill               fill = {.rows = &l->rows, .limit = alone ? INT32_MAX : ROWS};
		enum db_result            result;

		if (asked == 0)
			return DB_OK;
		outbox_send(&l->outbox);
		result = reservations_ask(l->db, RESERVATION_FIND, &fill, &in);
		rows = rows_read(&in);
		if (result == DB_OK && (alone || rows < ROWS)) {
			look_up_meet(l, &in);
			if (rows < ROWS / 4 && l->lookups_max < BATCH_OPS)
				l->lookups_max *= 2;
			return DB_OK;
		}
		reservations_free(in.list, in.count);
		if (result != DB_OK)
			return result;
		l->lookups_max = asked / 2;
	}
}

/* Marks a hold that was looked up just now and has just ended for another look; its row goes into l->rows. */
static void hold_doubt(struct lane *l, struct op *op, const struct reservation *r)
{
	if (!r || op->lookup_seq != l->batch.read_seq || !reservation_just_ended(r))
		return;
	op->lookup_due = true;
	values_row(&l->rows, V_INT(r->reservation_id));
}

/* A hold that has just ended is looked at twice, the second time when a transaction that changes its row has committed:
 * from then on no transaction finds its time not passed (`is_kept`). */
enum db_result reservations_look_up(struct lane *l)
{
	enum db_result result = reservations_find(l);

	values_reset(&l->rows);
	for (size_t i = 0; result == DB_OK && i < l->batch.count; i++) {
		hold_doubt(l, l->batch.ops[i], l->batch.ops[i]->found);
		hold_doubt(l, l->batch.ops[i], l->batch.ops[i]->other);
	}
	if (l->rows.count == 0)
		return result;
	result = lane_ask(l, RESERVATION_AWAIT, &(struct fill){.rows = &l->rows}, NULL, NULL);
	return result == DB_OK ? reservations_find(l) : result;
}

/* ---- changes of state */

/* The statement that writes a change of state, by the kind of the operation and the state that was found. */
static const struct transition {
	enum op_kind           kind;
	enum reservation_state from;
	bool                   late; /* a confirmation of what has expired; a settlement of what a task has */
	enum statement         statement;
} changes[] = {
	{OP_CONFIRM, HELD, false, RESERVATION_CONFIRM},
	{OP_CONFIRM, HELD, true, RESERVATION_CONFIRM_LATE},
	{OP_CONFIRM, EXPIRED, true, RESERVATION_REACQUIRE},
	{OP_RELEASE, HELD, false, RESERVATION_RELEASE_HELD},
	{OP_RELEASE, CONFIRMED, false, RESERVATION_RELEASE_FROM},
	{OP_RELEASE, BURIED, false, RESERVATION_RELEASE_FROM},
	{OP_KICK, BURIED, false, RESERVATION_KICK},
	{OP_SETTLE, CONFIRMED, false, RESERVATION_SETTLE_FROM},
	{OP_SETTLE, CONFIRMED, true, RESERVATION_SETTLE_FROM},
	{OP_SETTLE, BURIED, false, RESERVATION_SETTLE_FROM},
};

static bool is_late(const struct op *op)
{
	if (op->becomes == SETTLED)
		return op->found->state == CONFIRMED && reservations_claimed(&op->found, 1);
	return op->change.reacquired;
}

static bool is_meant(const struct transition *change, const struct op *op)
{
	return op_writes(op, change->kind) && op->found->state == change->from && is_late(op) == change->late;
}

/* The lines of these reservations name the own slot from now on, or are no longer live. */
static void lines_follow(struct lane *l, const struct transition *change)
{
	bool moves = change->from == EXPIRED;

	if (!moves && change->kind != OP_RELEASE && change->kind != OP_SETTLE)
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (is_meant(change, l->batch.ops[i]))
			values_row(&l->rows, V_INT(l->batch.ops[i]->found->reservation_id));
	txn_run(&l->txn, moves ? RESERVATION_LINE_MOVE : RESERVATION_LINE_END,
	        &(struct fill){.rows = &l->rows, .slot = l->slot});
}

static void change_write(struct lane *l, const struct transition *change)
{
	bool claimed = false;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (is_meant(change, l->batch.ops[i])) {
			reservations_as_read(&l->rows, &l->batch.ops[i]->found, 1);
			claimed |= reservations_claimed(&l->batch.ops[i]->found, 1);
		}
	if (l->rows.count == 0)
		return;
	if (claimed && (change->kind == OP_SETTLE || (change->kind == OP_CONFIRM && change->from == HELD)))
		txn_run(&l->txn, TASK_LOSE, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, change->statement,
	        &(struct fill){.rows = &l->rows, .state = change->from, .claimed = change->late});
	txn_expect(&l->txn, l->rows.rows, TXN_MOVED);
	lines_follow(l, change);
}

static bool extends(const struct op *op, int64_t ttl_s)
{
	return op_writes(op, OP_EXTEND) && (ttl_s == 0 || op->change.ttl_s == ttl_s);
}

/* Writes the extensions that are as long as the first one, at `first`. */
static void extend_write(struct lane *l, size_t first)
{
	int64_t ttl_s = l->batch.ops[first]->change.ttl_s;
	bool    claimed = false;

	for (size_t i = 0; i < first; i++)
		if (extends(l->batch.ops[i], ttl_s))
			return; /* written with an earlier one */
	values_reset(&l->rows);
	for (size_t i = first; i < l->batch.count; i++)
		if (extends(l->batch.ops[i], ttl_s)) {
			reservations_as_read(&l->rows, &l->batch.ops[i]->found, 1);
			claimed |= reservations_claimed(&l->batch.ops[i]->found, 1);
		}
	if (claimed)
		txn_run(&l->txn, TASK_LOSE, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, RESERVATION_EXTEND, &(struct fill){.rows = &l->rows, .ttl_s = ttl_s});
	txn_expect(&l->txn, l->rows.rows, TXN_MOVED);
}

void reservations_lock(struct lane *l)
{
	bool returns = false;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (!op->writes || !op_changes(op))
			continue;
		values_row(&l->rows, V_INT(op_changes(op)->reservation_id));
		returns |= op_trait(op)->of_movement;
	}
	if (returns || l->rows.rows > 1)
		txn_run(&l->txn, RESERVATION_LOCK, &(struct fill){.rows = &l->rows});
}

static bool replaces(const struct op *op)
{
	return op_writes(op, OP_RESERVE) && op->other;
}

/* Writes the replaced orders: confirmed ones that no task had when they were read (claimed false), or the others. */
static void replaced_write(struct lane *l, bool claimed)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (replaces(op) && (op->other->state != CONFIRMED || reservations_claimed(&op->other, 1)) == claimed)
			reservations_as_read(&l->rows, &op->other, 1);
	}
	txn_move(&l->txn, RESERVATION_REPLACE, &(struct fill){.rows = &l->rows, .claimed = claimed});
}

static void replaced_lines_end(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (replaces(l->batch.ops[i]))
			values_row(&l->rows, V_INT(l->batch.ops[i]->other->reservation_id));
	txn_rows(&l->txn, RESERVATION_LINE_END, &l->rows);
}

/* The order of the operation that has another state behind it; NULL: none has. */
static const struct reservation *state_changed(const struct op *op)
{
	if (replaces(op))
		return op->other;
	for (size_t i = 0; i < LENGTH(changes); i++)
		if (op_writes(op, changes[i].kind))
			return op->found;
	return NULL;
}

/* The notes of the orders say their new states. */
static void notes_follow(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct reservation *r = state_changed(l->batch.ops[i]);

		if (r && r->noted & NOTED_TEXTS)
			values_row(&l->rows, V_INT(r->reservation_id));
	}
	txn_rows(&l->txn, NOTE_STATES, &l->rows);
}

void reservations_change(struct lane *l)
{
	if (l->batch.writes & (NEEDS_OTHER | NEEDS(OP_AMEND) | NEEDS_GROUP))
		reservations_lock(l);
	if (l->batch.writes & NEEDS_OTHER) {
		replaced_write(l, false);
		replaced_write(l, true);
		replaced_lines_end(l);
	}
	for (size_t i = 0; i < LENGTH(changes); i++)
		if (l->batch.writes & NEEDS(changes[i].kind))
			change_write(l, &changes[i]);
	for (size_t i = 0; l->batch.writes & NEEDS(OP_EXTEND) && i < l->batch.count; i++)
		if (extends(l->batch.ops[i], 0))
			extend_write(l, i);
	notes_follow(l);
}

/* ---- new reservations */

static void lines_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; op_writes(op, OP_RESERVE) && k < op->lines_count; k++) {
			if (op->lines[k].granted == 0)
				continue;
			values_row(&l->rows, V_INT(op->new_id), V_INT(sku_id(op->lines[k].sku)),
			           V_INT(op->lines[k].location->location_id), V_INT(op->lines[k].slot),
			           V_INT(op->lines[k].granted));
		}
	}
	txn_run(&l->txn, RESERVATION_LINE_ADD, &(struct fill){.rows = &l->rows});
}

/* Writes the units that reservations of keys with a limit hold open. */
static void key_holds_insert(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];
		int64_t    units = 0;

		if (!op_writes(op, OP_RESERVE) || !op->reserve.limited || op->becomes == CONFIRMED)
			continue;
		for (size_t k = 0; k < op->lines_count; k++)
			units += op->lines[k].granted;
		values_row(&l->rows, V_INT(op->new_id), V_INT(op->key_id), V_INT(units));
	}
	txn_rows(&l->txn, KEY_HOLD_ADD, &l->rows);
}

/* Orders that replace confirmed ones stand in their places. */
static void turns_take(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (replaces(op) && op->other->state == CONFIRMED)
			values_row(&l->rows, V_INT(op->new_id), V_INT(op->other->reservation_id));
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, RESERVATION_TAKE_TURN, &(struct fill){.rows = &l->rows});
}

void reservations_insert(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (!op_writes(op, OP_RESERVE))
			continue;
		op->new_id = lane_new_id(l);
		values_row(&l->rows, V_INT(op->new_id), V_TEXT(op->id), V_BYTES(op->lines_hash, sizeof(op->lines_hash)),
		           V_INT(op->key_id), V_INT(op->becomes), V_INT(op->reserve.ttl_s),
		           V_INT(op->needs & NEEDS_NOTE ? op_notes(op) : 0));
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, RESERVATION_ADD, &(struct fill){.rows = &l->rows});
	if (l->batch.writes & NEEDS_OTHER)
		turns_take(l);
	lines_insert(l);
	if (l->batch.writes & NEEDS_HOLD)
		key_holds_insert(l);
}

/* ---- answers */

/* The hold that the new reservation takes over. The reason is that of the other one. */
static void hold_take_over(struct reservation *r, const struct op *op)
{
	const struct reservation *from = op_hold_from(op);

	r->hold_until = from ? from->hold_until : 0;
	r->hold_reason = from ? from->hold_reason : NULL;
}

void reservation_held(struct reservation *r, const struct op *op, int64_t now)
{
	memset(r, 0, sizeof(*r));
	r->reservation_id = op->new_id;
	memcpy(r->order_id, op->id, sizeof(r->order_id));
	r->state = HELD;
	r->key_id = op->key_id;
	r->created_at = r->read_at = now;
	r->expires_at = now + (int64_t)op->reserve.ttl_s * 1000;
	r->ship_after = op->reserve.ship_after;
	r->waits_since = op->needs & NEEDS_NOTE ? op_waits_since(op) : 0;
	if (op->other)
		hold_take_over(r, op);
	r->confirmed_at = r->released_at = r->settled_at = TIME_NONE;
}

int64_t op_confirmed_at(const struct op *op, int64_t now)
{
	return op->other && op->other->state == CONFIRMED ? op->other->confirmed_at : now;
}

static struct reservation *reservation_made(const struct op *op, int64_t now)
{
	struct reservation *r = mem_alloc(sizeof(*r) + op->lines_count * sizeof(struct line));

	reservation_held(r, op, now);
	if (op->becomes == CONFIRMED) {
		r->state = CONFIRMED;
		r->confirmed_at = op_confirmed_at(op, now);
	}
	r->reference = mem_copy(op->reference);
	r->customer = mem_copy(op->customer);
	r->by = mem_copy(op->by);
	r->hold_reason = mem_copy(r->hold_reason);
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].granted > 0) {
			r->lines[r->lines_count] = op->lines[i];
			r->lines[r->lines_count++].qty = op->lines[i].granted;
		}
	return r;
}

void reservation_changed(struct reservation *r, const struct op *op, int64_t now)
{
	assert(!op_trait(op)->makes && !op_asks(op));
	r->read_at = now;
	if (!op->becomes) { /* held back, or no more */
		on_hold_changed(r, op);
		return;
	}
	r->state = op->becomes;
	if (r->state == RELEASED)
		r->released_at = now;
	else if (r->state == SETTLED)
		r->settled_at = now;
	else
		r->attempts = 0;
	if (r->state == HELD)
		r->expires_at = now + op->change.ttl_s * 1000;
	if (op->kind == OP_CONFIRM) { /* a kicked order was confirmed before, and says why it is back */
		r->confirmed_at = now;
		r->last_error = NULL;
	}
}

/* reservation_changed for an order that owns its texts. */
static void row_changed(struct reservation *r, const struct op *op, int64_t now)
{
	char *error = r->last_error, *reason = r->hold_reason;

	reservation_changed(r, op, now);
	if (!r->last_error)
		free(error);
	if (r->hold_reason != reason) {
		free(reason);
		r->hold_reason = mem_copy(r->hold_reason);
	}
}

void reservation_answer(struct op *op, int64_t now, int64_t stamp)
{
	if (op_writes(op, OP_AMEND)) {
		op->reservation = amend_made(op, now);
	} else if (op->writes && op_trait(op)->makes) {
		op->reservation = op_trait(op)->divides ? split_made(op, now) : reservation_made(op, now);
	} else {
		op->reservation = op->found; /* NULL where there is none */
		op->found = NULL;
		if (op->writes)
			row_changed(op->reservation, op, now);
	}
	if (op->writes)
		op->reservation->version = stamp;
}
