/* prepared.c - see prepared.h. */
#include "engine/db/prepared.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"

#include <stdio.h>

static const size_t widths[WIDTHS] = {1, 4, 16};
enum { WIDEST = 16 };

static void statement_close(struct prepared_statement *s)
{
	for (int i = 0; i < WIDTHS; i++)
		if (s->stmt[i])
			mysql_stmt_close(s->stmt[i]);
	*s = (struct prepared_statement){0};
}

void prepared_close(struct prepared *p)
{
	for (size_t i = 0; i < p->count; i++)
		statement_close(&p->list[i]);
	p->count = 0;
}

const struct prepared_statement *prepared_find(const struct prepared *p, const char *sql)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].sql == sql)
			return &p->list[i];
	return NULL;
}

/* The end of the parenthesis that opens at `at`. No text in a prepared statement holds one. */
static const char *parenthesis_end(const char *at)
{
	int depth = 0;

	do
		depth += (*at == '(') - (*at == ')');
	while (*at && at++ && depth > 0);
	return at;
}

/* The statement with its row of VALUES so many times; false: it has none. */
static bool widen(struct text *to, const char *sql, size_t rows)
{
	static const char word[] = "VALUES (";

	const char *values = strstr(sql, word), *row = values ? values + strlen(word) - 1 : NULL;
	const char *end = row ? parenthesis_end(row) : NULL;

	if (!row || !memchr(row, '?', (size_t)(end - row)))
		return false;
	text_format(to, "%.*s", (int)(row - sql), sql);
	for (size_t i = 0; i < rows; i++)
		text_format(to, "%s%.*s", i > 0 ? ", " : "", (int)(end - row), row);
	text_add(to, end);
	return true;
}

/* No text in a prepared statement holds a question mark. */
static size_t marks_count(const char *sql)
{
	size_t count = 0;

	while ((sql = strchr(sql, '?')) != NULL) {
		count++;
		sql++;
	}
	return count;
}

/* Prepares the statement for `rows` rows, if it can have them. The library binds as many values as the server says that
 * it wants: *other where those are not as many as the statement has. */
static bool width_make(MYSQL_STMT **stmt, MYSQL *mysql, const char *sql, size_t rows, bool *other)
{
	struct text wide = {0};
	bool        made = true;

	if (rows == 1 || widen(&wide, sql, rows)) {
		const char *text = rows == 1 ? sql : wide.data;

		*stmt = mysql_stmt_init(mysql);
		made = *stmt && mysql_stmt_prepare(*stmt, text, strlen(text)) == 0;
		*other = made &&
		         (mysql_stmt_param_count(*stmt) != marks_count(text) || mysql_stmt_field_count(*stmt) != 0);
	}
	text_fini(&wide);
	return made;
}

bool prepared_make(struct prepared *p, MYSQL *mysql, const char *sql, bool wide, bool *other, unsigned *code,
                   char *error, size_t error_size)
{
	struct prepared_statement s = {.sql = sql};

	*other = false;
	assert(p->count < PREPARED_MAX);
	for (int i = 0; i < (wide ? WIDTHS : 1); i++)
		if (!width_make(&s.stmt[i], mysql, sql, widths[i], other) || *other) {
			*code = s.stmt[i] ? mysql_stmt_errno(s.stmt[i]) : mysql_errno(mysql);
			snprintf(error, error_size, "%s", s.stmt[i] ? mysql_stmt_error(s.stmt[i]) : mysql_error(mysql));
			statement_close(&s);
			return false;
		}
	p->list[p->count++] = s;
	return true;
}

/* Values as the server gets them: an array for each column. */
struct column {
	int64_t       *number;
	const void   **bytes;
	unsigned long *len;
};

/* Room for the columns of that many rows, in one piece; the caller's to free. */
static char *columns_make(struct column *columns, size_t count, size_t rows)
{
	const size_t each = sizeof(int64_t) + sizeof(void *) + sizeof(unsigned long);
	char        *room = mem_alloc(count * rows * each), *at = room;

	for (size_t i = 0; i < count; i++, at += rows * each) {
		columns[i].number = (int64_t *)at;
		columns[i].bytes = (const void **)(columns[i].number + rows);
		columns[i].len = (unsigned long *)(columns[i].bytes + rows);
	}
	return room;
}

static void column_fill(struct column *to, const struct values *v, size_t column, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		const struct value *value = &v->list[i * v->columns + column];

		assert(value->type == v->list[column].type && value->type <= VALUE_BYTES);
		to->number[i] = value->number;
		to->bytes[i] = value->bytes;
		to->len[i] = (unsigned long)value->number;
	}
}

/* A single row is bound by itself, several rows as arrays of pointers, or of numbers. */
static MYSQL_BIND bind_of(struct column *c, enum value_type type, bool many)
{
	MYSQL_BIND bind = {0};

	bind.buffer_type = type == VALUE_INT ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_BLOB;
	bind.buffer = type == VALUE_INT ? (void *)c->number : many ? (void *)c->bytes : (void *)c->bytes[0];
	if (type == VALUE_BYTES)
		bind.length = c->len;
	return bind;
}

/* rows: of the arrays that are bound; 0: single values are. */
static bool execution_send(MYSQL_STMT *stmt, MYSQL_BIND *binds, unsigned rows)
{
	bool sent;

	mysql_options(stmt->mysql, MARIADB_OPT_SKIP_READ_RESPONSE, &(my_bool){1});
	sent = mysql_stmt_attr_set(stmt, STMT_ATTR_ARRAY_SIZE, &rows) == 0 && mysql_stmt_bind_param(stmt, binds) == 0 &&
	       mysql_stmt_execute(stmt) == 0;
	mysql_options(stmt->mysql, MARIADB_OPT_SKIP_READ_RESPONSE, &(my_bool){0});
	return sent;
}

bool prepared_send(const struct prepared_statement *s, const struct values *v)
{
	struct column columns[VALUES_COLUMNS_MAX] UNZEROED;
	MYSQL_BIND    binds[VALUES_COLUMNS_MAX] UNZEROED;
	unsigned      many = v->rows > 1 ? (unsigned)v->rows : 0;
	char         *room = columns_make(columns, v->columns, v->rows);
	bool          sent;

	for (size_t i = 0; i < v->columns; i++) {
		column_fill(&columns[i], v, i, v->rows);
		binds[i] = bind_of(&columns[i], v->list[i].type, many > 0);
	}
	sent = execution_send(s->stmt[0], binds, many);
	free(room);
	return sent;
}

size_t prepared_takes(const struct prepared_statement *s, size_t left)
{
	int i = WIDTHS - 1;

	while (i > 0 && (!s->stmt[i] || widths[i] > left))
		i--;
	return widths[i];
}

MYSQL_STMT *prepared_of(const struct prepared_statement *s, size_t rows)
{
	int i = 0;

	while (widths[i] != rows)
		i++;
	return s->stmt[i];
}

bool prepared_send_some(const struct prepared_statement *s, const struct values *v, size_t first)
{
	size_t              rows = prepared_takes(s, v->rows - first);
	const struct value *values = &v->list[first * v->columns];
	MYSQL_BIND          binds[WIDEST * VALUES_COLUMNS_MAX] UNZEROED;
	unsigned long       len[WIDEST * VALUES_COLUMNS_MAX] UNZEROED;

	for (size_t i = 0; i < rows * v->columns; i++) {
		bool is_int = values[i].type == VALUE_INT;

		assert(values[i].type <= VALUE_BYTES);
		len[i] = (unsigned long)values[i].number;
		binds[i] = (MYSQL_BIND){0};
		binds[i].buffer_type = is_int ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_BLOB;
		binds[i].buffer = is_int ? (void *)&values[i].number : (void *)values[i].bytes;
		binds[i].length = is_int ? NULL : &len[i];
	}
	return execution_send(prepared_of(s, rows), binds, 0);
}

/* The library has no call for this half of mysql_stmt_execute, which MARIADB_OPT_SKIP_READ_RESPONSE leaves out:
 * this is its private function. The Makefile checks the version. */
bool prepared_read(MYSQL_STMT *stmt, bool *other)
{
	bool ok = stmt->mysql->methods->db_read_execute_response(stmt) == 0;

	*other = ok && mysql_stmt_field_count(stmt) != 0;
	return ok;
}
