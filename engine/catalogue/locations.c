/* locations.c - see locations.h. */
#include "engine/catalogue/locations.h"
#include "engine/base/memory.h"

const char *location_kind_name(enum location_kind k)
{
	static const char *const names[LOCATION_KINDS] = {
#define X(name, number, word) [number] = word,
#include "engine/catalogue/location_kinds.def"
#undef X
	};

	return k > 0 && k < LOCATION_KINDS ? names[k] : "unknown";
}

enum location_kind location_kind(const struct location *l)
{
	return atomic_load_explicit(&l->kind, memory_order_relaxed);
}

bool location_sells(const struct location *l)
{
	return location_kind(l) == LOCATION_STOCK;
}

bool location_stopped(const struct location *l)
{
	return atomic_load_explicit(&l->stopped, memory_order_relaxed);
}

bool location_is_open(const struct location *l)
{
	return location_kind(l) == LOCATION_STOCK && !location_stopped(l);
}

int64_t location_says(const struct location *l)
{
	return (int64_t)location_kind(l) + (location_stopped(l) ? LOCATION_STOPPED : 0);
}

uint32_t location_waits_at(const struct location *l)
{
	uint32_t at = atomic_load_explicit(&l->waits_at, memory_order_relaxed);

	return at && location_sells(l) ? at : 0;
}

bool location_in_house(const struct location *l)
{
	return location_kind(l) != LOCATION_INCOMING;
}

static int code_order(const void *a, const void *b)
{
	return strcmp((*(struct location *const *)a)->code, (*(struct location *const *)b)->code);
}

static int id_order(const void *a, const void *b)
{
	uint32_t one = (*(struct location *const *)a)->location_id, two = (*(struct location *const *)b)->location_id;

	return (one > two) - (one < two);
}

static struct location *find(struct location *const *sorted, size_t count, const struct location *as,
                             int (*order)(const void *a, const void *b))
{
	struct location *const *at = count ? bsearch(&as, sorted, count, sizeof(*sorted), order) : NULL;

	return at ? *at : NULL;
}

/* Every line of an order comes by here, so neither bsearch nor a key for it is made. */
const struct location *locations_find(const struct locations *l, const char *code)
{
	for (size_t low = 0, high = l->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		int    order = strcmp(code, l->by_code[middle]->code);

		if (order == 0)
			return l->by_code[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct location *locations_find_id(const struct locations *l, uint32_t location_id)
{
	return find(l->by_id, l->count, &(struct location){.location_id = location_id}, id_order);
}

bool locations_add(struct locations *l, const struct location *list, size_t count)
{
	size_t known = l->count;

	for (size_t i = 0; i < count; i++)
		if (find(l->by_code, known, &list[i], code_order) != find(l->by_id, known, &list[i], id_order))
			return false;
	for (size_t i = 0; i < count; i++) {
		struct location *entry = find(l->by_id, known, &list[i], id_order);

		if (entry) {
			atomic_store(&entry->kind, list[i].kind);
			atomic_store(&entry->stopped, list[i].stopped);
			atomic_store(&entry->expected_at, list[i].expected_at);
			atomic_store(&entry->waits_at, list[i].waits_at);
			continue;
		}
		entry = mem_alloc(sizeof(*entry));
		*entry = list[i];
		l->all = mem_reach(l->all, l->all_count, &l->all_max, sizeof(*l->all));
		l->all[l->all_count++] = entry;
		if (l->count == l->max) {
			l->max = l->max ? 2 * l->max : 16;
			l->by_id = mem_resize(l->by_id, l->max * sizeof(*l->by_id));
			l->by_code = mem_resize(l->by_code, l->max * sizeof(*l->by_code));
		}
		l->by_id[l->count] = l->by_code[l->count] = entry;
		l->count++;
	}
	assert(l->count <= l->max && l->count <= l->all_count);
	if (l->count > known) {
		qsort(l->by_id, l->count, sizeof(*l->by_id), id_order);
		qsort(l->by_code, l->count, sizeof(*l->by_code), code_order);
	}
	return true;
}

void locations_forget(struct locations *l)
{
	l->count = 0;
	l->version = l->asked = 0;
}

void locations_fini(struct locations *l)
{
	for (size_t i = 0; i < l->all_count; i++)
		free(l->all[i]);
	free(l->all);
	free(l->by_id);
	free(l->by_code);
	*l = (struct locations){0};
}
