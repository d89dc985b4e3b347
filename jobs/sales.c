/* sales.c - see sales.h. What is there is read first, without a lock. The transaction repeats what was read: if another
 * one came between, all is undone and read again. A call that changes nothing writes nothing and shuts out nothing. */
#include "jobs/sales.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/txn.h"
#include "engine/log/event.h"
#include "engine/catalogue/past.h"
#include "engine/catalogue/sku_limits.h"

static const char *reason_of(const struct sales_wish *wish)
{
	return !wish->for_sale && *wish->reason ? wish->reason : NULL;
}

/* True: columns `at` (0 or 1) and behind it (the reason) say what the wish says. */
static bool is_as_wished(const struct db_row *row, unsigned at, const struct sales_wish *wish)
{
	const char *reason = reason_of(wish), *has = row->col[at + 1];

	return (db_int(row, at) != 0) == wish->for_sale && !has == !reason && (!has || strcmp(has, reason) == 0);
}

/* ---- the transaction */

/* The first steps. `stops`: something that was for sale is stopped, so every other writer is shut out. A start shuts
 * out nothing: a lane looks again before it refuses. */
static void turn_begin(struct txn *t, struct db *db, bool stops)
{
	txn_begin(t, db);
	txn_run(t, SALES_MARK, NULL);
	txn_run(t, SALES_TURN, NULL);
	txn_expect(t, 1, TXN_MOVED);
	txn_run(t, SALES_LOG, NULL);
	txn_enter(t, 0, true);
	if (stops)
		txn_run(t, SALES_SHUT_OUT, &(struct fill){.writer = db_writer(db)->writer_id});
}

/* What a PUT says of its sku beside. */
static void details_write(struct txn *t, const struct sku_put *put, uint32_t sku_id)
{
	struct values barcodes = {0};

	assert(put->barcodes_count <= BARCODES_MAX);
	txn_run(t, SALES_DETAILS,
	        &(struct fill){.sku = sku_id,
	                       .per_customer = put->wish,
	                       .named = put->named,
	                       .name = *put->name ? put->name : NULL});
	if (put->barcoded)
		txn_run(t, SALES_BARCODES_DROP, &(struct fill){.sku = sku_id});
	for (size_t i = 0; i < put->barcodes_count; i++)
		values_row(&barcodes, V_INT(sku_id), V_INT(i + 1), V_TEXT(put->barcodes[i]), V_TEXT(put->sku));
	txn_rows(t, SALES_BARCODES_ADD, &barcodes);
	if (put->named || put->barcoded)
		txn_run(t, SALES_TEXT, &(struct fill){.sku = sku_id});
	values_fini(&barcodes);
}

/* `put`: the PUT of the only sku of the list; NULL: there is none. */
static enum db_result skus_write(struct db *db, const struct sales_wish *wish, const struct sales_sku *list,
                                 size_t count, const struct sku_put *put)
{
	const struct event_head head = {.type = EVENT_SKU_SALE, .by = wish->by};
	struct values           rows = {0}, numbers = {0};
	struct text             changes = {0};
	struct txn              t = {0};
	bool                    stops = false;
	enum db_result          result = DB_OK;

	for (size_t i = 0; i < count; i++) {
		if (!list[i].sku_id || list[i].stays)
			continue;
		stops |= list[i].for_sale && !wish->for_sale;
		values_row(&rows, V_INT(list[i].sku_id), V_INT(list[i].for_sale));
		values_row(&numbers, V_INT(numbers.rows + 1), V_INT(list[i].sku_id));
		event_sale(&changes, &head, list[i].sku_id, wish->for_sale, reason_of(wish));
	}
	if (rows.rows > 0) {
		turn_begin(&t, db, stops);
		if (put)
			details_write(&t, put, list[0].sku_id);
		txn_run(&t, SALES_SKUS,
		        &(struct fill){.rows = &rows, .for_sale = wish->for_sale, .reason = reason_of(wish)});
		txn_expect(&t, rows.rows, TXN_MOVED);
		txn_run(&t, SALES_NUMBERS, &(struct fill){.rows = &numbers});
		txn_log(&t, &changes);
		result = txn_commit_or_retry(&t);
	}
	values_fini(&rows);
	values_fini(&numbers);
	text_fini(&changes);
	return result;
}

/* ---- skus */

struct finder {
	const struct sales_wish *wish;
	struct sales_sku        *list;
	size_t                   count;
};

static int code_order(const void *a, const void *b)
{
	return strcmp(a, ((const struct sales_sku *)b)->code);
}

/* A row that names none of the skus that were asked for is of no right database. */
static void sku_read(void *arg, const struct db_row *row)
{
	struct finder    *in = arg;
	struct sales_sku *to = bsearch(db_word(row, 0), in->list, in->count, sizeof(*in->list), code_order);
	int64_t           id = db_int(row, 1);

	if (!to || id < 1 || id > UINT32_MAX) {
		db_other(row);
		return;
	}
	to->sku_id = (uint32_t)id;
	to->for_sale = db_int(row, 2) != 0;
	to->stays = is_as_wished(row, 2, in->wish);
}

static enum db_result skus_find(struct db *db, const struct sales_wish *wish, struct sales_sku *list, size_t count)
{
	struct finder  in = {wish, list, count};
	struct values  codes = {0};
	enum db_result result;

	for (size_t i = 0; i < count; i++) {
		list[i].sku_id = 0;
		list[i].stays = false;
		values_row(&codes, V_TEXT(list[i].code));
	}
	result = db_ask(db, SALES_FIND, &(struct fill){.rows = &codes}, sku_read, &in);
	values_fini(&codes);
	return result;
}

enum db_result sales_of_skus(struct db *db, const struct sales_wish *wish, struct sales_sku *list, size_t count)
{
	enum db_result result = skus_find(db, wish, list, count);

	if (result == DB_OK)
		result = skus_write(db, wish, list, count, NULL);
	return result == DB_OK ? sku_limits_read(db) : result;
}

/* A new sku is made by itself, as one of a movement is. */
static enum db_result sku_make(struct db *db, struct sku_put *put)
{
	struct values  rows = {0};
	enum db_result result;

	values_row(&rows, V_TEXT(put->sku), V_CLOCK);
	result = db_ask(db, SKU_MAKE, &(struct fill){.rows = &rows}, NULL, NULL);
	put->made |= result == DB_OK && db_changed(db) > 0;
	values_fini(&rows);
	return result;
}

enum db_result sales_put(struct db *db, void *arg)
{
	struct sku_put   *put = arg;
	struct sales_wish wish = {.for_sale = put->for_sale, .by = put->by};
	struct sales_sku  sku = {.stays = false};
	enum db_result    result;

	if (!put->sales)
		return sku_limits_put(db, put);
	strcpy(wish.reason, put->reason);
	strcpy(sku.code, put->sku);
	result = skus_find(db, &wish, &sku, 1);
	if (result == DB_OK && !sku.sku_id) {
		result = sku_make(db, put);
		if (result == DB_OK)
			result = skus_find(db, &wish, &sku, 1);
	}
	if (result == DB_OK && !sku.sku_id)
		result = DB_RETRY; /* made and not there: it is on another node, or was purged */
	if (result == DB_OK)
		result = skus_write(db, &wish, &sku, 1, put);
	return result == DB_OK ? sku_limits_put(db, put) : result; /* what is written already stays */
}

/* A PUT that stops sales and says nothing else of a sku. */
static bool stops_alone(const struct sku_put *put)
{
	return put->sales && !put->for_sale && put->wish < 0 && !put->named && !put->barcoded;
}

static int sku_order(const void *a, const void *b)
{
	return strcmp(((const struct sales_sku *)a)->code, ((const struct sales_sku *)b)->code);
}

/* The stops are those of the first one's reason and key. A sku of which two PUTs have come is left to their runs. */
void sales_put_together(struct db *db, void *const *puts, size_t count)
{
	struct sales_wish     wish = {.for_sale = false};
	struct sales_sku     *list = mem_alloc(count * sizeof(*list));
	const struct sku_put *first = NULL;
	size_t                stops = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sku_put *put = puts[i];
		bool                  is = stops_alone(put);

		first = first || !is ? first : put;
		strcpy(list[i].code, put->sku);
		list[i].stays = !is || put->by != first->by || strcmp(put->reason, first->reason) != 0;
	}
	qsort(list, count, sizeof(*list), sku_order);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && sku_order(&list[i], &list[end]) == 0;)
			end++;
		if (end == i + 1 && !list[i].stays)
			list[stops++] = list[i];
	}
	if (stops > 1) {
		strcpy(wish.reason, first->reason);
		wish.by = first->by;
		if (sales_of_skus(db, &wish, list, stops) != DB_OK)
			log_event(LOG_DEBUG, "stops_one_by_one", "skus=%zu", stops);
	}
	free(list);
}

/* ---- locations */

struct place {
	const struct sales_wish *wish;
	bool                     found, for_sale, stays;
};

static void place_read(void *arg, const struct db_row *row)
{
	struct place *in = arg;

	in->found = true;
	in->for_sale = db_int(row, 0) != 0;
	in->stays = is_as_wished(row, 0, in->wish);
}

enum db_result sales_at(struct db *db, const struct sales_wish *wish, uint32_t location_id)
{
	const struct event_head head = {.type = EVENT_LOCATION_SALE, .by = wish->by};
	struct place            place = {.wish = wish};
	struct text             changes = {0};
	struct txn              t = {0};
	enum db_result          result =
		db_ask(db, SALES_FIND_LOCATION, &(struct fill){.location = location_id}, place_read, &place);

	if (result != DB_OK || !place.found || place.stays)
		return result;
	event_sale(&changes, &head, location_id, wish->for_sale, reason_of(wish));
	turn_begin(&t, db, place.for_sale && !wish->for_sale);
	txn_run(&t, SALES_LOCATION,
	        &(struct fill){.location = location_id,
	                       .for_sale = wish->for_sale,
	                       .was_for_sale = place.for_sale,
	                       .reason = reason_of(wish)});
	txn_expect(&t, 1, TXN_MOVED);
	txn_log(&t, &changes);
	result = txn_commit_or_retry(&t);
	text_fini(&changes);
	return result == DB_OK ? past_locations(db) : result;
}
