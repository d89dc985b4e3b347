/* new_skus.c - see new_skus.h. */
#include "engine/new_skus.h"
#include "engine/catalogue/past.h"
#include "engine/rows.h"

/* Lists the codes that the catalogue lacks. */
static size_t codes_list(struct values *codes, struct catalogue *c, const char *const *skus, size_t count, bool dated)
{
	values_reset(codes);
	for (size_t i = 0; i < count; i++) {
		if (catalogue_sku(c, skus[i]))
			continue;
		if (dated)
			values_row(codes, V_TEXT(skus[i]), V_CLOCK);
		else
			values_row(codes, V_TEXT(skus[i]));
	}
	return codes->rows;
}

static enum db_result skus_read(struct db *db, const char *const *skus, size_t count)
{
	struct catalogue *c = past_catalogue(db);
	struct values     codes = {0};
	enum db_result    result = DB_OK;

	if (codes_list(&codes, c, skus, count, false) > 0)
		result = db_ask(db, SKU_FIND, &(struct fill){.rows = &codes}, sku_row_read, c);
	values_fini(&codes);
	return result;
}

enum db_result new_skus_make(struct db *db, const char *const *skus, size_t count)
{
	struct catalogue *c = past_catalogue(db);
	struct values     codes = {0};
	enum db_result    result = skus_read(db, skus, count);

	assert(count == 0 || skus);
	if (result == DB_OK && codes_list(&codes, c, skus, count, true) > 0) {
		result = db_ask(db, SKU_MAKE, &(struct fill){.rows = &codes}, NULL, NULL);
		if (result == DB_OK)
			result = skus_read(db, skus, count);
	}
	values_fini(&codes);
	return result;
}
