/* export.c - the command `export`. A page of the database is read at a time, and its rows become lines of CSV; rows
 * that differ in nothing but their units are one line. A live service goes on meanwhile: each page is of its own
 * moment. Customers give ids and references, so a spreadsheet that opens the lines must find no formula in them. */
#include "commands/export.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/catalogue/locations.h"
#include "engine/rows.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define UNITS_MAX (INT64_MAX / 2)

enum { PAGE = 500 };

struct csv {
	const struct table *table;
	struct text         line, next; /* the line under way without its units; the line of the row just read */
	size_t              tail;       /* bytes at the end of `line` that stand after the units */
	int64_t             units[2];   /* of the line under way */
	char                after_code[SKU_MAX + 1];
	int64_t             after_id;
	size_t              seen;     /* things of the page so far */
	bool                promised; /* the units of the line under way are not in the house: their sum is 0 */
	int64_t             done;     /* things of the pages before */
};

/* A kind of export. */
struct table {
	const char    *word, *of, *head; /* its name; the table of its things; the first line */
	enum statement page;
	unsigned       units;   /* columns of units at the end of a row */
	bool           sums;    /* the sum of the units is a column, too */
	bool           by_code; /* pages go by the first column as a code; otherwise as a number */
	/* Appends the columns beside the units; returns how many of their bytes stand after the units. */
	size_t (*put)(struct text *to, const struct db_row *row);
};

/* ---- CSV */

static void quoted_put(struct text *to, const char *value)
{
	if (!strpbrk(value, ",\"\r\n") && *value != ' ' && (!*value || value[strlen(value) - 1] != ' ')) {
		text_add(to, value);
		return;
	}
	text_char(to, '"');
	for (; *value; value++) {
		if (*value == '"')
			text_char(to, '"');
		text_char(to, *value);
	}
	text_char(to, '"');
}

/* True: a spreadsheet may take what begins here as a formula. Some skip spaces and quotes before it; the wide signs are
 * those of East Asian keyboards. */
static bool is_formula(const char *at)
{
	static const char *const wide[] = {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D",
	                                   "\xEF\xBC\xA0"}; /* = + - @ */

	if (*at == '\t' || *at == '\r')
		return true;
	at += strspn(at, " \"'\n");
	if (*at && strchr("=+-@", *at))
		return true;
	for (size_t i = 0; i < LENGTH(wide); i++)
		if (strncmp(at, wide[i], strlen(wide[i])) == 0)
			return true;
	return false;
}

/* Appends the text with an apostrophe before each formula: at its begin, and where a program that cuts lines at
 * semicolons, at tabs or at their ends would begin a cell. */
static void neutral_put(struct text *to, const char *value)
{
	bool begins = true;

	for (; *value; value++) {
		if (begins && is_formula(value))
			text_char(to, '\'');
		text_char(to, *value);
		begins = strchr(";\t\r\n", *value) != NULL;
	}
}

static void field_put(struct text *to, const char *value)
{
	struct text neutral = {0};

	if (to->len > 0)
		text_char(to, ',');
	if (!value)
		return;
	if (!option_given(OPTION_raw) && (is_formula(value) || strpbrk(value, ";\t\r\n"))) {
		neutral_put(&neutral, value);
		value = neutral.data;
	}
	quoted_put(to, value);
	text_fini(&neutral);
}

static void time_put(struct text *to, const char *datetime)
{
	text_char(to, ',');
	if (datetime)
		time_write(to, time_parse(datetime));
}

/* A correct database has no sum beyond UNITS_MAX; the sum of two still fits into 64 bits. */
static void units_add(int64_t *units, const struct db_row *row, unsigned column)
{
	int64_t sum;

	if (!__builtin_add_overflow(*units, db_int(row, column), &sum) && sum <= UNITS_MAX && sum >= -UNITS_MAX)
		*units = sum;
	else
		db_other(row);
}

static void line_end(struct csv *x)
{
	size_t head = x->line.len - x->tail;

	assert(x->tail <= x->line.len);
	if (x->line.len > 0) {
		fwrite(x->line.data, 1, head, stdout);
		for (unsigned i = 0; i < x->table->units; i++)
			printf(",%lld", (long long)x->units[i]);
		if (x->table->sums)
			printf(",%lld", x->promised ? 0 : (long long)(x->units[0] + x->units[1]));
		fwrite(x->line.data + head, 1, x->tail, stdout);
		putchar('\n');
	}
	text_reset(&x->line);
	x->units[0] = x->units[1] = 0;
}

/* ---- the tables */

static size_t stock_put(struct text *to, const struct db_row *row)
{
	field_put(to, row->col[0]);
	field_put(to, row->col[1]);
	field_put(to, location_kind_name((enum location_kind)db_int(row, 2)));
	return 0;
}

static size_t movement_put(struct text *to, const struct db_row *row)
{
	size_t head;

	field_put(to, row->col[1]);
	field_put(to, movement_kind_name((enum movement_kind)db_int(row, 2)));
	time_put(to, row->col[3]);
	for (unsigned i = 4; i < 8; i++)
		field_put(to, row->col[i]);
	head = to->len;
	field_put(to, row->col[8]); /* the ends of a transfer */
	field_put(to, row->col[9]);
	return to->len - head;
}

static size_t reservation_put(struct text *to, const struct db_row *row)
{
	field_put(to, row->col[1]);
	field_put(to, reservation_state_name((enum reservation_state)db_int(row, 2)));
	time_put(to, row->col[3]);
	time_put(to, row->col[4]);
	for (unsigned i = 5; i < 9; i++)
		field_put(to, row->col[i]);
	return 0;
}

static const struct table tables[] = {
	{"stock", "sku", "sku,location,kind,available,reserved,on_hand", EXPORT_STOCK, 2, true, true, stock_put},
	{"movements", "movement", "movement_id,kind,created_at,reason,reference,sku,location,qty,from,to",
         EXPORT_MOVEMENTS, 1, false, false, movement_put},
	{"reservations", "reservation", "order_id,state,created_at,expires_at,reference,customer,sku,location,qty",
         EXPORT_RESERVATIONS, 1, false, false, reservation_put},
};

/* ---- pages */

static void thing_see(struct csv *x, const struct db_row *row)
{
	if (x->table->by_code ? strcmp(x->after_code, db_word(row, 0)) == 0 : x->after_id == db_int(row, 0))
		return;
	x->seen++;
	x->after_id = x->table->by_code ? 0 : db_int(row, 0);
	if (x->table->by_code)
		db_copy(row, 0, x->after_code, sizeof(x->after_code));
}

static void row_read(void *arg, const struct db_row *row)
{
	struct csv *x = arg;
	unsigned    first = row->columns - x->table->units;
	size_t      tail;

	thing_see(x, row);
	if (!row->col[first])
		return; /* a sku that was never stocked */
	text_reset(&x->next);
	tail = x->table->put(&x->next, row);
	if (x->line.len != x->next.len || memcmp(x->line.data, x->next.data, x->next.len) != 0) {
		line_end(x);
		text_bytes(&x->line, x->next.data, x->next.len);
		x->tail = tail;
		x->promised = x->table->sums && db_int(row, 2) == LOCATION_INCOMING;
	}
	for (unsigned i = 0; i < x->table->units; i++)
		units_add(&x->units[i], row, first + i);
}

static int export_act(struct db *db, void *arg)
{
	struct csv    *x = arg;
	enum db_result result;

	if (!isatty(STDOUT_FILENO)) /* otherwise the lines themselves show the progress */
		bar_of_table(db, x->table->word, x->table->of);
	printf("%s\n", x->table->head);
	do {
		x->seen = 0;
		result = db_ask(db, x->table->page,
		                &(struct fill){.after_code = x->after_code, .after_id = x->after_id, .limit = PAGE},
		                row_read, x);
		bar_set(x->done += (int64_t)x->seen);
	} while (result == DB_OK && x->seen == PAGE && !ferror(stdout));
	bar_end();
	line_end(x);
	if (result != DB_OK)
		return EXIT_UNAVAILABLE;
	if (fflush(stdout) != 0 || ferror(stdout))
		return say_status(EXIT_TROUBLE, "stdout takes no more: %s", strerror(errno));
	return EXIT_DONE;
}

int export_run(void)
{
	const char *words[LENGTH(tables)];
	struct csv  x = {0};
	int         status;

	for (size_t i = 0; i < LENGTH(tables); i++) {
		words[i] = tables[i].word;
		if (operand(0) && strcmp(operand(0), words[i]) == 0)
			x.table = &tables[i];
	}
	if (!x.table)
		return operand_wrong(operand(0), words, LENGTH(words),
		                     "say what to export: stock, movements or reservations");
	status = database_run(EMBEDDED_FIND, false, export_act, &x);
	text_fini(&x.line);
	text_fini(&x.next);
	return status;
}
