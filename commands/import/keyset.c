/* keyset.c - see keyset.h. Open addressing, three quarters full at most. */
#include "commands/import/keyset.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"

enum { KEYS_MIN = 64 };

void keys_fini(struct keyset *k)
{
	free(k->list);
	free(k->numbers);
	*k = (struct keyset){0};
}

void keys_reset(struct keyset *k)
{
	if (k->max > 0)
		memset(k->list, 0, k->max * sizeof(*k->list));
	k->count = 0;
}

uint64_t key_of(const char *one, const char *other)
{
	char          text[1024];
	unsigned char digest[SHA256_BYTES];
	size_t        len = strlen(one) + 1, more = strlen(other);
	uint64_t      key;

	assert(len + more <= sizeof(text));
	memcpy(text, one, len);
	memcpy(text + len, other, more);
	sha256(text, len + more, digest);
	memcpy(&key, digest, sizeof(key));
	return key ? key : 1;
}

/* The place of the key, or the free one where it would stand. */
static size_t key_place(const struct keyset *k, uint64_t key)
{
	size_t at = key & (k->max - 1);

	while (k->list[at] && k->list[at] != key)
		at = (at + 1) & (k->max - 1);
	return at;
}

static void keys_grow(struct keyset *k, bool numbered)
{
	struct keyset old = *k;

	k->max = old.max ? 2 * old.max : KEYS_MIN;
	k->list = mem_alloc(k->max * sizeof(*k->list));
	k->numbers = numbered ? mem_alloc(k->max * sizeof(*k->numbers)) : NULL;
	for (size_t i = 0; i < old.max; i++) {
		size_t at = old.list[i] ? key_place(k, old.list[i]) : 0;

		if (!old.list[i])
			continue;
		k->list[at] = old.list[i];
		if (numbered)
			k->numbers[at] = old.numbers[i];
	}
	free(old.list);
	free(old.numbers);
}

static size_t key_enter(struct keyset *k, uint64_t key, bool numbered, bool *is_new)
{
	size_t at;

	if (4 * (k->count + 1) > 3 * k->max)
		keys_grow(k, numbered);
	at = key_place(k, key);
	*is_new = !k->list[at];
	if (*is_new) {
		k->list[at] = key;
		k->count++;
		if (numbered)
			k->numbers[at] = 0;
	}
	return at;
}

bool keys_has(const struct keyset *k, uint64_t key)
{
	return k->max > 0 && k->list[key_place(k, key)];
}

bool keys_add(struct keyset *k, uint64_t key)
{
	bool is_new;

	(void)key_enter(k, key, k->numbers != NULL, &is_new);
	return is_new;
}

int64_t *keys_number(struct keyset *k, uint64_t key, bool adds)
{
	bool   is_new;
	size_t at;

	if (!adds && !keys_has(k, key))
		return NULL;
	at = adds ? key_enter(k, key, true, &is_new) : key_place(k, key);
	return &k->numbers[at];
}
