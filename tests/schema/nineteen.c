/* nineteen.c - see nineteen.h. */
#include "tests/schema/nineteen.h"
#include "tests/kit/tables.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void name_add(void *arg, const struct db_row *row)
{
	text_format(arg, "%s`%s`", ((struct text *)arg)->len ? ", " : "DROP TABLE ", row->col[0]);
}

void tables_drop(struct scratch *s)
{
	struct text drop = {0};

	cr_assert(db_text(s->db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
	                  name_add, &drop) == DB_OK);
	if (drop.len)
		tables_run(s->db, drop.data);
	text_fini(&drop);
}

void nineteen_load(struct scratch *s)
{
	FILE       *file = fopen("tests/schema/nineteen_dump.sql", "re");
	struct text dump = {0}, statement = {0};
	const char *at;
	size_t      n;

	cr_assert(file, "no dump: tests run in the root of the repository");
	while ((n = fread(text_room(&dump, 4096), 1, 4096, file)) > 0) {
		dump.len += n;
		dump.data[dump.len] = '\0';
	}
	fclose(file);
	tables_drop(s);
	at = dump.data;
	while (schema_statement(&at, &statement))
		tables_run(s->db, statement.data);
	text_fini(&dump);
	text_fini(&statement);
}

static void table_add(void *arg, const struct db_row *row)
{
	text_format(arg, "%s`%s`", ((struct text *)arg)->len ? ", " : "CHECKSUM TABLE ", row->col[0]);
}

static void fact_add(void *arg, const struct db_row *row)
{
	text_format(arg, "%s %s\n", strchr(row->col[0], '.') + 1, row->col[1] ? row->col[1] : "NULL");
}

/* Tables to which steps add columns, and the columns that they have without these. */
static const struct {
	const char *table, *columns;
} grown[] = {
	{"reservation", RESERVATION_COLUMNS},
	{"reservation_line", "reservation_id, sku_id, location_id, slot, qty"},
	{"reservation_note", "reservation_id, reference, replaced_by, customer, replaces, waits_since"},
	{"waiting_line", "reservation_id, sku_id, location_id, held, waits_since, first_id, told"},
	{"sku", "sku_id, code, created_at"},
	{"location", "location_id, code, kind, expected_at, waits_at"},
};

void nineteen_facts(struct scratch *s, struct text *out)
{
	struct text sql = {0};

	text_reset(out);
	cr_assert(db_text(s->db,
	                  "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	                  " AND table_name NOT IN ('schema_version', 'reservation', 'reservation_line',"
	                  " 'waiting_line', 'reservation_amend', 'reservation_on_hold', 'sku',"
	                  " 'reservation_note',"
	                  " 'sku_barcode', 'sku_text', 'api_key_use', 'upkeep', 'location') ORDER BY 1",
	                  table_add, &sql) == DB_OK);
	cr_assert(db_text(s->db, sql.data, fact_add, out) == DB_OK);
	for (size_t i = 0; i < LENGTH(grown); i++) {
		text_reset(&sql);
		text_format(&sql, "SELECT '.%s', SUM(CRC32(CONCAT_WS(',', %s))) FROM %s", grown[i].table,
		            grown[i].columns, grown[i].table);
		cr_assert(db_text(s->db, sql.data, fact_add, out) == DB_OK);
	}
	text_fini(&sql);
}

void nineteen_same(struct scratch *s, const struct text *before, const char *where)
{
	struct text now = {0};

	nineteen_facts(s, &now);
	cr_expect(strcmp(before->data, now.data) == 0, "%s: before:\n%s\nafter:\n%s", where, before->data, now.data);
	text_fini(&now);
}

void migrate(struct scratch *s)
{
	char why[512];

	cr_assert(schema_migrate(s->db, why, sizeof(why)), "%s", why);
}

void migrate_refused(struct scratch *s, const char *words)
{
	char why[512] = "";

	cr_expect(!schema_migrate(s->db, why, sizeof(why)) && schema_refused() && strstr(why, words),
	          "wanted: %s\nit says: %s", words, why);
}

void made_up(struct made_up *m, const struct schema_file *steps, size_t count)
{
	cr_assert(schema_files.count + count <= MADE_UP_MAX);
	memcpy(m->list, schema_files.list, schema_files.count * sizeof(*m->list));
	memcpy(m->list + schema_files.count, steps, count * sizeof(*m->list));
	m->files = (struct schema_files){m->list, schema_files.count + count};
}

size_t files_cut(const struct schema_file *files, size_t file_count, size_t count, struct text *text)
{
	struct text statement = {0};
	size_t      all = 0;

	text_reset(text);
	for (size_t i = 0; i < file_count; i++)
		for (const char *at = files[i].text; schema_statement(&at, &statement); all++)
			if (all < count)
				text_format(text, "%s;\n\n", statement.data);
	text_add(text, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'cut';\n");
	text_fini(&statement);
	return all;
}
