/* sku_limits.c - see sku_limits.h. */
#include "engine/catalogue/sku_limits.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"

enum { LIMITS_PAGE = 5000 };

struct limits_reader {
	struct catalogue *catalogue;
	int64_t           last; /* number of the last change of all */
	int64_t           to;   /* number of the last change that was read; 0: none */
	struct sku_limit *list;
	size_t            count, max;
};

static void limit_read(void *arg, const struct db_row *row)
{
	struct limits_reader *in = arg;
	int64_t               number = db_int(row, 0);

	if (number < 0 || in->count == LIMITS_PAGE || row->len[2] > SKU_MAX) {
		db_other(row);
		return;
	}
	if (!row->col[1]) {
		in->last = number;
		return;
	}
	in->to = number;
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	in->list[in->count++] = (struct sku_limit){
		.sku = catalogue_sku_enter(in->catalogue, (uint32_t)db_int(row, 1), db_word(row, 2), row->len[2]),
		.per_customer = db_int(row, 3),
		.stopped = db_int(row, 4) == 0};
}

/* One page of changes. *more: there are further ones. A database is in an earlier past if its last change has a lower
 * number than a known one: all of it is read again. */
static enum db_result page_read(struct db *db, bool *more)
{
	struct catalogue    *c = past_catalogue(db);
	struct limits_reader in = {.catalogue = c};
	unsigned             past = catalogue_past(c);
	int64_t              known = catalogue_limits_number(c), read_ms = clock_ms();
	enum db_result       result =
		db_ask(db, LIMITS_READ, &(struct fill){.after_id = known, .limit = LIMITS_PAGE}, limit_read, &in);
	bool back = result == DB_OK && in.last < known;

	*more = in.count == LIMITS_PAGE || back;
	if (back)
		catalogue_limits_forget(c);
	else if (result == DB_OK)
		catalogue_limits_enter(c, past, in.count > 0 ? in.to : known, *more ? LIMITS_MORE : read_ms, in.list,
		                       in.count);
	free(in.list);
	return result;
}

enum db_result sku_limits_read(struct db *db)
{
	enum db_result result;
	bool           more;

	do
		result = page_read(db, &more);
	while (result == DB_OK && more);
	return result;
}

static void put_read(void *arg, const struct db_row *row)
{
	struct sku_put *put = arg;

	put->made |= db_int(row, 0) != 0;
	put->per_customer = db_int(row, 1);
	put->sku_id = (uint32_t)db_int(row, 2);
}

static void detail_read(void *arg, const struct db_row *row)
{
	sku_details_read(arg, row);
}

static enum db_result put_details(struct db *db, struct sku_put *put)
{
	struct values  ids = {0};
	enum db_result result;

	values_row(&ids, V_INT(put->sku_id));
	sku_details_reset(&put->details);
	result = db_ask(db, SKU_DETAILS, &(struct fill){.rows = &ids}, detail_read, &put->details);
	sku_details_sort(&put->details);
	values_fini(&ids);
	return result;
}

void sku_put_free(void *arg)
{
	struct sku_put *put = arg;

	sku_details_fini(&put->details);
	free(put);
}

enum db_result sku_limits_put(struct db *db, void *arg)
{
	struct sku_put *put = arg;
	struct values   barcodes = {0};
	enum db_result  result;

	values_row(&barcodes, V_INT(0), V_TEXT(""));
	for (size_t i = 0; i < put->barcodes_count; i++)
		values_row(&barcodes, V_INT(i + 1), V_TEXT(put->barcodes[i]));
	result = db_ask(db, SKU_PUT,
	                &(struct fill){.code = put->sku,
	                               .per_customer = put->wish,
	                               .named = put->named,
	                               .name = *put->name ? put->name : NULL,
	                               .barcoded = put->barcoded,
	                               .rows = &barcodes},
	                put_read, put);
	values_fini(&barcodes);
	if (result == DB_OK)
		result = put_details(db, put);
	return result == DB_OK ? sku_limits_read(db) : result;
}
