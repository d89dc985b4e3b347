/* level.c - see level.h. */
#include "jobs/levels/level.h"
#include "engine/base/memory.h"
#include "engine/db/txn.h"

/* PAGE: spots or skus in a statement, and in a transaction. PAGES_MAX: pages of one call, because the lease must be
 * renewed between calls. */
enum { PAGE = 1000, PAGES_MAX = 20 };

enum level level_of(int64_t available, int64_t low)
{
	return available <= 0 ? LEVEL_OUT : available <= low ? LEVEL_LOW : LEVEL_ABOVE;
}

enum event_type level_event(enum level from, enum level to)
{
	return to == from ? 0 : to < from ? EVENT_BACK : to == LEVEL_OUT ? EVENT_OUT : EVENT_LOW;
}

/* ---- looks */

#define NO_ROW INT64_C(-1)

/* A spot as one look found it. */
struct found {
	uint32_t   sku_id, location_id;
	int64_t    available, low, stamp; /* low below 0: no threshold; stamp NO_ROW: the level has no row */
	enum level level, told;
};
struct look {
	struct found list[PAGE];
	size_t       count;
};

static void found_read(void *arg, const struct db_row *row)
{
	struct look *l = arg;
	enum level   told = row->col[3] ? (enum level)db_int(row, 3) : LEVEL_ABOVE;

	if (l->count == PAGE) {
		db_other(row);
		return;
	}
	l->list[l->count++] = (struct found){
		.sku_id = (uint32_t)db_int(row, 0),
		.location_id = (uint32_t)db_int(row, 1),
		.available = db_int(row, 2),
		.level = db_int(row, 6) ? level_of(db_int(row, 2), db_int(row, 4)) : told,
		.told = told,
		.low = db_int(row, 4),
		.stamp = row->col[3] ? db_int(row, 5) : NO_ROW,
	};
}

static int found_order(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);
}

static enum db_result look_read(struct db *db, const struct values *rows, struct look *l)
{
	enum db_result result;

	l->count = 0;
	result = db_ask(db, LEVEL_LOOK, &(struct fill){.rows = rows}, found_read, l);
	qsort(l->list, l->count, sizeof(*l->list), found_order);
	return result;
}

/* ---- writing */

static void txn_start(struct txn *t, struct db *db, const struct watch_claim *claim, int64_t stamp_min)
{
	txn_begin(t, db);
	txn_enter(t, stamp_min, true);
	if (txn_goes_on(t) && !t->logs) { /* the log was off: the writer enters again, to learn whether it still is */
		txn_refuse(t, TXN_MOVED);
		db_writer(db)->epoch = 0;
	}
	txn_run(t, WATCH_KEEP,
	        &(struct fill){.task = claim->task_id, .fence = claim->fence, .lease_s = claim->lease_s});
	txn_expect(t, 1, TXN_CLOSED);
}

/* DB_RETRY: nothing was written. */
static enum db_result txn_finish(struct txn *t, struct watch_claim *claim)
{
	enum txn_verdict verdict;
	enum db_result   result = txn_commit(t, &verdict);

	if (result == DB_OK && verdict == TXN_CLOSED)
		claim->fence = 0;
	return result == DB_OK && verdict != TXN_DONE ? DB_RETRY : result;
}

static void crossed_run(struct txn *t, const struct found *list, size_t count)
{
	struct values made = {0}, moved = {0};

	for (size_t i = 0; i < count; i++) {
		const struct found *f = &list[i];

		if (f->stamp == NO_ROW)
			values_row(&made, V_INT(f->sku_id), V_INT(f->location_id), V_INT(f->level));
		else
			values_row(&moved, V_INT(f->sku_id), V_INT(f->location_id), V_INT(f->level), V_INT(f->stamp));
	}
	if (made.rows > 0) {
		txn_run(t, LEVEL_MAKE, &(struct fill){.rows = &made});
		txn_expect(t, made.rows, TXN_MOVED);
	}
	if (moved.rows > 0) {
		txn_run(t, LEVEL_CROSS, &(struct fill){.rows = &moved});
		txn_expect(t, 2 * moved.rows, TXN_MOVED);
	}
	values_fini(&made);
	values_fini(&moved);
}

/* Tells these spots, which have all crossed a level, in one transaction. It is undone if a row has changed since it was
 * read. */
static enum db_result crossed_tell(struct db *db, struct watch_claim *claim, const struct found *list, size_t count)
{
	struct txn     t = {0};
	struct text    changes = {0};
	int64_t        stamp = claim->stamp;
	enum db_result result;

	for (size_t i = 0; i < count; i++) {
		const struct found *f = &list[i];

		stamp = f->stamp > stamp ? f->stamp : stamp;
		event_level(&changes, level_event(f->told, f->level), f->sku_id, f->location_id, f->available, f->low);
	}
	txn_start(&t, db, claim, stamp + 1);
	crossed_run(&t, list, count);
	txn_log(&t, &changes);
	result = txn_finish(&t, claim);
	if (result == DB_OK)
		claim->told += (int64_t)count;
	text_fini(&changes);
	return result;
}

/* ---- levels */

/* Units that can leave before the level may fall. 0 if the level may also rise: then every change is looked at. */
static int64_t units_left(const struct found *a, const struct found *b)
{
	int64_t available = a->available < b->available ? a->available : b->available;

	return level_of(available, b->low) == LEVEL_ABOVE ? available - (b->low > 0 ? b->low : 0) : 0;
}

/* Looks twice at the spots of a page. */
static enum db_result page_look(struct db *db, struct watch_claim *claim, struct spots *spots,
                                const struct values *rows, struct look look[2])
{
	size_t         count = 0;
	struct found  *crossed;
	enum db_result result = look_read(db, rows, &look[0]);

	if (result == DB_OK)
		result = look_read(db, rows, &look[1]);
	if (result != DB_OK)
		return result;
	if (look[0].count != look[1].count) /* each spot has a row in both */
		return db_answered_other(db, true);
	crossed = mem_alloc(PAGE * sizeof(*crossed));
	for (size_t i = 0; i < look[1].count; i++) {
		const struct found *b = &look[1].list[i];

		if (b->level == look[0].list[i].level && b->level != b->told)
			crossed[count++] = *b;
	}
	if (count > 0)
		result = crossed_tell(db, claim, crossed, count);
	free(crossed);
	for (size_t i = 0; result == DB_OK && i < look[1].count; i++) {
		const struct found *a = &look[0].list[i], *b = &look[1].list[i];

		if (a->level == b->level)
			spots_settle(spots, b->sku_id, b->location_id, units_left(a, b));
	}
	return result;
}

enum db_result levels_look(struct db *db, struct watch_claim *claim, struct spots *spots)
{
	struct values  rows = {0};
	struct look   *look = mem_alloc(2 * sizeof(*look));
	enum db_result result = DB_OK;

	for (size_t i = 0; result == DB_OK && i < spots->pending && i < PAGE * PAGES_MAX; i++) {
		values_row(&rows, V_INT(spots->list[i].sku_id), V_INT(spots->list[i].location_id));
		if (rows.rows < PAGE && i + 1 < spots->pending)
			continue;
		result = page_look(db, claim, spots, &rows, look);
		values_reset(&rows);
	}
	spots_trim(spots);
	free(look);
	values_fini(&rows);
	return result;
}

/* ---- all spots that may have crossed */

struct listed {
	struct spots *spots;
	int64_t       sku_id, location_id, count;
};

static void listed_read(void *arg, const struct db_row *row)
{
	struct listed *in = arg;

	in->sku_id = db_int(row, 0);
	in->location_id = db_int(row, 1);
	in->count++;
	if (db_int(row, 2))
		spots_touch(in->spots, (uint32_t)in->sku_id, (uint32_t)in->location_id, INT64_MAX);
}

/* Reads page by page, and renews the lease after each page: a large shop has thousands of spots. */
static enum db_result list_read(struct db *db, struct watch_claim *claim, enum statement name, struct spots *spots)
{
	const struct fill keep = {.task = claim->task_id, .fence = claim->fence, .lease_s = claim->lease_s};
	struct listed     in = {.spots = spots};
	enum db_result    result;

	do {
		in.count = 0;
		result = db_ask(db, name, &(struct fill){.sku = in.sku_id, .location = in.location_id, .limit = PAGE},
		                listed_read, &in);
		if (result == DB_OK)
			result = db_ask(db, WATCH_KEEP, &keep, NULL, NULL);
		if (result == DB_OK && db_changed(db) == 0)
			claim->fence = 0;
	} while (result == DB_OK && claim->fence && in.count == PAGE);
	return result;
}

enum db_result levels_list(struct db *db, struct watch_claim *claim, struct spots *spots)
{
	enum db_result result = list_read(db, claim, LEVEL_LIST, spots);

	return result == DB_OK && claim->fence ? list_read(db, claim, LEVEL_LIST_OUT, spots) : result;
}

/* ---- every change of stock */

struct units {
	struct event_units list[PAGE];
	size_t             count;
};

static void units_read(void *arg, const struct db_row *row)
{
	struct units *in = arg;

	if (in->count == PAGE) {
		db_other(row);
		return;
	}
	in->list[in->count++] =
		(struct event_units){(uint32_t)db_int(row, 0), db_int(row, 1), db_int(row, 2), db_int(row, 3)};
}

enum db_result levels_tell_stock(struct db *db, struct watch_claim *claim, const uint32_t *skus, size_t count)
{
	struct values  ids = {0};
	struct units  *units = mem_alloc(sizeof(*units));
	struct text    changes = {0};
	struct txn     t = {0};
	enum db_result result;

	assert(count > 0 && count <= PAGE); /* the caller, stock_tell, passes one page at a time */
	for (size_t i = 0; i < count; i++)
		values_row(&ids, V_INT(skus[i]));
	result = db_ask(db, UNITS_LOOK, &(struct fill){.rows = &ids}, units_read, units);
	for (size_t i = 0; i < units->count; i += EVENT_UNITS_MAX)
		event_stock(&changes, units->list + i,
		            units->count - i < EVENT_UNITS_MAX ? units->count - i : EVENT_UNITS_MAX);
	if (result == DB_OK && units->count > 0) {
		txn_start(&t, db, claim, claim->stamp + 1);
		txn_log(&t, &changes);
		result = txn_finish(&t, claim);
	}
	text_fini(&changes);
	values_fini(&ids);
	free(units);
	return result;
}
