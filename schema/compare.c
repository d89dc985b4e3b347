/* compare.c - see compare.h. The server says of the table that is there and of the temporary one what it would take to
 * make them (SHOW CREATE TABLE): a line for each column, key and CHECK, which are compared as they are. */
#include "schema/compare.h"
#include "engine/base/memory.h"

#include <stdio.h>

#define EXPECTED "schema_expected" /* the temporary table */
#define ENGINE   ") ENGINE="

/* ---- what the server says */

struct lines {
	char **item;
	size_t n;
};

static void lines_add(struct lines *l, const char *text, size_t len)
{
	l->item = mem_resize(l->item, (l->n + 1) * sizeof(*l->item));
	l->item[l->n] = mem_alloc(len + 1);
	memcpy(l->item[l->n++], text, len);
}

static void lines_fini(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->item[i]);
	free(l->item);
	*l = (struct lines){0};
}

static void column_add(void *arg, const struct db_row *row)
{
	const char *text = row->col[0] ? row->col[0] : "NULL";

	lines_add(arg, text, strlen(text));
}

/* The first line is the table's name. The last one is the engine, and settings that may be any. */
static void create_add(void *arg, const struct db_row *row)
{
	const char *at = strchr(db_word(row, 1), '\n');

	while (at) {
		const char *line = at + 1 + strspn(at + 1, " ");
		size_t      len;

		at = strchr(line, '\n');
		len = at ? (size_t)(at - line) : strlen(line);
		if (strncmp(line, ENGINE, strlen(ENGINE)) == 0)
			len = strcspn(line, " ") + 1 + strcspn(line + strcspn(line, " ") + 1, " ");
		else if (len && line[len - 1] == ',')
			len--;
		lines_add(arg, line, len);
	}
}

/* Asks with a table's name in the place of %s. */
static bool lines_read(struct db *db, const char *format, unsigned columns, const char *table,
                       void (*add)(void *arg, const struct db_row *row), struct lines *to)
{
	struct text sql = {0};
	const char *name = strstr(format, "%s");
	bool        ok;

	text_bytes(&sql, format, (size_t)(name - format));
	text_format(&sql, "`%s`%s", table, name + 2);
	ok = db_query(db, sql.data, columns, add, to) == DB_OK;
	text_fini(&sql);
	return ok;
}

static bool has(const struct lines *l, const char *line)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->item[i], line) == 0)
			return true;
	return false;
}

/* ---- what differs */

/* The length of the part that names the thing: `column`, KEY `name`, PRIMARY KEY, CONSTRAINT `name`, ENGINE. */
static size_t head_len(const char *line)
{
	const char *first = strchr(line, '`'), *second = first ? strchr(first + 1, '`') : NULL;

	if (strncmp(line, ENGINE, strlen(ENGINE)) == 0)
		return strlen(ENGINE);
	if (strncmp(line, "PRIMARY KEY", strlen("PRIMARY KEY")) == 0 || !second)
		return strcspn(line, "(");
	return (size_t)(second - line) + 1;
}

static const char *same_thing(const struct lines *l, const char *line)
{
	size_t len = head_len(line);

	for (size_t i = 0; i < l->n; i++)
		if (head_len(l->item[i]) == len && strncmp(l->item[i], line, len) == 0)
			return l->item[i];
	return NULL;
}

/* "table T: column C" */
static void thing_write(struct text *to, const char *table, const char *line)
{
	text_format(to, "table %s: ", table);
	if (strncmp(line, ENGINE, strlen(ENGINE)) == 0) {
		text_add(to, "the engine");
		return;
	}
	text_add(to, line[0] == '`' ? "column " : "");
	for (size_t i = 0, len = head_len(line); i < len; i++)
		if (line[i] != '`' && !(line[i] == ' ' && i == len - 1))
			text_char(to, line[i]);
}

static const char *definition(const char *line)
{
	const char *from = line + head_len(line);

	return from + strspn(from, " ");
}

static void things_compare(const char *table, const struct lines *there, const struct lines *wanted,
                           struct text *differences)
{
	for (size_t i = 0; i < wanted->n; i++) {
		const char *other = same_thing(there, wanted->item[i]);

		if (has(there, wanted->item[i]))
			continue;
		thing_write(differences, table, wanted->item[i]);
		if (other)
			text_format(differences, " is %s, not %s\n", definition(other), definition(wanted->item[i]));
		else
			text_add(differences, " is missing\n");
		differences->count++;
	}
	for (size_t i = 0; i < there->n; i++)
		if (!same_thing(wanted, there->item[i])) {
			thing_write(differences, table, there->item[i]);
			text_add(differences, " is not of this schema\n");
			differences->count++;
		}
}

static void rows_compare(const char *table, const char *column, const struct lines *there, const struct lines *wanted,
                         struct text *differences)
{
	for (size_t i = 0; i < wanted->n; i++)
		if (!has(there, wanted->item[i])) {
			text_format(differences, "table %s: the row %s=%s is missing\n", table, column,
			            wanted->item[i]);
			differences->count++;
		}
	for (size_t i = 0; i < there->n; i++)
		if (!has(wanted, there->item[i])) {
			text_format(differences, "table %s: the row %s=%s is not of this schema\n", table, column,
			            there->item[i]);
			differences->count++;
		}
}

/* ---- the statements of a file */

static bool run(struct db *db, const char *words, const char *behind_name)
{
	struct text sql = {0};
	bool        ok;

	text_format(&sql, "%s%s", words, behind_name);
	ok = db_text(db, sql.data, NULL, NULL) == DB_OK;
	text_fini(&sql);
	return ok;
}

static bool expected_drop(struct db *db)
{
	return run(db, "DROP TEMPORARY TABLE IF EXISTS " EXPECTED, "");
}

static bool table_compare(struct db *db, const char *table, const char *columns, struct text *differences)
{
	struct lines names = {0}, there = {0}, wanted = {0};
	struct text  sql = {0};
	bool         ok;

	text_format(&sql,
	            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	            " AND table_type = 'BASE TABLE' AND table_name = '%s'",
	            table);
	ok = expected_drop(db) && db_query(db, sql.data, 1, column_add, &names) == DB_OK &&
	     run(db, "CREATE TEMPORARY TABLE " EXPECTED, columns);
	if (ok && names.n == 0) {
		text_format(differences, "table %s is missing\n", table);
		differences->count++;
	} else if (ok) {
		ok = lines_read(db, "SHOW CREATE TABLE %s", 2, table, create_add, &there) &&
		     lines_read(db, "SHOW CREATE TABLE %s", 2, EXPECTED, create_add, &wanted);
		if (ok)
			things_compare(table, &there, &wanted, differences);
	}
	lines_fini(&names);
	lines_fini(&there);
	lines_fini(&wanted);
	text_fini(&sql);
	return ok;
}

/* The first column that the statement names is the key. */
static bool seed_compare(struct db *db, const char *table, const char *columns, struct text *differences)
{
	char         key[SCHEMA_NAME_MAX + 1];
	const char  *first = columns + strspn(columns, " (");
	struct lines there = {0}, wanted = {0};
	struct text  sql = {0};
	bool         ok;

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(first, ",)"), first);
	text_format(&sql, "SELECT %s FROM %%s", key);
	ok = run(db, SCHEMA_INSERT EXPECTED, columns) && lines_read(db, sql.data, 1, table, column_add, &there) &&
	     lines_read(db, sql.data, 1, EXPECTED, column_add, &wanted);
	if (ok)
		rows_compare(table, key, &there, &wanted, differences);
	lines_fini(&there);
	lines_fini(&wanted);
	text_fini(&sql);
	return ok;
}

bool schema_compare(struct db *db, const struct schema_file *file, struct text *differences)
{
	char        table[SCHEMA_NAME_MAX + 1];
	struct text statement = {0};
	const char *text = file->text, *rest;
	bool        ok = true;
	size_t      before = 0;

	while (ok && schema_statement(&text, &statement)) {
		if ((rest = schema_statement_of(statement.data, SCHEMA_CREATE, table))) {
			before = differences->count;
			ok = table_compare(db, table, rest, differences);
		} else if ((rest = schema_statement_of(statement.data, SCHEMA_INSERT, table)) &&
		           differences->count == before) {
			ok = seed_compare(db, table, rest, differences);
		}
	}
	text_fini(&statement);
	return ok && expected_drop(db);
}
