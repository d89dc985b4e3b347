/* stock.c - see stock.h. */
#include "engine/write/stock.h"
#include "engine/catalogue/catalogue.h"
#include "engine/write/customers.h"
#include "engine/write/fence.h"
#include "engine/promise/shares.h"

/* ---- gather */

/* Marks the balances that the own slot cannot serve, and makes own rows where they have none; `all`: also for every
 * other balance that units leave. */
static enum db_result gather_prepare(struct lane *l, bool all)
{
	struct batch *b = &l->batch;

	values_reset(&l->rows);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		p->gathers = balance_gathers(p) && p->take <= p->total + p->add;
		if (!p->own_row && (p->gathers || (all && p->take > 0))) {
			values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id), V_INT(l->slot), V_INT(0),
			           V_INT(0));
			p->own_row = true;
		}
	}
	if (l->rows.count == 0)
		return DB_OK;
	return lane_ask(l, SLOT_MAKE, &(struct fill){.rows = &l->rows}, NULL, NULL);
}

/* Lists the gathers, or all balances, in l->rows: (sku, location, need). false: there are none. */
static bool gather_rows(struct lane *l, bool all)
{
	struct batch *b = &l->batch;

	values_reset(&l->rows);
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[b->order[i]];

		if (!p->gathers && !all)
			continue;
		values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id),
		           V_INT(p->take > p->add ? p->take - p->add : 0));
	}
	return l->rows.count > 0;
}

static void gather_run(struct lane *l)
{
	txn_run(&l->txn, STOCK_GATHER, &(struct fill){.rows = &l->rows, .slot = l->slot});
	if (txn_goes_on(&l->txn))
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
	lane_begin(l, READ_COMMITTED, false);
	gather_run(l);
	result = lane_commit(l, &verdict, &now);
	for (size_t i = 0; i < b->balances_count; i++)
		b->balances[i].known &= !b->balances[i].gathers;
	return result;
}

/* ---- the batch's writes to slots */

static void slots_lock(struct lane *l, const struct shares *given)
{
	struct shares all = {0};

	for (size_t i = 0; i < given->count; i++)
		share_add(&all, given->list[i].sku_id, given->list[i].location_id, given->list[i].slot, 0, 0);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[i];

		if (p->take > 0 || p->add > 0)
			share_add(&all, p->sku_id, p->location_id, (uint16_t)l->slot, 0, 0);
	}
	shares_sum(&all);
	assert(all.count > 0); /* stock_write saw two of: given, adds, takes */
	values_reset(&l->rows);
	for (size_t i = 0; i < all.count; i++) {
		values_row(&l->rows, V_INT(all.list[i].sku_id), V_INT(all.list[i].location_id),
		           V_INT(all.list[i].slot));
	}
	txn_run(&l->txn, STOCK_LOCK, &(struct fill){.rows = &l->rows});
	shares_fini(&all);
}

static void adds_write(struct lane *l)
{
	struct values skus = {0};
	int64_t       over = 0;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[l->batch.order[i]];

		if (p->add > 0) {
			values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id), V_INT(l->slot), V_INT(p->add),
			           V_INT(0));
			values_row(&skus, V_INT(p->sku_id));
		}
	}
	assert(skus.count > 0);
	txn_run(&l->txn, STOCK_ADD, &(struct fill){.rows = &l->rows});
	txn_read(&l->txn, STOCK_OVER_LIMIT, &(struct fill){.rows = &skus, .total_max = LIMIT_NEAR}, db_ints, &over);
	if (over > 0)
		txn_refuse(&l->txn, TXN_LIMIT);
	values_fini(&skus);
}

void stock_deduct(struct lane *l)
{
	const size_t   slots = l->rows.rows;
	enum statement name = STOCK_DEDUCT;

	assert(slots > 0 && l->rows.columns == 5);
	if (slots > 1) {
		name = STOCK_DEDUCT_MANY;
		text_reset(&l->wanted);
		values_json(&l->rows, &l->wanted);
		values_reset(&l->rows);
		values_row(&l->rows, V_BYTES(l->wanted.data, l->wanted.len));
	}
	txn_run(&l->txn, name, &(struct fill){.rows = &l->rows});
	txn_expect(&l->txn, 2 * slots, TXN_SHORT);
}

static void waited_read(void *arg, const struct db_row *row)
{
	(void)row;
	txn_refuse(arg, TXN_SHORT);
}

/* The guards of locations with a queue: reservations take no units for which another order waits. If none is known to
 * wait, none may wait; otherwise enough has to be left for the queue. */
static void waited_look(struct lane *l)
{
	for (int shared = 0; shared <= 1; shared++) {
		values_reset(&l->rows);
		for (size_t i = 0; i < l->batch.balances_count; i++) {
			const struct balance *p = &l->batch.balances[l->batch.order[i]];

			if (!p->waits_at || p->hold <= p->moved || balance_is_shared(p) != shared)
				continue;
			if (shared)
				values_row(&l->rows, V_INT(p->sku_id), V_INT(p->location_id), V_INT(p->waits_at));
			else
				values_row(&l->rows, V_INT(p->sku_id), V_INT(p->waits_at));
		}
		if (l->rows.count > 0)
			txn_look(&l->txn, shared ? STOCK_KEPT : STOCK_WAITED, &(struct fill){.rows = &l->rows},
			         waited_read, &l->txn);
	}
}

/* ---- units beside those that are kept for a queue */

struct places {
	struct shares all;
	uint32_t      sku_id;
};

static void place_add(void *arg, uint32_t location_id)
{
	struct places *in = arg;

	share_add(&in->all, in->sku_id, location_id, 0, 0, 0);
}

/* Where units of a sku are locked together: wherever the batch has some, and wherever the queue finds some first. */
static void places_of_sku(struct lane *l, struct places *in, size_t from, size_t end)
{
	const struct batch *b = &l->batch;
	bool                any = false;

	in->sku_id = b->balances[b->order[from]].sku_id;
	for (size_t i = from; i < end; i++)
		any |= balance_is_shared(&b->balances[b->order[i]]);
	for (size_t i = from; any && i < end; i++) {
		const struct balance *p = &b->balances[b->order[i]];

		place_add(in, p->location_id);
		if (balance_is_shared(p))
			catalogue_sellers(l->catalogue, p->waits_at, p->location_id, place_add, in);
	}
}

/* Locks every slot from which units may leave that a queue finds. So no two transactions take the last units beside it,
 * and none takes units by a look that was before an order waited. */
static void shared_lock(struct lane *l)
{
	struct batch *b = &l->batch;
	struct places in = {.sku_id = 0};

	for (size_t from = 0, end; from < b->balances_count; from = end) {
		for (end = from + 1; end < b->balances_count; end++)
			if (b->balances[b->order[end]].sku_id != b->balances[b->order[from]].sku_id)
				break;
		places_of_sku(l, &in, from, end);
	}
	shares_sum(&in.all);
	values_reset(&l->rows);
	for (size_t i = 0; i < in.all.count; i++)
		values_row(&l->rows, V_INT(in.all.list[i].sku_id), V_INT(in.all.list[i].location_id));
	if (l->rows.count > 0) {
		txn_run(&l->txn, SLOTS_TOUCH, &(struct fill){.rows = &l->rows});
		txn_run(&l->txn, SLOTS_UNTOUCH, &(struct fill){.rows = &l->rows});
	}
	shares_fini(&in.all);
}

static void takes_write(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		const struct balance *p = &l->batch.balances[l->batch.order[i]];

		assert(p->take >= 0 && p->hold >= 0 && p->hold <= p->take + p->moved);
		if (p->take > 0)
			values_row(&l->rows, V_INT(p->take), V_INT(p->hold), V_INT(p->sku_id), V_INT(p->location_id),
			           V_INT(l->slot));
	}
	stock_deduct(l);
	if (l->batch.needs & NEEDS_WAITED)
		waited_look(l);
}

void stock_write(struct lane *l)
{
	struct shares given = {0};
	bool          adds = false, takes = false;

	if (l->batch.writes & NEEDS_BACK)
		batch_gives(&l->batch, &given);
	if (given.count > 0)
		shares_sum(&given);
	for (size_t i = 0; i < l->batch.balances_count; i++) {
		adds |= l->batch.balances[i].add > 0;
		takes |= l->batch.balances[i].take > 0;
	}
	if (l->batch.needs & NEEDS_WAITED)
		shared_lock(l);
	if (l->batch.gathers_inside && gather_rows(l, true))
		gather_run(l);
	else if ((given.count > 0) + adds + takes > 1)
		slots_lock(l, &given);
	if (given.count > 0)
		shares_write(&l->txn, &l->rows, &given, STOCK_GIVE_BACK, TXN_MOVED);
	if (adds)
		adds_write(l);
	if (takes)
		takes_write(l);
	if (l->batch.writes & NEEDS_BACK) {
		customers_write(l, &given.customers);
		shares_fini(&given);
	}
}
