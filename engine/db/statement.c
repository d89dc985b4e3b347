/* statement.c - see statement.h. The table of blocks is made by sql.awk. */
#include "engine/db/statement.h"
#include "engine/base/clock.h"

const struct sql_block statements[STATEMENT_COUNT] = {
#define STATEMENT_TABLE
#include "statements.h"
#undef STATEMENT_TABLE
};

enum parameter_type { NUMBER, TIME, TEXT };

static const struct parameter {
	const char         *name;
	size_t              len;
	enum parameter_type type;
	size_t              at;
} parameters[] = {
#define X(type, parameter) {#parameter, sizeof(#parameter) - 1, type, offsetof(struct fill, parameter)},
#include "engine/db/fill.def"
#undef X
};

/* A literal of digits and marks: TIMESTAMP'2026-11-20T08:47:00.123' */
static void time_add(struct text *sql, int64_t ms)
{
	text_add(sql, "TIMESTAMP'");
	time_write(sql, ms);
	sql->data[sql->len - 1] = '\''; /* instead of the Z */
}

static void parameter_add(struct text *sql, const struct parameter *p, const struct fill *fill)
{
	const void *at = (const char *)fill + p->at;

	if (p->type == TIME)
		time_add(sql, *(const int64_t *)at);
	else
		value_write(p->type == NUMBER ? V_INT(*(const int64_t *)at) : V_TEXT(*(const char *const *)at), sql);
}

static void hole_fill(struct text *sql, const struct fill *fill, const char *name, size_t len)
{
	if (len == 4 && (memcmp(name, "rows", len) == 0 || memcmp(name, "list", len) == 0)) {
		values_write(fill->rows, sql, *name == 'r');
		return;
	}
	for (size_t i = 0; i < LENGTH(parameters); i++)
		if (parameters[i].len == len && memcmp(parameters[i].name, name, len) == 0) {
			parameter_add(sql, &parameters[i], fill);
			return;
		}
	assert(!"sql.awk lets no other name pass");
}

void statement_add(struct text *sql, enum statement name, const struct fill *fill)
{
	const char *at = statements[name].text, *brace;

	assert(at);
	text_room(sql, strlen(at)); /* in one go: a text that grows is copied */
	for (; (brace = strchr(at, '{')); at = brace + 1) {
		const char *word = brace + 1;

		text_bytes(sql, at, (size_t)(brace - at));
		brace = strchr(word, '}');
		assert(brace && fill);
		hole_fill(sql, fill, word, (size_t)(brace - word));
	}
	text_add(sql, at);
	text_char(sql, ' ');
}

bool sql_is_read(const char *sql)
{
	sql += *sql == '(';
	return strncmp(sql, "SELECT", 6) == 0 || strncmp(sql, "WITH", 4) == 0 || strncmp(sql, "SHOW", 4) == 0;
}

bool sql_is_causal(const char *sql)
{
	return strncmp(sql, "START", 5) == 0 || (sql_is_read(sql) && !strstr(sql, "FOR UPDATE"));
}
