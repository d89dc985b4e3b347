/* deferred.c - see deferred.h. */
#include "jobs/waiting/deferred.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"

/* LOCK_MS: until a try that met a lock is repeated, then without a wait. CONFLICT_MS: a conflict is over in a moment,
 * unless rows contradict each other. ERROR_MS: an error of the database stays until an operator mends it. FORGET_MS: a
 * failure after this time counts as a new one. */
enum { LOCK_MS = 200, CONFLICT_MS = 500, CONFLICTS = 20, ERROR_MS = 10000, FORGET_MS = 60000, WAIT_S = 1 };

struct deferral {
	struct giving giving;
	int64_t       until_ms, failed_ms; /* clock_ms */
	unsigned      conflicts;           /* conflicts in a row */
	bool          locked, told;
};

void deferred_fini(struct deferred *d)
{
	free(d->list);
	*d = (struct deferred){0};
}

static struct deferral *find(const struct deferred *d, const struct giving *g)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct giving *at = &d->list[i].giving;

		if (at->movement_no == g->movement_no && at->sku_id == g->sku_id && at->from_id == g->from_id &&
		    at->to_id == g->to_id)
			return &d->list[i];
	}
	return NULL;
}

bool deferred_is(const struct deferred *d, const struct giving *g)
{
	const struct deferral *known = find(d, g);

	return known && clock_ms() < known->until_ms;
}

enum db_result deferred_begin(const struct deferred *d, struct db *db, const struct giving *g)
{
	const struct deferral *known = find(d, g);

	return known && known->locked ? db_ask(db, LOCK_WAIT, &(struct fill){.wait_s = 0}, NULL, NULL) : DB_OK;
}

static void forget(struct deferred *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++)
		if (clock_ms() < d->list[i].failed_ms + FORGET_MS)
			d->list[kept++] = d->list[i];
	d->count = kept;
}

static struct deferral *enter(struct deferred *d, const struct giving *g)
{
	struct deferral *known = find(d, g);

	if (known)
		return known;
	forget(d);
	d->list = mem_reach(d->list, d->count, &d->max, sizeof(*d->list));
	d->list[d->count] = (struct deferral){.giving = *g};
	return &d->list[d->count++];
}

static void tell(struct deferral *at, struct db *db, const char *chore)
{
	struct catalogue *c = past_catalogue(db);
	const struct sku *sku = catalogue_sku_by_id(c, at->giving.sku_id);

	if (!at->told && chore)
		log_event(LOG_WARN, "job_failed", "worker=%s sku=%s sku_id=%u why=\"%s\"", chore,
		          sku ? sku_code(sku) : NULL, at->giving.sku_id,
		          at->conflicts
		                  ? "undone again and again; where rows contradict each other, holdfast audit says so"
		                  : db_error(db));
	at->told = true;
}

enum db_result deferred_end(struct deferred *d, struct db *db, const struct giving *g, const char *chore,
                            enum db_result result)
{
	struct deferral *at = find(d, g);
	bool             waits_again = at && at->locked;

	if (result == DB_AWAY || result == DB_UNKNOWN)
		return result;
	if (result == DB_OK && at) {
		assert(d->count > 0);
		*at = d->list[--d->count];
	} else if (result != DB_OK) {
		at = enter(d, g);
		at->failed_ms = clock_ms();
		at->locked = result == DB_LOCKED;
		at->conflicts = result == DB_RETRY || result == DB_DUPLICATE ? at->conflicts + 1 : 0;
		at->until_ms = at->failed_ms + (at->locked                   ? LOCK_MS
		                                : at->conflicts == 0         ? ERROR_MS
		                                : at->conflicts >= CONFLICTS ? CONFLICT_MS
		                                                             : 0);
		if (at->conflicts == 0 || at->conflicts >= CONFLICTS)
			tell(at, db, chore);
	}
	return waits_again ? db_ask(db, LOCK_WAIT, &(struct fill){.wait_s = WAIT_S}, NULL, NULL) : DB_OK;
}
