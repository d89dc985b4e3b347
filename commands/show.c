/* show.c - the command `show`. The call of the API answers; its JSON is printed unchanged, or as lines and tables for
 * people, whatever members it has. */
#include "commands/show.h"
#include "api/http/uri.h"
#include "commands/ask.h"
#include "commands/options.h"
#include "commands/terminal/terminal.h"
#include "engine/base/json.h"
#include "engine/base/log.h"

#include <stdio.h>
#include <unistd.h>

enum { COLUMNS_MAX = 16, GAP = 2 };

static const struct {
	const char *word, *call;
} kinds[] = {{"sku", "/v1/skus/"},
             {"skus", "/v1/skus?limit=1000&q="},
             {"order", "/v1/reservations/"},
             {"task", "/v1/tasks/"},
             {"buried", "/v1/buried"}};

/* ---- printing */

static void spaces(struct text *to, size_t n)
{
	while (n-- > 0)
		text_char(to, ' ');
}

static void heading(struct text *to, const char *word)
{
	bool paints = terminal_paints(STDOUT_FILENO);

	text_format(to, "%s%s%s", paints ? "\033[1m" : "", word, paints ? "\033[0m" : "");
}

/* A value on one line: elements with commas between, members as NAME VALUE; of an element only the values. */
static void plain_put(struct text *to, const void *node, bool element)
{
	bool   plain = !json_is_array(node) && !json_is_object(node);
	size_t begin = to->len;

	if (plain)
		json_text(to, node);
	if (plain && to->len == begin)
		text_char(to, '-'); /* null, or an empty text */
	for (const void *n = json_first(node); n; n = json_next(n)) {
		if (json_name(n) && !element)
			text_format(to, "%s ", json_name(n));
		plain_put(to, n, json_is_array(node));
		if (json_next(n))
			text_add(to, json_is_object(node) && element ? " " : ", ");
	}
}

/* Returns its columns. */
static size_t value_put(struct text *to, const void *node)
{
	struct text plain = {0};
	size_t      columns;

	text_add(&plain, "");
	plain_put(&plain, node, false);
	columns = terminal_text(to, plain.len > 0 ? plain.data : "-");
	text_fini(&plain);
	return columns;
}

/* The columns of a table: members of its objects, in the order of their first sight. */
struct column {
	const char *name;
	size_t      width;
	bool        numbers;
};

static size_t columns_find(const void *table, struct column columns[COLUMNS_MAX])
{
	struct text scratch = {0};
	size_t      count = 0, i, width;

	for (const void *row = json_first(table); row; row = json_next(row))
		for (const void *n = json_first(row); n; n = json_next(n)) {
			for (i = 0; i < count && strcmp(columns[i].name, json_name(n)) != 0;)
				i++;
			if (i == count && count == COLUMNS_MAX)
				continue;
			if (i == count)
				columns[count++] =
					(struct column){json_name(n), strlen(json_name(n)), json_is_number(n)};
			width = value_put(&scratch, n);
			columns[i].width = width > columns[i].width ? width : columns[i].width;
		}
	text_fini(&scratch);
	return count;
}

static void cell_put(struct text *to, const struct column *c, const struct text *cell, size_t width, bool last)
{
	if (c->numbers)
		spaces(to, c->width - width);
	text_bytes(to, cell->data ? cell->data : "", cell->len);
	if (!c->numbers && !last)
		spaces(to, c->width - width);
	text_add(to, last ? "\n" : "  ");
}

static void table_put(struct text *to, const void *table)
{
	struct column columns[COLUMNS_MAX];
	struct text   cell = {0};
	size_t        count = columns_find(table, columns);

	spaces(to, count > 0 ? GAP : 0);
	for (size_t i = 0; i < count; i++) {
		text_reset(&cell);
		heading(&cell, columns[i].name);
		cell_put(to, &columns[i], &cell, strlen(columns[i].name), i + 1 == count);
	}
	for (const void *row = json_first(table); row; row = json_next(row)) {
		spaces(to, GAP);
		for (size_t i = 0; i < count; i++) {
			const void *n = json_member(row, columns[i].name);
			size_t      width;

			text_reset(&cell);
			width = n ? value_put(&cell, n) : 0;
			cell_put(to, &columns[i], &cell, width, i + 1 == count);
		}
	}
	text_fini(&cell);
}

/* Lines NAME VALUE, then the tables, each below its name. A cursor is left out. */
static void object_put(struct text *to, const void *object)
{
	size_t width = 0;

	for (const void *n = json_first(object); n; n = json_next(n))
		if (strcmp(json_name(n), "next_cursor") != 0)
			width = strlen(json_name(n)) > width ? strlen(json_name(n)) : width;
	for (int tables = 0; tables < 2; tables++)
		for (const void *n = json_first(object); n; n = json_next(n)) {
			bool table = json_is_array(n) && (!json_first(n) || json_is_object(json_first(n)));

			if (table != tables || strcmp(json_name(n), "next_cursor") == 0)
				continue;
			heading(to, json_name(n));
			if (table) {
				text_char(to, '\n');
				table_put(to, n);
				continue;
			}
			spaces(to, width - strlen(json_name(n)) + GAP);
			value_put(to, n);
			text_char(to, '\n');
		}
}

static void answer_print(const struct text *body, const void *root)
{
	struct text out = {0};

	if (option_given(OPTION_json))
		text_format(&out, "%.*s\n", (int)body->len, body->data);
	else
		object_put(&out, root);
	fwrite(out.data, 1, out.len, stdout);
	text_fini(&out);
}

/* ---- the command */

/* Prints the answer; as text a page without items is not printed. Returns whether it had anything. `cursor`: of the
 * next page, or empty. */
static bool answer_take(const struct text *body, struct text *cursor)
{
	struct json_fault fault = {0};
	struct json_doc  *doc = json_parse(body->data, body->len, &fault);
	const void       *items, *next;
	bool              any;

	assert(doc);
	items = json_member(json_root(doc), "items");
	next = json_member(json_root(doc), "next_cursor");
	any = !items || json_first(items);
	if (any || option_given(OPTION_json))
		answer_print(body, json_root(doc));
	text_reset(cursor);
	if (next)
		json_text(cursor, next);
	json_free(doc);
	return any;
}

static int show_act(struct asker *a, void *arg)
{
	const char *first = arg;
	struct text target = {0}, body = {0}, cursor = {0};
	bool        any = false;
	int         status;

	do {
		text_reset(&target);
		text_add(&target, first);
		if (cursor.len > 0)
			text_format(&target, "%ccursor=%s", strchr(first, '?') ? '&' : '?', cursor.data);
		status = ask_get(a, target.data, &body);
		if (status == 200)
			any |= answer_take(&body, &cursor);
	} while (status == 200 && cursor.len > 0);
	if (status != 200)
		status = ask_refused(status, &body);
	else if (any)
		status = EXIT_DONE;
	else if (strstr(first, "q="))
		status = say_status(EXIT_TROUBLE, "no sku has this text in its code, its name or a barcode");
	else
		status = say_status(EXIT_TROUBLE, "no order is buried%s", strchr(first, '?') ? " with this error" : "");
	text_fini(&target);
	text_fini(&body);
	text_fini(&cursor);
	return status;
}

int show_run(void)
{
	static const char *const words[] = {"sku", "skus", "order", "task", "buried"};

	const char *word = operand(0), *id = operand(1), *error = option_text(OPTION_error);
	struct text target = {0};
	size_t      i = 0;
	bool        buried;
	int         status;

	while (word && i < LENGTH(kinds) && strcmp(word, kinds[i].word) != 0)
		i++;
	buried = word && strcmp(word, "buried") == 0;
	if (!word || i == LENGTH(kinds) || buried == (id != NULL) || (error && !buried))
		return operand_wrong(i == LENGTH(kinds) ? word : NULL, words, LENGTH(words),
		                     "show sku SKU, skus TEXT, order ORDER_ID, task ID or buried; try `holdfast show "
		                     "--help`");
	if (id && (!*id || strlen(id) > 1000))
		return say_status(EXIT_TROUBLE, "there is no such %s", word);
	text_add(&target, error ? "/v1/reservations?state=buried&limit=1000&error=" : kinds[i].call);
	if (id || error)
		percent_encode(&target, id ? id : error);
	status = ask_run(show_act, target.data);
	text_fini(&target);
	return status;
}
