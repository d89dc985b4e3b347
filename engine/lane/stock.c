/* stock.c - see stock.h. */
#include "engine/lane/stock.h"
#include "engine/lane/balance.h"
#include "engine/lane/fence.h"
#include "engine/shares.h"

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
		atomic_fetch_add(&l->shared->metrics.gathers, 1);
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
