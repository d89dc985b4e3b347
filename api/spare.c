/* spare.c - see spare.h. */
#include "api/spare.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <event2/event.h>
#include <stdlib.h>

enum {
	SPARE_BYTES = 4 << 20,
	SMALL_BYTES = 64 << 10, /* libevent's callers look whether they got more than that */
};

static void *spare;

static void spare_give(void)
{
	if (spare)
		log_event(LOG_WARN, "memory_low", "spare=%d", SPARE_BYTES);
	free(spare);
	spare = NULL;
}

static void *resize(void *old, size_t size)
{
	void *p = realloc(old, size);

	if (p || size > SMALL_BYTES)
		return p;
	spare_give();
	return mem_resize(old, size);
}

static void *allocate(size_t size)
{
	return resize(NULL, size);
}

void spare_open(void)
{
	event_set_mem_functions(allocate, resize, free);
	spare_tick();
}

bool spare_is_there(void)
{
	return spare != NULL;
}

void spare_tick(void)
{
	if (!spare)
		spare = malloc(SPARE_BYTES);
}
