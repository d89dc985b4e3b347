/* test_shelf.c - a database that a test has used and emptied is as a new one. */
#include "tests/kit/shelf.h"
#include "tests/kit/tables.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void fact_add(void *arg, const struct db_row *row)
{
	for (unsigned i = 0; i < row->columns; i++)
		text_format(arg, "%s%s", i ? " " : "", row->col[i] ? row->col[i] : "NULL");
	text_char(arg, '\n');
}

static void select_add(void *arg, const struct db_row *row)
{
	text_format(arg, "%sSELECT '%s', COUNT(*) FROM `%s`", ((struct text *)arg)->len ? " UNION ALL " : "",
	            db_word(row, 0), db_word(row, 0));
}

/* The rows of each table, the numbers that it gives next, and the versions. */
static void facts(struct scratch *s, struct text *to)
{
	static const char *const questions[] = {
		"SELECT table_name, auto_increment FROM information_schema.tables WHERE table_schema = DATABASE()"
		" AND auto_increment IS NOT NULL ORDER BY 1",
		"SELECT table_name, COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() GROUP BY 1"
		" ORDER BY 1",
		"SELECT version FROM schema_version ORDER BY 1",
		"SELECT one, n, entered FROM location_kinds",
		"SELECT one, writer_last, keep_days, era FROM event_log",
		"SELECT job, paused FROM job ORDER BY 1",
	};
	struct text selects = {0};

	text_reset(to);
	for (size_t i = 0; i < LENGTH(questions); i++)
		cr_assert(db_text(s->db, questions[i], fact_add, to) == DB_OK, "%s", db_error(s->db));
	cr_assert(db_text(s->db,
	                  "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
	                  select_add, &selects) == DB_OK);
	cr_assert(db_text(s->db, selects.data, fact_add, to) == DB_OK, "%s", db_error(s->db));
	text_fini(&selects);
}

static int64_t mark(struct scratch *s)
{
	return scratch_number(s->db, "SELECT mark FROM identity");
}

static bool is_there(const char *name)
{
	struct db *db = scratch_server();
	char       sql[150];
	bool       there;

	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '%s'", name);
	there = scratch_number(db, sql) == 1;
	db_free(db);
	return there;
}

/* Takes it from the shelf; false: another test has it. */
static bool taken(const char *name)
{
	struct db *db = scratch_server();
	char       sql[100];
	bool       ours;

	snprintf(sql, sizeof(sql), "DELETE FROM holdfast_shelf.used WHERE name = '%s'", name);
	tables_run(db, sql);
	ours = db_changed(db) == 1;
	db_free(db);
	return ours;
}

Test(shelf, a_used_database_is_as_a_new_one)
{
	struct scratch s = {0};
	struct text    made = {0}, used = {0};
	char           name[sizeof(s.name)];
	int64_t        before;

	do {
		scratch_open(&s);
		tables_make(&s);
		facts(&s, &made);
		before = mark(&s);
		shelf_note(&s);
		tables_rows(&s);
		snprintf(name, sizeof(name), "%s", s.name);
		shelf_close(&s);
		cr_assert(is_there(name), "it is on the shelf");
	} while (!taken(name));

	scratch_open_named(&s, name);
	facts(&s, &used);
	cr_expect_str_eq(used.data, made.data);
	cr_expect(mark(&s) != before, "it has an identity of its own");
	scratch_close(&s);
	text_fini(&made);
	text_fini(&used);
}

/* Each of these makes a database that no other test may get. */
Test(shelf, a_changed_table_is_dropped)
{
	static const char *const changes[] = {
		"ALTER TABLE sku ADD COLUMN more INT",
		"ALTER TABLE sku ADD KEY more (created_at)",
		"DROP TABLE webhook",
		"CREATE TABLE more (n INT)",
		"CREATE VIEW more AS SELECT 1",
		"CREATE TRIGGER more BEFORE INSERT ON sku FOR EACH ROW SET @n = 1",
	};

	for (size_t i = 0; i < LENGTH(changes); i++) {
		struct scratch s = {0};
		char           name[sizeof(s.name)];

		scratch_open(&s);
		tables_make(&s);
		shelf_note(&s);
		tables_run(s.db, changes[i]);
		snprintf(name, sizeof(name), "%s", s.name);
		shelf_close(&s);
		cr_expect_not(is_there(name), "%s", changes[i]);
	}
}

Test(shelf, a_database_in_use_is_dropped)
{
	struct scratch s = {0};
	char           name[sizeof(s.name)];
	struct db     *other;

	scratch_open(&s);
	tables_make(&s);
	shelf_note(&s);
	other = scratch_connection(&s);
	snprintf(name, sizeof(name), "%s", s.name);
	shelf_close(&s);
	cr_expect_not(is_there(name));
	db_free(other);
}
