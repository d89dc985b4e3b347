/* blocked.c - see blocked.h. A lane that has waited for a row in vain makes all lanes suspect locks for a while. They
 * look at the rows of a batch without waiting before the batch writes, park the operations whose rows are locked, and
 * go on with the others. What they look at is what one lock would keep many operations from: slots, and new ids. Any
 * other lock (the row of an order, a gap, a new code, a table) is found by halving, in rounds that wait for no lock.
 * Each part is there for a test that fails without it; docs/developer.md says which. */
#include "engine/lane/blocked.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/lane/balance.h"
#include "engine/lane/batch.h"
#include "engine/lane/fence.h"

#include <stdlib.h>
#include <string.h>

enum { STUCK = 1 << 12 };

/* A slot that was found locked, and a mark of its contents then. The table is direct-mapped: a slot that was pushed out
 * counts as new. */
struct stuck {
	uint32_t sku_id, location_id;
	uint32_t slot, mark;
	int64_t  seen_ms; /* clock_ms; 0: free place */
};

void blocked_open(struct lane *l)
{
	l->stuck = mem_alloc(STUCK * sizeof(*l->stuck));
}

void blocked_close(struct lane *l)
{
	free(l->stuck);
}

/* ---- which slots a batch needs */

static void lines_need_every(struct lane *l, const struct line *lines, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		struct balance *p = line_balance(&l->batch, &lines[k]);

		if (p)
			p->needs = EVERY_SLOT;
	}
}

/* False: the slot of this stored line stays as it is, because a split takes units of other lines. */
static bool line_is_taken(const struct op *op, const struct line *stored)
{
	return !op_traits[op->kind].divides ||
	       bsearch(stored, op->lines, op->lines_count, sizeof(op->lines[0]), line_order) != NULL;
}

/* The slots that the lines of a stored reservation name are written. */
static void slots_need(struct lane *l, const struct op *op, const struct reservation *r)
{
	for (size_t k = 0; k < r->lines_count; k++) {
		struct balance *p = line_is_taken(op, &r->lines[k]) ? line_balance(&l->batch, &r->lines[k]) : NULL;

		if (p && r->lines[k].slot != l->slot)
			p->needs = EVERY_SLOT;
		else if (p && p->needs == NO_SLOT)
			p->needs = OWN_SLOT;
	}
}

/* True: the operation needs every slot. A refused operation does where expired holds are given back first. */
static bool op_needs_every(const struct op *op, bool sweeps)
{
	return (op->writes && op->exclusive) || (sweeps && op_is_refused(op));
}

static void batch_needs(struct lane *l, bool sweeps)
{
	struct batch *b = &l->batch;

	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[i];

		p->own_locked = p->others_locked = false;
		p->needs = balance_gathers(p) ? EVERY_SLOT : p->take > 0 || p->add > 0 ? OWN_SLOT : NO_SLOT;
	}
	for (size_t i = 0; i < b->count; i++) {
		const struct op          *op = b->ops[i];
		const struct reservation *touched = op_touches(op);

		if (op_needs_every(op, sweeps)) {
			lines_need_every(l, op->lines, op_traits[op->kind].divides ? 0 : op->lines_count);
			if (touched)
				lines_need_every(l, touched->lines, touched->lines_count);
		} else if (op->writes && touched && op->kind != OP_CONFIRM) {
			slots_need(l, op, touched);
		}
	}
}

static void flag_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 0) != 0;
}

/* *sweeps: expired holds will be given back, because an operation falls short. */
static enum db_result batch_sweeps(struct lane *l, bool *sweeps)
{
	bool refuses = false;

	for (size_t i = 0; i < l->batch.count; i++)
		refuses |= op_is_refused(l->batch.ops[i]);
	if (!refuses)
		return DB_OK;
	return lane_ask(l, EXPIRED_EXISTS, &(struct fill){.writer = l->writer->writer_id}, flag_read, sweeps);
}

/* ---- the looks */

/* All looks go in one trip, except the last (slots_look): its rows may be many, so nothing is sent behind it. LOOKS:
 * the statements of the trip at most. */
enum { LOOKS = 8 };

struct looks {
	struct lane   *lane;
	enum db_result result;
	size_t         count;
	struct {
		void (*each)(void *arg, const struct db_row *row);
		void *arg;
	} sent[LOOKS];
};

/* Sends one look, with the rows of l->rows. */
static void look_send(struct looks *k, enum statement name, void (*each)(void *arg, const struct db_row *row),
                      void *arg)
{
	struct lane *l = k->lane;

	if (k->result != DB_OK)
		return;
	text_reset(&l->txn.sql);
	statement_add(&l->txn.sql, name, &(struct fill){.rows = &l->rows, .slot = l->slot});
	k->result = db_send(l->db, l->txn.sql.data);
	if (k->result != DB_OK)
		return;
	assert(k->count < LOOKS);
	k->sent[k->count].each = each;
	k->sent[k->count++].arg = arg;
}

/* Ends the looks, and with them the locks that they took. */
static enum db_result looks_end(struct looks *k)
{
	if (k->count > 0)
		look_send(k, TXN_END, NULL, NULL);
	outbox_send(&k->lane->outbox);
	for (size_t i = 0; i < k->count; i++) {
		enum db_result result = db_answer(k->lane->db, k->sent[i].each, k->sent[i].arg);

		if (k->result == DB_OK)
			k->result = result;
	}
	return k->result;
}

/* ---- ids */

static void id_met(struct op *op)
{
	if (!op)
		return;
	op->id_locked = true;
	op->may_exist = true;
}

static void order_read(void *arg, const struct db_row *row)
{
	id_met(batch_find(arg, false, row->col[0]));
}

static void movement_id_read(void *arg, const struct db_row *row)
{
	id_met(batch_find(arg, true, row->col[0]));
}

/* Looks for ids that should be new and exist: another transaction has written them and not committed, or has committed
 * by now, which the next look-up tells. */
static void ids_look(struct lane *l, struct looks *k, bool movements)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (op->writes && op_traits[op->kind].makes && op_traits[op->kind].of_movement == movements)
			values_row(&l->rows, V_TEXT(op->id));
	}
	if (l->rows.count == 0)
		return;
	look_send(k, DIRTY_READ, NULL, NULL);
	if (movements)
		look_send(k, MOVEMENT_DIRTY_READ, movement_id_read, l);
	else
		look_send(k, RESERVATION_DIRTY_READ, order_read, l);
	look_send(k, TXN_END, NULL, NULL); /* the next look is no dirty one */
}

/* ---- slots */

struct slot_seen {
	uint32_t sku_id, location_id, slot, mark;
	bool     open; /* nobody else has it locked */
};

struct slots_seen {
	struct slot_seen *list;
	size_t            count, max;
};

/* Compares by sku, location and slot; of one slot the unlocked row comes first. */
static int slot_order(const void *a, const void *b)
{
	const struct slot_seen *x = a, *y = b;

	if (x->sku_id != y->sku_id)
		return x->sku_id < y->sku_id ? -1 : 1;
	if (x->location_id != y->location_id)
		return x->location_id < y->location_id ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return y->open - x->open;
}

static void slot_read(void *arg, const struct db_row *row)
{
	struct slots_seen *s = arg;

	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct slot_seen){
		.sku_id = (uint32_t)db_int(row, 0),
		.location_id = (uint32_t)db_int(row, 1),
		.slot = (uint32_t)db_int(row, 2),
		.mark = (uint32_t)db_int(row, 3),
		.open = row->col[3] == NULL,
	};
}

static bool slots_equal(const struct slot_seen *a, const struct slot_seen *b)
{
	return a->sku_id == b->sku_id && a->location_id == b->location_id && a->slot == b->slot;
}

/* True: the row is stuck, and waiting for it is vain. A row that many write in turn may be locked at every look; it has
 * changed since the last look, and waiting for it is right. A row that somebody keeps has not changed. */
static bool slot_is_stuck(struct lane *l, const struct slot_seen *seen)
{
	uint32_t hash = seen->sku_id * UINT32_C(2654435761) ^ seen->location_id * UINT32_C(40503) ^ seen->slot * 977;
	struct stuck *at = &l->stuck[hash % STUCK];
	int64_t       now_ms = clock_ms();
	bool moves = at->sku_id == seen->sku_id && at->location_id == seen->location_id && at->slot == seen->slot &&
	             at->mark != seen->mark && now_ms - at->seen_ms < STUCK_MS;

	*at = (struct stuck){seen->sku_id, seen->location_id, seen->slot, seen->mark, now_ms};
	return !moves;
}

static void slots_judge(struct lane *l, struct slots_seen *s)
{
	if (s->count > 0)
		qsort(s->list, s->count, sizeof(s->list[0]), slot_order);
	for (size_t i = 0; i < s->count; i++) {
		const struct slot_seen *seen = &s->list[i];
		struct balance         *p = balance_find(l, seen->sku_id, seen->location_id);

		if (seen->open || (i > 0 && slots_equal(seen, seen - 1)) || !slot_is_stuck(l, seen))
			continue;
		p->own_locked |= seen->slot == l->slot;
		p->others_locked |= seen->slot != l->slot;
	}
}

static void own_read(void *arg, const struct db_row *row)
{
	struct balance *p = balance_find(arg, (uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1));

	if (p)
		p->own_locked = false;
}

static void own_slots_look(struct lane *l, struct looks *k)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		struct balance *p = &l->batch.balances[l->batch.order[i]];

		p->own_locked = p->needs != NO_SLOT && p->own_row;
		if (!p->own_locked)
			continue;
		values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id), V_INT(l->slot));
	}
	if (l->rows.count > 0)
		look_send(k, STOCK_PROBE, own_read, l);
}

/* Looks at own slots that the first look found locked, and at all slots of balances of which every slot is needed. */
static enum db_result slots_look(struct lane *l)
{
	struct slots_seen s = {0};
	enum db_result    result;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (!p->own_locked && p->needs != EVERY_SLOT)
			continue;
		p->own_locked = false;
		values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id), V_INT(p->needs == EVERY_SLOT));
	}
	if (l->rows.count == 0)
		return DB_OK;
	result = lane_ask(l, STOCK_LOOK, &(struct fill){.rows = &l->rows, .slot = l->slot}, slot_read, &s);
	if (result == DB_OK)
		slots_judge(l, &s);
	free(s.list);
	return result;
}

/* ---- how long a round waits */

static void lock_wait_set(struct lane *l, int wait_s)
{
	if (l->wait_s == wait_s || !db_connected(l->db))
		return;
	if (lane_ask(l, LANE_WAIT, &(struct fill){.wait_s = wait_s}, NULL, NULL) == DB_OK)
		l->wait_s = wait_s;
	else
		db_close(l->db);
}

/* Chooses the wait. A batch that has waited in vain does not wait again. */
void lock_wait_choose(struct lane *l)
{
	bool suspects = clock_before(&l->shared->locks_until_ms);

	for (size_t i = 0; suspects && i < l->batch.count; i++)
		l->no_wait |= l->batch.ops[i]->suspects_lock;
	lock_wait_set(l, l->no_wait ? 0 : LOCK_WAIT_S);
}

void lock_wait_drop(struct lane *l, bool drops)
{
	if (l->no_wait)
		lock_wait_set(l, drops ? 0 : LOCK_WAIT_S);
}

/* ---- who has to wait */

/* A line that deducts from the own slot or adds to it; one of no units does neither. */
static bool line_is_locked(const struct lane *l, const struct line *line, bool every)
{
	const struct balance *p = line_balance(&l->batch, line);

	return p && (every || line->granted != 0) &&
	       (p->own_locked || (p->others_locked && (every || balance_gathers(p))));
}

/* A stored line, whose slot is written. */
static bool stored_is_locked(const struct lane *l, const struct line *line, bool every)
{
	const struct balance *p = line_balance(&l->batch, line);
	bool                  foreign = line->slot != l->slot;

	return p && ((p->own_locked && !foreign) || (p->others_locked && (foreign || every)));
}

static bool op_is_locked(const struct lane *l, const struct op *op, bool sweeps)
{
	bool                      every = op_needs_every(op, sweeps);
	const struct reservation *touched = op_touches(op);

	if (op->id_locked)
		return true;
	if (!op->writes && !every)
		return false;
	for (size_t k = 0; !op_traits[op->kind].divides && k < op->lines_count; k++)
		if (line_is_locked(l, &op->lines[k], every))
			return true;
	for (size_t k = 0; touched && k < touched->lines_count; k++)
		if (op->kind == OP_CONFIRM
		            ? line_is_locked(l, &touched->lines[k], every)
		            : line_is_taken(op, &touched->lines[k]) && stored_is_locked(l, &touched->lines[k], every))
			return true;
	return false;
}

static void locked_park(struct lane *l, bool sweeps)
{
	struct batch *b = &l->batch;
	struct op    *kept[BATCH_OPS];
	size_t        count = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct op *op = b->ops[i];

		if (!op_is_locked(l, op, sweeps))
			kept[count++] = op;
	}
	if (count == b->count)
		return;
	for (size_t i = 0, k = 0; i < b->count; i++) {
		struct op *op = b->ops[i];

		op->suspects_lock = false; /* the cause is found */
		if (k < count && op == kept[k]) {
			k++;
			continue;
		}
		if (op->id_locked)
			clock_extend(&l->shared->dirty_until_ms, LOCKS_MS);
		batch_park(l, op);
	}
	assert(count < b->count);
	memcpy(b->ops, kept, count * sizeof(kept[0]));
	batch_keep(l, count);
	l->no_wait = false;
	decide(b);
}

enum db_result lane_look_out(struct lane *l)
{
	struct looks k = {.lane = l};
	bool         sweeps = false;

	lock_wait_drop(l, false);
	k.result = batch_sweeps(l, &sweeps);
	batch_needs(l, sweeps);
	for (size_t i = 0; i < l->batch.count; i++)
		l->batch.ops[i]->id_locked = false;
	if (l->no_wait || clock_before(&l->shared->dirty_until_ms)) {
		ids_look(l, &k, false);
		ids_look(l, &k, true);
	}
	own_slots_look(l, &k);
	if (looks_end(&k) == DB_OK)
		k.result = slots_look(l);
	if (k.result == DB_OK)
		locked_park(l, sweeps);
	lock_wait_drop(l, true);
	return k.result;
}

/* ---- locks that the looks do not find */

/* Makes the next round look for the locked rows. Where the looks find none, the round fails at once, and so do its
 * halves, until one operation is left that cannot have its lock. */
void lane_set_aside(struct lane *l)
{
	struct batch *b = &l->batch;

	assert(b->count > 0);
	if (db_text(l->db, "ROLLBACK", NULL, NULL) != DB_OK) {
		batch_put_back(l);
		return;
	}
	clock_extend(&l->shared->locks_until_ms, LOCKS_MS);
	if (!l->no_wait)
		log_event(LOG_WARN, "rows_locked", "writer=%lld requests=%zu", (long long)l->writer->writer_id,
		          b->count);
	for (size_t i = 0; !l->no_wait && i < b->count; i++)
		b->ops[i]->suspects_lock = true;
	if (l->no_wait && b->count > 1)
		l->limit = b->count / 2;
	if (l->no_wait && b->count == 1) {
		b->ops[0]->tried_alone = true;
		batch_park(l, b->ops[0]);
		b->count = 0;
	}
	batch_put_back(l);
}
