/* source.c - see source.h. Its parts are set before there are threads, or are atomic. */
#include "engine/db/source.h"
#include "engine/base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct source {
	struct db_target     target;
	int                  schema; /* 0: any */
	struct source_memory memory;
	_Atomic(char *)      other_schema;
	_Atomic uint64_t     mark;
};

struct source *source_new(const struct db_target *target)
{
	struct source *s = mem_alloc(sizeof(*s));

	s->target = *target;
	return s;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	free(s->other_schema);
	explicit_bzero(&s->target, sizeof(s->target)); /* the password */
	free(s);
}

const struct db_target *source_target(const struct source *s)
{
	return &s->target;
}

void source_schema_set(struct source *s, int version)
{
	s->schema = version;
}

int source_schema(const struct source *s)
{
	return s->schema;
}

const char *source_other_schema(const struct source *s)
{
	return atomic_load(&s->other_schema);
}

void source_other_schema_set(struct source *s, const char *words)
{
	char *none = NULL, *copy = mem_copy(words);

	if (!atomic_compare_exchange_strong(&s->other_schema, &none, copy))
		free(copy);
}

void source_memory_set(struct source *s, struct source_memory memory)
{
	assert(!memory.compare || !s->memory.compare);
	s->memory = memory;
}

struct source_memory source_memory(const struct source *s)
{
	return s->memory;
}

uint64_t source_mark_swap(struct source *s, uint64_t mark)
{
	return atomic_exchange(&s->mark, mark);
}
