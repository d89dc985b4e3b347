/* blocked.c - see blocked.h. A lane that has waited for a row in vain makes all lanes suspect locks for a while. They
 * look at the rows of a batch without waiting before the batch writes, park the operations with locked rows, and go on
 * with the others. What they look at is what one lock would keep many operations from: the kinds of `row_kinds`. Any
 * other lock (the row of an order, a gap, a new code, a table) is found by halving, in rounds that wait for no lock.
 * Each part is there for a test that fails without it; docs/developer.md says which. */
#include "engine/lane/blocked.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/lane/balance.h"
#include "engine/lane/certain.h"
#include "engine/lane/decide.h"
#include "engine/lane/intake.h"
#include "engine/write/fence.h"

enum { STUCK = 1 << 12, CUSTOMER = 1 << 16 /* beyond every slot */ };

/* A slot that was found locked, or the row of a customer, and a mark of its contents then. The table is direct-mapped:
 * a row that was pushed out counts as new. */
struct stuck {
	uint32_t sku_id, location_id; /* of a customer's row a hash of the customer .. */
	uint32_t slot, mark;          /* .. and CUSTOMER */
	int64_t  seen_ms;             /* clock_ms; 0: free place */
};

struct blocked {
	struct stuck stuck[STUCK];
	bool         sweeps; /* expired holds will be given back, because an operation of the batch falls short */
};

void blocked_open(struct lane *l)
{
	l->blocked = mem_alloc(sizeof(*l->blocked));
}

void blocked_close(struct lane *l)
{
	free(l->blocked);
}

/* ---- which slots a batch needs */

/* False: the slot of this stored line stays as it is, because a split takes units of other lines. */
static bool line_is_taken(const struct op *op, const struct line *stored)
{
	return !op_trait(op)->divides || line_like(op->lines, op->lines_count, stored);
}

/* True: the operation needs every slot. A refused operation does where expired holds are given back first. */
static bool op_needs_every(const struct lane *l, const struct op *op)
{
	return (op->writes && op->exclusive) || (l->blocked->sweeps && op_is_refused(op));
}

/* A line of the operation, or a stored line that takes its units again, needs the slots that its units leave or enter;
 * any other stored line needs the slot that it names. */
static enum slots line_needs(const struct lane *l, const struct op *op, const struct line *line, bool stored)
{
	const struct balance *p = line_balance(&l->batch, line);

	if (!p || !line_is_taken(op, line))
		return NO_SLOT;
	if (op_needs_every(l, op))
		return EVERY_SLOT;
	if (!op->writes)
		return NO_SLOT;
	if (stored && op->kind != OP_CONFIRM)
		return line->slot == l->slot ? OWN_SLOT : OTHER_SLOTS;
	if (line->granted == 0 || (p->take == 0 && p->add == 0))
		return NO_SLOT;
	return balance_gathers(p) || balance_is_shared(p) ? EVERY_SLOT : OWN_SLOT;
}

/* Notes what the lines need (`notes`), or says whether another program has locked any of it. */
static bool lines_walk(struct lane *l, const struct op *op, const struct line *lines, size_t count, bool stored,
                       bool notes)
{
	bool locked = false;

	for (size_t k = 0; k < count; k++) {
		enum slots      needs = line_needs(l, op, &lines[k], stored);
		struct balance *p = needs != NO_SLOT ? line_balance(&l->batch, &lines[k]) : NULL;

		assert(notes || !p || (needs & ~p->needs) == 0); /* the slot was looked at */
		if (p && notes)
			p->needs |= needs;
		locked |= p && (p->locked & needs);
	}
	return locked;
}

static bool slots_walk(struct lane *l, const struct op *op, bool notes)
{
	const struct reservation *touched = op_touches(op);
	bool                      divides = op_trait(op)->divides;
	bool                      locked = lines_walk(l, op, op->lines, divides ? 0 : op->lines_count, false, notes);

	return (touched && lines_walk(l, op, touched->lines, touched->lines_count, true, notes)) || locked;
}

static void flag_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 0) != 0;
}

static enum db_result batch_needs(struct lane *l)
{
	struct batch  *b = &l->batch;
	enum db_result result = DB_OK;
	bool           refuses = false;

	for (size_t i = 0; i < b->count; i++)
		refuses |= op_is_refused(b->ops[i]);
	l->blocked->sweeps = false;
	if (refuses)
		result = lane_ask(l, EXPIRED_EXISTS, &(struct fill){.writer = l->writer->writer_id}, flag_read,
		                  &l->blocked->sweeps);
	for (size_t i = 0; i < b->balances_count; i++)
		b->balances[i].needs = b->balances[i].locked = NO_SLOT;
	for (size_t i = 0; i < b->count; i++) {
		b->ops[i]->row_locked = false;
		slots_walk(l, b->ops[i], true);
	}
	return result;
}

/* ---- ids: what should be new and exists, another transaction has written and not committed, or has committed by now,
 * which the next look-up tells */

static void ids_list(struct lane *l, bool movements)
{
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (op->writes && op_trait(op)->makes && op_trait(op)->of_movement == movements)
			values_row(&l->rows, V_TEXT(op->id));
	}
}

static void id_met(struct lane *l, bool movement, const char *id)
{
	struct op *op = batch_find(&l->batch, movement, id);

	if (!op)
		return;
	op->row_locked = op->may_exist = true;
	clock_extend(&l->shared->dirty_until_ms, LOCKS_MS);
}

static void order_ids_list(struct lane *l)
{
	ids_list(l, false);
}

static void order_id_met(void *lane, const struct db_row *row)
{
	id_met(lane, false, db_word(row, 0));
}

static void movement_ids_list(struct lane *l)
{
	ids_list(l, true);
}

static void movement_id_met(void *lane, const struct db_row *row)
{
	id_met(lane, true, db_word(row, 0));
}

/* ---- slots */

static void slots_list(struct lane *l)
{
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (p->needs != NO_SLOT)
			values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id),
			           V_INT((p->needs & OTHER_SLOTS) != 0));
	}
}

/* True: the row is stuck, and waiting for it is vain. A row that many write in turn may be locked at every look; it has
 * changed since the last look, and waiting for it is right. A row that another transaction keeps has not changed. */
static bool row_is_stuck(struct lane *l, const struct stuck *seen)
{
	uint32_t hash = seen->sku_id * UINT32_C(2654435761) ^ seen->location_id * UINT32_C(40503) ^ seen->slot * 977;
	struct stuck *at = &l->blocked->stuck[hash % STUCK];
	bool moves = at->sku_id == seen->sku_id && at->location_id == seen->location_id && at->slot == seen->slot &&
	             at->mark != seen->mark && seen->seen_ms - at->seen_ms < STUCK_MS;

	*at = *seen;
	return !moves;
}

static void slot_met(void *lane, const struct db_row *row)
{
	struct lane    *l = lane;
	struct stuck    seen = {.sku_id = (uint32_t)db_int(row, 0),
	                        .location_id = (uint32_t)db_int(row, 1),
	                        .slot = (uint32_t)db_int(row, 2),
	                        .mark = (uint32_t)db_int(row, 3),
	                        .seen_ms = clock_ms()};
	struct balance *p = balance_find(l, seen.sku_id, seen.location_id);

	if (p && row_is_stuck(l, &seen))
		p->locked |= seen.slot == l->slot ? OWN_SLOT : OTHER_SLOTS;
}

/* ---- customers */

static void customers_list(struct lane *l)
{
	struct shares all = {0};

	batch_gives(&l->batch, &all);
	for (size_t i = 0; i < all.customers.count; i++)
		values_row(&l->rows, V_TEXT(all.customers.list[i].customer), V_INT(all.customers.list[i].sku_id));
	shares_fini(&all);
}

/* True: the operation raises or lowers this row. */
static bool op_has_row(const struct lane *l, const struct op *op, const char *customer, uint32_t sku_id)
{
	struct shares mine = {0};
	bool          has = false;

	op_gives(op, &l->batch, &mine);
	for (size_t i = 0; i < mine.customers.count; i++)
		has |= mine.customers.list[i].sku_id == sku_id &&
		       strcmp(mine.customers.list[i].customer, customer) == 0;
	shares_fini(&mine);
	return has;
}

static void customer_met(void *lane, const struct db_row *row)
{
	struct lane *l = lane;
	struct stuck seen = {.sku_id = (uint32_t)db_int(row, 1),
	                     .location_id = (uint32_t)hash_bytes(db_word(row, 0), row->len[0]),
	                     .slot = CUSTOMER,
	                     .mark = (uint32_t)db_int(row, 2),
	                     .seen_ms = clock_ms()};

	if (!row_is_stuck(l, &seen))
		return;
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		op->row_locked |= op->writes && op_has_row(l, op, db_word(row, 0), seen.sku_id);
	}
}

/* ---- the looks */

/* The kinds of rows that an operation may have to wait for. */
static const struct row_kind {
	void (*list)(struct lane *l); /* fills l->rows with those of the batch; none: no look */
	enum statement look;
	void (*met)(void *lane, const struct db_row *row); /* by a row of the answer; sets row_locked of operations */
	bool uncommitted; /* the look reads what is not committed, and is made where that is suspected */
} row_kinds[] = {
	{order_ids_list, RESERVATION_DIRTY_READ, order_id_met, true},
	{movement_ids_list, MOVEMENT_DIRTY_READ, movement_id_met, true},
	{customers_list, CUSTOMER_LOOK, customer_met, false},
	{slots_list, STOCK_LOOK, slot_met, false}, /* the last: nothing waits behind its many rows */
};

struct looks {
	struct lane   *lane;
	enum db_result result;
	size_t         count;
	void (*met[3 * LENGTH(row_kinds)])(void *lane, const struct db_row *row); /* of each statement that was sent */
};
_Static_assert(3 * LENGTH(row_kinds) <= DB_AHEAD, "all looks fit into one trip");

static void look_send(struct looks *k, enum statement name, void (*met)(void *lane, const struct db_row *row))
{
	struct lane *l = k->lane;

	assert(k->count < LENGTH(k->met));
	if (k->result != DB_OK)
		return;
	text_reset(&l->txn.sql);
	statement_add(&l->txn.sql, name, &(struct fill){.rows = &l->rows, .slot = l->slot});
	k->result = db_send(l->db, l->txn.sql.data, statements[name].columns);
	if (k->result == DB_OK)
		k->met[k->count++] = met;
}

static void looks_end(struct looks *k)
{
	outbox_send(&k->lane->outbox);
	for (size_t i = 0; i < k->count; i++) {
		enum db_result result = db_answer(k->lane->db, k->met[i], k->lane);

		if (k->result == DB_OK)
			k->result = result;
	}
	k->count = 0;
}

static void kind_look(struct looks *k, const struct row_kind *kind)
{
	struct lane *l = k->lane;

	if (kind->uncommitted && !l->no_wait && !clock_before(&l->shared->dirty_until_ms))
		return;
	values_reset(&l->rows);
	kind->list(l);
	if (l->rows.count == 0)
		return;
	if (kind->uncommitted)
		look_send(k, DIRTY_READ, NULL);
	look_send(k, kind->look, kind->met);
	look_send(k, TXN_END, NULL);
}

/* ---- how long a round waits */

static void lock_wait_set(struct lane *l, int wait_s)
{
	assert(wait_s == 0 || wait_s == LOCK_WAIT_S);
	if (l->wait_s == wait_s || !db_connected(l->db))
		return;
	if (lane_ask(l, LOCK_WAIT, &(struct fill){.wait_s = wait_s}, NULL, NULL) == DB_OK)
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

/* ---- the operations that have to wait */

static bool is_locked(struct lane *l, const struct op *op)
{
	return op->row_locked || slots_walk(l, op, false);
}

static void locked_park(struct lane *l)
{
	if (!batch_park_where(l, is_locked))
		return;
	for (size_t i = 0; i < l->batch.count; i++)
		l->batch.ops[i]->suspects_lock = false; /* others were the cause */
	l->no_wait = false;
	decide(&l->batch);
}

enum db_result lane_look_out(struct lane *l)
{
	struct looks k = {.lane = l};

	lock_wait_drop(l, false);
	k.result = batch_needs(l);
	for (size_t i = 0; i < LENGTH(row_kinds); i++)
		kind_look(&k, &row_kinds[i]);
	looks_end(&k);
	if (k.result == DB_OK)
		locked_park(l);
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
		l->batch_max = b->count / 2;
	if (l->no_wait && op_unit(b->ops, b->count) == b->count) {
		for (size_t i = 0; i < b->count; i++)
			b->ops[i]->tried_alone = true;
		batch_park(l, b->ops, b->count);
		b->count = 0;
	}
	batch_put_back(l);
}
