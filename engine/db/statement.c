/* statement.c - see statement.h. */
#include "engine/db/statement.h"
#include "engine/base/clock.h"

#include <stdio.h>
#include <string.h>

struct block {
	const char *name, *text;
};

static const struct block blocks[STATEMENT_COUNT] = {
#define STATEMENT_TABLE
#include "statements.h"
#undef STATEMENT_TABLE
};

static const struct {
	const char *name;
	size_t      at;
} numbers[] = {
#define NUMBER(n)                            \
	{                                    \
#n, offsetof(struct fill, n) \
	}
	NUMBER(count),  NUMBER(epoch), NUMBER(high),  NUMBER(id),      NUMBER(kind), NUMBER(lane),
	NUMBER(lapsed), NUMBER(last),  NUMBER(lease), NUMBER(low),     NUMBER(mark), NUMBER(sku),
	NUMBER(slot),   NUMBER(state), NUMBER(task),  NUMBER(verdict),
#undef NUMBER
};

static void number_add(struct text *sql, const struct fill *fill, const char *name, size_t len)
{
	for (size_t i = 0; i < LENGTH(numbers); i++)
		if (strlen(numbers[i].name) == len && memcmp(numbers[i].name, name, len) == 0) {
			text_int(sql, *(const int64_t *)((const char *)fill + numbers[i].at));
			return;
		}
	assert(!"a brace in a .sql file that struct fill does not know");
}

void statement_add(struct text *sql, enum statement name, const struct fill *fill)
{
	const char *at = blocks[name].text, *brace;

	assert(at);
	for (; (brace = strchr(at, '{')); at = brace + 1) {
		const char *word = brace + 1;

		text_bytes(sql, at, (size_t)(brace - at));
		brace = strchr(word, '}');
		assert(brace && fill);
		if (strncmp(word, "rows}", 5) == 0)
			text_bytes(sql, fill->rows->data, fill->rows->len);
		else
			number_add(sql, fill, word, (size_t)(brace - word));
	}
	text_add(sql, at);
	text_char(sql, ' ');
}

const char *statement_name(enum statement name)
{
	return blocks[name].name;
}

const char *statement_text(enum statement name)
{
	return blocks[name].text;
}

/* Between two values of a row, or two rows, stands a comma. */
static void comma(struct text *rows)
{
	if (rows->len > 0 && rows->data[rows->len - 1] != '(')
		text_char(rows, ',');
}

void row_begin(struct text *rows)
{
	comma(rows);
	text_char(rows, '(');
}

void row_end(struct text *rows)
{
	text_char(rows, ')');
}

void row_int(struct text *rows, int64_t n)
{
	comma(rows);
	text_int(rows, n);
}

void row_hex(struct text *rows, const void *data, size_t len)
{
	comma(rows);
	text_add(rows, "x'");
	text_hex(rows, data, len);
	text_char(rows, '\'');
}

void row_null(struct text *rows)
{
	comma(rows);
	text_add(rows, "NULL");
}

void row_t(struct text *rows)
{
	comma(rows);
	text_add(rows, "@t");
}

void row_utc_now(struct text *rows)
{
	comma(rows);
	text_add(rows, "UTC_TIMESTAMP(3)");
}

/* 2026-11-20T08:47:00.123Z; without the Z it is a DATETIME literal */
void row_time(struct text *rows, int64_t ms)
{
	struct text stamp = {0};

	time_write(&stamp, ms);
	row_hex(rows, stamp.data, stamp.len - 1);
	text_fini(&stamp);
}
