/* catalogue.c - see catalogue.h. Skus stand in a hash table by code and an array by number; locations are few and stand
 * in an array. Entries are cut from blocks that are never given back, so an entry costs its own bytes and no more. */
#include "catalogue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sku {
	union {
		struct total  only; /* where there is one location, as nearly always */
		struct total *more; /* otherwise; the entry's own */
	} total;
	int64_t  read_ms; /* clock_boot_ms when the totals were read; NEVER before that */
	uint32_t totals;  /* how many locations */
	uint32_t sku_id;
	uint32_t next; /* number of the next in its bucket; 0: none */
	uint32_t hash;
	char     code[];
};
#define NEVER INT64_MIN

struct block {
	struct block *next;
	size_t        used;
	_Alignas(max_align_t) char bytes[1 << 18];
};

struct catalogue {
	pthread_rwlock_t  lock;
	uint32_t         *buckets; /* numbers of skus, 0: none */
	size_t            buckets_count;
	struct sku      **by_id; /* NULL where the number is not known */
	size_t            by_id_count;
	size_t            skus;
	struct location **locations; /* by number, as above */
	size_t            locations_count;
	struct block     *blocks;
};

uint32_t sku_id(const struct sku *s)
{
	return s->sku_id;
}

const char *sku_code(const struct sku *s)
{
	return s->code;
}

struct catalogue *catalogue_new(void)
{
	struct catalogue *c = mem_alloc(sizeof(*c));

	c->buckets_count = 1024;
	c->buckets = mem_alloc(c->buckets_count * sizeof(*c->buckets));
	pthread_rwlock_init(&c->lock, NULL);
	return c;
}

void catalogue_free(struct catalogue *c)
{
	for (size_t i = 0; i < c->by_id_count; i++)
		if (c->by_id[i] && c->by_id[i]->totals > 1)
			free(c->by_id[i]->total.more);
	for (size_t i = 0; i < c->locations_count; i++)
		free(c->locations[i]);
	for (struct block *b = c->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(c->buckets);
	free(c->by_id);
	free(c->locations);
	pthread_rwlock_destroy(&c->lock);
	free(c);
}

static void *block_cut(struct catalogue *c, size_t size)
{
	size = (size + 7) & ~(size_t)7;
	if (!c->blocks || c->blocks->used + size > sizeof(c->blocks->bytes)) {
		struct block *b = mem_alloc(sizeof(*b));

		b->next = c->blocks;
		c->blocks = b;
	}
	c->blocks->used += size;
	return c->blocks->bytes + c->blocks->used - size;
}

/* Makes `array` long enough for the index `last`; new places are NULL. */
static void *array_reach(void *array, size_t *count, size_t last)
{
	void **places = array;
	size_t want = *count ? *count : 64;

	if (last < *count)
		return places;
	while (want <= last)
		want *= 2;
	places = mem_resize(places, want * sizeof(*places));
	memset(places + *count, 0, (want - *count) * sizeof(*places));
	*count = want;
	return places;
}

static struct sku *bucket_find(struct catalogue *c, const char *code, size_t len, uint32_t hash)
{
	for (uint32_t id = c->buckets[hash & (c->buckets_count - 1)]; id; id = c->by_id[id]->next) {
		struct sku *s = c->by_id[id];

		if (s->hash == hash && strncmp(s->code, code, len) == 0 && s->code[len] == '\0')
			return s;
	}
	return NULL;
}

static void bucket_add(struct catalogue *c, struct sku *s)
{
	uint32_t *bucket = &c->buckets[s->hash & (c->buckets_count - 1)];

	s->next = *bucket;
	*bucket = s->sku_id;
}

static void buckets_double(struct catalogue *c)
{
	free(c->buckets);
	c->buckets_count *= 2;
	c->buckets = mem_alloc(c->buckets_count * sizeof(*c->buckets));
	for (size_t i = 0; i < c->by_id_count; i++)
		if (c->by_id[i])
			bucket_add(c, c->by_id[i]);
}

struct sku *catalogue_sku(struct catalogue *c, const char *code)
{
	size_t      len = strlen(code);
	uint32_t    hash = (uint32_t)hash_bytes(code, len);
	struct sku *s;

	pthread_rwlock_rdlock(&c->lock);
	s = bucket_find(c, code, len, hash);
	pthread_rwlock_unlock(&c->lock);
	return s;
}

struct sku *catalogue_sku_by_id(struct catalogue *c, uint32_t id)
{
	struct sku *s;

	pthread_rwlock_rdlock(&c->lock);
	s = id < c->by_id_count ? c->by_id[id] : NULL;
	pthread_rwlock_unlock(&c->lock);
	return s;
}

const struct location *catalogue_location(struct catalogue *c, const char *code)
{
	const struct location *found = NULL;

	pthread_rwlock_rdlock(&c->lock);
	for (size_t i = 0; i < c->locations_count && !found; i++)
		if (c->locations[i] && strcmp(c->locations[i]->code, code) == 0)
			found = c->locations[i];
	pthread_rwlock_unlock(&c->lock);
	return found;
}

const struct location *catalogue_location_by_id(struct catalogue *c, uint32_t id)
{
	const struct location *found;

	pthread_rwlock_rdlock(&c->lock);
	found = id < c->locations_count ? c->locations[id] : NULL;
	pthread_rwlock_unlock(&c->lock);
	return found;
}

struct sku *catalogue_sku_enter(struct catalogue *c, uint32_t id, const char *code, size_t len)
{
	uint32_t    hash = (uint32_t)hash_bytes(code, len);
	struct sku *s;

	pthread_rwlock_wrlock(&c->lock);
	s = bucket_find(c, code, len, hash);
	if (!s) {
		s = block_cut(c, sizeof(*s) + len + 1);
		*s = (struct sku){.sku_id = id, .hash = hash, .read_ms = NEVER};
		memcpy(s->code, code, len);
		s->code[len] = '\0';
		c->by_id = array_reach(c->by_id, &c->by_id_count, id);
		if (c->skus++ >= c->buckets_count)
			buckets_double(c);
		c->by_id[id] = s;
		bucket_add(c, s);
	}
	pthread_rwlock_unlock(&c->lock);
	assert(s->sku_id == id);
	return s;
}

const struct location *catalogue_location_enter(struct catalogue *c, uint32_t id, const char *code, size_t len)
{
	struct location *l;

	assert(len <= LOCATION_MAX);
	pthread_rwlock_wrlock(&c->lock);
	c->locations = array_reach(c->locations, &c->locations_count, id);
	l = c->locations[id];
	if (!l) {
		l = c->locations[id] = mem_alloc(sizeof(*l));
		l->location_id = id;
		memcpy(l->code, code, len);
	}
	pthread_rwlock_unlock(&c->lock);
	return l;
}

size_t catalogue_skus(struct catalogue *c)
{
	size_t n;

	pthread_rwlock_rdlock(&c->lock);
	n = c->skus;
	pthread_rwlock_unlock(&c->lock);
	return n;
}

void catalogue_totals_put(struct catalogue *c, struct sku *s, int64_t read_ms, const struct total *totals, size_t count)
{
	pthread_rwlock_wrlock(&c->lock);
	if (s->read_ms == NEVER || s->read_ms <= read_ms) {
		if (count > 1) {
			struct total *more = mem_resize(s->totals > 1 ? s->total.more : NULL, count * sizeof(*totals));

			memcpy(more, totals, count * sizeof(*totals));
			s->total.more = more;
		} else {
			if (s->totals > 1)
				free(s->total.more);
			s->total.only = count ? totals[0] : (struct total){0};
		}
		s->totals = (uint32_t)count;
		s->read_ms = read_ms;
	}
	pthread_rwlock_unlock(&c->lock);
}

bool catalogue_totals_get(struct catalogue *c, struct sku *s, int64_t max_age_ms, struct total *out, size_t max,
                          size_t *count, int64_t *age_ms)
{
	bool fresh;

	pthread_rwlock_rdlock(&c->lock);
	*age_ms = s->read_ms == NEVER ? INT64_MAX : clock_boot_ms() - s->read_ms;
	fresh = *age_ms <= max_age_ms;
	*count = s->totals;
	if (fresh)
		memcpy(out, s->totals > 1 ? s->total.more : &s->total.only,
		       (s->totals < max ? s->totals : max) * sizeof(*out));
	pthread_rwlock_unlock(&c->lock);
	return fresh;
}
