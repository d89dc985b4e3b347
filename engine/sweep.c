/* sweep.c - expired holds that still occupy a sku: before an order is told `short`, their units are given back.
 *
 * Found by the claim index, those that nobody else has locked, claimed or not: the worker that claimed one may be dead.
 */
#include "guard.h"
#include "lane.h"

#include <unistd.h>

/* How long a lane waits for others to give back, and how often it looks. */
enum { OTHERS_MS = 300, OTHERS_PAUSE_US = 4000 };

/* In a transaction without a lane's fence: it changes only rows that are held and expired, so a late one does no harm.
 */
static enum db_result expire_write(struct db *db, struct reservation **list, size_t count, unsigned *swept)
{
	struct text    sql = {0}, rows = {0};
	int            verdict;
	enum db_result result;

	guard_begin(&sql);
	for (size_t i = 0; i < count; i++)
		row_int(&rows, (int64_t)list[i]->reservation_id);
	statement_add(&sql, RESERVATION_EXPIRE, &(struct fill){.rows = &rows});
	guard_expect(&sql, (int64_t)count, VERDICT_STATE);
	stock_give_back(&sql, list, count, VERDICT_STATE);
	result = guard_run(db, &sql, &verdict);
	if (result == DB_OK && verdict == GUARD_DONE)
		*swept += (unsigned)count;
	text_fini(&sql);
	text_fini(&rows);
	return result;
}

/* All together, and where that was undone one by one: somebody else may have swept some of them, or be at one. */
static enum db_result expire_list(struct db *db, struct reservation **list, size_t count, unsigned *swept)
{
	unsigned       together = 0;
	enum db_result result = expire_write(db, list, count, &together);

	*swept += together;
	for (size_t i = 0; i < count && count > 1 && together == 0 && result == DB_OK; i++)
		result = expire_write(db, &list[i], 1, swept);
	return result;
}

/* The ids of holds -> those that are expired give their units back. */
static enum db_result reservation_expire(struct lane *l, const struct text *ids, unsigned *swept)
{
	struct reservation_reader in = {.catalogue = l->catalogue};
	size_t                    due = 0;
	enum db_result            result;

	result = lane_ask(l, RESERVATION_BY_ID, &(struct fill){.rows = ids}, reservation_read, &in);
	for (size_t i = 0; i < in.count; i++) {
		if (in.list[i]->state == HELD && reservation_reads(in.list[i]) == EXPIRED)
			in.list[due++] = in.list[i];
		else
			reservation_free(in.list[i]);
	}
	reservations_sort(in.list, due);
	if (result == DB_OK && due > 0)
		result = expire_list(l->db, in.list, due, swept);
	reservations_free(in.list, due);
	return result;
}

static void flag_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 0) != 0;
}

static void id_read(void *arg, const struct db_row *row)
{
	row_int(arg, db_int(row, 0));
}

/* The skus of the balances in doubt, but for those where a look some milliseconds ago found nothing: the walk passes
 * all expired holds, and may be long. */
static size_t sweep_skus(struct lane *l)
{
	int64_t now_ms = clock_ms();

	text_reset(&l->rows);
	for (size_t i = 0; i < l->batch.pairs_count; i++) {
		struct pair *p = &l->batch.pairs[l->batch.order[i]];

		p->swept |= p->doubted;
		if (p->doubted && now_ms - p->swept_ms > SWEEP_AGAIN_MS)
			row_int(&l->rows, p->sku_id);
	}
	return l->rows.len;
}

/* Expired holds on the skus in l->rows that nobody else has locked, into ids. *others: there are some, but somebody
 * else has all of them locked. */
static enum db_result sweep_find(struct lane *l, struct text *ids, bool *others)
{
	struct text    found = {0};
	enum db_result result;

	text_reset(ids);
	result = lane_ask(l, EXPIRED_OF_SKUS, &(struct fill){.rows = &l->rows, .count = SWEEP_MAX}, id_read, &found);
	if (result == DB_OK && found.len > 0)
		result = lane_ask(l, RESERVATION_PROBE, &(struct fill){.rows = &found}, id_read, ids);
	*others = found.len > 0 && ids->len == 0;
	text_fini(&found);
	return result;
}

static void sweep_remember(struct lane *l)
{
	for (size_t i = 0; i < l->batch.pairs_count; i++)
		if (l->batch.pairs[i].doubted)
			l->batch.pairs[i].swept_ms = clock_ms();
}

/* Who has them locked is most likely giving them back right now: a refusal in between would not be true. */
enum db_result reservation_sweep(struct lane *l)
{
	struct text    ids = {0};
	int64_t        until_ms = clock_ms() + OTHERS_MS;
	bool           exists = false, others = false;
	unsigned       swept = 1;
	enum db_result result;

	if (sweep_skus(l) == 0)
		return DB_OK;
	result = lane_ask(l, EXPIRED_EXISTS, NULL, flag_read, &exists);
	for (int round = 0; result == DB_OK && exists && (swept > 0 || others) && round < SWEEP_ROUNDS; round++) {
		swept = 0;
		if (others)
			usleep(OTHERS_PAUSE_US);
		result = sweep_find(l, &ids, &others);
		others = others && clock_ms() < until_ms;
		if (result == DB_OK && ids.len > 0)
			result = reservation_expire(l, &ids, &swept);
		counter_add(COUNT_EXPIRED, swept);
	}
	if (exists && swept == 0)
		sweep_remember(l);
	text_fini(&ids);
	if (result == DB_RETRY) /* somebody else is at it: what they give back is read next */
		result = db_text(l->db, "ROLLBACK", NULL, NULL);
	return result;
}
