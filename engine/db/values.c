/* values.c - see values.h. */
#include "engine/db/values.h"
#include "engine/base/memory.h"

void values_reset(struct values *v)
{
	v->columns = v->rows = v->count = 0;
}

void values_fini(struct values *v)
{
	free(v->list);
	*v = (struct values){0};
}

struct value value_of_text(const char *string)
{
	return string ? V_BYTES(string, strlen(string)) : (struct value){VALUE_NULL, 0, NULL};
}

void values_add(struct values *v, const struct value *row, size_t columns)
{
	assert(columns <= VALUES_COLUMNS_MAX && (v->columns == 0 || v->columns == columns));
	v->columns = columns;
	v->rows++;
	for (size_t i = 0; i < columns; i++) {
		v->list = mem_reach(v->list, v->count, &v->max, sizeof(*v->list));
		v->list[v->count++] = row[i];
	}
}

void value_write(struct value value, struct text *sql)
{
	switch (value.type) {
	case VALUE_INT:
		text_int(sql, value.number);
		break;
	case VALUE_BYTES:
		text_add(sql, "x'");
		text_hex(sql, value.bytes, (size_t)value.number);
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
	/* The caller of a read has some; a step of a transaction that has none is refused (txn_run). */
	assert(v->rows > 0 && (parentheses || v->columns == 1));
	for (size_t i = 0; i < v->count; i++) {
		size_t column = i % v->columns;

		if (i > 0)
			text_char(sql, ',');
		if (parentheses && column == 0)
			text_char(sql, '(');
		value_write(v->list[i], sql);
		if (parentheses && column == v->columns - 1)
			text_char(sql, ')');
	}
}

void values_json(const struct values *v, struct text *json)
{
	for (size_t i = 0; i < v->count; i++) {
		assert(v->list[i].type == VALUE_INT);
		text_add(json, i == 0 ? "[[" : i % v->columns == 0 ? "],[" : ",");
		text_int(json, v->list[i].number);
	}
	text_add(json, "]]");
}
