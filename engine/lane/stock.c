/* stock.c - what is done to slots: gather, give back, add, deduct, settle. */
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/catalogue.h"
#include "engine/db/db.h"
#include "engine/db/guard.h"
#include "engine/db/statement.h"
#include "engine/engine.h"
#include "engine/lane/decide.h"
#include "engine/lane/lane.h"
#include "engine/rows.h"

#include <stdlib.h>

/* ---- gather */

/* Rows of (sku, location, need) for the balances that `all` or that the own slot cannot serve; makes own rows where
 * there are none. */
static enum db_result gather_prepare(struct lane *l, bool all)
{
	struct batch *b = &l->batch;

	text_reset(&l->rows);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		p->gathers = p->take > p->own + p->add && p->take <= p->total + p->add;
		if (!p->own_row && (p->gathers || (all && p->take > 0))) {
			row_begin(&l->rows);
			row_int(&l->rows, p->sku_id);
			row_int(&l->rows, p->location_id);
			row_int(&l->rows, l->slot);
			row_int(&l->rows, 0);
			row_int(&l->rows, 0);
			row_end(&l->rows);
			p->own_row = true;
		}
	}
	if (l->rows.len == 0)
		return DB_OK;
	return lane_ask(l, SLOT_MAKE, &(struct fill){.rows = &l->rows}, NULL, NULL);
}

/* Into l->rows; false: there are none. */
static bool gather_rows(struct lane *l, bool all)
{
	struct batch *b = &l->batch;

	text_reset(&l->rows);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		if (!p->gathers && !all)
			continue;
		row_begin(&l->rows);
		row_int(&l->rows, p->sku_id);
		row_int(&l->rows, p->location_id);
		row_int(&l->rows, p->take > p->add ? p->take - p->add : 0);
		row_end(&l->rows);
	}
	return l->rows.len > 0;
}

static void gather_run(struct lane *l)
{
	lane_run(l, STOCK_GATHER, &(struct fill){.rows = &l->rows, .slot = l->slot});
	if (lane_goes_on(l))
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
	return result == DB_OK && verdict == VERDICT_DONE ? balances_load(l, WANTED) : result;
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

/* Rows of (sku, location, slot, units of available, units of reserved): the statement says which way they go. */
static void shares_rows(struct text *rows, const struct shares *s, enum statement name)
{
	for (size_t i = 0; i < s->count; i++) {
		row_begin(rows);
		row_int(rows, s->list[i].sku_id);
		row_int(rows, s->list[i].location_id);
		row_int(rows, s->list[i].slot);
		row_int(rows, name == STOCK_GIVE_BACK ? s->list[i].qty : 0);
		row_int(rows, s->list[i].qty);
		row_end(rows);
	}
}

static void shares_write(struct text *sql, const struct shares *s, enum statement name, int verdict)
{
	struct text rows = {0};

	shares_rows(&rows, s, name);
	if (s->count > 0) {
		statement_add(sql, name, &(struct fill){.rows = &rows});
		guard_expect(sql, 2 * (int64_t)s->count, verdict);
	}
	text_fini(&rows);
}

static struct shares shares_of_all(struct reservation **list, size_t count)
{
	struct shares s = {0};

	for (size_t i = 0; i < count; i++)
		shares_of(&s, list[i]);
	shares_sum(&s);
	return s;
}

void stock_give_back(struct text *sql, struct reservation **list, size_t count, int verdict)
{
	struct shares s = shares_of_all(list, count);

	shares_write(sql, &s, STOCK_GIVE_BACK, verdict);
	free(s.list);
}

static void settlement_header(struct text *rows, const struct settlement *settlement)
{
	static const uint8_t no_hash[16];
	struct text          id = {0}, reference = {0};

	text_format(&id, "settlement/%llu/%llu", (unsigned long long)settlement->task_id,
	            (unsigned long long)settlement->part);
	text_format(&reference, "%llu", (unsigned long long)settlement->task_id);
	row_begin(rows);
	row_int(rows, (int64_t)settlement->movement_no);
	row_hex(rows, id.data, id.len);
	row_int(rows, SETTLEMENT);
	row_hex(rows, no_hash, sizeof(no_hash));
	row_t(rows);
	row_null(rows);
	row_hex(rows, reference.data, reference.len);
	row_end(rows);
	text_fini(&id);
	text_fini(&reference);
}

void stock_settle(struct text *sql, struct reservation **list, size_t count, const struct settlement *settlement,
                  int verdict)
{
	struct shares s = shares_of_all(list, count);
	struct text   rows = {0};

	shares_write(sql, &s, STOCK_SETTLE, verdict);
	settlement_header(&rows, settlement);
	statement_add(sql, MOVEMENT_ADD, &(struct fill){.rows = &rows});
	text_reset(&rows);
	for (size_t i = 0; i < s.count; i++) {
		row_begin(&rows);
		row_int(&rows, (int64_t)settlement->movement_no);
		row_int(&rows, s.list[i].sku_id);
		row_int(&rows, s.list[i].location_id);
		row_int(&rows, s.list[i].slot);
		row_int(&rows, -s.list[i].qty);
		row_end(&rows);
	}
	statement_add(sql, MOVEMENT_LINE_ADD, &(struct fill){.rows = &rows});
	text_fini(&rows);
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
	text_reset(&l->rows);
	for (size_t i = 0; i < all.count; i++) {
		row_begin(&l->rows);
		row_int(&l->rows, all.list[i].sku_id);
		row_int(&l->rows, all.list[i].location_id);
		row_int(&l->rows, all.list[i].slot);
		row_end(&l->rows);
	}
	lane_run(l, STOCK_LOCK, &(struct fill){.rows = &l->rows});
	free(all.list);
}

static int64_t add_rows(struct lane *l, struct text *skus)
{
	int64_t count = 0;

	text_reset(&l->rows);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (p->add == 0)
			continue;
		row_begin(&l->rows);
		row_int(&l->rows, p->sku_id);
		row_int(&l->rows, p->location_id);
		row_int(&l->rows, l->slot);
		row_int(&l->rows, p->add);
		row_int(&l->rows, 0);
		row_end(&l->rows);
		row_int(skus, p->sku_id);
		count++;
	}
	return count;
}

static void over_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 0) > 0;
}

static void adds_write(struct lane *l)
{
	struct text skus = {0};
	bool        over = false;

	if (add_rows(l, &skus) > 0) {
		lane_run(l, STOCK_ADD, &(struct fill){.rows = &l->rows});
		lane_read(l, STOCK_OVER_LIMIT, &(struct fill){.rows = &skus, .count = LIMIT_NEAR}, over_read, &over);
		if (over)
			lane_refuse(l, VERDICT_LIMIT);
	}
	text_fini(&skus);
}

static void take_one(struct lane *l, const struct balance *p)
{
	db_values_begin(&l->values, 6);
	db_values_int(&l->values, p->take);
	db_values_int(&l->values, p->hold);
	db_values_int(&l->values, p->sku_id);
	db_values_int(&l->values, p->location_id);
	db_values_int(&l->values, l->slot);
	db_values_int(&l->values, p->take);
	lane_execute(l, STOCK_DEDUCT_ONE);
}

static void takes_write(struct lane *l)
{
	const struct balance *last = NULL;
	int64_t               count = 0;

	text_reset(&l->rows);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (p->take == 0)
			continue;
		row_begin(&l->rows);
		row_int(&l->rows, p->sku_id);
		row_int(&l->rows, p->location_id);
		row_int(&l->rows, p->take);
		row_int(&l->rows, p->hold);
		row_end(&l->rows);
		last = p;
		count++;
	}
	if (count == 0)
		return;
	if (count == 1)
		take_one(l, last);
	else
		lane_run(l, STOCK_DEDUCT, &(struct fill){.rows = &l->rows, .slot = l->slot});
	lane_expect(l, 2 * count, VERDICT_SHORT);
}

static void given_write(struct lane *l, const struct shares *given)
{
	if (given->count == 0)
		return;
	text_reset(&l->rows);
	shares_rows(&l->rows, given, STOCK_GIVE_BACK);
	lane_run(l, STOCK_GIVE_BACK, &(struct fill){.rows = &l->rows});
	lane_expect(l, 2 * (int64_t)given->count, VERDICT_STATE);
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
	given_write(l, &given);
	adds_write(l);
	takes_write(l);
	free(given.list);
}
