/* memory.h - memory that is there: without any the process ends with one line. Any thread. */
#ifndef MEMORY_H
#define MEMORY_H

#include "engine/base/base.h"

void *mem_alloc(size_t size);             /* zeroed; never NULL */
void *mem_try(size_t size) MUST_CHECK;    /* zeroed; NULL if there is none */
void *mem_resize(void *old, size_t size); /* like realloc; never NULL */
char *mem_copy(const char *text);         /* like strdup; never NULL */
/* Makes room for one more element of `size` in a list of `count` with room for *max. */
void *mem_reach(void *list, size_t count, size_t *max, size_t size);

#endif
