/* hash.h - hashes, and random bytes. Any thread. */
#ifndef HASH_H
#define HASH_H

#include "engine/base/base.h"

uint64_t hash_bytes(const void *data, size_t len);  /* FNV-1a, seeded once per process */
uint32_t hash_stable(const void *data, size_t len); /* without a seed: for what outlives the process */
enum { SHA256_BYTES = 32 };
void sha256(const void *data, size_t len, unsigned char digest[SHA256_BYTES]);
/* Random bytes from the kernel. */
void    random_bytes(void *data, size_t len);
int64_t random_number(void); /* above 0 */
/* The mark of this process, drawn by chance: 16 letters and digits. */
const char *process_mark(void);

#endif
