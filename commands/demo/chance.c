/* chance.c - see chance.h. SplitMix64 (Steele, Lea, Flood 2014). */
#include "commands/demo/chance.h"
#include "engine/base/hash.h"

#include <string.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)

struct chance chance_for(const char *kind, int64_t number)
{
	uint64_t seed = hash_stable(kind, strlen(kind));

	return (struct chance){(seed << 32) + (uint64_t)number * STEP};
}

int chance_below(struct chance *c, int n)
{
	uint64_t z;

	assert(n > 0);
	z = c->state += STEP;

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return (int)(z % (uint64_t)n);
}
