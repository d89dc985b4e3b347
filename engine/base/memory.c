/* memory.c - see memory.h. */
#include "engine/base/memory.h"
#include "engine/base/log.h"

#include <malloc.h>
#include <unistd.h>

/* TRIM: what the end of the heap may keep. With a LARGE of a MiB, a round of large bodies left a third of what they may
 * take in the heap. */
enum { LARGE = 1 << 18, TRIM = 1 << 21 };

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
	(void)mallopt(M_TRIM_THRESHOLD, TRIM);
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
	assert(count == *max);
	*max = *max ? *max * 2 : 16;
	return mem_resize(list, *max * size);
}

size_t mem_join(void *list, size_t count, size_t size, int (*order)(const void *a, const void *b),
                void (*add)(void *sum, const void *one))
{
	char  *last = list, *one = list;
	size_t kept = count > 0;

	if (count > 1)
		qsort(list, count, size, order);
	for (size_t i = 1; i < count; i++) {
		one += size;
		if (order(last, one) != 0) {
			last += size;
			kept++;
			if (last != one)
				memcpy(last, one, size);
		} else if (add) {
			add(last, one);
		}
	}
	return kept;
}

static uint32_t number_at(const void *list, size_t i, size_t size)
{
	return *(const uint32_t *)(const void *)((const char *)list + i * size);
}

void *mem_range(const void *list, size_t count, size_t size, uint32_t number, size_t *found)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (number_at(list, middle, size) < number)
			from = middle + 1;
		else
			to = middle;
	}
	while (to < count && number_at(list, to, size) == number)
		to++;
	*found = to - from;
	return to > from ? (char *)(uintptr_t)list + from * size : NULL;
}

char *mem_copy(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	return text ? memcpy(mem_alloc(size), text, size) : NULL;
}
