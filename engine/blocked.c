/* blocked.c - rows that somebody outside has locked. A lane waits for such a row once; then the operations that need it
 * are parked and the others go on. Slots and reservations are remembered, so that the next operation on them is probed
 * before the lane waits again. */
#include "lane.h"

#include <string.h>

static uint64_t pair_key(const struct pair *p)
{
	return (uint64_t)p->sku_id << 32 | p->location_id;
}

static uint64_t *blocked_place(struct lane *l, uint64_t key)
{
	for (size_t i = 0; i < BLOCKED; i++)
		if (l->blocked[i] == key)
			return &l->blocked[i];
	return NULL;
}

/* What is free again is forgotten. */
static bool blocked_still(struct lane *l, uint64_t key, bool locked)
{
	uint64_t *place = blocked_place(l, key);

	if (place && !locked)
		*place = 0;
	return place && locked;
}

/* Does the batch touch what was locked lately and still is? Probes wait for nothing. */
bool lane_is_blocked(struct lane *l)
{
	struct batch *b = &l->batch;
	bool          pairs = false, rows = false, locked = false;

	for (size_t i = 0; i < b->pairs_count; i++)
		pairs |= blocked_place(l, pair_key(&b->pairs[i])) != NULL;
	for (size_t i = 0; i < b->count; i++)
		rows |= b->ops[i]->found && blocked_place(l, b->ops[i]->id_hash) != NULL;
	if ((pairs && pairs_probe(l) != DB_OK) || (rows && reservation_probe(l) != DB_OK))
		return false;
	for (size_t i = 0; pairs && i < b->pairs_count; i++)
		locked |= blocked_still(l, pair_key(&b->pairs[i]), b->pairs[i].locked);
	for (size_t i = 0; rows && i < b->count; i++)
		locked |= blocked_still(l, b->ops[i]->id_hash, b->ops[i]->locked);
	return locked;
}

static bool op_is_locked(const struct lane *l, const struct op *op)
{
	size_t             found = op_found_lines(op), count = found ? found : op->lines_count;
	const struct line *lines = found ? op->found->lines : op->lines;

	for (size_t k = 0; k < count; k++)
		if (lines[k].sku && lines[k].location && l->batch.pairs[lines[k].pair].locked)
			return true;
	return op->locked;
}

static void blocked_enter(struct lane *l, uint64_t key)
{
	uint64_t *place = blocked_place(l, key) ? NULL : blocked_place(l, 0);

	if (place)
		*place = key;
}

static void blocked_enter_all(struct lane *l)
{
	for (size_t i = 0; i < l->batch.pairs_count; i++)
		if (l->batch.pairs[i].locked)
			blocked_enter(l, pair_key(&l->batch.pairs[i]));
	for (size_t i = 0; i < l->batch.count; i++)
		if (l->batch.ops[i]->locked)
			blocked_enter(l, l->batch.ops[i]->id_hash);
}

/* A lock was not given in time, or would not be: find out which operations need it and park those. */
void lane_set_aside(struct lane *l)
{
	struct batch *b = &l->batch;
	size_t        kept = 0, fresh = 0;

	if (db_text(l->db, "ROLLBACK", NULL, NULL) != DB_OK || pairs_probe(l) != DB_OK ||
	    reservation_probe(l) != DB_OK) {
		batch_put_back(l);
		return;
	}
	if (!l->parked)
		memset(l->blocked, 0, sizeof(l->blocked));
	blocked_enter_all(l);
	for (size_t i = 0; i < b->count; i++) {
		fresh += op_is_locked(l, b->ops[i]) && b->ops[i]->busy_since_ms == 0;
		if (op_is_locked(l, b->ops[i]))
			batch_park(l, b->ops[i]);
		else
			b->ops[kept++] = b->ops[i];
	}
	if (kept == b->count) { /* it is free again, or it is none of these rows */
		for (size_t i = 0; i < b->count; i++)
			b->ops[i]->tries += LOCKED_TRIES;
		batch_retry(l);
		return;
	}
	if (fresh > 0)
		log_event(LOG_WARN, "rows_locked", "lane=%lld requests=%zu", (long long)l->lane_id, fresh);
	b->count = kept;
	batch_put_back(l);
}
