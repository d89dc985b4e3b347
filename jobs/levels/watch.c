/* watch.c - see watch.h. A spot is looked at about once a second, however often it was touched. The watcher looks first
 * and saves its place in the log afterwards. So the next watcher looks at all the rest; it does not tell a level again
 * that was told already.
 *
 * The first watcher of a database has no place. It reads from the oldest event, because a service takes calls before
 * its watcher has the claim.
 *
 * The log may not go on where it was read (it was off or purged, or the database was restored). Then the watcher goes
 * on from now, and looks at every spot that has a row in `level` or has no units left. */
#include "jobs/levels/watch.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/log/feed.h"
#include "engine/log/touched.h"
#include "jobs/levels/level.h"

/* LOOK_MS: between two looks. REST_MS: between two turns while the log is off, or while another process is the watcher.
 * STOCK_MS: between two events of the same sku. A wish and a lease are renewed after a third of their time.
 * TOUCHED_MAX: with more unsorted skus the list is sorted at once, which drops duplicates. */
enum {
	LOOK_MS = 1000,
	REST_MS = 1000,
	LEASE_S = 5,
	WISH_S = 9,
	KEEP_MS = LEASE_S * 1000 / 3,
	STOCK_MS = 1000,
	STOCK_PAGE = 1000,
	SKUS_PAGE = 1000,
	TOUCHED_MAX = 200000,
};

struct watch {
	struct db         *db;   /* of the turn */
	struct feed       *feed; /* says whether there is news in the log */
	bool               wants_stock;
	struct watch_claim claim;
	int64_t            claim_ms, wish_ms, keep_ms, stock_ms; /* clock_ms when each is due */
	char              *place;   /* the cursor behind what was read; NULL: nothing was */
	bool               unsaved; /* .. and the database has another one */
	bool               more;    /* there is more to read */
	bool               busy;    /* the last read found events */
	bool               late;    /* the place was due to be saved, but a spot before it was not settled */
	size_t             batch;   /* of touched_read */
	bool               all;     /* every spot that has a row in `level` needs a look */
	struct spots       spots;
	bool               stock_wanted; /* by a service, now .. */
	bool               stock_heard;  /* .. or within the last hour: that service may be back soon */
	struct skus {
		uint32_t *list;
		size_t    count, max, sorted; /* the first ones are in order, without duplicates */
	} skus,                               /* touched since they were told */
		over_all;                     /* with a threshold over all locations */
	struct values asked;                  /* spots that got a new threshold: sku, location, asked */
};

/* ---- skus that have changed stock */

static int sku_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void skus_sort(struct skus *s)
{
	assert(s->sorted <= s->count);
	if (s->count > s->sorted)
		s->count = mem_join(s->list, s->count, sizeof(*s->list), sku_order, NULL);
	s->sorted = s->count;
}

static void sku_add(struct skus *s, uint32_t sku_id)
{
	if (s->count > 0 && s->list[s->count - 1] == sku_id)
		return;
	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = sku_id;
	if (s->count - s->sorted > TOUCHED_MAX)
		skus_sort(s);
}

static enum db_result stock_tell(struct watch *w)
{
	struct skus   *s = &w->skus;
	enum db_result result = DB_OK;

	skus_sort(s);
	while (s->count > 0 && result == DB_OK) {
		size_t page = s->count < STOCK_PAGE ? s->count : STOCK_PAGE;

		result = levels_tell_stock(w->db, &w->claim, s->list + s->count - page, page);
		if (result == DB_OK)
			s->count -= page;
	}
	s->sorted = s->count;
	w->stock_ms = clock_ms() + STOCK_MS;
	return result;
}

/* ---- thresholds */

static void over_all_read(void *arg, const struct db_row *row)
{
	sku_add(arg, (uint32_t)db_int(row, 0));
}

static enum db_result over_all_list(struct watch *w)
{
	struct skus   *s = &w->over_all;
	enum db_result result;
	size_t         before;

	do {
		before = s->count;
		result = db_ask(w->db, LEVEL_LIST_ALL,
		                &(struct fill){.sku = before ? s->list[before - 1] : 0, .limit = SKUS_PAGE},
		                over_all_read, s);
	} while (result == DB_OK && s->count - before == SKUS_PAGE);
	s->sorted = s->count;
	return result;
}

static void asked_read(void *arg, const struct db_row *row)
{
	struct watch *w = arg;

	values_row(&w->asked, V_INT(db_int(row, 0)), V_INT(db_int(row, 1)), V_INT(db_int(row, 2)));
	spots_touch(&w->spots, (uint32_t)db_int(row, 0), (uint32_t)db_int(row, 1), INT64_MAX);
	if (db_int(row, 1) == 0)
		sku_add(&w->over_all, (uint32_t)db_int(row, 0));
}

/* A new threshold needs a look like any other change. */
static enum db_result asked_look(struct watch *w)
{
	enum db_result result;

	values_reset(&w->asked);
	result = db_ask(w->db, LEVEL_ASKED, &(struct fill){.limit = SKUS_PAGE}, asked_read, w);
	if (w->over_all.count > w->over_all.sorted)
		skus_sort(&w->over_all);
	return result;
}

static enum db_result asked_end(struct watch *w)
{
	return db_ask(w->db, LEVEL_ANSWERED,
	              &(struct fill){.rows = &w->asked, .task = w->claim.task_id, .fence = w->claim.fence}, NULL, NULL);
}

/* ---- the claim */

static void place_set(struct watch *w, char *place)
{
	free(w->place);
	w->place = place;
}

static void claim_forget(struct watch *w)
{
	w->claim.fence = 0;
	w->skus.count = w->skus.sorted = w->over_all.count = w->over_all.sorted = 0;
	w->more = w->busy = w->late = w->unsaved = w->all = false;
	spots_fini(&w->spots);
	place_set(w, NULL);
}

/* All spots that were read are looked at .. */
static bool is_looked(const struct watch *w)
{
	return !w->all && w->spots.pending == 0;
}

/* .. and their changes of stock are told. A service that wants every change may be back soon: then the next watcher
 * must read these events again. */
static bool is_settled(const struct watch *w)
{
	return is_looked(w) && w->skus.count == 0;
}

static void row_read(void *arg, const struct db_row *row)
{
	struct watch *w = arg;

	if (w->claim.fence == 0 && row->col[1])
		place_set(w, mem_copy(row->col[1]));
	w->claim.fence = db_int(row, 0);
	w->stock_wanted = db_int(row, 2) != 0;
	w->stock_heard = db_int(row, 3) != 0;
}

/* Stands before the first claim, which reads it. A wish that failed is due at once. */
static enum db_result wish(struct watch *w)
{
	enum db_result result = db_ask(w->db, WATCH_WISH, &(struct fill){.wish_s = WISH_S}, NULL, NULL);

	if (result != DB_OK)
		w->wish_ms = 0;
	return result;
}

/* The first stock events come after a second, because the watcher before may have told the same skus just now. */
static enum db_result claim_try(struct watch *w)
{
	struct fill    fill = {.task = w->claim.task_id, .lease_s = LEASE_S};
	enum db_result result = db_ask(w->db, WATCH_CLAIM, &fill, NULL, NULL);

	if (result != DB_OK || db_changed(w->db) == 0)
		return result;
	claim_forget(w);
	result = db_ask(w->db, WATCH_READ, &fill, row_read, w);
	if (result != DB_OK || w->claim.fence == 0)
		return result;
	result = over_all_list(w);
	w->more = true;
	w->keep_ms = 0;
	w->stock_ms = clock_ms() + STOCK_MS;
	log_event(LOG_DEBUG, "levels_watched", "fence=%lld", (long long)w->claim.fence);
	if (result != DB_OK)
		claim_forget(w); /* the next turn claims again */
	return result;
}

/* Renews the lease, saves the place if nothing before it is left to do, and reads the wishes of the services. */
static enum db_result claim_keep(struct watch *w)
{
	bool           saves = w->unsaved && is_settled(w);
	enum db_result result = db_ask(w->db, WATCH_KEEP,
	                               &(struct fill){.task = w->claim.task_id,
	                                              .fence = w->claim.fence,
	                                              .lease_s = LEASE_S,
	                                              .place = saves ? w->place : NULL,
	                                              .looked = is_looked(w) && !w->more},
	                               NULL, NULL);

	if (result != DB_OK)
		return result;
	w->unsaved &= !saves;
	w->late = w->unsaved;
	if (db_changed(w->db) == 1)
		result = db_ask(w->db, WATCH_READ, &(struct fill){.task = w->claim.task_id}, row_read, w);
	else
		claim_forget(w);
	if (!w->stock_heard)
		w->skus.count = w->skus.sorted = 0;
	return result;
}

static bool keeps_now(struct watch *w)
{
	return clock_due(&w->keep_ms, KEEP_MS) || (w->late && is_settled(w));
}

/* ---- looks */

static void line_heard(void *arg, const struct event_touch *t)
{
	struct watch *w = arg;

	if (t->taken != 0)
		spots_touch(&w->spots, t->sku_id, t->location_id, t->taken);
	if (t->taken != 0 && w->over_all.count > 0 &&
	    bsearch(&t->sku_id, w->over_all.list, w->over_all.count, sizeof(t->sku_id), sku_order))
		spots_touch(&w->spots, t->sku_id, 0, t->taken);
	if (w->stock_heard)
		sku_add(&w->skus, t->sku_id);
}

/* Goes on from now. The place is saved when every spot that was ever told has been looked at. */
static void log_anew(struct watch *w)
{
	log_event(LOG_WARN, "levels_anew", "why=\"the log does not go on where it was read\"");
	spots_fini(&w->spots);
	place_set(w, NULL);
	w->more = w->all = true;
}

static enum db_result log_read(struct watch *w, bool *rests)
{
	const struct touched_ear ear = {line_heard, w};
	struct touched           read = {.batch = w->batch};
	enum outcome             outcome;
	const char              *after = w->place ? w->place : w->all ? "now" : NULL;
	enum db_result           result = touched_read(w->db, after, &ear, &read, &outcome);

	*rests = result == DB_OK && outcome == EVENTS_OFF;
	w->more = read.more;
	w->batch = read.batch;
	w->busy = result == DB_OK && read.stamp > 0;
	if (read.stamp > w->claim.stamp)
		w->claim.stamp = read.stamp;
	if (result == DB_OK && outcome == OUTCOME_OK) {
		w->unsaved |= !w->place || strcmp(w->place, read.cursor) != 0;
		place_set(w, read.cursor);
	} else if (*rests) {
		spots_fini(&w->spots);
		w->skus.count = w->skus.sorted = 0;
	} else if (result == DB_OK) {
		log_anew(w);
	}
	return result;
}

static enum db_result look(struct watch *w, bool *rests)
{
	bool           news = w->busy || w->more;
	int64_t        told = w->claim.told;
	enum db_result result = news ? DB_OK : feed_look(w->feed, w->db, &news);

	if (result == DB_OK && news)
		result = log_read(w, rests);
	if (result != DB_OK || *rests) {
		w->more |= result != DB_OK; /* the news was not read yet */
		return result;
	}
	if (w->all && w->place)
		result = levels_list(w->db, &w->claim, &w->spots);
	w->all &= !w->place || result != DB_OK;
	if (result == DB_OK)
		result = asked_look(w);
	if (result == DB_OK && w->claim.fence && w->spots.pending > 0)
		result = levels_look(w->db, &w->claim, &w->spots);
	if (result == DB_OK && w->claim.fence && w->asked.rows > 0 && w->spots.pending == 0)
		result = asked_end(w);
	counter_add(COUNT_LEVELS, w->claim.told - told);
	if (result == DB_OK && w->claim.fence && w->stock_wanted && w->skus.count > 0 &&
	    clock_due(&w->stock_ms, STOCK_MS))
		result = stock_tell(w);
	return result;
}

/* ---- turns */

static enum db_result watch_turn(void *arg, struct db *db, int64_t *pause_ms)
{
	struct watch  *w = arg;
	bool           rests = false;
	enum db_result result = DB_OK;

	w->db = db;
	*pause_ms = LOOK_MS;
	if (w->wants_stock && clock_due(&w->wish_ms, WISH_S * 1000 / 3))
		result = wish(w);
	if (result == DB_OK && w->claim.fence == 0 && clock_due(&w->claim_ms, REST_MS / 2))
		result = claim_try(w);
	if (result == DB_OK && w->claim.fence)
		result = look(w, &rests);
	if (result == DB_OK && w->claim.fence && keeps_now(w))
		result = claim_keep(w);
	if (rests || w->claim.fence == 0)
		*pause_ms = REST_MS;
	else if (result == DB_OK && w->more)
		*pause_ms = 0;
	return result;
}

/* Releases the claim, so that another service can take it at once. */
static void watch_leave(void *arg, struct db *db)
{
	struct watch *w = arg;
	struct fill   fill = {.task = w->claim.task_id, .fence = w->claim.fence};

	if (w->claim.fence && db_connected(db) && db_ask(db, WATCH_LEAVE, &fill, NULL, NULL) != DB_OK)
		log_event(LOG_DEBUG, "levels_left", "why=\"%s\"", db_error(db));
}

struct watch *watch_new(struct catalogue *c, bool wants_stock)
{
	struct watch *w = mem_alloc(sizeof(*w));

	w->feed = feed_new(c);
	w->wants_stock = wants_stock;
	w->claim.lease_s = LEASE_S;
	w->claim.task_id = random_number();
	return w;
}

struct chore watch_chore(struct watch *w)
{
	return (struct chore){"levels", watch_turn, watch_leave, w};
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	claim_forget(w);
	feed_free(w->feed);
	free(w->skus.list);
	free(w->over_all.list);
	values_fini(&w->asked);
	free(w);
}
