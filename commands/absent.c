/* absent.c - see absent.h. Pages of the whole stock are read, as export reads them. */
#include "commands/absent.h"
#include "engine/catalogue/locations.h"
#include "engine/rows.h"

enum { PAGE = 500 };

struct walk {
	const struct listed *listed;
	void (*each)(void *arg, const char *sku, const char *location);
	void  *arg;
	char   sku[SKU_MAX + 1], location[LOCATION_MAX + 1]; /* of the slots that were read last .. */
	bool   counts;                                       /* .. units there are to be counted as 0 */
	size_t skus;                                         /* of the page */
};

void listed_add(struct listed *l, const char *sku, const char *location)
{
	(void)keys_add(&l->rows, key_of(sku, location));
	(void)keys_add(&l->locations, key_of("", location));
}

void listed_fini(struct listed *l)
{
	keys_fini(&l->rows);
	keys_fini(&l->locations);
}

/* The slots of a sku at a location are at their end. */
static void spot_end(struct walk *w)
{
	if (w->counts && keys_has(&w->listed->locations, key_of("", w->location)) &&
	    !keys_has(&w->listed->rows, key_of(w->sku, w->location)))
		w->each(w->arg, w->sku, w->location);
	w->counts = false;
}

static void slot_read(void *arg, const struct db_row *row)
{
	struct walk *w = arg;

	if (strcmp(w->sku, db_word(row, 0)) != 0) {
		spot_end(w);
		w->skus++;
		w->location[0] = '\0';
		db_copy(row, 0, w->sku, sizeof(w->sku));
	}
	if (!row->col[1])
		return; /* never stocked */
	if (strcmp(w->location, db_word(row, 1)) != 0) {
		spot_end(w);
		db_copy(row, 1, w->location, sizeof(w->location));
	}
	w->counts |=
		(enum location_kind)db_int(row, 2) != LOCATION_INCOMING && (db_int(row, 3) > 0 || db_int(row, 4) > 0);
}

bool absent_find(struct db *db, const struct listed *l, void (*each)(void *arg, const char *sku, const char *location),
                 void *arg)
{
	struct walk    w = {.listed = l, .each = each, .arg = arg};
	char           after[SKU_MAX + 1] = "";
	enum db_result result;

	assert(each);
	do {
		w.skus = 0;
		result = db_ask(db, EXPORT_STOCK, &(struct fill){.after_code = after, .limit = PAGE}, slot_read, &w);
		memcpy(after, w.sku, sizeof(after));
	} while (result == DB_OK && w.skus == PAGE);
	spot_end(&w);
	return result == DB_OK;
}
