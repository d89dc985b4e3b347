/* kept.c - see kept.h. */
#include "engine/read/kept.h"

#include <assert.h>

static int row_order(const void *a, const void *b)
{
	const struct total_row *x = a, *y = b;

	return pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);
}

static void row_keep(struct total_row *row, struct total *queue)
{
	int64_t kept = queue->reserved < row->total.available ? queue->reserved : row->total.available;

	if (kept <= 0)
		return;
	row->total.available -= kept;
	row->total.reserved += kept;
	queue->reserved -= kept;
	assert(row->total.available >= 0 && queue->reserved >= 0);
}

void totals_keep(struct total_row *rows, size_t count)
{
	if (count < 2) /* none, or no queue beside it */
		return;
	qsort(rows, count, sizeof(rows[0]), row_order);
	for (size_t i = 0; i < count; i++) {
		struct total_row key = {.sku_id = rows[i].sku_id, .location_id = rows[i].waits_at}, *queue = NULL;

		if (key.location_id)
			queue = bsearch(&key, rows, count, sizeof(rows[0]), row_order);
		if (queue && queue != &rows[i])
			row_keep(&rows[i], &queue->total);
	}
}
