/* past.c - see past.h. */
#include "engine/catalogue/past.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"

/* ---- locations */

struct locations_reader {
	struct location *list;
	size_t           count, max;
};

static void location_read(void *arg, const struct db_row *row)
{
	struct locations_reader *in = arg;
	struct location         *to;

	if (row->len[1] > LOCATION_MAX)
		return; /* by damage alone */
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	to = &in->list[in->count++];
	*to = (struct location){.location_id = (uint32_t)db_int(row, 0),
	                        .kind = (uint8_t)db_int(row, 2),
	                        .expected_at = time_parse(row->col[3]),
	                        .waits_at = (uint32_t)db_int(row, 4),
	                        .stopped = db_int(row, 5) == 0};
	memcpy(to->code, db_word(row, 1), row->len[1]);
}

/* A location that is made behind the version is read, too, or shows in the next version. */
static enum db_result locations_read(struct db *db, int64_t asked, int64_t version)
{
	struct catalogue       *c = past_catalogue(db);
	struct locations_reader in = {0};
	enum db_result          result;

	if (catalogue_locations_same(c, asked, version))
		return DB_OK;
	result = db_ask(db, LOCATIONS_READ, NULL, location_read, &in);
	if (result == DB_OK)
		catalogue_locations_enter(c, asked, version, in.list, in.count);
	free(in.list);
	return result;
}

enum db_result past_locations(struct db *db)
{
	struct catalogue *c = past_catalogue(db);
	int64_t           asked = catalogue_locations_ask(c), version = 0;
	enum db_result    result = db_ask(db, LOCATIONS_VERSION, NULL, db_ints, &version);

	return result == DB_OK ? locations_read(db, asked, version) : result;
}

/* ---- the past */

struct check {
	uint64_t      mark;
	int64_t       locations; /* their version */
	bool          same;      /* true: the newest names are unchanged */
	struct newest newest;
};

static bool name_same(const struct db_row *row, unsigned column, uint32_t number, const char *code)
{
	return number == 0 || (row->col[column] && row->len[column] == strlen(code) &&
	                       memcmp(row->col[column], code, row->len[column]) == 0);
}

static void check_read(void *arg, const struct db_row *row)
{
	struct check *in = arg;

	in->mark = (uint64_t)db_int(row, 0);
	in->same = name_same(row, 1, in->newest.sku_id, in->newest.sku) &&
	           name_same(row, 2, in->newest.location.location_id, in->newest.location.code);
	in->locations = db_int(row, 3);
}

static bool past_compare(void *catalogue, struct db *db)
{
	struct catalogue *c = catalogue;
	struct check      in = {0};
	struct fill       fill = {0};
	int64_t           asked = catalogue_locations_ask(c);
	uint64_t          known;

	catalogue_newest(c, &in.newest);
	fill.sku = in.newest.sku_id;
	fill.location = in.newest.location.location_id;
	if (db_ask(db, PAST_READ, &fill, check_read, &in) != DB_OK)
		return false;
	known = source_mark_swap(db_source(db), in.mark);
	if (!in.same || (known != 0 && known != in.mark))
		catalogue_forget(c);
	return locations_read(db, asked, in.locations) == DB_OK;
}

void past_watch(struct source *s, struct catalogue *c)
{
	source_memory_set(s, (struct source_memory){c ? past_compare : NULL, c});
}

struct catalogue *past_catalogue(const struct db *db)
{
	return source_memory(db_source(db)).arg;
}
