/* key.c - see key.h; and the holds that a batch writes for keys with a limit. */
#include "engine/read/key.h"
#include "engine/base/clock.h"
#include "engine/db/statement.h"

#include <string.h>

enum { OVER_PAGE = 1000, OVER_PAGES = 5, OPEN_PAGE = 5000 };

static enum db_result names_note(struct db *db, const struct key_count *k)
{
	struct text    sql = {0}, rows = {0};
	enum db_result result;

	for (size_t i = 0; i < k->count; i++) {
		row_begin(&rows);
		row_int(&rows, k->keys[i].key_id);
		row_hex(&rows, k->keys[i].name, strlen(k->keys[i].name));
		row_utc_now(&rows);
		row_end(&rows);
	}
	statement_add(&sql, KEY_NOTE, &(struct fill){.rows = &rows});
	result = db_run(db, &sql, NULL, NULL);
	text_fini(&sql);
	text_fini(&rows);
	return result;
}

static void units_read(void *arg, const struct db_row *row)
{
	struct key_count *k = arg;

	for (size_t i = 0; i < k->count; i++)
		if (k->keys[i].key_id == (uint32_t)db_int(row, 0))
			k->keys[i].units = db_int(row, 1);
}

static void place_read(void *arg, const struct db_row *row)
{
	*(struct hold_place *)arg = (struct hold_place){time_parse(row->col[0]), db_int(row, 1)};
}

/* One page, or all of them. The end of a page is looked for first: what comes in meanwhile has its row already. */
static enum db_result missing_enter(struct db *db, struct key_count *k, const struct text *keys)
{
	struct text    sql = {0};
	enum db_result result;

	if (k->anew)
		k->next = (struct hold_place){0};
	do {
		struct fill       page = {.rows = keys, .low = k->next.due_ms, .id = k->next.id, .count = OPEN_PAGE};
		struct hold_place next = {0};

		text_reset(&sql);
		statement_add(&sql, KEY_HOLD_PAGE, &page);
		result = db_run(db, &sql, place_read, &next);
		text_reset(&sql);
		statement_add(&sql, KEY_HOLD_ENTER, &page);
		if (result == DB_OK)
			result = db_run(db, &sql, NULL, NULL);
		if (result == DB_OK)
			k->next = next;
	} while (result == DB_OK && k->anew && k->next.id);
	text_fini(&sql);
	return result;
}

static enum db_result units_count(struct db *db, struct key_count *k)
{
	struct text    sql = {0}, rows = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < k->count; i++) {
		k->keys[i].units = 0;
		if (k->keys[i].limited)
			row_int(&rows, k->keys[i].key_id);
	}
	if (rows.len > 0)
		result = missing_enter(db, k, &rows);
	if (rows.len > 0 && result == DB_OK) {
		statement_add(&sql, KEY_HOLD_COUNT, &(struct fill){.rows = &rows});
		result = db_run(db, &sql, units_read, k);
	}
	text_fini(&sql);
	text_fini(&rows);
	return result;
}

struct page_reader {
	struct text ids;
	int         count;
};

static void id_read(void *arg, const struct db_row *row)
{
	struct page_reader *page = arg;

	row_int(&page->ids, db_int(row, 0));
	page->count++;
}

/* What is over is not counted in any case, so a page that cannot be removed now has time. */
static bool over_remove(struct db *db)
{
	struct page_reader page = {0};
	struct text        sql = {0};
	bool               ok;

	statement_add(&sql, KEY_HOLD_OVER, &(struct fill){.count = OVER_PAGE});
	ok = db_run(db, &sql, id_read, &page) == DB_OK;
	if (ok && page.count > 0) {
		text_reset(&sql);
		statement_add(&sql, KEY_HOLD_REMOVE, &(struct fill){.rows = &page.ids});
		ok = db_run(db, &sql, NULL, NULL) == DB_OK;
	}
	text_fini(&sql);
	text_fini(&page.ids);
	return ok && page.count == OVER_PAGE;
}

enum db_result key_count_run(struct db *db, struct catalogue *c, void *arg)
{
	struct key_count *k = arg;
	enum db_result    result = k->anew ? names_note(db, k) : DB_OK;

	(void)c;
	if (result == DB_OK)
		result = units_count(db, k);
	k->more = result == DB_OK;
	for (int page = 0; k->more && page < OVER_PAGES; page++)
		k->more = over_remove(db);
	return result;
}
