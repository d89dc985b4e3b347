/* order_index.c - see order_index.h. */
#include "jobs/task/order_index.h"
#include "engine/base/memory.h"

/* Of one id, in the order of the list. */
static int place_order(const void *a, const void *b)
{
	const struct order_place *x = a, *y = b;
	int                       order = strcmp(x->id, y->id);

	return order ? order : (x->of > y->of) - (x->of < y->of);
}

static void sort(struct order_index *x)
{
	if (x->count > 0)
		qsort(x->list, x->count, sizeof(*x->list), place_order);
}

struct order_index order_index_rows(const struct reservation_reader *in)
{
	struct order_index x = {mem_alloc((in->count + 1) * sizeof(*x.list)), in->count};

	for (size_t i = 0; i < in->count; i++)
		x.list[i] = (struct order_place){in->list[i]->order_id, in->list[i]};
	sort(&x);
	return x;
}

struct order_index order_index_list(const void *list, size_t count, size_t size)
{
	struct order_index x = {mem_alloc((count + 1) * sizeof(*x.list)), count};

	for (size_t i = 0; i < count; i++)
		x.list[i] = (struct order_place){(const char *)list + i * size, (const char *)list + i * size};
	sort(&x);
	return x;
}

void order_index_fini(struct order_index *x)
{
	free(x->list);
	*x = (struct order_index){0};
}

const void *order_index_find(const struct order_index *x, const char *order_id)
{
	size_t from = 0, to = x->count;

	assert(to == 0 || x->list);
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(x->list[middle].id, order_id) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < x->count && strcmp(x->list[from].id, order_id) == 0 ? x->list[from].of : NULL;
}

const struct reservation *order_index_row(const struct order_index *rows, const char *order_id)
{
	return order_index_find(rows, order_id);
}
