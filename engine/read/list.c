/* list.c - see list.h. One statement for the page's keys in the order of an index, one for
 * the rows. */
#include "engine/read/list.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/catalogue/past.h"
#include "engine/read/cursor.h"
#include "engine/read/ended.h"
#include "engine/read/kin.h"
#include "engine/read/totals.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- reservations by their ids */

/* Where several operations ask for one order, each gets a copy. */
enum db_result list_found(struct db *db, struct op **ops, size_t count)
{
	struct reservation_reader in = {.catalogue = past_catalogue(db)};
	struct values             ids = {0};
	enum db_result            result;

	for (size_t i = 0; i < count; i++)
		values_row(&ids, V_TEXT(ops[i]->id));
	result = reservations_ask(db, RESERVATION_FIND, &(struct fill){.rows = &ids, .limit = INT64_MAX}, &in);
	if (result == DB_OK)
		result = ended_look(db, &in);
	for (size_t i = 0; result == DB_OK && i < count; i++) {
		ops[i]->outcome = NO_ORDER;
		for (size_t k = 0; k < in.count && ops[i]->outcome == NO_ORDER; k++)
			if (strcmp(in.list[k]->order_id, ops[i]->id) == 0) {
				ops[i]->reservation = reservation_copy(in.list[k]);
				ops[i]->outcome = OUTCOME_OK;
			}
	}
	reservations_free(in.list, in.count);
	values_fini(&ids);
	return result == DB_OK ? kin_look(db, ops, count) : result;
}

static int id_order(const void *a, const void *b)
{
	return strcmp((*(struct reservation *const *)a)->order_id, (*(struct reservation *const *)b)->order_id);
}

static int id_compare(const void *id, const void *r)
{
	return strcmp(id, (*(struct reservation *const *)r)->order_id);
}

/* Gives each id of the op its order. False: the answer would have too many lines. */
static bool orders_give(struct op *op, struct reservation_reader *in)
{
	struct query *q = op->query;
	size_t        lines = 0;

	if (in->count > 1)
		qsort(in->list, in->count, sizeof(in->list[0]), id_order);
	q->reservations = mem_alloc(q->page.ids_count * sizeof(*q->reservations));
	for (q->items = 0; q->items < q->page.ids_count && lines <= ANSWER_ROWS_MAX; q->items++) {
		struct reservation **found = in->count == 0 ? NULL
		                                            : bsearch(q->page.ids[q->items], in->list, in->count,
		                                                      sizeof(in->list[0]), id_compare);

		if (!found)
			continue;
		lines += (*found)->lines_count;
		q->reservations[q->items] = reservation_copy(*found);
	}
	return lines <= ANSWER_ROWS_MAX;
}

/* The limit has room for a row of each order without lines, so a read that is cut has too many lines. */
enum db_result list_by_ids(struct db *db, struct op *op)
{
	struct reservation_reader in = {.catalogue = past_catalogue(db)};
	struct values             ids = {0};
	struct fill    fill = {.rows = &ids, .limit = ANSWER_ROWS_MAX + 1 + (int64_t)op->query->page.ids_count};
	enum db_result result;

	for (size_t i = 0; i < op->query->page.ids_count; i++)
		values_row(&ids, V_TEXT(op->query->page.ids[i]));
	result = reservations_ask(db, RESERVATION_FIND, &fill, &in);
	if (result == DB_OK)
		result = ended_look(db, &in);
	if (result == DB_OK)
		op->outcome = orders_give(op, &in) ? OUTCOME_OK : ANSWER_TOO_LARGE;
	reservations_free(in.list, in.count);
	values_fini(&ids);
	return result;
}

/* ---- movements */

enum db_result list_movement(struct db *db, struct op *op)
{
	struct movement_reader in = {.catalogue = past_catalogue(db)};
	struct values          ids = {0};
	enum db_result         result;

	values_row(&ids, V_TEXT(op->id));
	result = movements_ask(db, MOVEMENT_FIND, &(struct fill){.rows = &ids}, &in);
	op->outcome = NO_MOVEMENT;
	for (size_t i = 0; i < in.count; i++) {
		if (result != DB_OK || op->move.movement) {
			movement_free(in.list[i]);
			continue;
		}
		op->move.movement = in.list[i];
		op->outcome = OUTCOME_OK;
	}
	free(in.list);
	values_fini(&ids);
	return result;
}

enum db_result list_movements(struct db *db, struct op *op)
{
	struct catalogue      *c = past_catalogue(db);
	struct movement_reader in = {.catalogue = c};
	int64_t                low = INT64_MAX, none[2];
	const struct sku      *sku;
	enum db_result         result = skus_find(db, &op, 1);

	if (result != DB_OK)
		return result;
	sku = catalogue_sku(c, op->lines[0].sku_code);
	op->outcome = sku ? OUTCOME_OK : NO_SKU;
	if (sku && op->query->page.cursor[0] &&
	    !cursor_read(op->query->page.cursor, 'm', sku_id(sku), &low, &none[0], &none[1]))
		op->outcome = BAD_CURSOR;
	if (op->outcome != OUTCOME_OK)
		return DB_OK;
	result = movements_ask(db, MOVEMENT_LIST,
	                       &(struct fill){.sku = sku_id(sku), .before_id = low, .limit = op->query->page.limit + 1},
	                       &in);
	op->query->movements = in.list;
	op->query->items = in.count;
	if (result != DB_OK)
		return result;
	op->query->page.cursor[0] = '\0';
	if (op->query->items > op->query->page.limit) {
		movement_free(op->query->movements[--op->query->items]);
		cursor_write(op->query->page.cursor, 'm', sku_id(sku),
		             (int64_t)op->query->movements[op->query->items - 1]->movement_no, 0, 0);
	}
	return DB_OK;
}

/* ---- reservations */

/* One page looks at so many rows of the index at most, whatever it finds in them: the rest is for the next page. */
enum { WALK_MAX = 10000 };

/* A key of the page: where the row stands in the index. In a list of holders of a sku `task` is the location of the
 * line, in one by the beginning of a customer or reference the state of the note. */
struct list_key {
	int64_t id, task, due_ms, part;
};

struct list_keys {
	const struct page *page;
	const char        *prefix;            /* of the text by which the list is sorted; NULL: it is not */
	bool               by_time;           /* of those that were made from a time to another */
	const char        *error;             /* the last error that the orders have; NULL: any */
	uint32_t           sku, location;     /* the walk is over reservations that hold this sku here; 0: any */
	bool               on_hold;           /* .. that are held back */
	int64_t            state;             /* those on hold are in this state; 0: any live one */
	int64_t            from_id;           /* of those by their time: the first that may belong to the list */
	char               after[NOTE_MAX + 1]; /* of those that are sorted by a text: the text of `last` */
	struct list_key   *list;
	size_t             count, max, part;
	size_t             walked; /* rows looked at, in the list or not */
	struct list_key    last;   /* the last of them before the one that the page has no room for */
};

static void key_add(struct list_keys *keys, const struct list_key *key, bool belongs)
{
	bool            listed = keys->sku && keys->count > 0 && keys->list[keys->count - 1].id == key->id;
	struct list_key at = *key;

	keys->walked++;
	if (keys->sku && (belongs || listed))
		at.task = 0; /* the other lines of a reservation that is in the list are passed over */
	if (belongs && !listed && keys->count < keys->max)
		keys->list[keys->count++] = at;
	if (keys->count < keys->max)
		keys->last = at;
}

static void key_read(void *arg, const struct db_row *row)
{
	struct list_keys     *keys = arg;
	const struct list_key key = {db_int(row, 0), db_int(row, 1), time_parse(row->col[2]), (int64_t)keys->part};

	key_add(keys, &key, db_int(row, 3) != 0);
	if (keys->prefix && keys->count < keys->max)
		db_copy(row, 4, keys->after, sizeof(keys->after));
}

/* A state is read from parts of the index, one after the other: a hold past its time reads expired before it is swept.
 */
static const struct part {
	enum reservation_state reads, stored;
	bool                   lapsed, tasked;
} parts[] = {
	{HELD, HELD, false, false},      {HELD, HELD, false, true},     {CONFIRMED, CONFIRMED, 0, false},
	{CONFIRMED, CONFIRMED, 0, true}, {SETTLED, SETTLED, 0, false},  {SETTLED, SETTLED, 0, true},
	{RELEASED, RELEASED, 0, false},  {RELEASED, RELEASED, 0, true}, {EXPIRED, HELD, true, false},
	{EXPIRED, HELD, true, true},     {EXPIRED, EXPIRED, 0, false},  {EXPIRED, EXPIRED, 0, true},
	{BURIED, BURIED, 0, false},      {BURIED, BURIED, 0, true},
};

/* ---- of a customer, or with a reference */

static bool is_noted(const struct page *page)
{
	return page->customer || page->reference;
}

/* Rows of one state after the other, each the newest first. */
struct noted {
	struct noted_row {
		struct list_key key;
		bool            belongs;
	} * list;
	size_t count, max;
};

static void noted_read(void *arg, const struct db_row *row)
{
	struct noted *in = arg;

	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	in->list[in->count++] = (struct noted_row){{db_int(row, 0), 0, time_parse(row->col[2]), 0}, db_int(row, 3)};
}

static int noted_order(const void *a, const void *b)
{
	const struct noted_row *x = a, *y = b;

	return (x->key.id < y->key.id) - (x->key.id > y->key.id);
}

/* The next `count` rows of the states that may read as the one that is asked for. */
static enum db_result noted_walk(struct db *db, int64_t before_id, size_t count, struct list_keys *keys)
{
	const struct page     *page = keys->page;
	enum reservation_state asked = page->state;
	struct noted           in = {0};
	struct fill            fill = {.customer = page->customer,
	                               .reference = page->reference,
	                               .before_id = before_id,
	                               .lapsed = !asked ? 2 : asked == EXPIRED,
	                               .limit = (int64_t)count};
	enum db_result         result = DB_OK;

	for (fill.state = HELD; result == DB_OK && fill.state < STATES; fill.state++)
		if (!asked || fill.state == (int64_t)asked || (asked == EXPIRED && fill.state == HELD))
			result = db_ask(db, page->customer ? RESERVATION_LIST_CUSTOMER : RESERVATION_LIST_REFERENCE,
			                &fill, noted_read, &in);
	if (in.count > 1)
		qsort(in.list, in.count, sizeof(in.list[0]), noted_order);
	for (size_t i = 0; result == DB_OK && i < in.count && i < count; i++)
		key_add(keys, &in.list[i].key, in.list[i].belongs);
	free(in.list);
	return result;
}

/* ---- by the time at which they were made */

/* Ids are given in the order of time, but for transactions of the same moment. */
enum { SAME_MOMENT_MS = 2000 };

struct made {
	int64_t id, at; /* id 0: there is none */
};

static void newest_read(void *arg, const struct db_row *row)
{
	((struct made *)arg)->id = db_int(row, 0);
}

static void made_read(void *arg, const struct db_row *row)
{
	*(struct made *)arg = (struct made){db_int(row, 0), time_parse(row->col[1])};
}

/* So near is near enough, in ids: a quarter of a second. */
#define NEAR_IDS (INT64_C(1000) << 19)

/* Brings two ids together: all reservations up to the lower one were made before that time, all from the upper one on
 * at that time or later. They begin around all that there are. */
static enum db_result made_between(struct db *db, int64_t at_ms, int64_t *low, int64_t *high)
{
	enum db_result result = DB_OK;

	while (result == DB_OK && *high - *low > NEAR_IDS) {
		int64_t     middle = *low + (*high - *low) / 2;
		struct made made = {0};

		result = db_ask(db, RESERVATION_MADE, &(struct fill){.from_id = middle}, made_read, &made);
		if (made.id < middle || made.id >= *high || made.at >= at_ms)
			*high = middle;
		else
			*low = made.id;
	}
	return result;
}

/* ---- by a text that begins so */

static const struct sorted {
	enum statement walk;
	char           list;  /* the first letter of its cursors */
	bool           noted; /* several orders may have one text: they come by their state, then by their number */
} by_id = {RESERVATION_LIST_PREFIX, 'o', false}, by_customer = {RESERVATION_LIST_CUSTOMER_PREFIX, 'c', true},
  by_reference = {RESERVATION_LIST_REFERENCE_PREFIX, 'n', true};

static const struct sorted *sorted_of(const struct page *page)
{
	return page->customer_prefix ? &by_customer : page->reference_prefix ? &by_reference : &by_id;
}

static const char *prefix_of(const struct page *page)
{
	return page->customer_prefix    ? page->customer_prefix
	       : page->reference_prefix ? page->reference_prefix
	                                : page->prefix;
}

/* ---- walks */

/* The statement of a list without parts. */
static enum statement walk_of(const struct list_keys *keys)
{
	return keys->sku       ? RESERVATION_LIST_HOLDERS
	       : keys->on_hold ? RESERVATION_LIST_ON_HOLD
	       : keys->prefix  ? sorted_of(keys->page)->walk
	       : keys->by_time ? RESERVATION_LIST_CREATED
	                       : RESERVATION_LIST;
}

/* The rows behind `after`, `count` at most. part NULL: of all states, of the holders of a sku, or of orders on hold. */
static enum db_result rows_walk(struct db *db, const struct part *part, const struct list_key *after, size_t count,
                                struct list_keys *keys)
{
	enum statement name = walk_of(keys);
	struct fill    fill = {.sku = keys->sku,
	                       .error = keys->error,
	                       .location = keys->location,
	                       .state = keys->state,
	                       .after_at = after->due_ms,
	                       .after_task = after->task,
	                       .after_state = after->task,
	                       .after_id = after->id,
	                       .before_id = after->id,
	                       .before_location = after->task,
	                       .prefix = keys->prefix,
	                       .after_code = keys->after,
	                       .from_id = keys->from_id,
	                       .from_at = keys->page->created_after,
	                       .until_at = keys->page->created_before,
	                       .limit = (int64_t)count};

	if (is_noted(keys->page))
		return noted_walk(db, after->id, count, keys);
	if (part) {
		fill.state = part->stored;
		fill.lapsed = part->lapsed;
		name = part->tasked ? RESERVATION_LIST_TASKED : RESERVATION_LIST_WAITING;
	}
	return db_ask(db, name, &fill, key_read, keys);
}

/* Until the page is full, the part ends or the walk is long enough. As many rows as the page lacks come first, because
 * nearly always all of them belong to it. */
static enum db_result part_read(struct db *db, const struct part *part, struct list_key after, struct list_keys *keys)
{
	size_t         count = keys->max - keys->count;
	bool           more = true;
	enum db_result result = DB_OK;

	while (result == DB_OK && more && keys->count < keys->max && keys->walked < WALK_MAX) {
		size_t before = keys->walked;

		count = count < WALK_MAX - before ? count : WALK_MAX - before;
		result = rows_walk(db, part, &after, count, keys);
		more = keys->walked - before == count;
		after = keys->last;
		count *= 4;
	}
	return result;
}

/* Where no state is asked for, a list of the holders of a sku, or of orders on hold, shows all with promised units. */
static bool state_belongs(const struct op *op, const struct list_keys *keys, enum reservation_state reads)
{
	bool any = !keys->sku && !keys->on_hold;

	return op->query->page.state ? reads == op->query->page.state : any || reservation_is_live(reads);
}

/* The filter of the list, for its cursors. Two locations count as one if their numbers differ by 2^28, and so may two
 * errors. */
static int64_t filter_of(const struct op *op, const struct list_keys *keys)
{
	_Static_assert(STATES <= 8, "a state takes three bits");
	_Static_assert(offsetof(struct page, created_before) == offsetof(struct page, created_after) + sizeof(int64_t),
	               "both times are hashed together");
	const struct page *page = &op->query->page;
	int64_t            error = keys->error ? (int64_t)hash_stable(keys->error, strlen(keys->error)) << 31 : 0;

	/* no list is of a location without a sku */
	if (keys->on_hold)
		return 1 << 3 | page->state;
	if (is_noted(page)) {
		const char *text = page->customer ? page->customer : page->reference;

		return (int64_t)hash_stable(text, strlen(text)) << 31 | (page->customer ? 2 : 3) << 3 | page->state;
	}
	if (keys->by_time)
		return (int64_t)hash_stable(&page->created_after, 2 * sizeof(page->created_after)) << 31 | 4 << 3;
	return (error ^ (int64_t)keys->sku << 31) | (int64_t)(keys->location & 0xfffffff) << 3 | op->query->page.state;
}

static uint32_t prefix_filter(const struct list_keys *keys)
{
	return hash_stable(keys->prefix, strlen(keys->prefix)) ^ keys->page->state;
}

/* Where a list by a text goes on: behind the text alone, or STATE.NUMBER.TEXT. */
static bool place_read(struct list_keys *keys, struct list_key *after)
{
	const struct sorted *sorted = sorted_of(keys->page);
	char                 code[CURSOR_CODE_MAX + 1];
	size_t               len;
	int                  used = 0;

	if (!cursor_read_code(keys->page->cursor, sorted->list, prefix_filter(keys), code, CURSOR_CODE_MAX, &len))
		return false;
	code[len] = '\0';
	if (sorted->noted && len > 0 &&
	    (sscanf(code, "%" SCNd64 ".%" SCNd64 ".%n", &after->task, &after->id, &used) != 2 || used == 0))
		return false;
	return snprintf(keys->after, sizeof(keys->after), "%s", code + used) < (int)sizeof(keys->after);
}

static void place_write(char *cursor, const struct list_keys *keys)
{
	const struct sorted *sorted = sorted_of(keys->page);
	char                 code[CURSOR_CODE_MAX + 1];
	int                  len = 0;

	if (sorted->noted)
		len = snprintf(code, sizeof(code), "%" PRId64 ".%" PRId64 ".", keys->last.task, keys->last.id);
	snprintf(code + len, sizeof(code) - (size_t)len, "%s", keys->after);
	cursor_write_code(cursor, sorted->list, prefix_filter(keys), code);
}

/* Where the walk by time begins and ends. A cursor knows the end. */
static enum db_result created_begin(struct db *db, const struct op *op, struct list_key *after, struct list_keys *keys)
{
	const struct page *page = keys->page;
	struct made        newest = {0}, oldest = {0};
	int64_t            first, low, high;
	enum db_result     result;

	if (op->query->page.cursor[0]) {
		keys->from_id = after->due_ms;
		return DB_OK;
	}
	after->id = 0;
	if (page->created_after >= page->created_before)
		return DB_OK;
	result = db_ask(db, RESERVATION_LIST, &(struct fill){.before_id = INT64_MAX, .limit = 1}, newest_read, &newest);
	if (result == DB_OK)
		result = db_ask(db, RESERVATION_MADE, &(struct fill){.from_id = 0}, made_read, &oldest);
	if (result != DB_OK || newest.id <= 0 || newest.id == INT64_MAX)
		return result;
	low = first = oldest.id < newest.id ? oldest.id : 0;
	high = newest.id + 1;
	result = made_between(db, page->created_before + SAME_MOMENT_MS, &low, &high);
	after->id = high;
	low = first;
	if (result == DB_OK)
		result = made_between(db, page->created_after - SAME_MOMENT_MS, &low, &high);
	keys->from_id = low == first ? 0 : low;
	return result;
}

/* The keys of a page: of all reservations, of the holders of a sku, of orders on hold, or from the parts of the state.
 */
static enum db_result keys_read(struct db *db, struct op *op, struct list_keys *keys)
{
	bool            by_parts = op->query->page.state && !keys->sku && !keys->on_hold && !is_noted(keys->page);
	struct list_key after = {.id = by_parts ? 0 : INT64_MAX};
	int64_t         place = 0; /* the part, and 100 times the task */
	enum db_result  result = DB_OK;

	if (keys->prefix) {
		after = (struct list_key){0};
		if (place_read(keys, &after))
			return part_read(db, NULL, after, keys);
		op->outcome = BAD_CURSOR;
		return DB_OK;
	}
	if (op->query->page.cursor[0] &&
	    (!cursor_read(op->query->page.cursor, 'r', filter_of(op, keys), &place, &after.due_ms, &after.id) ||
	     (by_parts && (place < 0 || place % 100 >= (int64_t)LENGTH(parts) || after.due_ms < 0 ||
	                   after.due_ms > TIME_LAST || after.id < 0)))) {
		op->outcome = BAD_CURSOR;
		return DB_OK;
	}
	after.task = place / 100;
	if (keys->by_time)
		result = created_begin(db, op, &after, keys);
	if (!by_parts)
		return result == DB_OK ? part_read(db, NULL, after, keys) : result;
	for (size_t i = (size_t)(place % 100); result == DB_OK && i < LENGTH(parts); i++) {
		if (state_belongs(op, keys, parts[i].reads)) {
			keys->part = i;
			result = part_read(db, &parts[i], after, keys);
		}
		after = (struct list_key){.due_ms = 0};
	}
	return result;
}

/* As the row stands: what left the state, gave the sku away, or was let go since the walk is left out. */
static bool row_belongs(const struct op *op, const struct list_keys *keys, const struct reservation *r)
{
	bool holds = keys->sku == 0;

	if ((keys->error && !texts_equal(r->last_error, keys->error)) || (keys->on_hold && !reservation_on_hold(r)))
		return false;

	for (size_t i = 0; !holds && i < r->lines_count; i++)
		holds = sku_id(r->lines[i].sku) == keys->sku &&
		        (keys->location == 0 || r->lines[i].location->location_id == keys->location);
	return holds && state_belongs(op, keys, reservation_reads(r));
}

/* The rows of the keys, in the keys' order. */
static enum db_result rows_read(struct db *db, struct op *op, const struct list_keys *keys)
{
	struct reservation_reader in = {.catalogue = past_catalogue(db)};
	struct values             ids = {0};
	enum db_result            result;

	for (size_t i = 0; i < keys->count; i++)
		values_row(&ids, V_INT(keys->list[i].id));
	result = reservations_ask(db, RESERVATION_BY_ID, &(struct fill){.rows = &ids}, &in);
	if (result == DB_OK)
		result = ended_look(db, &in);
	op->query->reservations = mem_alloc(keys->count * sizeof(*op->query->reservations));
	for (size_t i = 0; i < keys->count; i++)
		for (size_t k = 0; k < in.count; k++)
			if (in.list[k] && (int64_t)in.list[k]->reservation_id == keys->list[i].id &&
			    row_belongs(op, keys, in.list[k])) {
				op->query->reservations[op->query->items++] = in.list[k];
				in.list[k] = NULL;
				break;
			}
	for (size_t k = 0; k < in.count; k++)
		reservation_free(in.list[k]);
	free(in.list);
	values_fini(&ids);
	return result;
}

/* The numbers of the sku and the location that the list is to show the holders of. *nowhere: there is no location of
 * this code. */
static enum db_result holding_find(struct db *db, struct op *op, struct list_keys *keys, bool *nowhere)
{
	struct catalogue      *c = past_catalogue(db);
	const char            *code = op->lines[0].location_code;
	const struct sku      *sku;
	const struct location *location = NULL;
	enum db_result         result = skus_find(db, &op, 1);

	if (result == DB_OK && code && !catalogue_location(c, code))
		result = past_locations(db);
	sku = catalogue_sku(c, op->lines[0].sku_code);
	if (code)
		location = catalogue_location(c, code);
	keys->sku = sku ? sku_id(sku) : 0;
	keys->location = location ? location->location_id : 0;
	*nowhere = code && !location;
	if (!sku)
		op->outcome = NO_SKU;
	else if (*nowhere && op->query->page.cursor[0])
		op->outcome = BAD_CURSOR; /* a list that shows nothing gave none */
	return result;
}

/* The cursor of what comes behind the page. */
static void cursor_make(struct op *op, const struct list_keys *keys)
{
	const struct list_key *last = &keys->last;

	if (keys->prefix)
		place_write(op->query->page.cursor, keys);
	else
		cursor_write(op->query->page.cursor, 'r', filter_of(op, keys),
		             (int64_t)((uint64_t)last->task * 100) + last->part,
		             keys->by_time ? keys->from_id : last->due_ms, last->id);
}

enum db_result list_reservations(struct db *db, struct op *op)
{
	struct list_keys keys = {.max = op->query->page.limit + 1,
	                         .page = &op->query->page,
	                         .error = op->query->page.error,
	                         .state = op->query->page.state,
	                         .on_hold = op->query->page.on_hold};
	bool             plain = op->lines_count == 0 && !keys.on_hold && !is_noted(keys.page), nowhere = false;
	enum db_result   result = DB_OK;

	op->outcome = OUTCOME_OK;
	keys.prefix = plain ? prefix_of(keys.page) : NULL;
	keys.by_time = plain && !keys.prefix && keys.page->by_time;
	if (op->lines_count > 0)
		result = holding_find(db, op, &keys, &nowhere);
	if (result != DB_OK || op->outcome != OUTCOME_OK || nowhere)
		return result;
	keys.list = mem_alloc(keys.max * sizeof(*keys.list));
	result = keys_read(db, op, &keys);
	if (result == DB_OK && op->outcome == OUTCOME_OK) {
		bool full = keys.count > op->query->page.limit, more = full || keys.walked >= WALK_MAX;

		assert(keys.count <= keys.max);
		keys.count -= full;
		if (keys.count > 0)
			result = rows_read(db, op, &keys);
		if (result == DB_OK)
			op->query->page.cursor[0] = '\0';
		if (result == DB_OK && more)
			cursor_make(op, &keys);
	}
	free(keys.list);
	return result;
}
