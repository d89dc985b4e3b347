/* values.c - see values.h. */
#include "engine/db/values.h"
#include "engine/base/memory.h"

#include <stdlib.h>
#include <string.h>

void values_begin(struct values *v, unsigned columns)
{
	assert(columns > 0 && columns <= VALUES_COLUMNS_MAX);
	v->columns = columns;
	v->count = 0;
}

void values_fini(struct values *v)
{
	free(v->list);
	*v = (struct values){0};
}

static void value_add(struct values *v, struct value value)
{
	v->list = mem_reach(v->list, v->count, &v->max, sizeof(*v->list));
	v->list[v->count++] = value;
}

void values_int(struct values *v, int64_t n)
{
	value_add(v, (struct value){VALUE_INT, n, NULL});
}

void values_bytes(struct values *v, const void *bytes, size_t len)
{
	value_add(v, (struct value){VALUE_BYTES, (int64_t)len, bytes});
}

void values_text(struct values *v, const char *string)
{
	value_add(v, string ? (struct value){VALUE_BYTES, (int64_t)strlen(string), string}
	                    : (struct value){VALUE_NULL, 0, NULL});
}

void values_now(struct values *v)
{
	value_add(v, (struct value){VALUE_NOW, 0, NULL});
}

void values_clock(struct values *v)
{
	value_add(v, (struct value){VALUE_CLOCK, 0, NULL});
}

size_t values_rows(const struct values *v)
{
	assert(v->count == 0 || v->count % v->columns == 0);
	return v->count ? v->count / v->columns : 0;
}

static void value_write(const struct value *value, struct text *sql)
{
	switch (value->type) {
	case VALUE_INT:
		text_int(sql, value->number);
		break;
	case VALUE_BYTES:
		text_add(sql, "x'");
		text_hex(sql, value->bytes, (size_t)value->number);
		text_char(sql, '\'');
		break;
	case VALUE_NULL:
		text_add(sql, "NULL");
		break;
	case VALUE_NOW:
		text_add(sql, "@t");
		break;
	case VALUE_CLOCK:
		text_add(sql, "UTC_TIMESTAMP(3)");
		break;
	}
}

void values_write(const struct values *v, struct text *sql, bool parentheses)
{
	assert(values_rows(v) > 0 && (parentheses || v->columns == 1));
	for (size_t i = 0; i < v->count; i++) {
		unsigned column = (unsigned)(i % v->columns);

		if (i > 0)
			text_char(sql, ',');
		if (parentheses && column == 0)
			text_char(sql, '(');
		value_write(&v->list[i], sql);
		if (parentheses && column == v->columns - 1)
			text_char(sql, ')');
	}
}
