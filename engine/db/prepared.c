/* prepared.c - see prepared.h. */
#include "engine/db/prepared.h"
#include "engine/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prepared_close(struct prepared *p)
{
	for (size_t i = 0; i < p->count; i++)
		mysql_stmt_close(p->list[i].stmt);
	p->count = 0;
}

MYSQL_STMT *prepared_find(const struct prepared *p, const char *sql)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].sql == sql)
			return p->list[i].stmt;
	return NULL;
}

bool prepared_make(struct prepared *p, MYSQL *mysql, const char *sql, unsigned *code, char *error, size_t error_size)
{
	MYSQL_STMT *stmt = mysql_stmt_init(mysql);

	assert(p->count < PREPARED_MAX);
	if (!stmt || mysql_stmt_prepare(stmt, sql, strlen(sql)) != 0) {
		*code = stmt ? mysql_stmt_errno(stmt) : mysql_errno(mysql);
		snprintf(error, error_size, "%s", stmt ? mysql_stmt_error(stmt) : mysql_error(mysql));
		if (stmt)
			mysql_stmt_close(stmt);
		return false;
	}
	p->list[p->count].sql = sql;
	p->list[p->count++].stmt = stmt;
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

static void column_fill(struct column *to, const struct values *v, size_t column, size_t first, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		const struct value *value = &v->list[(first + i) * v->columns + column];

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

bool prepared_send(MYSQL_STMT *stmt, const struct values *v, size_t first, size_t rows)
{
	struct column columns[VALUES_COLUMNS_MAX];
	MYSQL_BIND    binds[VALUES_COLUMNS_MAX];
	unsigned      many = rows > 1 ? (unsigned)rows : 0;
	char         *room = columns_make(columns, v->columns, rows);
	bool          sent;

	assert(first + rows <= v->rows);
	for (size_t i = 0; i < v->columns; i++) {
		column_fill(&columns[i], v, i, first, rows);
		binds[i] = bind_of(&columns[i], v->list[i].type, many > 0);
	}
	mysql_options(stmt->mysql, MARIADB_OPT_SKIP_READ_RESPONSE, &(my_bool){1});
	sent = mysql_stmt_attr_set(stmt, STMT_ATTR_ARRAY_SIZE, &many) == 0 && mysql_stmt_bind_param(stmt, binds) == 0 &&
	       mysql_stmt_execute(stmt) == 0;
	mysql_options(stmt->mysql, MARIADB_OPT_SKIP_READ_RESPONSE, &(my_bool){0});
	free(room);
	return sent;
}

/* The library has no call for this half of mysql_stmt_execute, which MARIADB_OPT_SKIP_READ_RESPONSE leaves out:
 * this is its private function. The Makefile checks the version. */
bool prepared_read(MYSQL_STMT *stmt)
{
	bool ok = stmt->mysql->methods->db_read_execute_response(stmt) == 0;

	assert(mysql_stmt_field_count(stmt) == 0);
	return ok;
}
