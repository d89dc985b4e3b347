/* stock.c - what is done to slots: gather, give back, add, deduct, settle. */
#include "engine/base/memory.h"
#include "engine/lane/lane.h"

#include <stdlib.h>

/* (sku, location, slot, units of available, units of reserved): the statement says which way they go. */
void stock_row(struct values *rows, uint32_t sku_id, uint32_t location_id, unsigned slot, int64_t available,
               int64_t reserved)
{
	values_int(rows, sku_id);
	values_int(rows, location_id);
	values_int(rows, slot);
	values_int(rows, available);
	values_int(rows, reserved);
}

/* ---- gather */

/* Rows of (sku, location, need) for the balances that `all` or that the own slot cannot serve; makes own rows where
 * there are none. */
static enum db_result gather_prepare(struct lane *l, bool all)
{
	struct batch *b = &l->batch;

	values_begin(&l->rows, 5);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		p->gathers = p->take > p->own + p->add && p->take <= p->total + p->add;
		if (!p->own_row && (p->gathers || (all && p->take > 0))) {
			stock_row(&l->rows, p->sku_id, p->location_id, l->slot, 0, 0);
			p->own_row = true;
		}
	}
	if (l->rows.count == 0)
		return DB_OK;
	return lane_ask(l, SLOT_MAKE, &(struct fill){.rows = &l->rows}, NULL, NULL);
}

/* Into l->rows; false: there are none. */
static bool gather_rows(struct lane *l, bool all)
{
	struct batch *b = &l->batch;

	values_begin(&l->rows, 3);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		if (!p->gathers && !all)
			continue;
		values_int(&l->rows, p->sku_id);
		values_int(&l->rows, p->location_id);
		values_int(&l->rows, p->take > p->add ? p->take - p->add : 0);
	}
	return l->rows.count > 0;
}

static void gather_run(struct lane *l)
{
	txn_run(&l->txn, STOCK_GATHER, &(struct fill){.rows = &l->rows, .slot = l->slot});
	if (txn_goes_on(&l->txn))
		atomic_fetch_add(&l->engine->figures.gathers, 1);
}

enum db_result stock_gather(struct lane *l, bool commits)
{
	struct batch    *b = &l->batch;
	enum txn_verdict verdict;
	int64_t          now;
	enum db_result   result = gather_prepare(l, !commits);

	if (result != DB_OK || !commits || !gather_rows(l, false))
		return result;
	lane_begin(l, READ_COMMITTED);
	gather_run(l);
	result = lane_commit(l, &verdict, &now);
	for (size_t i = 0; i < b->balances_count; i++)
		b->balances[i].known &= !b->balances[i].gathers;
	return result == DB_OK && verdict == TXN_DONE ? balances_load(l, WANTED) : result;
}

/* ---- what the batch writes to slots */

struct share { /* units of one slot row */
	uint32_t sku_id, location_id;
	uint16_t slot;
	int64_t  qty;
};

struct shares {
	struct share *list;
	size_t        count, max;
};

static void share_add(struct shares *s, uint32_t sku_id, uint32_t location_id, uint16_t slot, int64_t qty)
{
	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct share){sku_id, location_id, slot, qty};
}

static int share_order(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->sku_id != y->sku_id)
		return x->sku_id < y->sku_id ? -1 : 1;
	if (x->location_id != y->location_id)
		return x->location_id < y->location_id ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* In the order of locks, one for each slot row: an upsert that met the same row twice would count two rows. */
static void shares_sum(struct shares *s)
{
	size_t kept = 0;

	if (s->count > 0)
		qsort(s->list, s->count, sizeof(s->list[0]), share_order);
	for (size_t i = 0; i < s->count; i++) {
		if (kept > 0 && share_order(&s->list[kept - 1], &s->list[i]) == 0)
			s->list[kept - 1].qty += s->list[i].qty;
		else
			s->list[kept++] = s->list[i];
	}
	s->count = kept;
}

static void shares_of(struct shares *s, const struct reservation *r)
{
	for (size_t k = 0; k < r->lines_count; k++)
		share_add(s, sku_id(r->lines[k].sku), r->lines[k].location->location_id, r->lines[k].slot,
		          r->lines[k].qty);
}

/* The units of these slots go the way of the statement, or `verdict` where a slot has them not. */
static void shares_write(struct txn *t, struct values *rows, const struct shares *s, enum statement name,
                         enum txn_verdict verdict)
{
	if (s->count == 0)
		return;
	values_begin(rows, 5);
	for (size_t i = 0; i < s->count; i++)
		stock_row(rows, s->list[i].sku_id, s->list[i].location_id, s->list[i].slot,
		          name == STOCK_GIVE_BACK ? s->list[i].qty : 0, s->list[i].qty);
	txn_run(t, name, &(struct fill){.rows = rows});
	txn_expect(t, 2 * s->count, verdict);
}

static struct shares shares_of_all(struct reservation **list, size_t count)
{
	struct shares s = {0};

	for (size_t i = 0; i < count; i++)
		shares_of(&s, list[i]);
	shares_sum(&s);
	return s;
}

void stock_give_back(struct txn *t, struct reservation **list, size_t count)
{
	struct shares s = shares_of_all(list, count);
	struct values rows = {0};

	shares_write(t, &rows, &s, STOCK_GIVE_BACK, TXN_MISPLACED);
	values_fini(&rows);
	free(s.list);
}

static void settlement_movement(struct txn *t, const struct settlement *settlement)
{
	static const uint8_t no_hash[16];
	struct text          id = {0}, reference = {0};
	struct values        rows = {.columns = 7};

	text_format(&id, "settlement/%llu/%llu", (unsigned long long)settlement->task_id,
	            (unsigned long long)settlement->part);
	text_format(&reference, "%llu", (unsigned long long)settlement->task_id);
	values_int(&rows, (int64_t)settlement->movement_no);
	values_bytes(&rows, id.data, id.len);
	values_int(&rows, SETTLEMENT);
	values_bytes(&rows, no_hash, sizeof(no_hash));
	values_now(&rows);
	values_text(&rows, NULL);
	values_bytes(&rows, reference.data, reference.len);
	txn_run(t, MOVEMENT_ADD, &(struct fill){.rows = &rows});
	values_fini(&rows);
	text_fini(&id);
	text_fini(&reference);
}

void stock_settle(struct txn *t, struct reservation **list, size_t count, const struct settlement *settlement)
{
	struct shares s = shares_of_all(list, count);
	struct values rows = {0};

	shares_write(t, &rows, &s, STOCK_SETTLE, TXN_MISPLACED);
	settlement_movement(t, settlement);
	values_begin(&rows, 5);
	for (size_t i = 0; i < s.count; i++) {
		values_int(&rows, (int64_t)settlement->movement_no);
		values_int(&rows, s.list[i].sku_id);
		values_int(&rows, s.list[i].location_id);
		values_int(&rows, s.list[i].slot);
		values_int(&rows, -s.list[i].qty);
	}
	txn_run(t, MOVEMENT_LINE_ADD, &(struct fill){.rows = &rows});
	values_fini(&rows);
	free(s.list);
}

static void slots_lock(struct lane *l, const struct shares *given)
{
	struct shares all = {0};

	for (size_t i = 0; i < given->count; i++)
		share_add(&all, given->list[i].sku_id, given->list[i].location_id, given->list[i].slot, 0);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[i];

		if (p->take > 0 || p->add > 0)
			share_add(&all, p->sku_id, p->location_id, (uint16_t)l->slot, 0);
	}
	shares_sum(&all);
	values_begin(&l->rows, 3);
	for (size_t i = 0; i < all.count; i++) {
		values_int(&l->rows, all.list[i].sku_id);
		values_int(&l->rows, all.list[i].location_id);
		values_int(&l->rows, all.list[i].slot);
	}
	txn_run(&l->txn, STOCK_LOCK, &(struct fill){.rows = &l->rows});
	free(all.list);
}

static void over_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 0) > 0;
}

static void adds_write(struct lane *l)
{
	struct values skus = {.columns = 1};
	bool          over = false;

	values_begin(&l->rows, 5);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (p->add > 0) {
			stock_row(&l->rows, p->sku_id, p->location_id, l->slot, p->add, 0);
			values_int(&skus, p->sku_id);
		}
	}
	if (skus.count > 0) {
		txn_run(&l->txn, STOCK_ADD, &(struct fill){.rows = &l->rows});
		txn_read(&l->txn, STOCK_OVER_LIMIT, &(struct fill){.rows = &skus, .total_max = LIMIT_NEAR}, over_read,
		         &over);
		if (over)
			txn_refuse(&l->txn, TXN_LIMIT);
	}
	values_fini(&skus);
}

static void takes_write(struct lane *l)
{
	values_begin(&l->rows, 6);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (p->take == 0)
			continue;
		values_int(&l->rows, p->take);
		values_int(&l->rows, p->hold);
		values_int(&l->rows, p->sku_id);
		values_int(&l->rows, p->location_id);
		values_int(&l->rows, l->slot);
		values_int(&l->rows, p->take);
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, STOCK_DEDUCT, &(struct fill){.rows = &l->rows});
	txn_expect(&l->txn, values_rows(&l->rows), TXN_SHORT);
}

void stock_write(struct lane *l, bool gather)
{
	struct shares given = {0};
	bool          adds = false, takes = false;

	for (size_t i = 0; i < l->batch.count; i++)
		if (l->batch.ops[i]->writes && l->batch.ops[i]->kind == OP_RELEASE)
			shares_of(&given, l->batch.ops[i]->found);
	shares_sum(&given);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		adds |= l->batch.balances[i].add > 0;
		takes |= l->batch.balances[i].take > 0;
	}
	if (gather && gather_rows(l, true))
		gather_run(l);
	else if ((given.count > 0) + adds + takes > 1)
		slots_lock(l, &given);
	shares_write(&l->txn, &l->rows, &given, STOCK_GIVE_BACK, TXN_MOVED);
	adds_write(l);
	takes_write(l);
	free(given.list);
}
