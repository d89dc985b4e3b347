/* catalogue.c - see catalogue.h. Skus stand in hash tables by code and by number. Their entries are cut from blocks
 * that are never given back, so an entry costs its own bytes and no more. */
#include "engine/catalogue/catalogue.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

struct sku {
	uint32_t sku_id;
	uint32_t next; /* number of the next in its bucket; 0: none */
	union {
		struct total  only; /* the totals of the only location: nearly every sku has one */
		struct total *more; /* the totals of several locations, owned by the entry */
	} total;
	int64_t         read_ms; /* clock_boot_ms when the totals were read; NEVER before that */
	uint32_t        totals;  /* number of locations */
	uint32_t        hash;
	_Atomic int64_t per_customer; /* written under the lock; 0: no limit */
	_Atomic bool    stopped;      /* its sale; written under the lock */
	char            code[];
};
#define NEVER INT64_MIN

/* Entries by their numbers, in a table at most half full: a number is no index, and costs what an entry costs. */
struct numbered {
	void **list; /* NULL: free; else its first member is its number */
	size_t size, count;
};

struct block {
	struct block *next;
	size_t        used;
	_Alignas(max_align_t) char bytes[1 << 18];
};

struct catalogue {
	pthread_rwlock_t lock;
	uint32_t        *buckets; /* numbers of skus, 0: none */
	size_t           buckets_count;
	struct numbered  skus;
	struct locations locations;
	uint32_t         newest_sku;      /* the largest number; 0: none */
	int64_t          limits_number;   /* of the last change of a limit that is known; 0: none */
	_Atomic int64_t  limits_ms;       /* clock_ms by which all changes of limits are known */
	size_t           limits_count;    /* skus with a limit .. */
	size_t           stops_count;     /* .. and those whose sale is stopped .. */
	_Atomic unsigned limits_any;      /* .. as bits: ANY_LIMIT, ANY_STOP */
	_Atomic int64_t  locations_asked; /* numbers of looks that were given */
	_Atomic unsigned past;
	struct block    *blocks; /* blocks of all entries, forgotten ones too */
};

uint32_t sku_id(const struct sku *s)
{
	return s->sku_id;
}

const char *sku_code(const struct sku *s)
{
	return s->code;
}

int64_t sku_per_customer(const struct sku *s)
{
	return atomic_load_explicit(&s->per_customer, memory_order_relaxed);
}

bool sku_stopped(const struct sku *s)
{
	return s && atomic_load_explicit(&s->stopped, memory_order_relaxed);
}

struct catalogue *catalogue_new(void)
{
	struct catalogue *c = mem_alloc(sizeof(*c));

	c->buckets_count = 1024;
	c->buckets = mem_alloc(c->buckets_count * sizeof(*c->buckets));
	c->past = 1;
	c->limits_ms = NEVER;
	pthread_rwlock_init(&c->lock, NULL);
	return c;
}

static void totals_drop(struct catalogue *c)
{
	for (size_t i = 0; i < c->skus.size; i++) {
		struct sku *s = c->skus.list[i];

		if (s && s->totals > 1) {
			free(s->total.more);
			s->totals = 0;
		}
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
	free(c->skus.list);
	locations_fini(&c->locations);
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

/* ---- by number */

/* The place of the entry of this number, or the free one where it would stand. */
static void **numbered_place(const struct numbered *n, uint32_t number)
{
	size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (n->size - 1);

	while (n->list[at] && *(const uint32_t *)n->list[at] != number)
		at = (at + 1) & (n->size - 1);
	return &n->list[at];
}

static void *numbered_find(const struct numbered *n, uint32_t number)
{
	return n->size > 0 ? *numbered_place(n, number) : NULL;
}

static void numbered_add(struct numbered *n, void *entry)
{
	struct numbered old = *n;

	if (2 * (n->count + 1) > n->size) {
		n->size = n->size ? 2 * n->size : 64;
		n->list = mem_alloc(n->size * sizeof(*n->list));
		for (size_t i = 0; i < old.size; i++)
			if (old.list[i])
				*numbered_place(n, *(const uint32_t *)old.list[i]) = old.list[i];
		free(old.list);
	}
	*numbered_place(n, *(const uint32_t *)entry) = entry;
	n->count++;
}

static void numbered_clear(struct numbered *n)
{
	if (n->size > 0)
		memset(n->list, 0, n->size * sizeof(*n->list));
	n->count = 0;
}

/* ---- by code */

static bool code_is(const char *code, const char *bytes, size_t len)
{
	return strncmp(code, bytes, len) == 0 && code[len] == '\0';
}

static struct sku *bucket_find(struct catalogue *c, const char *code, size_t len, uint32_t hash)
{
	struct sku *s;

	for (uint32_t id = c->buckets[hash & (c->buckets_count - 1)]; id; id = s->next) {
		s = numbered_find(&c->skus, id);
		if (s->hash == hash && code_is(s->code, code, len))
			return s;
	}
	return NULL;
}

/* True: it has a number and a code. Only a damaged row lacks one, and stands in no bucket: 0 ends a bucket, and an
 * empty code would belong to several skus. */
static bool is_named(uint32_t id, size_t len)
{
	return id > 0 && len > 0;
}

static void bucket_add(struct catalogue *c, struct sku *s)
{
	uint32_t *bucket = &c->buckets[s->hash & (c->buckets_count - 1)];

	if (!is_named(s->sku_id, strlen(s->code)))
		return;
	s->next = *bucket;
	*bucket = s->sku_id;
}

static void buckets_double(struct catalogue *c)
{
	free(c->buckets);
	c->buckets_count *= 2;
	c->buckets = mem_alloc(c->buckets_count * sizeof(*c->buckets));
	for (size_t i = 0; i < c->skus.size; i++)
		if (c->skus.list[i])
			bucket_add(c, c->skus.list[i]);
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
	s = numbered_find(&c->skus, id);
	pthread_rwlock_unlock(&c->lock);
	return s;
}

const struct location *catalogue_location(struct catalogue *c, const char *code)
{
	const struct location *found;

	pthread_rwlock_rdlock(&c->lock);
	found = locations_find(&c->locations, code);
	pthread_rwlock_unlock(&c->lock);
	return found;
}

const struct location *catalogue_location_by_id(struct catalogue *c, uint32_t id)
{
	const struct location *found;

	pthread_rwlock_rdlock(&c->lock);
	found = locations_find_id(&c->locations, id);
	pthread_rwlock_unlock(&c->lock);
	return found;
}

void catalogue_sellers(struct catalogue *c, uint32_t waits_at, uint32_t until_id,
                       void (*each)(void *arg, uint32_t location_id), void *arg)
{
	pthread_rwlock_rdlock(&c->lock);
	for (size_t i = 0; i < c->locations.count && c->locations.by_id[i]->location_id <= until_id; i++)
		if (location_waits_at(c->locations.by_id[i]) == waits_at)
			each(arg, c->locations.by_id[i]->location_id);
	pthread_rwlock_unlock(&c->lock);
}

/* ---- entering; the lock is held */

static void limits_forget(struct catalogue *c)
{
	for (size_t i = 0; atomic_load(&c->limits_any) && i < c->skus.size; i++) {
		struct sku *s = c->skus.list[i];

		if (!s)
			continue;
		atomic_store(&s->per_customer, 0);
		atomic_store(&s->stopped, false);
	}
	c->limits_number = 0;
	c->limits_count = c->stops_count = 0;
	atomic_store(&c->limits_any, 0);
	atomic_store(&c->limits_ms, NEVER);
}

static void forget(struct catalogue *c)
{
	totals_drop(c);
	limits_forget(c);
	memset(c->buckets, 0, c->buckets_count * sizeof(*c->buckets));
	numbered_clear(&c->skus);
	locations_forget(&c->locations);
	c->newest_sku = 0;
	atomic_fetch_add(&c->past, 1);
	log_event(LOG_WARN, "another_past",
	          "what=\"the database is another one or was restored: all that was known of it is "
	          "forgotten\"");
}

static struct sku *sku_add(struct catalogue *c, uint32_t id, const char *code, size_t len, uint32_t hash)
{
	struct sku *s = block_cut(c, offsetof(struct sku, code) + len + 1); /* and up to the next 8 bytes */

	*s = (struct sku){.sku_id = id, .hash = hash, .read_ms = NEVER};
	memcpy(s->code, code, len);
	s->code[len] = '\0';
	if (c->skus.count >= c->buckets_count)
		buckets_double(c);
	numbered_add(&c->skus, s);
	bucket_add(c, s);
	c->newest_sku = id > c->newest_sku ? id : c->newest_sku;
	return s;
}

struct sku *catalogue_sku_enter(struct catalogue *c, uint32_t id, const char *code, size_t len)
{
	uint32_t    hash;
	struct sku *s, *known;

	len = len > SKU_MAX ? SKU_MAX : len; /* by damage alone */
	hash = (uint32_t)hash_bytes(code, len);
	pthread_rwlock_wrlock(&c->lock);
	known = numbered_find(&c->skus, id);
	s = is_named(id, len) ? bucket_find(c, code, len, hash) : known;
	if (s != known) {
		forget(c);
		s = NULL;
	}
	if (!s)
		s = sku_add(c, id, code, len, hash);
	pthread_rwlock_unlock(&c->lock);
	return s;
}

int64_t catalogue_locations_ask(struct catalogue *c)
{
	return atomic_fetch_add(&c->locations_asked, 1) + 1;
}

bool catalogue_locations_same(struct catalogue *c, int64_t asked, int64_t version)
{
	bool same;

	pthread_rwlock_wrlock(&c->lock);
	same = c->locations.version == version;
	if (same && asked > c->locations.asked)
		c->locations.asked = asked;
	pthread_rwlock_unlock(&c->lock);
	return same;
}

void catalogue_locations_enter(struct catalogue *c, int64_t asked, int64_t version, const struct location *list,
                               size_t count)
{
	bool added;

	pthread_rwlock_wrlock(&c->lock);
	if (asked > c->locations.asked) {
		added = locations_add(&c->locations, list, count);
		if (!added) {
			forget(c);
			added = locations_add(&c->locations, list, count);
		}
		assert(added); /* nothing is known that they could contradict */
		c->locations.version = version;
		c->locations.asked = asked;
	}
	pthread_rwlock_unlock(&c->lock);
}

static void limit_set(struct catalogue *c, const struct sku_limit *limit)
{
	int64_t before = atomic_exchange(&limit->sku->per_customer, limit->per_customer);
	bool    stopped = atomic_exchange(&limit->sku->stopped, limit->stopped);

	c->limits_count += (size_t)((limit->per_customer != 0) - (before != 0));
	c->stops_count += (size_t)(limit->stopped - stopped);
}

void catalogue_limits_enter(struct catalogue *c, unsigned past, int64_t to, int64_t read_ms,
                            const struct sku_limit *list, size_t count)
{
	pthread_rwlock_wrlock(&c->lock);
	if (past == atomic_load(&c->past) && to >= c->limits_number) {
		for (size_t i = 0; to > c->limits_number && i < count; i++)
			limit_set(c, &list[i]);
		atomic_store(&c->limits_any,
		             (c->limits_count > 0 ? ANY_LIMIT : 0U) | (c->stops_count > 0 ? ANY_STOP : 0U));
		c->limits_number = to;
		if (read_ms > atomic_load(&c->limits_ms))
			atomic_store(&c->limits_ms, read_ms);
	}
	pthread_rwlock_unlock(&c->lock);
}

void catalogue_limits_forget(struct catalogue *c)
{
	pthread_rwlock_wrlock(&c->lock);
	limits_forget(c);
	pthread_rwlock_unlock(&c->lock);
}

int64_t catalogue_limits_number(struct catalogue *c)
{
	int64_t number;

	pthread_rwlock_rdlock(&c->lock);
	number = c->limits_number;
	pthread_rwlock_unlock(&c->lock);
	return number;
}

bool catalogue_limits_known(struct catalogue *c, int64_t since_ms)
{
	return atomic_load_explicit(&c->limits_ms, memory_order_relaxed) >= since_ms;
}

unsigned catalogue_limits_any(struct catalogue *c)
{
	return atomic_load_explicit(&c->limits_any, memory_order_relaxed);
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
	if (out->sku_id)
		strcpy(out->sku, sku_code(numbered_find(&c->skus, out->sku_id)));
	if (c->locations.count > 0)
		out->location = *c->locations.by_id[c->locations.count - 1];
	pthread_rwlock_unlock(&c->lock);
}

size_t catalogue_skus(struct catalogue *c)
{
	size_t n;

	pthread_rwlock_rdlock(&c->lock);
	n = c->skus.count;
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
