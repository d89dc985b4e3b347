/* spots.c - see spots.h. A hash table with open addresses, from which nothing is removed but all at once. */
#include "jobs/levels/spots.h"
#include "engine/base/memory.h"

enum { SIZE_FIRST = 1024, KNOWN_MAX = 1 << 17 };

void spots_fini(struct spots *s)
{
	free(s->table);
	free(s->list);
	*s = (struct spots){0};
}

/* The place of a spot, or the free one where it would stand. */
static struct spot *spot_find(struct spots *s, uint32_t sku_id, uint32_t location_id)
{
	uint64_t hash = ((uint64_t)location_id << 32 | sku_id) * UINT64_C(0x9e3779b97f4a7c15);
	size_t   at = (hash >> 20) & (s->size - 1);

	assert(s->count < s->size && (s->size & (s->size - 1)) == 0);
	while (s->table[at].sku_id && (s->table[at].sku_id != sku_id || s->table[at].location_id != location_id))
		at = (at + 1) & (s->size - 1);
	return &s->table[at];
}

static void table_grow(struct spots *s)
{
	struct spots grown = {.size = s->size ? s->size * 2 : SIZE_FIRST};

	grown.table = mem_alloc(grown.size * sizeof(*grown.table));
	for (size_t i = 0; i < s->size; i++)
		if (s->table[i].sku_id)
			*spot_find(&grown, s->table[i].sku_id, s->table[i].location_id) = s->table[i];
	free(s->table);
	s->table = grown.table;
	s->size = grown.size;
}

static struct spot *spot_get(struct spots *s, uint32_t sku_id, uint32_t location_id)
{
	struct spot *spot;

	if (s->count * 2 >= s->size)
		table_grow(s);
	spot = spot_find(s, sku_id, location_id);
	if (spot->sku_id)
		return spot;
	*spot = (struct spot){sku_id, location_id, 0, false};
	s->count++;
	return spot;
}

void spots_touch(struct spots *s, uint32_t sku_id, uint32_t location_id, int64_t taken)
{
	struct spot *spot;

	if (sku_id == 0) /* a damaged row: in the table sku 0 means a free place */
		return;
	spot = spot_get(s, sku_id, location_id);
	if (taken > 0)
		spot->left = spot->left > taken ? spot->left - taken : 0;
	if (spot->left > 0 || spot->pending)
		return;
	spot->pending = true;
	s->list = mem_reach(s->list, s->pending, &s->max, sizeof(*s->list));
	s->list[s->pending++] = *spot;
}

void spots_settle(struct spots *s, uint32_t sku_id, uint32_t location_id, int64_t left)
{
	struct spot *spot = s->size > 0 ? spot_find(s, sku_id, location_id) : NULL;

	if (!spot || !spot->pending) /* the answer is about a spot that was not asked for */
		return;
	spot->pending = false;
	spot->left = left;
}

void spots_trim(struct spots *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->pending; i++)
		if (spot_find(s, s->list[i].sku_id, s->list[i].location_id)->pending)
			s->list[kept++] = s->list[i];
	s->pending = kept;
	if (kept == 0 && s->count > KNOWN_MAX)
		spots_fini(s);
}
