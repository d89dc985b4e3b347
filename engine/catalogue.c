/* catalogue.c - see catalogue.h. Skus stand in a hash table by code and an array by number; locations are few and stand
 * in an array. Entries are cut from blocks that are never given back, so an entry costs its own bytes and no more. */
#include "engine/catalogue.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct sku {
	union {
		struct total  only; /* the totals of the only location: nearly every sku has one */
		struct total *more; /* the totals of several locations, owned by the entry */
	} total;
	int64_t  read_ms; /* clock_boot_ms when the totals were read; NEVER before that */
	uint32_t totals;  /* number of locations */
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
	struct location **locations; /* indexed by number, as by_id */
	size_t            locations_count;
	uint32_t          newest_sku, newest_location; /* the largest numbers; 0: none */
	_Atomic unsigned  past;
	struct block     *blocks; /* blocks of all entries, forgotten ones too */
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
	c->past = 1;
	pthread_rwlock_init(&c->lock, NULL);
	return c;
}

static void totals_drop(struct catalogue *c)
{
	for (size_t i = 0; i < c->by_id_count; i++)
		if (c->by_id[i] && c->by_id[i]->totals > 1) {
			free(c->by_id[i]->total.more);
			c->by_id[i]->totals = 0;
		}
}

void catalogue_free(struct catalogue *c)
{
	totals_drop(c);
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

static bool code_is(const char *code, const char *bytes, size_t len)
{
	return strncmp(code, bytes, len) == 0 && code[len] == '\0';
}

static struct sku *bucket_find(struct catalogue *c, const char *code, size_t len, uint32_t hash)
{
	for (uint32_t id = c->buckets[hash & (c->buckets_count - 1)]; id; id = c->by_id[id]->next) {
		struct sku *s = c->by_id[id];

		if (s->hash == hash && code_is(s->code, code, len))
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

static struct location *location_find(struct catalogue *c, const char *code, size_t len)
{
	for (size_t i = 0; i < c->locations_count; i++)
		if (c->locations[i] && code_is(c->locations[i]->code, code, len))
			return c->locations[i];
	return NULL;
}

const struct location *catalogue_location(struct catalogue *c, const char *code)
{
	const struct location *found;

	pthread_rwlock_rdlock(&c->lock);
	found = location_find(c, code, strlen(code));
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

/* ---- entering; the lock is held */

static void forget(struct catalogue *c)
{
	totals_drop(c);
	memset(c->buckets, 0, c->buckets_count * sizeof(*c->buckets));
	if (c->by_id_count > 0)
		memset(c->by_id, 0, c->by_id_count * sizeof(*c->by_id));
	if (c->locations_count > 0)
		memset(c->locations, 0, c->locations_count * sizeof(*c->locations));
	c->skus = 0;
	c->newest_sku = c->newest_location = 0;
	atomic_fetch_add(&c->past, 1);
	log_event(LOG_WARN, "another_past",
	          "what=\"the database is another one or was restored: all that was known of it is "
	          "forgotten\"");
}

static struct sku *sku_add(struct catalogue *c, uint32_t id, const char *code, size_t len, uint32_t hash)
{
	struct sku *s = block_cut(c, sizeof(*s) + len + 1);

	*s = (struct sku){.sku_id = id, .hash = hash, .read_ms = NEVER};
	memcpy(s->code, code, len);
	s->code[len] = '\0';
	c->by_id = array_reach(c->by_id, &c->by_id_count, id);
	if (c->skus++ >= c->buckets_count)
		buckets_double(c);
	c->by_id[id] = s;
	bucket_add(c, s);
	c->newest_sku = id > c->newest_sku ? id : c->newest_sku;
	return s;
}

struct sku *catalogue_sku_enter(struct catalogue *c, uint32_t id, const char *code, size_t len)
{
	uint32_t    hash = (uint32_t)hash_bytes(code, len);
	struct sku *s, *known;

	pthread_rwlock_wrlock(&c->lock);
	s = bucket_find(c, code, len, hash);
	known = id < c->by_id_count ? c->by_id[id] : NULL;
	if (s != known) {
		forget(c);
		s = NULL;
	}
	if (!s)
		s = sku_add(c, id, code, len, hash);
	pthread_rwlock_unlock(&c->lock);
	return s;
}

static struct location *location_add(struct catalogue *c, uint32_t id, const char *code, size_t len)
{
	struct location *l = block_cut(c, sizeof(*l));

	l->location_id = id;
	memcpy(l->code, code, len);
	l->code[len] = '\0';
	c->locations = array_reach(c->locations, &c->locations_count, id);
	c->locations[id] = l;
	c->newest_location = id > c->newest_location ? id : c->newest_location;
	return l;
}

const struct location *catalogue_location_enter(struct catalogue *c, uint32_t id, const char *code, size_t len)
{
	struct location *l;

	assert(len <= LOCATION_MAX);
	pthread_rwlock_wrlock(&c->lock);
	l = location_find(c, code, len);
	if (l != (id < c->locations_count ? c->locations[id] : NULL)) {
		forget(c);
		l = NULL;
	}
	if (!l)
		l = location_add(c, id, code, len);
	pthread_rwlock_unlock(&c->lock);
	return l;
}

void catalogue_forget(struct catalogue *c)
{
	pthread_rwlock_wrlock(&c->lock);
	forget(c);
	pthread_rwlock_unlock(&c->lock);
}

unsigned catalogue_past(struct catalogue *c)
{
	return atomic_load(&c->past);
}

void catalogue_newest(struct catalogue *c, struct newest *out)
{
	*out = (struct newest){0};
	pthread_rwlock_rdlock(&c->lock);
	out->sku_id = c->newest_sku;
	out->location_id = c->newest_location;
	if (out->sku_id)
		memcpy(out->sku, c->by_id[out->sku_id]->code, strlen(c->by_id[out->sku_id]->code));
	if (out->location_id)
		memcpy(out->location, c->locations[out->location_id]->code, sizeof(out->location));
	pthread_rwlock_unlock(&c->lock);
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
