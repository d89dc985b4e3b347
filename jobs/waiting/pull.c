/* pull.c - see pull.h. Units that are freed become available as usual, so the writer that frees them needs to know
 * nothing of the queue. The lanes keep as many of them as the queue asks for (stock_kept), until this chore has given
 * them to the queue. Several services may do this at once: if a row has changed since it was read, the service reads
 * again. */
#include "jobs/waiting/pull.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/writer.h"
#include "jobs/waiting/deferred.h"
#include "jobs/waiting/handout.h"

#include <unistd.h>

#define CHORE "line" /* the name in the log */

/* PAUSE_MS: between two walks over the sums of promises. NEXT_MS: between two parts of one walk. REST_MS: between two
 * looks if no location has a queue. TURN_MS: after this time the other chores get a turn. */
enum { PAUSE_MS = 200, NEXT_MS = 20, REST_MS = 1000, TURN_MS = 200, PART = 5000, FOUND_MAX = 100, BLOCKED_US = 10000 };

struct pull {
	struct values   queues;  /* (location, location of its queue) */
	int64_t         version; /* of the queues; -1: they were not read */
	int64_t         from_id; /* the sku that the walk has reached */
	bool            left;    /* this walk has left units for which an order waits */
	bool            blocked; /* this turn has met an order that is locked */
	struct deferred deferred;
	struct handout  handout; /* for one sku after another; remembers how many orders go together */
};

/* Units of one sku that lie at one location, and the location of its queue. */
struct found {
	uint32_t sku_id, location_id, queue_id;
};
struct founds {
	struct found list[FOUND_MAX];
	size_t       count;
};

static void queue_read(void *arg, const struct db_row *row)
{
	values_row(arg, V_INT(db_int(row, 0)), V_INT(db_int(row, 1)));
}

static void found_read(void *arg, const struct db_row *row)
{
	struct founds *in = arg;

	if (in->count == LENGTH(in->list)) {
		db_other(row);
		return;
	}
	in->list[in->count++] =
		(struct found){(uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1), (uint32_t)db_int(row, 2)};
}

static enum db_result queues_read(struct pull *p, struct db *db)
{
	int64_t        version = 0;
	enum db_result result = db_ask(db, PULL_VERSION, NULL, db_ints, &version);

	if (result != DB_OK || version == p->version)
		return result;
	values_reset(&p->queues);
	result = db_ask(db, PULL_QUEUES, NULL, queue_read, &p->queues);
	p->version = result == DB_OK ? version : -1;
	return result;
}

/* ---- one sku at one location */

static void slot_read(void *arg, const struct db_row *row)
{
	struct handout *h = arg;
	int64_t         qty = qty_read(row, 1);

	if (qty < 1 || h->units > INT64_MAX - qty) {
		db_other(row);
		return;
	}
	h->slot = (uint16_t)db_int(row, 0);
	h->units += qty;
}

static enum db_result given_write(struct db *db, struct handout *h, enum txn_verdict *verdict)
{
	struct txn     t = {0};
	struct text    changes = {0};
	enum db_result result;

	assert(h->draws && h->count > 0);
	txn_begin(&t, db);
	txn_enter(&t, h->stamp_min, true);
	handouts_write(&t, h, 1, STOCK_GIVE_BACK, NULL, &changes);
	txn_log(&t, &changes);
	result = txn_commit(&t, verdict);
	text_fini(&changes);
	return result;
}

/* A locked order blocks the queue for BLOCKED_US, once in a turn. After that its units are set aside and the next
 * orders are served. */
static enum db_result front_read(struct pull *p, struct db *db)
{
	struct handout *h = &p->handout;
	enum db_result  result;

	h->passes = false;
	result = handout_read(db, h);
	if (result == DB_OK && h->waiting > 0 && h->count + h->lapsed_count == 0) {
		if (!p->blocked)
			usleep(BLOCKED_US);
		p->blocked = h->passes = true;
		result = handout_read(db, h);
	}
	return result;
}

/* Gives units to the front of the queue. *more: some were given, so there may be more to do. */
static enum db_result front_serve(struct pull *p, struct db *db, const struct found *f, bool *more)
{
	struct handout  *h = &p->handout;
	struct fill      at = {.sku = f->sku_id, .location = f->location_id};
	enum txn_verdict verdict = TXN_DONE;
	enum db_result   result;

	*more = false;
	h->sku_id = f->sku_id;
	h->from_id = f->queue_id;
	h->to_id = f->location_id;
	h->units = 0;
	h->draws = true;
	result = db_ask(db, PULL_SLOTS, &at, slot_read, h);
	if (result == DB_OK && h->units > 0)
		result = front_read(p, db);
	if (result == DB_OK && h->units > 0 && h->lapsed_count > 0)
		result = handout_sweep(db, h);
	if (result == DB_OK && h->units > 0 && h->count > 0) {
		result = given_write(db, h, &verdict);
		*more = result == DB_OK && verdict == TXN_DONE;
		handout_done(h, *more);
	}
	if (result == DB_OK && verdict == TXN_FENCED)
		p->version = -1;
	return result;
}

/* ---- the walk */

/* Gives all units that it can within the time. A failure does not stop the skus behind it. */
static enum db_result one_serve(struct pull *p, struct db *db, const struct found *f, int64_t until_ms)
{
	struct giving  giving = {.sku_id = f->sku_id, .from_id = f->queue_id, .to_id = f->location_id};
	enum db_result result;
	bool           more = false;

	if (deferred_is(&p->deferred, &giving))
		return DB_OK;
	result = deferred_begin(&p->deferred, db, &giving);
	while (result == DB_OK) {
		result = front_serve(p, db, f, &more);
		if (!more || clock_ms() >= until_ms)
			break;
	}
	p->left |= more || result == DB_RETRY;
	return deferred_end(&p->deferred, db, &giving, CHORE, result);
}

/* Serves the skus that were found. The writer has entered before it relies on a kind of a location. *from_id: the last
 * sku that had its turn, if the time was too short for all, or if there were more than FOUND_MAX. */
static enum db_result found_serve(struct pull *p, struct db *db, const struct founds *found, int64_t until_ms,
                                  int64_t *from_id)
{
	int64_t        version = p->version;
	enum db_result result = writer_enter(db, 0);
	size_t         i = 0;

	if (result == DB_OK)
		result = queues_read(p, db);
	for (; result == DB_OK && i < found->count && version == p->version && clock_ms() < until_ms; i++)
		result = one_serve(p, db, &found->list[i], until_ms);
	if (version != p->version) {
		*from_id = p->from_id; /* a location has changed: read again in a moment */
		p->left = true;
	} else if (i < found->count || found->count == FOUND_MAX) {
		*from_id = i ? found->list[i - 1].sku_id : p->from_id;
	}
	return result;
}

static enum db_result pull_turn(void *arg, struct db *db, int64_t *pause_ms)
{
	struct pull   *p = arg;
	struct founds  found = {.count = 0};
	int64_t        until_ms = clock_ms() + TURN_MS, end = 0, next;
	struct fill    fill = {.rows = &p->queues, .from_id = p->from_id, .offset = PART, .limit = FOUND_MAX};
	enum db_result result = queues_read(p, db);

	*pause_ms = REST_MS;
	if (result != DB_OK || p->queues.count == 0)
		return result;
	result = db_ask(db, PULL_AHEAD, &fill, db_ints, &end);
	fill.until_id = end ? end : UINT32_MAX;
	if (result == DB_OK)
		result = db_ask(db, PULL_FIND, &fill, found_read, &found);
	p->blocked = false;
	next = end;
	if (result == DB_OK && found.count > 0)
		result = found_serve(p, db, &found, until_ms, &next);
	if (result != DB_OK)
		return result;
	*pause_ms = next != end ? 0 : next || p->left ? NEXT_MS : PAUSE_MS;
	p->from_id = next;
	p->left &= next != 0;
	return DB_OK;
}

static void pull_leave(void *arg, struct db *db)
{
	(void)arg;
	(void)db;
}

struct pull *pull_new(void)
{
	struct pull *p = mem_alloc(sizeof(*p));

	p->version = -1;
	return p;
}

void pull_free(struct pull *p)
{
	handout_fini(&p->handout);
	deferred_fini(&p->deferred);
	values_fini(&p->queues);
	free(p);
}

struct chore pull_chore(struct pull *p)
{
	return (struct chore){CHORE, pull_turn, pull_leave, p};
}
