/* sku_details.c - see sku_details.h. */
#include "engine/catalogue/sku_details.h"
#include "engine/base/memory.h"

void sku_details_reset(struct sku_details *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->list[i].text);
	d->count = 0;
}

void sku_details_fini(struct sku_details *d)
{
	sku_details_reset(d);
	free(d->list);
	*d = (struct sku_details){0};
}

static void detail_add(struct sku_details *d, struct sku_detail detail)
{
	d->list = mem_reach(d->list, d->count, &d->max, sizeof(*d->list));
	assert(d->count < d->max);
	d->list[d->count++] = detail;
}

void sku_details_read(struct sku_details *d, const struct db_row *row)
{
	int64_t kind = db_int(row, 2);

	if (kind < DETAIL_NAME || kind > DETAIL_STOP || (kind < DETAIL_THRESHOLD && !row->col[5]))
		db_other(row);
	else
		detail_add(d, (struct sku_detail){.sku_id = (uint32_t)db_int(row, 0),
		                                  .kind = (enum sku_detail_kind)kind,
		                                  .number = db_int(row, 3),
		                                  .text = mem_copy(row->col[5])});
}

static int detail_order(const void *a, const void *b)
{
	const struct sku_detail *x = a, *y = b;

	if (x->sku_id != y->sku_id)
		return x->sku_id < y->sku_id ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == DETAIL_BARCODE)
		return (x->number > y->number) - (x->number < y->number);
	return strcmp(x->text ? x->text : "", y->text ? y->text : "");
}

void sku_details_sort(struct sku_details *d)
{
	if (d->count > 1)
		qsort(d->list, d->count, sizeof(*d->list), detail_order);
}

const struct sku_detail *sku_details_of(const struct sku_details *d, uint32_t sku_id, size_t *count)
{
	return mem_range(d->list, d->count, sizeof(*d->list), sku_id, count);
}

bool sku_details_stopped(const struct sku_details *d, uint32_t sku_id)
{
	size_t                   count;
	const struct sku_detail *list = sku_details_of(d, sku_id, &count);

	return count > 0 && list[count - 1].kind == DETAIL_STOP;
}

void sku_details_copy(struct sku_details *to, const struct sku_details *from, uint32_t sku_id)
{
	size_t                   count;
	const struct sku_detail *list = sku_details_of(from, sku_id, &count);

	for (size_t i = 0; i < count; i++) {
		struct sku_detail copy = list[i];

		copy.text = mem_copy(copy.text);
		detail_add(to, copy);
	}
}
