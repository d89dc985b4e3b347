/* shelf.c - see shelf.h. A change of a table writes a new file for its description, and a trigger or a view adds one.
 * So the names and inodes of all files but those of rows tell whether the tables are still as they were. */
#include "tests/kit/shelf.h"
#include "engine/base/hash.h"
#include "schema/files.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHELF "holdfast_shelf.used"

enum { ROWS_BYTES_MAX = 16 << 20, LOOKS = 20, LOOK_PAUSE_US = 5000 };

bool shelf_make(struct db *db)
{
	return db_text(db, "CREATE DATABASE holdfast_shelf", NULL, NULL) == DB_OK &&
	       db_text(db, "CREATE TABLE " SHELF " (name VARBINARY(32) PRIMARY KEY, tables BIGINT NOT NULL)", NULL,
	               NULL) == DB_OK;
}

static void ask(struct db *db, const char *sql, void (*each)(void *arg, const struct db_row *row), void *arg)
{
	if (db_text(db, sql, each, arg) != DB_OK)
		cr_assert_fail("%s: %s", sql, db_error(db));
}

static void taken_read(void *arg, const struct db_row *row)
{
	struct scratch *s = arg;

	snprintf(s->name, sizeof(s->name), "%s", db_word(row, 0));
	s->tables = db_int(row, 1);
}

static bool has_shelf(struct db *db)
{
	return scratch_number(db, "SELECT COUNT(*) FROM information_schema.tables"
	                          " WHERE table_schema = 'holdfast_shelf'") > 0;
}

bool shelf_open(struct scratch *s)
{
	struct scratch taken = {0};
	struct db     *db = scratch_server();

	if (has_shelf(db))
		ask(db, "DELETE FROM " SHELF " LIMIT 1 RETURNING name, tables", taken_read, &taken);
	if (*taken.name)
		scratch_open_named(s, taken.name);
	else
		scratch_open(s);
	s->tables = taken.tables;
	db_free(db);
	return *taken.name;
}

/* ---- what the files say */

static void folder_read(void *arg, const struct db_row *row)
{
	text_format(arg, "%s/%s", db_word(row, 0), db_word(row, 1));
}

/* A number for the descriptions of all tables, not 0, and the bytes of their rows. 0: the files cannot be read. */
static int64_t tables_sum(struct scratch *s, int64_t *bytes)
{
	struct text    path = {0};
	struct dirent *entry;
	uint64_t       sum = 0;
	DIR           *dir;

	*bytes = 0;
	ask(s->db, "SELECT @@datadir, DATABASE()", folder_read, &path);
	dir = opendir(path.data);
	while (dir && (entry = readdir(dir))) {
		size_t      len = strlen(entry->d_name);
		struct stat st;

		if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0) != 0)
			continue;
		if (len > 4 && strcmp(entry->d_name + len - 4, ".ibd") == 0)
			*bytes += st.st_size;
		else
			sum += ((uint64_t)hash_stable(entry->d_name, len) << 31 | 1) * st.st_ino;
	}
	if (dir)
		closedir(dir);
	text_fini(&path);
	return (int64_t)sum;
}

void shelf_note(struct scratch *s)
{
	int64_t bytes;

	s->tables = tables_sum(s, &bytes);
}

/* ---- emptying */

static void delete_add(void *arg, const struct db_row *row)
{
	text_format(arg, "DELETE FROM `%s`;\n\n", db_word(row, 0));
}

static void numbers_add(void *arg, const struct db_row *row)
{
	text_format(arg, "ALTER TABLE `%s` AUTO_INCREMENT = 1;\n\n", db_word(row, 0));
}

static void statements_run(struct db *db, const char *text, const char *words)
{
	struct text statement = {0};
	char        table[SCHEMA_NAME_MAX + 1];

	while (schema_statement(&text, &statement))
		if (!words || schema_statement_of(statement.data, words, table))
			ask(db, statement.data, NULL, NULL);
	text_fini(&statement);
}

static void version_as_made(struct db *db, int version)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version VALUES (%d, UTC_TIMESTAMP(3))", version);
	ask(db, sql, NULL, NULL);
}

static void rows_as_made(struct db *db)
{
	struct text deletes = {0};

	ask(db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()", delete_add,
	    &deletes);
	ask(db, "START TRANSACTION", NULL, NULL);
	statements_run(db, deletes.data, NULL);
	version_as_made(db, SCHEMA_BASELINE);
	for (size_t i = 0; i < schema_files.count; i++) {
		int step = schema_step(&schema_files.list[i]);

		if (step)
			version_as_made(db, step);
		else
			statements_run(db, schema_files.list[i].text, SCHEMA_INSERT);
	}
	ask(db, "COMMIT", NULL, NULL);
	text_fini(&deletes);
}

static void numbers_as_made(struct db *db)
{
	struct text alters = {0};

	ask(db,
	    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND auto_increment > 1",
	    numbers_add, &alters);
	if (alters.len)
		statements_run(db, alters.data, NULL);
	text_fini(&alters);
}

/* A connection of a program that has ended is there for a moment. */
static bool is_alone(struct db *db)
{
	for (int i = 0; i < LOOKS; i++, usleep(LOOK_PAUSE_US))
		if (scratch_number(db, "SELECT COUNT(*) FROM information_schema.processlist"
		                       " WHERE db = DATABASE() AND id <> CONNECTION_ID()") == 0)
			return true;
	return false;
}

/* false: it cannot be used again. */
static bool put(struct scratch *s)
{
	int64_t bytes, tables = tables_sum(s, &bytes);
	char    sql[150];

	if (tables == 0 || tables != s->tables || bytes > ROWS_BYTES_MAX || !has_shelf(s->db) || !is_alone(s->db))
		return false;
	rows_as_made(s->db);
	numbers_as_made(s->db);
	snprintf(sql, sizeof(sql), "INSERT INTO " SHELF " VALUES ('%s', %lld)", s->name,
	         (long long)tables_sum(s, &bytes));
	ask(s->db, sql, NULL, NULL);
	return true;
}

/* The test's files, which have the name of the database before a dot. */
static void files_remove(const char *name)
{
	DIR           *dir = opendir(scratch_dir());
	struct dirent *entry;
	size_t         len = strlen(name);

	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, name, len) == 0 && entry->d_name[len] == '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

/* The account, the link and the files have the name of the database: they go before another test may take it. */
void shelf_close(struct scratch *s)
{
	scratch_leave(s);
	files_remove(s->name);
	if (!put(s))
		scratch_drop(s);
	db_free(s->db);
}
