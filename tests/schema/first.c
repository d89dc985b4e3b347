/* first.c - see first.h. */
#include "tests/schema/first.h"
#include "engine/base/memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(struct db *db, const char *sql, void (*each)(void *arg, const struct db_row *row), void *arg)
{
	cr_assert(db_text(db, sql, each, arg) == DB_OK, "%s: %.500s", db_error(db), sql);
}

/* ---- texts */

static void file_read(const char *path, struct text *to)
{
	FILE  *file = fopen(path, "re");
	size_t n;

	cr_assert(file, "cannot read %s: tests run in the root of the repository", path);
	while ((n = fread(text_room(to, 4096), 1, 4096, file)) > 0) {
		to->len += n;
		to->data[to->len] = '\0';
	}
	fclose(file);
}

void pieces_cut(struct pieces *p, const char *text)
{
	*p = (struct pieces){0};
	while (*text) {
		const char *end = strstr(text, ";\n\n");
		size_t      len = end ? (size_t)(end - text) : strlen(text);
		char       *piece = mem_alloc(len + 1);

		memcpy(piece, text, len);
		text += end ? len + 3 : len;
		while (len && strchr("; \t\n", piece[len - 1]))
			piece[--len] = '\0';
		p->item = mem_resize(p->item, (p->n + 1) * sizeof(*p->item));
		p->item[p->n++] = piece;
	}
}

void pieces_fini(struct pieces *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->item[i]);
	free(p->item);
	*p = (struct pieces){0};
}

void pieces_of_step(struct pieces *p, const char *name)
{
	static const struct {
		const char *name, *text;
	} steps[] = {
#include "schema.h"
	};

	for (size_t i = 0; i < LENGTH(steps); i++)
		if (strcmp(steps[i].name, name) == 0) {
			pieces_cut(p, steps[i].text);
			return;
		}
	cr_assert_fail("there is no step %s", name);
}

/* ---- the database */

static void name_add(void *arg, const struct db_row *row)
{
	text_format(arg, "%s`%s`", ((struct text *)arg)->len ? ", " : "DROP TABLE ", row->col[0]);
}

void first_load(struct scratch *s)
{
	struct text   dump = {0}, drop = {0};
	struct pieces p;

	must(s->db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()", name_add,
	     &drop);
	if (drop.len)
		must(s->db, drop.data, NULL, NULL);
	file_read("tests/schema/first_dump.sql", &dump);
	pieces_cut(&p, dump.data);
	for (size_t i = 0; i < p.n; i++)
		must(s->db, p.item[i], NULL, NULL);
	pieces_fini(&p);
	text_fini(&dump);
	text_fini(&drop);
	/* The newest hold was for a second. */
	scratch_tick(s, -3 + (int)-scratch_number(s->db, "SELECT TIMESTAMPDIFF(SECOND, MAX(created_at),"
	                                                 " UTC_TIMESTAMP()) - 6 FROM reservation"));
}

static void fact_add(void *arg, const struct db_row *row)
{
	for (unsigned i = 0; i < row->columns; i++)
		text_format(arg, "%s%s", i ? ", " : "  ", row->col[i] ? row->col[i] : "NULL");
	text_char(arg, '\n');
}

void first_facts(struct scratch *s, struct text *out)
{
	static const struct {
		const char *names[4], *columns; /* the first name of a version, and what it is called later */
	} tables[] = {
		/* a migration raises epochs by a million */
		{{"lane", "writer", "log_writer"}, "slot, mark, epoch % 1000000, batch_no, batch_at, started_at, ops"},
		{{"task", "worker_task", "claimed_task", "job_task"},
	         "task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, ended_at, mark"},
		{{"sku"}, "sku_id, code, created_at"},
		{{"location"}, "location_id, code"},
		{{"stock_slot"}, "sku_id, location_id, slot, available, reserved"},
		{{"movement"}, "movement_no, movement_id, kind, HEX(lines_hash), created_at, reason, reference"},
		{{"movement_line"}, "movement_no, sku_id, location_id, slot, qty"},
		{{"reservation"},
	         "reservation_id, order_id, HEX(lines_hash), key_id, state, due_at, expires_at, task_id, attempts,"
	         " last_error, created_at, confirmed_at, released_at, settled_at"},
		{{"reservation_line"}, "reservation_id, sku_id, location_id, slot, qty"},
		{{"api_key"}, "key_id, name, created_at"},
		{{"key_hold"}, "reservation_id, key_id, units"},
	};
	char sql[400];

	text_reset(out);
	for (size_t i = 0; i < LENGTH(tables); i++) {
		const char *name = NULL;

		for (size_t k = 0; k < LENGTH(tables[i].names) && tables[i].names[k]; k++) {
			snprintf(sql, sizeof(sql),
			         "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
			         " AND table_name = '%s'",
			         tables[i].names[k]);
			if (scratch_number(s->db, sql) > 0)
				name = tables[i].names[k];
		}
		cr_assert(name, "%s is gone", tables[i].names[0]);
		text_format(out, "%s\n", tables[i].names[0]);
		snprintf(sql, sizeof(sql), "SELECT %s FROM %s ORDER BY 1, 2", tables[i].columns, name);
		must(s->db, sql, fact_add, out);
	}
}

/* ---- writers */

/* Settings go as they are; a compound or a COMMIT is never prepared. */
static bool is_prepared(const char *sql)
{
	return strncmp(sql, "BEGIN", 5) != 0 && strncmp(sql, "COMMIT", 6) != 0 && strncmp(sql, "SET", 3) != 0;
}

static void writer_prepare(struct writer *w)
{
	struct text sql = {0};

	for (size_t i = 0; i < w->statements.n && !w->failed; i++) {
		if (!is_prepared(w->statements.item[i]))
			continue;
		text_reset(&sql);
		text_format(&sql, "PREPARE s%zu FROM '", i);
		for (const char *c = w->statements.item[i]; *c; c++)
			text_format(&sql, *c == '\'' ? "''" : "%c", *c);
		text_char(&sql, '\'');
		w->failed = db_text(w->db, sql.data, NULL, NULL) != DB_OK;
	}
	text_fini(&sql);
}

static void writer_open(struct scratch *s, struct writer *w, const char *block)
{
	struct db_target to = s->target;
	const char      *end = strchr(block, '\n');

	snprintf(to.database, sizeof(to.database), "%s", s->name);
	*w = (struct writer){.name = strndup(block, (size_t)(end - block)), .db = db_new_alone(&to)};
	pieces_cut(&w->statements, end + 1);
	cr_assert(db_connect(w->db), "%s", db_error(w->db));
	writer_prepare(w);
}

size_t writers_open(struct scratch *s, struct writer *list)
{
	static const char mark[] = "-- name: ";
	struct text       text = {0};
	size_t            count = 0;
	char             *next;

	file_read("tests/schema/first_writes.sql", &text);
	for (char *at = strstr(text.data, mark); at; at = next) {
		next = strstr(at + 1, mark);
		if (next)
			next[-1] = '\0';
		cr_assert(count < WRITERS_MAX);
		writer_open(s, &list[count++], at + strlen(mark));
	}
	text_fini(&text);
	return count;
}

void writers_close(struct writer *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		db_free(list[i].db);
		pieces_fini(&list[i].statements);
		free((char *)list[i].name);
	}
}

struct writer *writer_find(struct writer *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	cr_assert_fail("writes.sql has no block %s", name);
	return NULL;
}

void writer_send(struct writer *w)
{
	const char *sql = w->statements.item[w->next];
	char        execute[40];

	snprintf(execute, sizeof(execute), "EXECUTE s%zu", w->next);
	if (!w->failed)
		w->failed = db_send(w->db, is_prepared(sql) ? execute : sql) != DB_OK;
}

/* The last row that a compound gives begins with its verdict, or with the number of the task that was claimed. */
static void last_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

void writer_answer(struct writer *w)
{
	const char *sql = w->statements.item[w->next++];
	bool        writes = strncmp(sql, "UPDATE", 6) == 0 || strncmp(sql, "INSERT", 6) == 0;
	int64_t     last = -1;

	if (w->failed)
		return;
	w->failed = db_answer(w->db, last_read, &last) != DB_OK;
	if (writes)
		w->failed |= db_changed(w->db) == 0 && last < 0;
	else if (strncmp(sql, "BEGIN", 5) == 0)
		w->failed |= strstr(sql, "SELECT verdict") ? last != 0 : last <= 0;
}

void writer_step(struct writer *w)
{
	writer_send(w);
	writer_answer(w);
}

bool writer_run(struct writer *w)
{
	while (w->next < w->statements.n && !w->failed)
		writer_step(w);
	if (w->failed && db_connected(w->db))
		must(w->db, "ROLLBACK", NULL, NULL);
	return !w->failed;
}
