/* memory.h - allocation that never fails. Without memory the process ends with one line in the log, everywhere.
 * Acknowledged work is in the database by then. Any thread. */
#ifndef MEMORY_H
#define MEMORY_H

#include "engine/base/base.h"

void *mem_alloc(size_t size);             /* zeroed; never NULL */
void *mem_resize(void *old, size_t size); /* like realloc; never NULL */
char *mem_copy(const char *text);         /* like strdup; NULL for NULL alone */
/* For a library that says it got no memory, of unknown size: the line (event=no_memory) and the end. */
_Noreturn void mem_end(void);
/* For a process that runs for long, before its first thread: blocks of 256 KiB and more come from the kernel and go
 * back to it one by one. Otherwise the allocator keeps what large requests have left, and it grows beyond what is in
 * use. */
void mem_return_large(void);
/* The range of elements that begin with this number, in a list in the order of them. NULL, *found 0: there is none. */
void *mem_range(const void *list, size_t count, size_t size, uint32_t number, size_t *found);
/* Makes room for one more element of `size` in a list of `count` with room for *max. */
void *mem_reach(void *list, size_t count, size_t *max, size_t size);
/* Sorts a list by `order` and makes one element of those that are equal: `add` adds `one` to the first; NULL: the first
 * is enough. Returns how many elements are left. */
size_t mem_join(void *list, size_t count, size_t size, int (*order)(const void *a, const void *b),
                void (*add)(void *sum, const void *one)) MUST_CHECK;

#endif
