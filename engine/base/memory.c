/* memory.c - see memory.h. */
#include "engine/base/memory.h"
#include "engine/base/log.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

static _Noreturn void out_of_memory(size_t size)
{
	log_event(LOG_ERROR, "no_memory", "bytes=%zu", size);
	_exit(EXIT_TROUBLE);
}

void mem_end(void)
{
	out_of_memory(0);
}

void mem_return_large(void)
{
#ifdef M_MMAP_THRESHOLD
	/* Once these are set, they do not grow with what is freed. Smaller blocks come and go without the kernel. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, 2 * LARGE);
#endif
}

void *mem_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_resize(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_reach(void *list, size_t count, size_t *max, size_t size)
{
	if (count < *max)
		return list;
	*max = *max ? *max * 2 : 16;
	return mem_resize(list, *max * size);
}

char *mem_copy(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	return text ? memcpy(mem_alloc(size), text, size) : NULL;
}
