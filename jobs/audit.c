/* audit.c - the command `audit`: every invariant of schema/invariants.sql, in one snapshot.
 *
 * The snapshot is consistent, so what is in flight raises no alarm; sums are made by the database, which keeps them per
 * sku, so memory here does not grow with the reservations. */
#include "api/options.h"
#include "api/json.h"
#include "engine/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 20 };

static const struct {
	const char *name, *text;
} source[] = {
#include "invariants.h"
};

struct finding {
	const char         *name;
	int64_t             rows;
	bool                json;
	struct json_writer *w;
};

static void row_print(const struct finding *f, const struct db_row *row)
{
	printf("%s:", f->name);
	for (unsigned i = 0; i < row->columns; i++)
		printf(" %s", row->col[i] ? row->col[i] : "NULL");
	printf("\n");
}

static void finding_read(void *arg, const struct db_row *row)
{
	struct finding *f = arg;

	if (f->rows++ >= SHOWN_MAX)
		return;
	if (!f->json) {
		row_print(f, row);
		return;
	}
	json_open_array(f->w, NULL);
	for (unsigned i = 0; i < row->columns; i++)
		if (row->col[i])
			json_put_bytes(f->w, NULL, row->col[i], row->len[i]);
		else
			json_put_null(f->w, NULL);
	json_close_array(f->w);
}

/* A block's statement with {sku} filled in: a hex literal, or nothing. */
static void block_sql(struct text *sql, const char *from, const char *to, const char *sku)
{
	static const char hole[] = "{sku}";

	text_reset(sql);
	while (from < to) {
		const char *at = memmem(from, (size_t)(to - from), hole, strlen(hole));
		const char *end = at ? at : to;

		text_bytes(sql, from, (size_t)(end - from));
		from = at ? at + strlen(hole) : to;
		if (at && sku) {
			text_add(sql, "AND k.code = x'");
			text_hex(sql, sku, strlen(sku));
			text_char(sql, '\'');
		}
	}
}

/* The next block from `at` on: its name, and where its SQL begins and ends. */
static const char *block_next(const char *at, char *name, size_t size, const char **begin)
{
	static const char mark[] = "-- name: ";
	const char       *found = strstr(at, mark), *next;

	if (!found)
		return NULL;
	found += strlen(mark);
	snprintf(name, size, "%.*s", (int)strcspn(found, " \n"), found);
	*begin = strchr(found, '\n') + 1;
	next = strstr(*begin, mark);
	return next ? next : *begin + strlen(*begin);
}

static int audit_blocks(struct db *db, const char *sku, bool json)
{
	struct text        sql = {0}, out = {0};
	struct json_writer w = {.to = &out};
	const char        *begin, *end;
	char               name[64];
	int64_t            broken = 0, checked = 0;
	int                status = EXIT_DONE;

	json_open_object(&w, NULL);
	json_open_array(&w, "invariants");
	for (const char *at = source[0].text; (end = block_next(at, name, sizeof(name), &begin)); at = end) {
		struct finding f = {.name = name, .json = json, .w = &w};
		const char    *stop = end;

		while (stop > begin && stop[-1] != ';')
			stop--; /* comments of the next block may stand before its name */
		block_sql(&sql, begin, stop > begin ? stop - 1 : end, sku);
		json_open_object(&w, NULL);
		json_put_string(&w, "name", name);
		json_open_array(&w, "rows");
		if (db_run(db, &sql, finding_read, &f) != DB_OK) {
			status = EXIT_UNAVAILABLE;
			break;
		}
		json_close_array(&w);
		json_put_int(&w, "broken", f.rows);
		json_close_object(&w);
		if (!json && f.rows > SHOWN_MAX)
			printf("%s: and %lld more rows\n", name, (long long)(f.rows - SHOWN_MAX));
		broken += f.rows;
		checked++;
	}
	if (status == EXIT_DONE) {
		json_close_array(&w);
		json_put_bool(&w, "whole", broken == 0);
		json_close_object(&w);
		if (json)
			printf("%s\n", out.data);
		else
			printf("%lld invariants checked, %s\n", (long long)checked,
			       broken ? "not all hold" : "all hold");
		status = broken ? EXIT_TROUBLE : EXIT_DONE;
	}
	text_fini(&sql);
	text_fini(&out);
	return status;
}

static void found_read(void *arg, const struct db_row *row)
{
	(void)row;
	*(bool *)arg = true;
}

static bool sku_exists(struct db *db, const char *sku)
{
	struct text sql = {0}, rows = {0};
	bool        found = false;

	row_hex(&rows, sku, strlen(sku));
	statement_add(&sql, SKU_FIND, &(struct fill){.rows = &rows});
	if (db_run(db, &sql, found_read, &found) != DB_OK)
		found = true; /* the audit itself will say so */
	text_fini(&sql);
	text_fini(&rows);
	return found;
}

static int audit_act(struct db *db, void *arg)
{
	(void)arg;
	db_silence_set(db, 0);
	if (!db_connect(db) || db_text(db, "SET SESSION idle_transaction_timeout = 0", NULL, NULL) != DB_OK ||
	    db_text(db, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", NULL, NULL) != DB_OK ||
	    db_text(db, "START TRANSACTION WITH CONSISTENT SNAPSHOT", NULL, NULL) != DB_OK)
		return EXIT_UNAVAILABLE;
	if (option_given(OPTION_sku) && !sku_exists(db, option_text(OPTION_sku))) {
		say("there is no sku %s", option_text(OPTION_sku));
		return EXIT_TROUBLE;
	}
	return audit_blocks(db, option_text(OPTION_sku), option_given(OPTION_json));
}

int audit_run(int argc, char **argv)
{
	struct house_options house;
	int                  status = options_read(command_find("audit"), argc, argv, NULL, 0);

	if (status != EXIT_DONE)
		return status;
	house = option_house();
	return house_run(&house, audit_act, NULL);
}
