/* key.c - see key.h. */
#include "engine/read/key.h"
#include "engine/base/clock.h"
#include "engine/db/db.h"

enum { OVER_PAGE = 1000, OVER_PAGES = 5, OPEN_PAGE = 5000 };

static enum db_result names_note(struct db *db, const struct key_count *k)
{
	struct values  rows = {0};
	enum db_result result;

	for (size_t i = 0; i < k->count; i++) {
		values_row(&rows, V_INT(k->keys[i].key_id), V_TEXT(k->keys[i].name), V_CLOCK);
	}
	result = db_ask(db, KEY_NOTE, &(struct fill){.rows = &rows}, NULL, NULL);
	values_fini(&rows);
	return result;
}

static enum db_result uses_note(struct db *db, const struct key_count *k)
{
	struct values  rows = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < k->count; i++)
		if (k->keys[i].used)
			values_row(&rows, V_INT(k->keys[i].key_id), V_CLOCK);
	if (rows.count > 0)
		result = db_ask(db, KEY_USED, &(struct fill){.rows = &rows}, NULL, NULL);
	values_fini(&rows);
	return result;
}

struct uses {
	struct key_use *list;
	size_t          count;
};

static void use_read(void *arg, const struct db_row *row)
{
	const struct uses *uses = arg;

	for (size_t i = 0; i < uses->count; i++)
		if (uses->list[i].key_id == (uint32_t)db_int(row, 0))
			uses->list[i].used_at = time_parse(row->col[1]);
}

enum db_result key_uses_read(struct db *db, struct key_use *list, size_t count)
{
	struct uses    uses = {list, count};
	struct values  keys = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < count; i++) {
		list[i].used_at = TIME_NONE;
		values_row(&keys, V_INT(list[i].key_id));
	}
	if (count > 0)
		result = db_ask(db, KEY_USES, &(struct fill){.rows = &keys}, use_read, &uses);
	values_fini(&keys);
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

/* Enters missing holds: one page, or all of them. The end of a page is looked for first: a hold made meanwhile has its
 * row already. */
static enum db_result missing_enter(struct db *db, struct key_count *k, const struct values *keys)
{
	enum db_result result;

	if (k->full)
		k->next = (struct hold_place){0};
	do {
		struct fill       page = {.rows = keys,
		                          .from_at = k->next.due_ms,
		                          .from_id = k->next.id,
		                          .limit = OPEN_PAGE,
		                          .offset = OPEN_PAGE};
		struct hold_place next = {0};

		result = db_ask(db, KEY_HOLD_PAGE, &page, place_read, &next);
		if (result == DB_OK)
			result = db_ask(db, KEY_HOLD_ENTER, &page, NULL, NULL);
		if (result == DB_OK)
			k->next = next;
	} while (result == DB_OK && k->full && k->next.id);
	return result;
}

static enum db_result units_count(struct db *db, struct key_count *k)
{
	struct values  rows = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < k->count; i++) {
		k->keys[i].units = 0;
		if (k->keys[i].limited)
			values_row(&rows, V_INT(k->keys[i].key_id));
	}
	if (rows.count > 0)
		result = missing_enter(db, k, &rows);
	if (rows.count > 0 && result == DB_OK)
		result = db_ask(db, KEY_HOLD_COUNT, &(struct fill){.rows = &rows}, units_read, k);
	values_fini(&rows);
	return result;
}

/* Rows that are over are never counted, so their removal may lag. True: more may wait to be removed. */
static bool over_remove(struct db *db)
{
	struct values ids = {0};
	bool          ok = db_ask(db, KEY_HOLD_OVER, &(struct fill){.limit = OVER_PAGE}, db_numbers, &ids) == DB_OK;
	bool          full = ids.count == OVER_PAGE;

	if (ok && ids.count > 0)
		ok = db_ask(db, KEY_HOLD_REMOVE, &(struct fill){.rows = &ids}, NULL, NULL) == DB_OK;
	values_fini(&ids);
	return ok && full;
}

enum db_result key_count_run(struct db *db, void *arg)
{
	struct key_count *k = arg;
	enum db_result    result = k->full ? names_note(db, k) : DB_OK;

	if (result == DB_OK)
		result = uses_note(db, k);
	if (result == DB_OK)
		result = units_count(db, k);
	k->more = result == DB_OK;
	for (int page = 0; k->more && page < OVER_PAGES; page++)
		k->more = over_remove(db);
	return result;
}
