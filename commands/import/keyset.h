/* keyset.h - a set of keys, of eight bytes each, and a number that goes with a key. Two texts have one key once in
 * 10^19 pairs: a file of a million rows meets that once in 10^7 files, and says so then. */
#ifndef KEYSET_H
#define KEYSET_H

#include "engine/base/base.h"

/* Zero-initialised is empty. */
struct keyset {
	uint64_t *list;    /* 0: a free place */
	int64_t  *numbers; /* of the keys; NULL: none was asked for */
	size_t    count, max;
};
void keys_fini(struct keyset *k);
void keys_reset(struct keyset *k); /* empties the set */
/* The key of two codes. */
uint64_t key_of(const char *one, const char *other);
bool     keys_has(const struct keyset *k, uint64_t key);
bool     keys_add(struct keyset *k, uint64_t key); /* false: it was there already */
/* The number of the key, 0 at first; NULL: the set does not have the key. A set has numbers from the first key on, or
 * has none. */
int64_t *keys_number(struct keyset *k, uint64_t key, bool adds);

#endif
