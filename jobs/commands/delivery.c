/* delivery.c - see delivery.h. */
#include "jobs/commands/delivery.h"
#include "engine/base/codes.h"
#include "engine/base/log.h"
#include "engine/base/text.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OTHERS_MAX: bytes of names of columns that are told. */
enum { FIELD_MAX = 128, COLUMNS_MAX = 64, OTHERS_MAX = 400, QTY_DIGITS = 10, UNITS_MAX = 1000000000 };
enum field { FIELD_SKU, FIELD_QTY, FIELD_LOCATION, FIELDS, FIELD_OTHER = -1 };

static const char *const names[FIELDS] = {"sku", "qty", "location"};

struct delivery {
	const char *file;
	void (*each)(void *arg, const struct delivery_row *row);
	void       *arg;
	int64_t     line, row_line; /* the line being read, from 1; the line on which its row began */
	bool        row_open;
	int         column, columns, header[COLUMNS_MAX]; /* header: what each column holds, an enum field */
	char        field[FIELDS][FIELD_MAX];
	bool        row_empty, too_long;
	bool        headed, unheaded; /* the first row was read; it does not name sku and qty once each */
	bool        tells;            /* columns that are passed over are told */
	int         named[FIELDS];    /* how many columns hold it */
	struct text others;           /* names of the columns that are passed over */
};

static bool qty_read(const char *text, int64_t *qty)
{
	size_t len = strlen(text);

	if (len == 0 || len > QTY_DIGITS || strspn(text, "0123456789") != len)
		return false;
	*qty = strtoll(text, NULL, 10);
	return *qty >= 1 && *qty <= UNITS_MAX;
}

static void row_take(const struct delivery *d)
{
	const char         *sku = d->field[FIELD_SKU], *location = d->field[FIELD_LOCATION];
	struct delivery_row row = {.line = d->row_line, .sku = sku, .location = *location ? location : NULL};
	char                wrong[120] = "";

	assert(d->headed && !d->unheaded && d->row_line <= d->line);
	if (d->column > d->columns)
		why_write(wrong, sizeof(wrong), "it has more fields than the first line");
	else if (d->too_long || !code_valid(sku, strlen(sku), SKU_MAX))
		why_write(wrong, sizeof(wrong), "sku " CODE_RULE, (size_t)SKU_MAX);
	else if (*location && !code_valid(location, strlen(location), LOCATION_MAX))
		why_write(wrong, sizeof(wrong), "location " CODE_RULE, (size_t)LOCATION_MAX);
	else if (!qty_read(d->field[FIELD_QTY], &row.qty))
		why_write(wrong, sizeof(wrong), "qty " INTEGER_RULE, 1LL, (long long)UNITS_MAX);
	row.wrong = *wrong ? wrong : NULL;
	d->each(d->arg, &row);
}

/* Notes the name of a column that is passed over; what does not print shows as a question mark. */
static void other_add(struct delivery *d, const char *name, size_t len)
{
	if (len == 0 || d->others.len > OTHERS_MAX)
		return;
	if (d->others.len > 0)
		text_add(&d->others, ", ");
	if (d->others.len + len > OTHERS_MAX) {
		text_add(&d->others, "..");
		len = 0;
	}
	for (size_t i = 0; i < len; i++)
		text_char(&d->others, (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i]);
}

static void header_take(struct delivery *d, const char *name, size_t len)
{
	int what = FIELD_OTHER;

	for (int i = 0; i < FIELDS && d->column < COLUMNS_MAX; i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0)
			what = i;
	if (d->column < COLUMNS_MAX)
		d->header[d->column] = what;
	if (what == FIELD_OTHER)
		other_add(d, name, len);
	else
		d->named[what]++;
}

static void field_came(void *data, size_t len, void *arg)
{
	struct delivery *d = arg;
	int              what;

	d->row_empty &= len == 0 && d->column == 0;
	if (!d->headed) {
		header_take(d, data ? data : "", len);
	} else if (d->column < d->columns && d->column < COLUMNS_MAX && (what = d->header[d->column]) >= 0) {
		d->too_long |= len >= FIELD_MAX || (len > 0 && memchr(data, '\0', len));
		if (!d->too_long && len > 0)
			memcpy(d->field[what], data, len);
		d->field[what][d->too_long ? 0 : len] = '\0';
	}
	d->column++;
}

static void header_end(struct delivery *d)
{
	const int *named = d->named;

	d->headed = true;
	d->columns = d->column;
	d->unheaded = named[FIELD_SKU] != 1 || named[FIELD_QTY] != 1 || named[FIELD_LOCATION] > 1;
	if (d->tells && !d->unheaded && d->others.len > 0)
		say("%s: these columns are passed over: %s", d->file, d->others.data);
}

static bool header_refuse(const struct delivery *d)
{
	for (int i = 0; i < FIELDS; i++)
		if (d->named[i] > 1) {
			say("%s: the first line names the column %s twice", d->file, names[i]);
			return false;
		}
	say("%s: the first line must name the columns sku and qty", d->file);
	return false;
}

static void row_begin(struct delivery *d)
{
	d->row_open = false;
	d->column = 0;
	d->row_empty = true;
	d->too_long = false;
	memset(d->field, 0, sizeof(d->field));
}

static void row_came(int end, void *arg)
{
	struct delivery *d = arg;

	(void)end;
	if (!d->headed) {
		header_end(d);
	} else if (!d->row_empty && !d->unheaded) {
		row_take(d);
	}
	row_begin(d);
}

/* Parses line by line, so that a bad row is named by the line on which it began, whatever its fields contain. `at` ends
 * in a NUL. */
static bool lines_parse(struct delivery *d, struct csv_parser *parser, const char *at, size_t left)
{
	while (left > 0) {
		const char *end = memchr(at, '\n', left);
		size_t      len = end ? (size_t)(end - at) + 1 : left;
		bool        blank = strspn(at, "\r\n") >= len;

		if (!d->row_open)
			d->row_line = d->line;
		d->row_open |= !blank;
		if (csv_parse(parser, at, len, field_came, row_came, d) != len)
			return false;
		d->line += end != NULL;
		at += len;
		left -= len;
	}
	return true;
}

/* Some programs write a byte order mark before UTF-8. */
static size_t mark_length(const char *bytes, size_t n)
{
	static const char mark[] = "\xEF\xBB\xBF";
	const size_t      len = sizeof(mark) - 1;

	return n >= len && memcmp(bytes, mark, len) == 0 ? len : 0;
}

static bool file_parse(struct delivery *d, struct csv_parser *parser, FILE *in, EVP_MD_CTX *sha)
{
	char   buffer[(1 << 16) + 1];
	size_t n, skip;
	bool   first = true, ok = true;

	while (ok && (n = fread(buffer, 1, sizeof(buffer) - 1, in)) > 0) {
		buffer[n] = '\0';
		if (sha)
			EVP_DigestUpdate(sha, buffer, n);
		skip = first ? mark_length(buffer, n) : 0;
		first = false;
		ok = lines_parse(d, parser, buffer + skip, n - skip);
	}
	if (ferror(in)) {
		say("cannot read %s: %s", d->file, strerror(errno));
		return false;
	}
	if (!ok || csv_fini(parser, field_came, row_came, d) != 0) {
		say("%s, after line %lld: not CSV: %s", d->file, (long long)d->line, csv_strerror(csv_error(parser)));
		return false;
	}
	if (!d->headed)
		say("%s is empty: the first line must name the columns sku and qty", d->file);
	return d->headed && (!d->unheaded || header_refuse(d));
}

bool delivery_read(const char *file, EVP_MD_CTX *sha, void (*each)(void *arg, const struct delivery_row *row),
                   void *arg)
{
	struct delivery   d = {.file = file,
	                       .each = each,
	                       .arg = arg,
	                       .line = 1,
	                       .row_line = 1,
	                       .row_empty = true,
	                       .tells = sha != NULL};
	struct csv_parser parser;
	FILE             *in = fopen(file, "re");
	bool              ok;

	if (!in) {
		say("cannot read %s: %s", file, strerror(errno));
		return false;
	}
	if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
		say("cannot read %s: no memory", file);
		fclose(in);
		return false;
	}
	ok = file_parse(&d, &parser, in, sha);
	csv_free(&parser);
	text_fini(&d.others);
	fclose(in);
	return ok;
}
