/* customer.c - see customer.h. */
#include "engine/promise/customer.h"
#include "engine/base/memory.h"

void portions_fini(struct portions *p)
{
	free(p->list);
	*p = (struct portions){0};
}

static void portion_add(struct portions *p, struct portion portion)
{
	if (portion.raised == 0 && portion.lowered == 0)
		return;
	p->list = mem_reach(p->list, p->count, &p->max, sizeof(*p->list));
	p->list[p->count++] = portion;
}

void portions_raise(struct portions *p, const char *customer, const struct line *lines, size_t count)
{
	for (size_t i = 0; customer && i < count; i++)
		portion_add(p, (struct portion){customer, sku_id(lines[i].sku), lines[i].granted, 0});
}

void portions_lower(struct portions *p, const char *customer, const struct line *lines, size_t count)
{
	for (size_t i = 0; customer && i < count; i++)
		portion_add(p, (struct portion){customer, sku_id(lines[i].sku), 0, lines[i].qty});
}

static int portion_order(const void *a, const void *b)
{
	const struct portion *x = a, *y = b;
	int                   order = strcmp(x->customer, y->customer);

	return order ? order : (x->sku_id > y->sku_id) - (x->sku_id < y->sku_id);
}

static void portion_join(void *sum, const void *one)
{
	struct portion       *to = sum;
	const struct portion *from = one;

	to->raised += from->raised;
	to->lowered += from->lowered;
}

void portions_sum(struct portions *p)
{
	p->count = mem_join(p->list, p->count, sizeof(p->list[0]), portion_order, portion_join);
}

void portions_replace(struct portions *p, const struct reservation *of, const char *customer, const struct line *lines,
                      size_t count)
{
	struct portions both = {0};

	portions_lower(&both, of->customer, of->lines, of->lines_count);
	portions_raise(&both, customer, lines, count);
	portions_sum(&both);
	for (size_t i = 0; i < both.count; i++) {
		struct portion *one = &both.list[i];
		int64_t         stays = one->raised < one->lowered ? one->raised : one->lowered;

		one->raised -= stays;
		one->lowered -= stays;
		portion_add(p, *one);
	}
	portions_fini(&both);
}

void portions_write_lowered(struct txn *t, struct values *rows, const struct portions *p, enum statement name)
{
	values_reset(rows);
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].lowered > 0)
			values_row(rows, V_TEXT(p->list[i].customer), V_INT(p->list[i].sku_id),
			           V_INT(-p->list[i].lowered));
	txn_rows(t, name, rows);
}
