/* list.c - lists and totals: what the desk answers. One statement for the page's keys in the order of an index, one for
 * the rows. A cursor names its list, its filter and the last key, with a check against those from elsewhere. */
#include "list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cursors */

static uint32_t check_of(const char *text)
{
	uint32_t h = 2166136261u; /* FNV-1a without a seed: cursors outlive the process */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/* list.filter.a.b.c.check, all numbers but the list. */
static void cursor_write(char *to, char list, int64_t filter, int64_t a, int64_t b, int64_t c)
{
	char keys[200];

	snprintf(keys, sizeof(keys), "%c.%" PRId64 ".%" PRId64 ".%" PRId64 ".%" PRId64, list, filter, a, b, c);
	snprintf(to, sizeof(((struct page *)0)->cursor), "%s.%08x", keys, check_of(keys));
}

static bool cursor_read(const char *from, char list, int64_t filter, int64_t *a, int64_t *b, int64_t *c)
{
	char    found, again[sizeof(((struct page *)0)->cursor)];
	int64_t found_filter;

	if (sscanf(from, "%c.%" SCNd64 ".%" SCNd64 ".%" SCNd64 ".%" SCNd64 ".", &found, &found_filter, a, b, c) != 5)
		return false;
	cursor_write(again, list, filter, *a, *b, *c);
	return strcmp(again, from) == 0;
}

/* ---- totals */

struct totals_reader {
	struct catalogue *catalogue;
	int64_t           read_ms;
	struct sku       *sku; /* whose totals are being read */
	struct total     *list;
	size_t            count, max;
};

static void totals_end(struct totals_reader *in)
{
	if (in->sku)
		catalogue_totals_put(in->catalogue, in->sku, in->read_ms, in->list, in->count);
	in->sku = NULL;
	in->count = 0;
}

static void total_read(void *arg, const struct db_row *row)
{
	struct totals_reader *in = arg;
	struct sku           *sku = catalogue_sku_by_id(in->catalogue, (uint32_t)db_int(row, 0));

	if (sku != in->sku)
		totals_end(in);
	in->sku = sku;
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	in->list[in->count++] = (struct total){
		catalogue_location_enter(in->catalogue, (uint32_t)db_int(row, 1), row->col[2], row->len[2]),
		db_int(row, 3), db_int(row, 4)};
}

static void code_read(void *arg, const struct db_row *row)
{
	catalogue_sku_enter(arg, (uint32_t)db_int(row, 1), row->col[0], row->len[0]);
}

static enum db_result skus_find(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct text    codes = {0}, sql = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ops[i]->lines_count; k++)
			if (!catalogue_sku(c, ops[i]->lines[k].sku_code))
				row_hex(&codes, ops[i]->lines[k].sku_code, strlen(ops[i]->lines[k].sku_code));
	if (codes.len > 0) {
		statement_add(&sql, SKU_FIND, &(struct fill){.rows = &codes});
		result = db_run(db, &sql, code_read, c);
	}
	text_fini(&codes);
	text_fini(&sql);
	return result;
}

/* The totals of one operation's skus, from the catalogue, where they were put a moment ago. */
static void totals_answer(struct catalogue *c, struct op *op)
{
	size_t used = 0, max = op->lines_count;

	op->totals = mem_alloc(max * sizeof(*op->totals));
	op->totals_of = mem_alloc(op->lines_count * sizeof(*op->totals_of));
	for (size_t k = 0; k < op->lines_count; k++) {
		struct line *line = &op->lines[k];
		struct sku  *sku = catalogue_sku(c, line->sku_code);
		size_t       count = 0;
		int64_t      age_ms;

		line->sku = sku;
		while (sku &&
		       !(catalogue_totals_get(c, sku, INT64_MAX, op->totals + used, max - used, &count, &age_ms) &&
		         count <= max - used)) {
			if (age_ms == INT64_MAX)
				break; /* never stocked, never read: there is nothing */
			max = max * 2 + count;
			op->totals = mem_resize(op->totals, max * sizeof(*op->totals));
		}
		op->totals_of[k] = count;
		used += count;
	}
	op->outcome = OUTCOME_OK;
}

/* Reads the totals of these skus into the catalogue. */
static enum db_result totals_read(struct db *db, struct catalogue *c, const struct text *ids)
{
	struct totals_reader in = {.catalogue = c};
	struct text          sql = {0};
	enum db_result       result;

	if (ids->len == 0)
		return DB_OK;
	statement_add(&sql, STOCK_TOTALS, &(struct fill){.rows = ids});
	in.read_ms = clock_ms();
	result = db_run(db, &sql, total_read, &in);
	totals_end(&in);
	free(in.list);
	text_fini(&sql);
	return result;
}

enum db_result list_totals(struct db *db, struct catalogue *c, struct op **ops, size_t count)
{
	struct text    ids = {0};
	enum db_result result = skus_find(db, c, ops, count);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ops[i]->lines_count; k++) {
			struct sku *sku = catalogue_sku(c, ops[i]->lines[k].sku_code);

			if (sku)
				row_int(&ids, sku_id(sku));
		}
	if (result == DB_OK)
		result = totals_read(db, c, &ids);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		totals_answer(c, ops[i]);
	text_fini(&ids);
	return result;
}

/* ---- skus by code */

struct page_reader {
	struct catalogue *catalogue;
	struct op        *op;
	struct text      *ids;
};

/* A line of the op for every sku of the page, the one beyond it too. */
static void listed_read(void *arg, const struct db_row *row)
{
	struct page_reader *in = arg;
	struct op          *op = in->op;

	op->lines[op->lines_count++].sku =
		catalogue_sku_enter(in->catalogue, (uint32_t)db_int(row, 1), row->col[0], row->len[0]);
	row_int(in->ids, db_int(row, 1));
}

/* The code after which a page begins is the cursor's text in hexadecimal, so that it is read back byte by byte. */
static bool sku_cursor_read(const char *cursor, char *code, size_t *len)
{
	unsigned    byte;
	char        again[sizeof(((struct page *)0)->cursor)];
	struct text hex = {0};
	int         used;

	*len = 0;
	if (!*cursor)
		return true;
	if (strncmp(cursor, "s.", 2) != 0)
		return false;
	for (const char *at = cursor + 2; *len < SKU_MAX && sscanf(at, "%2x%n", &byte, &used) == 1 && used == 2;
	     at += 2)
		code[(*len)++] = (char)byte;
	text_hex(&hex, code, *len);
	snprintf(again, sizeof(again), "s.%s.%08x", hex.data, check_of(hex.data));
	text_fini(&hex);
	return strcmp(again, cursor) == 0;
}

static void sku_cursor_write(char *to, const char *code)
{
	struct text hex = {0};

	text_hex(&hex, code, strlen(code));
	snprintf(to, sizeof(((struct page *)0)->cursor), "s.%s.%08x", hex.data, check_of(hex.data));
	text_fini(&hex);
}

enum db_result list_skus(struct db *db, struct catalogue *c, struct op *op)
{
	struct text        sql = {0}, after = {0}, ids = {0};
	struct page_reader in = {c, op, &ids};
	char               code[SKU_MAX];
	size_t             len;
	enum db_result     result;

	if (!sku_cursor_read(op->page.cursor, code, &len)) {
		op->outcome = BAD_CURSOR;
		return DB_OK;
	}
	row_hex(&after, code, len);
	op->lines_count = 0;
	statement_add(&sql, SKU_LIST, &(struct fill){.rows = &after, .count = op->page.limit + 1});
	result = db_run(db, &sql, listed_read, &in);
	if (result == DB_OK)
		result = totals_read(db, c, &ids);
	text_fini(&after);
	text_fini(&sql);
	text_fini(&ids);
	if (result != DB_OK)
		return result;
	op->page.cursor[0] = '\0';
	if (op->lines_count > op->page.limit) {
		op->lines_count = op->page.limit;
		sku_cursor_write(op->page.cursor, sku_code(op->lines[op->lines_count - 1].sku));
	}
	for (size_t i = 0; i < op->lines_count; i++)
		op->lines[i].sku_code = sku_code(op->lines[i].sku);
	totals_answer(c, op);
	return DB_OK;
}

/* ---- movements of a sku */

static int newest_first(const void *a, const void *b)
{
	const struct movement *x = *(struct movement *const *)a, *y = *(struct movement *const *)b;

	return (x->movement_no < y->movement_no) - (x->movement_no > y->movement_no);
}

enum db_result list_movements(struct db *db, struct catalogue *c, struct op *op)
{
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
	op->movements = in.list;
	op->items = in.count;
	if (result != DB_OK)
		return result;
	if (op->items > 0)
		qsort(op->movements, op->items, sizeof(op->movements[0]), newest_first);
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

		if (!cursor_read(op->page.cursor, 'r', op->page.state, &place, &after.due_ms, &after.id) || place < 0) {
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
	reservations_sort_lines(in.list, in.count);
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

enum db_result list_reservations(struct db *db, struct catalogue *c, struct op *op)
{
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

/* ---- counts */

static void count_read(void *arg, const struct db_row *row)
{
	struct counts *counts = arg;
	int64_t        state = db_int(row, 0);

	assert(state > 0 && state < STATES);
	counts->by_state[state] += db_int(row, 2);
	if (db_int(row, 1)) {
		counts->claimed[state] = db_int(row, 2);
	} else {
		counts->ready[state] = db_int(row, 3);
		counts->oldest_ready_ms[state] = db_int(row, 3) ? db_int(row, 4) : 0;
	}
}

static void tasks_count_read(void *arg, const struct db_row *row)
{
	struct counts *counts = arg;

	counts->tasks_open = db_int(row, 0);
	counts->oldest_lease_ms = db_int(row, 1);
}

bool engine_count(struct db *db, struct counts *out)
{
	struct text sql = {0};
	bool        ok;

	*out = (struct counts){.counted_ms = clock_ms()};
	statement_add(&sql, RESERVATION_COUNTS, NULL);
	ok = db_run(db, &sql, count_read, out) == DB_OK;
	text_reset(&sql);
	statement_add(&sql, TASK_FIGURES, NULL);
	ok = ok && db_run(db, &sql, tasks_count_read, out) == DB_OK;
	text_fini(&sql);
	return ok;
}

enum db_result list_counts(struct db *db, struct catalogue *c, struct op *op)
{
	(void)c;
	op->outcome = OUTCOME_OK;
	return engine_count(db, &op->counts) ? DB_OK : DB_AWAY;
}
