/* counters.c - see counters.h. */
#include "engine/base/counters.h"

#include <stdatomic.h>

static const char *const names[COUNTERS] = {
#define X(name, word) word,
#include "engine/base/counters.def"
#undef X
};

static _Atomic int64_t here[COUNTERS];

const char *counter_name(enum counter c)
{
	assert(c < COUNTERS);
	return names[c];
}

void counter_add(enum counter c, int64_t n)
{
	atomic_fetch_add_explicit(&here[c], n, memory_order_relaxed);
}

int64_t counter_here(enum counter c)
{
	return atomic_load_explicit(&here[c], memory_order_relaxed);
}

int64_t counter_take(enum counter c)
{
	return atomic_exchange(&here[c], 0);
}
