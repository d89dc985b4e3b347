/* fuzz_delivery.c - any bytes as a file of `import`. A row has something wrong or is valid in all of its parts; rows
 * come in the order of their lines; two passes see the same rows. */
#include "engine/base/codes.h"
#include "engine/base/hash.h"
#include "engine/op.h"
#include "input.h"
#include "commands/import/delivery.h"

#include <string.h>

struct pass {
	int64_t  line, number, good, bad;
	uint64_t units, rows; /* a sum over everything that good rows say */
};

static void row_check(void *arg, const struct delivery_row *row)
{
	struct pass *pass = arg;

	assert(row->line > 0 && row->line >= pass->line);
	assert(row->number > pass->number);
	pass->line = row->line;
	pass->number = row->number;
	if (row->wrong) {
		pass->bad++;
		return;
	}
	assert(code_valid(row->sku, strlen(row->sku), SKU_MAX));
	assert(!row->location || code_valid(row->location, strlen(row->location), LOCATION_MAX));
	assert(!row->to || (code_valid(row->to, strlen(row->to), LOCATION_MAX) && strcmp(row->to, row->location) != 0));
	assert(row->qty >= -LINE_UNITS_MAX && row->qty <= QTY_MAX && row->expected >= -1 && row->as_of >= 0);
	pass->good++;
	pass->units += (uint64_t)row->qty;
	pass->rows = pass->rows * 31 + hash_bytes(row->sku, strlen(row->sku));
	if (row->location)
		pass->rows = pass->rows * 31 + hash_bytes(row->location, strlen(row->location));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum movement_kind kinds[] = {RECEIPT, ADJUSTMENT, STOCKTAKE, TRANSFER};
	const char                     *file = input_file(data, size);

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		struct pass     first = {0}, second = {0};
		struct delivery d = {.file = file, .naming.kind = kinds[i], .each = row_check, .arg = &first};
		bool            ok = delivery_read(&d);

		d.arg = &second;
		assert(delivery_read(&d) == ok);
		delivery_fini(&d);
		assert(memcmp(&first, &second, sizeof(first)) == 0);
	}
	return 0;
}
