/* list.c - lists: what the desk answers. One statement for the page's keys in the order of an index, one for
 * the rows. */
#include "list.h"
#include "cursor.h"

#include <stdlib.h>
#include <string.h>

#define DUE_MAX_MS INT64_C(253402300799999) /* the last moment of the year 9999 */

struct op *the_one(struct op **ops, size_t count)
{
	assert(count == 1);
	return ops[0];
}

/* ---- reservations by their ids */

/* Of several who ask for one order each gets a copy. */
enum db_result list_found(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct reservation_reader in = {.catalogue = c};
	struct text               sql = {0}, ids = {0};
	enum db_result            result;

	for (size_t i = 0; i < count; i++)
		row_hex(&ids, ops[i]->id, strlen(ops[i]->id));
	statement_add(&sql, RESERVATION_FIND, &(struct fill){.rows = &ids});
	result = db_run(db, &sql, reservation_read, &in);
	reservations_join(&in);
	for (size_t i = 0; result == DB_OK && i < count; i++) {
		ops[i]->outcome = NO_ORDER;
		for (size_t k = 0; k < in.count && ops[i]->outcome == NO_ORDER; k++)
			if (strcmp(in.list[k]->order_id, ops[i]->id) == 0) {
				ops[i]->reservation = reservation_copy(in.list[k]);
				ops[i]->outcome = OUTCOME_OK;
			}
	}
	reservations_free(in.list, in.count);
	text_fini(&ids);
	text_fini(&sql);
	return result;
}

/* ---- movements of a sku */

enum db_result list_movements(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct op             *op = the_one(ops, count);
	struct movement_reader in = {.catalogue = c};
	struct text            sql = {0};
	int64_t                low = INT64_MAX, none[2];
	const struct sku      *sku;
	enum db_result         result = skus_find(db, c, &op, 1);

	if (result != DB_OK)
		return result;
	sku = catalogue_sku(c, op->lines[0].sku_code);
	op->outcome = sku ? OUTCOME_OK : NO_SKU;
	if (sku && op->page.cursor[0] && !cursor_read(op->page.cursor, 'm', sku_id(sku), &low, &none[0], &none[1]))
		op->outcome = BAD_CURSOR;
	if (op->outcome != OUTCOME_OK)
		return DB_OK;
	statement_add(&sql, MOVEMENT_LIST, &(struct fill){.sku = sku_id(sku), .low = low, .count = op->page.limit + 1});
	result = db_run(db, &sql, movement_read, &in);
	text_fini(&sql);
	movements_join(&in);
	op->movements = in.list;
	op->items = in.count;
	if (result != DB_OK)
		return result;
	op->page.cursor[0] = '\0';
	if (op->items > op->page.limit) {
		movement_free(op->movements[--op->items]);
		cursor_write(op->page.cursor, 'm', sku_id(sku), (int64_t)op->movements[op->items - 1]->movement_no, 0,
		             0);
	}
	return DB_OK;
}

/* ---- reservations */

/* A key of the page: where the row stands in the index. */
struct key {
	int64_t id, task, due_ms, part;
};

struct keys {
	struct key *list;
	size_t      count, max, part;
};

static void key_read(void *arg, const struct db_row *row)
{
	struct keys *keys = arg;

	assert(keys->count < keys->max);
	keys->list[keys->count++] =
		(struct key){db_int(row, 0), db_int(row, 1), time_parse(row->col[2]), (int64_t)keys->part};
}

/* A state is read from parts of the index, one after the other: a hold past its time reads expired before it is swept.
 */
static const struct part {
	enum state reads, stored;
	bool       lapsed, tasked;
} parts[] = {
	{HELD, HELD, false, false},      {HELD, HELD, false, true},     {CONFIRMED, CONFIRMED, 0, false},
	{CONFIRMED, CONFIRMED, 0, true}, {SETTLED, SETTLED, 0, false},  {SETTLED, SETTLED, 0, true},
	{RELEASED, RELEASED, 0, false},  {RELEASED, RELEASED, 0, true}, {EXPIRED, HELD, true, false},
	{EXPIRED, HELD, true, true},     {EXPIRED, EXPIRED, 0, false},  {EXPIRED, EXPIRED, 0, true},
	{BURIED, BURIED, 0, false},      {BURIED, BURIED, 0, true},
};

static enum db_result part_read(struct db *db, const struct part *part, const struct key *after, struct keys *keys)
{
	struct text    sql = {0}, due = {0};
	enum db_result result;

	row_time(&due, after->due_ms);
	statement_add(&sql, part->tasked ? RESERVATION_LIST_TASKED : RESERVATION_LIST_WAITING,
	              &(struct fill){.rows = &due,
	                             .state = part->stored,
	                             .lapsed = part->lapsed,
	                             .task = after->task,
	                             .low = after->id,
	                             .count = (int64_t)(keys->max - keys->count)});
	result = db_run(db, &sql, key_read, keys);
	text_fini(&due);
	text_fini(&sql);
	return result;
}

static enum db_result keys_of_state(struct db *db, struct op *op, struct keys *keys)
{
	struct key     after = {.task = 0, .due_ms = 0};
	size_t         first = 0;
	enum db_result result = DB_OK;

	if (op->page.cursor[0]) {
		int64_t place;

		if (!cursor_read(op->page.cursor, 'r', op->page.state, &place, &after.due_ms, &after.id) || place < 0 ||
		    place % 100 >= (int64_t)COUNT(parts) || after.due_ms < 0 || after.due_ms > DUE_MAX_MS ||
		    after.id < 0) {
			op->outcome = BAD_CURSOR;
			return DB_OK;
		}
		first = (size_t)(place % 100);
		after.task = place / 100;
	}
	for (size_t i = first; result == DB_OK && i < COUNT(parts) && keys->count < keys->max; i++) {
		if (parts[i].reads == op->page.state) {
			keys->part = i;
			result = part_read(db, &parts[i], &after, keys);
		}
		after = (struct key){.due_ms = 0};
	}
	return result;
}

static enum db_result keys_of_all(struct db *db, struct op *op, struct keys *keys)
{
	struct text    sql = {0};
	int64_t        low = INT64_MAX, place, due_ms;
	enum db_result result;

	if (op->page.cursor[0] && !cursor_read(op->page.cursor, 'r', 0, &place, &due_ms, &low)) {
		op->outcome = BAD_CURSOR;
		return DB_OK;
	}
	statement_add(&sql, RESERVATION_LIST, &(struct fill){.low = low, .count = (int64_t)keys->max});
	result = db_run(db, &sql, key_read, keys);
	text_fini(&sql);
	return result;
}

/* The rows of the keys, in the keys' order; one that left the state in between is left out. */
static enum db_result rows_read(struct db *db, struct catalogue *c, struct op *op, const struct keys *keys)
{
	struct reservation_reader in = {.catalogue = c};
	struct text               ids = {0}, sql = {0};
	enum db_result            result;

	for (size_t i = 0; i < keys->count; i++)
		row_int(&ids, keys->list[i].id);
	statement_add(&sql, RESERVATION_BY_ID, &(struct fill){.rows = &ids});
	result = db_run(db, &sql, reservation_read, &in);
	reservations_join(&in);
	op->reservations = mem_alloc(keys->count * sizeof(*op->reservations));
	for (size_t i = 0; i < keys->count; i++)
		for (size_t k = 0; k < in.count; k++)
			if (in.list[k] && (int64_t)in.list[k]->reservation_id == keys->list[i].id &&
			    (!op->page.state || reservation_reads(in.list[k]) == op->page.state)) {
				op->reservations[op->items++] = in.list[k];
				in.list[k] = NULL;
				break;
			}
	for (size_t k = 0; k < in.count; k++)
		reservation_free(in.list[k]);
	free(in.list);
	text_fini(&ids);
	text_fini(&sql);
	return result;
}

enum db_result list_reservations(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct op     *op = the_one(ops, count);
	struct keys    keys = {.max = op->page.limit + 1};
	enum db_result result;

	op->outcome = OUTCOME_OK;
	keys.list = mem_alloc(keys.max * sizeof(*keys.list));
	result = op->page.state ? keys_of_state(db, op, &keys) : keys_of_all(db, op, &keys);
	if (result == DB_OK && op->outcome == OUTCOME_OK) {
		const struct key *last = &keys.list[op->page.limit - 1];
		bool              more = keys.count > op->page.limit;

		keys.count -= more;
		if (keys.count > 0)
			result = rows_read(db, c, op, &keys);
		if (result == DB_OK)
			op->page.cursor[0] = '\0';
		if (result == DB_OK && more)
			cursor_write(op->page.cursor, 'r', op->page.state, last->task * 100 + last->part, last->due_ms,
			             last->id);
	}
	free(keys.list);
	return result;
}
