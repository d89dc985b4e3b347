/* delivery.c - see delivery.h. */
#include "commands/import/delivery.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "engine/op.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OTHERS_MAX: bytes of names of skipped columns in a message. */
enum { FIELD_MAX = 256, OTHERS_MAX = 400, KEY_BYTES = 16, KEYS_MIN = 64 };

/* X(column, traits of kinds that have it, of kinds that lack it, of kinds with a header that must name it) */
#define COLUMNS                                 \
	X(sku, LISTED, 0, LISTED)               \
	X(qty, LISTED, COUNTED, LISTED)         \
	X(counted, COUNTED, 0, LISTED)          \
	X(from, HAS_ENDS, 0, LISTED)            \
	X(to, HAS_ENDS | MAY_LOSE, 0, HAS_ENDS) \
	X(short, MAY_LOSE, 0, 0)                \
	X(location, LISTED, HAS_ENDS, 0)        \
	X(expected, COUNTED, 0, 0)              \
	X(as_of, COUNTED, 0, 0)
enum field {
#define X(name, ...) FIELD_##name,
	COLUMNS
#undef X
		FIELDS,
	FIELD_OTHER = -1
};
static const struct column {
	const char *name;
	unsigned    has, lacks, must;
} columns[FIELDS] = {
#define X(name, ...) {#name, __VA_ARGS__},
	COLUMNS
#undef X
};

struct delivery {
	const char        *file;
	enum movement_kind kind;
	void (*each)(void *arg, const struct delivery_row *row);
	void       *arg;
	int64_t     line, row_line; /* the line being read, from 1; the line on which its row began */
	bool        row_open;
	size_t      column, columns, header_max;
	int        *header; /* an enum field for each column of the file */
	char        field[FIELDS][FIELD_MAX];
	bool        row_empty, too_long;
	bool        headed, unheaded; /* the first row was read; true: it does not name each column of its kind once */
	int         strange;          /* a column in the first row that only other kinds have; FIELD_OTHER: none */
	bool        tells;            /* true: a message names the skipped columns */
	int         named[FIELDS];    /* number of columns that hold the field */
	struct text others;           /* names of the skipped columns */
	unsigned char (*keys)[KEY_BYTES]; /* hashes of skus and locations; zeros: a free place */
	size_t keys_count, keys_max;
};

static bool is_of_kind(enum movement_kind kind, int what)
{
	return movement_is(kind, LISTED) && movement_is(kind, columns[what].has) &&
	       !movement_is(kind, columns[what].lacks);
}

static bool is_needed(const struct delivery *d, int what)
{
	return is_of_kind(d->kind, what) && movement_is(d->kind, columns[what].must);
}

/* ---- which skus and locations stood there */

static size_t key_place(const struct delivery *d, const unsigned char *key)
{
	static const unsigned char none[KEY_BYTES];
	size_t                     at;

	memcpy(&at, key, sizeof(at));
	while (memcmp(d->keys[at % d->keys_max], none, KEY_BYTES) != 0 &&
	       memcmp(d->keys[at % d->keys_max], key, KEY_BYTES) != 0)
		at++;
	return at % d->keys_max;
}

static void keys_grow(struct delivery *d)
{
	unsigned char(*old)[KEY_BYTES] = d->keys;
	size_t was = d->keys_max;

	d->keys_max = was ? 4 * was : KEYS_MIN;
	d->keys = mem_alloc(d->keys_max * KEY_BYTES);
	for (size_t i = 0; i < was; i++)
		memcpy(d->keys[key_place(d, old[i])], old[i], KEY_BYTES); /* a free one stays free */
	free(old);
}

/* False: the sku and location were there already. */
static bool key_add(struct delivery *d, const char *sku, const char *location)
{
	static const uint8_t none[KEY_BYTES];
	char                 text[SKU_MAX + LOCATION_MAX + 2];
	unsigned char        digest[SHA256_BYTES], *found;
	int                  len = snprintf(text, sizeof(text), "%s%c%s", sku, '\n', location);

	if (2 * d->keys_count >= d->keys_max)
		keys_grow(d);
	sha256(text, (size_t)len, digest);
	found = d->keys[key_place(d, digest)];
	if (memcmp(found, none, KEY_BYTES) != 0)
		return false;
	memcpy(found, digest, KEY_BYTES);
	d->keys_count++;
	return true;
}

/* Notes both locations of a row. True: one of them was there already. */
static bool keys_note(struct delivery *d, const struct delivery_row *row)
{
	bool first = key_add(d, row->sku, row->location ? row->location : "main");

	return (row->to && !key_add(d, row->sku, row->to)) || !first;
}

/* Rows that share a sku and location apply one after the other, so a row that meets an earlier one begins a new set of
 * keys. A count may stand only once in a file. */
static void row_note(struct delivery *d, struct delivery_row *row, char *wrong, size_t size)
{
	row->again = keys_note(d, row);
	if (!row->again)
		return;
	if (is_of_kind(d->kind, FIELD_counted)) {
		snprintf(wrong, size, "it counts a sku and location again");
		return;
	}
	memset(d->keys, 0, d->keys_max * KEY_BYTES);
	d->keys_count = 0;
	keys_note(d, row);
}

/* ---- rows */

static bool int_read(const char *text, int64_t min, int64_t max, int64_t *value)
{
	const char *digits = text + (*text == '-');
	size_t      len = strlen(digits);

	if (len == 0 || len > (size_t)snprintf(NULL, 0, "%lld", (long long)max) || strspn(digits, "0123456789") != len)
		return false;
	*value = strtoll(text, NULL, 10);
	return *value >= min && *value <= max;
}

/* Takes a code. An empty field gives NULL, if the header need not name its column. */
static bool code_take(const struct delivery *d, int what, size_t max, const char **code, char *wrong, size_t size)
{
	const char *text = d->field[what];

	*code = *text || is_needed(d, what) ? text : NULL;
	if (!*code || code_valid(text, strlen(text), max))
		return true;
	snprintf(wrong, size, "%s " CODE_RULE, columns[what].name, max);
	return false;
}

static bool int_take(const struct delivery *d, int what, int64_t min, int64_t max, int64_t *value, char *wrong,
                     size_t size)
{
	if ((!*d->field[what] && !is_needed(d, what)) || int_read(d->field[what], min, max, value))
		return true;
	snprintf(wrong, size, "%s " INTEGER_RULE, columns[what].name, (long long)min, (long long)max);
	return false;
}

static bool time_take(const struct delivery *d, int64_t *as_of, char *wrong, size_t size)
{
	int64_t us;

	if (!*d->field[FIELD_as_of])
		return true;
	if (time_read(d->field[FIELD_as_of], &us) && us >= 1000) {
		*as_of = us / 1000;
		return true;
	}
	snprintf(wrong, size, "as_of must be a time of RFC 3339, as 2026-11-20T22:00:00Z");
	return false;
}

static bool locations_take(const struct delivery *d, struct delivery_row *row, char *wrong, size_t size)
{
	bool moves = is_of_kind(d->kind, FIELD_from);

	if (!code_take(d, moves ? FIELD_from : FIELD_location, LOCATION_MAX, &row->location, wrong, size) ||
	    (moves && !code_take(d, FIELD_to, LOCATION_MAX, &row->to, wrong, size)))
		return false;
	if (!moves || strcmp(row->location, row->to) != 0)
		return true;
	snprintf(wrong, size, "to must be another location than from");
	return false;
}

static bool loss_take(const struct delivery *d, struct delivery_row *row, char *wrong, size_t size)
{
	if (!is_of_kind(d->kind, FIELD_short))
		return true;
	row->loses = strcmp(d->field[FIELD_short], "backorder") == 0;
	if (!row->loses && *d->field[FIELD_short])
		snprintf(wrong, size, "short must be backorder, or empty");
	else if (!row->loses && *d->field[FIELD_to])
		snprintf(wrong, size, "to goes with short backorder alone");
	else
		return code_take(d, FIELD_to, LOCATION_MAX, &row->waits_at, wrong, size);
	return false;
}

static bool units_take(const struct delivery *d, struct delivery_row *row, char *wrong, size_t size)
{
	int64_t least = movement_is(d->kind, SIGNED) ? -LINE_UNITS_MAX : 1;

	if (is_of_kind(d->kind, FIELD_counted))
		return int_take(d, FIELD_counted, 0, QTY_MAX, &row->qty, wrong, size) &&
		       int_take(d, FIELD_expected, 0, QTY_MAX, &row->expected, wrong, size) &&
		       time_take(d, &row->as_of, wrong, size);
	if (!int_take(d, FIELD_qty, least, LINE_UNITS_MAX, &row->qty, wrong, size))
		return false;
	if (row->qty == 0)
		snprintf(wrong, size, "qty must not be 0");
	return row->qty != 0;
}

/* Checks a row and gives it to `each`. Receipts may name a sku and location any number of times, so their rows are not
 * noted. */
static void row_take(struct delivery *d)
{
	struct delivery_row row = {.line = d->row_line, .expected = -1};
	char                wrong[CODE_RULE_SIZE + 16] = "";

	assert(d->headed && !d->unheaded && d->row_line <= d->line);
	if (d->column > d->columns)
		snprintf(wrong, sizeof(wrong), "it has more fields than the first line");
	else if (d->too_long)
		snprintf(wrong, sizeof(wrong), "sku " CODE_RULE, (size_t)SKU_MAX);
	else if (code_take(d, FIELD_sku, SKU_MAX, &row.sku, wrong, sizeof(wrong)) &&
	         locations_take(d, &row, wrong, sizeof(wrong)) && units_take(d, &row, wrong, sizeof(wrong)) &&
	         loss_take(d, &row, wrong, sizeof(wrong)) && d->kind != RECEIPT)
		row_note(d, &row, wrong, sizeof(wrong));
	row.wrong = *wrong ? wrong : NULL;
	d->each(d->arg, &row);
}

/* Notes the name of a skipped column; a byte that cannot be printed shows as a question mark. */
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

	for (int i = 0; i < FIELDS; i++)
		if (strlen(columns[i].name) == len && strncasecmp(columns[i].name, name, len) == 0)
			what = i;
	if (what != FIELD_OTHER && !is_of_kind(d->kind, what)) {
		d->strange = what;
		what = FIELD_OTHER;
	}
	d->header = mem_reach(d->header, d->column, &d->header_max, sizeof(*d->header));
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
	} else if (d->column < d->columns && (what = d->header[d->column]) >= 0) {
		d->too_long |= len >= FIELD_MAX || (len > 0 && memchr(data, '\0', len));
		if (!d->too_long && len > 0)
			memcpy(d->field[what], data, len);
		d->field[what][d->too_long ? 0 : len] = '\0';
	}
	d->column++;
}

static void header_end(struct delivery *d)
{
	d->headed = true;
	d->columns = d->column;
	for (int i = 0; i < FIELDS; i++)
		d->unheaded |= d->named[i] > 1 || (is_needed(d, i) && d->named[i] == 0);
	d->unheaded |= d->strange != FIELD_OTHER;
	if (d->tells && !d->unheaded && d->others.len > 0)
		say("%s: these columns are passed over: %s", d->file, d->others.data);
}

/* Adds the columns that the header must name, in words. */
static void needed_add(const struct delivery *d, struct text *t)
{
	int left = 0;

	for (int i = 0; i < FIELDS; i++)
		left += is_needed(d, i);
	for (int i = 0; i < FIELDS; i++)
		if (is_needed(d, i)) {
			text_add(t, columns[i].name);
			left--;
			text_add(t, left > 1 ? ", " : left == 1 ? " and " : "");
		}
}

/* Adds the kinds of movements that have a column, in words. */
static void kinds_add(int what, struct text *t)
{
	const char *before = "";

	for (enum movement_kind kind = 0; kind < KINDS; kind++)
		if (is_of_kind(kind, what)) {
			text_format(t, "%s%s", before, movement_kind_name(kind));
			before = " or ";
		}
}

static bool header_refuse(const struct delivery *d)
{
	struct text needed = {0}, kinds = {0};
	int         twice = FIELD_OTHER;
	bool        missing = false;

	for (int i = 0; i < FIELDS; i++) {
		missing |= is_needed(d, i) && d->named[i] == 0;
		twice = d->named[i] > 1 ? i : twice;
	}
	needed_add(d, &needed);
	if (d->strange != FIELD_OTHER)
		kinds_add(d->strange, &kinds);
	if (twice != FIELD_OTHER)
		say("%s: the first line names the column %s twice", d->file, columns[twice].name);
	else if (d->strange != FIELD_OTHER && !missing)
		say("%s: the column %s is of a list of another kind: say --kind %s, or give the column another name",
		    d->file, columns[d->strange].name, kinds.data);
	else
		say("%s%s: the first line must name the columns %s", d->file, d->headed ? "" : " is empty",
		    needed.data);
	text_fini(&needed);
	text_fini(&kinds);
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
	return (d->headed && !d->unheaded) || header_refuse(d);
}

bool delivery_read(const char *file, enum movement_kind kind, EVP_MD_CTX *sha,
                   void (*each)(void *arg, const struct delivery_row *row), void *arg)
{
	struct delivery   d = {.file = file,
	                       .kind = kind,
	                       .each = each,
	                       .arg = arg,
	                       .line = 1,
	                       .row_line = 1,
	                       .row_empty = true,
	                       .strange = FIELD_OTHER,
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
	free(d.keys);
	free(d.header);
	fclose(in);
	return ok;
}
