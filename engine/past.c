/* past.c - see past.h. */
#include "engine/past.h"
#include "engine/db/db.h"

#include <string.h>

struct check {
	uint64_t      mark;
	bool          same; /* true: the newest names are unchanged */
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
	           name_same(row, 2, in->newest.location_id, in->newest.location);
}

enum db_result past_check(struct past *p, struct db *db, struct catalogue *c)
{
	struct check   in = {0};
	uint64_t       known;
	enum db_result result;

	catalogue_newest(c, &in.newest);
	result = db_ask(db, PAST_READ, &(struct fill){.sku = in.newest.sku_id, .location = in.newest.location_id},
	                 check_read, &in);
	if (result != DB_OK)
		return result;
	known = atomic_exchange(&p->mark, in.mark);
	if (!in.same || (known != 0 && known != in.mark))
		catalogue_forget(c);
	return DB_OK;
}
