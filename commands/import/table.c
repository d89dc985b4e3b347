/* table.c - see table.h. Bytes become UTF-8, UTF-8 is cut at the ends of lines, and libcsv makes fields of it. */
#include "commands/import/table.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/utf8.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>

/* RECORD_MAX: a longer record is a quote that is not closed. HEAD_MAX: bytes in which the first line has to end. */
enum { READ_BYTES = 1 << 16, RECORD_MAX = 4 << 20, HEAD_MAX = 1 << 20 };
enum encoding { UTF_8, UTF_16_LE, UTF_16_BE };
static const char separators[] = {',', ';', '\t'};

struct reading {
	struct table     *table;
	FILE             *in;
	struct csv_parser parser;
	enum encoding     encoding;
	bool              begun;   /* the encoding is known */
	unsigned char     odd;     /* UTF-16: the last byte read, if its pair is cut in two .. */
	bool              has_odd; /* .. as this says */
	uint32_t          high;    /* UTF-16: the first half of a pair; 0: none */
	struct text       text;    /* UTF-8 that was made of what was read last; until the first line ends, all of it */
	bool              separated; /* the separator is known */
	int64_t           bytes;     /* read so far */
	int64_t           line;      /* the line being read, from 1 */
	bool              after_cr;  /* a CR was the last byte: an LF ends no further line */
	bool              row_open;
	bool              ended; /* `each` has ended the reading */
	struct record     record;
};

const char *record_field(const struct record *r, size_t i, size_t *len)
{
	size_t begin = i > 0 ? r->ends[i - 1] + 1 : 0;

	assert(i < r->count);
	*len = r->ends[i] - begin;
	return r->bytes.data + begin;
}

const char *table_separators(const struct table *t)
{
	return t->separator == ';' ? "semicolons" : t->separator == '\t' ? "tabs" : "commas";
}

static bool is_end(char c)
{
	return c == '\r' || c == '\n';
}

/* ---- records */

static void record_begin(struct record *r)
{
	text_reset(&r->bytes);
	text_reset(&r->whole);
	r->count = 0;
	r->empty = true;
}

static void field_came(void *data, size_t len, void *arg)
{
	struct record *r = &((struct reading *)arg)->record;

	if (len > 0)
		text_bytes(&r->bytes, data, len);
	r->ends = mem_reach(r->ends, r->count, &r->ends_max, sizeof(*r->ends));
	r->ends[r->count++] = r->bytes.len;
	text_char(&r->bytes, '\0');
	r->empty &= len == 0;
}

static void record_came(int end, void *arg)
{
	struct reading *in = arg;
	struct record  *r = &in->record;

	(void)end;
	r->raw_len = r->whole.len;
	while (r->raw_len > 0 && is_end(r->whole.data[r->raw_len - 1]))
		r->raw_len--;
	if (!in->ended)
		in->ended = !in->table->each(in->table->arg, r);
	record_begin(r);
	in->row_open = false;
}

/* The number of bytes up to the end of a line, and with it. An LF may follow in what is read next. */
static size_t line_length(const char *at, size_t left, bool *ends)
{
	size_t len = 0;

	while (len < left && !is_end(at[len]))
		len++;
	*ends = len < left;
	if (!*ends)
		return len;
	return len + (at[len] == '\r' && len + 1 < left && at[len + 1] == '\n' ? 2 : 1);
}

static bool not_csv(struct reading *in)
{
	say("%s, after line %lld: not CSV, separated by %s: %s", in->table->file, (long long)in->line,
	    table_separators(in->table), csv_strerror(csv_error(&in->parser)));
	return false;
}

/* Parses a piece that holds no end of a line but at its end, so that a record is named by the line on which it begins,
 * whatever its fields contain. */
static bool piece_parse(struct reading *in, const char *at, size_t len)
{
	struct record *r = &in->record;
	bool           blank = strspn(at, "\r\n") >= len;

	if (!in->row_open)
		r->line = in->line;
	in->row_open |= !blank;
	if (in->row_open)
		text_bytes(&r->whole, at, len);
	if (r->whole.len > RECORD_MAX) {
		say("%s, line %lld: a row of more than 4 MiB begins there; is a quote not closed?", in->table->file,
		    (long long)r->line);
		return false;
	}
	return csv_parse(&in->parser, at, len, field_came, record_came, in) == len || not_csv(in);
}

/* Parses line by line; the text ends in a NUL. */
static bool lines_parse(struct reading *in, const char *at, size_t left)
{
	while (left > 0 && !in->ended) {
		bool   ends, joins = in->after_cr && *at == '\n';
		size_t len = joins ? 1 : line_length(at, left, &ends);

		if (!piece_parse(in, at, len))
			return false;
		if (!joins)
			in->line += ends;
		in->after_cr = at[len - 1] == '\r';
		at += len;
		left -= len;
	}
	return !in->ended;
}

/* ---- the separator */

/* How well the names of the first line are known if this is the separator, and how often it stands there. */
static int64_t line_score(const struct reading *in, char separator, size_t len)
{
	const struct table *t = in->table;
	const char         *at = in->text.data, *end = at + len, *begin = at;
	bool                quoted = false;
	int64_t             known = 0, count = 0;

	for (; at <= end; at++) {
		quoted ^= at < end && *at == '"';
		if (at < end && (*at != separator || quoted))
			continue;
		known += t->known(t->arg, begin, (size_t)(at - begin));
		begin = at + 1;
		count += at < end;
	}
	return known * (HEAD_MAX + 1) + count;
}

/* A first line `sep=;` says which one it is, as Excel writes it. Returns the length of that line; 0: there is none. */
static size_t line_says(struct reading *in)
{
	static const char word[] = "sep=";
	const char       *line = in->text.data;
	size_t            len = sizeof(word) - 1;

	if (in->text.len < len + 2 || strncasecmp(line, word, len) != 0 ||
	    !memchr(separators, line[len], sizeof(separators)) || !is_end(line[len + 1]))
		return 0;
	in->table->separator = line[len];
	return len + (line[len + 1] == '\r' && line[len + 2] == '\n' ? 3 : 2);
}

/* True: the first line is there, and *len its length. */
static bool first_line(const struct reading *in, bool whole, size_t *len)
{
	bool quoted = false, blank = true;

	for (*len = 0; *len < in->text.len; ++*len) {
		char c = in->text.data[*len];

		quoted ^= c == '"';
		if (!quoted && !blank && is_end(c))
			return true;
		blank &= is_end(c);
	}
	return whole || in->text.len >= HEAD_MAX;
}

/* Looks for the separator in what was read so far. `whole`: nothing follows. */
static bool separator_find(struct reading *in, bool whole)
{
	int64_t best = -1, score;
	size_t  len, skip;

	if (!first_line(in, whole, &len))
		return true;
	in->separated = true;
	skip = line_says(in);
	in->table->separator = skip > 0 ? in->table->separator : separators[0];
	for (size_t i = 0; skip == 0 && len > 0 && i < sizeof(separators); i++) {
		score = line_score(in, separators[i], len);
		if (score <= best)
			continue;
		best = score;
		in->table->separator = separators[i];
	}
	in->line += skip > 0;
	csv_set_delim(&in->parser, (unsigned char)in->table->separator);
	return in->text.len == 0 || lines_parse(in, in->text.data + skip, in->text.len - skip);
}

/* ---- bytes */

/* Excel writes UTF-16 with a mark, other programs without; of a header every other byte is 0. Returns the length of a
 * mark. */
static size_t encoding_find(struct reading *in, const unsigned char *b, size_t n)
{
	if (n >= 3 && memcmp(b, "\xEF\xBB\xBF", 3) == 0)
		return 3;
	if (n >= 2 && ((b[0] == 0xFF && b[1] == 0xFE) || (b[0] == 0xFE && b[1] == 0xFF))) {
		in->encoding = b[0] == 0xFF ? UTF_16_LE : UTF_16_BE;
		return 2;
	}
	if (n >= 4 && b[0] && !b[1] && b[2] && !b[3])
		in->encoding = UTF_16_LE;
	else if (n >= 4 && !b[0] && b[1] && !b[2] && b[3])
		in->encoding = UTF_16_BE;
	return 0;
}

/* Half a pair alone becomes the replacement character, which stands in no good code. */
static void unit_take(struct reading *in, uint32_t unit)
{
	char  bytes[4];
	char *end;

	if (in->high && unit >= 0xDC00 && unit < 0xE000) {
		unit = 0x10000 + ((in->high - 0xD800) << 10) + (unit - 0xDC00);
		in->high = 0;
	} else if (in->high || (unit >= 0xDC00 && unit < 0xE000)) {
		text_add(&in->text, "\xEF\xBF\xBD");
		if (!in->high)
			return;
		in->high = 0;
	}
	if (unit >= 0xD800 && unit < 0xDC00) {
		in->high = unit;
		return;
	}
	end = utf8_write(bytes, unit);
	text_bytes(&in->text, bytes, (size_t)(end - bytes));
}

static void bytes_take(struct reading *in, const unsigned char *b, size_t n)
{
	if (in->encoding == UTF_8) {
		text_bytes(&in->text, b, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (in->has_odd)
			unit_take(in, in->encoding == UTF_16_LE ? (uint32_t)(in->odd | b[i] << 8)
			                                        : (uint32_t)(in->odd << 8 | b[i]));
		in->odd = b[i];
		in->has_odd = !in->has_odd;
	}
}

static bool block_read(struct reading *in, const unsigned char *block, size_t n)
{
	size_t skip = 0;

	if (!in->begun)
		skip = encoding_find(in, block, n);
	in->begun = true;
	if (in->separated)
		text_reset(&in->text);
	bytes_take(in, block + skip, n - skip);
	return in->separated ? lines_parse(in, in->text.data, in->text.len) : separator_find(in, false);
}

static bool file_read(struct reading *in)
{
	struct table          *t = in->table;
	UNZEROED unsigned char block[READ_BYTES];
	bool                   ok = true;
	size_t                 n;

	while (ok && (n = fread(block, 1, sizeof(block), in->in)) > 0) {
		if (t->sha)
			EVP_DigestUpdate(t->sha, block, n);
		in->bytes += (int64_t)n;
		ok = block_read(in, block, n);
		if (t->read)
			t->read(t->arg, in->bytes);
	}
	if (ferror(in->in)) {
		say("cannot read %s: %s", t->file, strerror(errno));
		return false;
	}
	if (ok && !in->separated)
		ok = separator_find(in, true);
	if (ok && csv_fini(&in->parser, field_came, record_came, in) != 0)
		return not_csv(in);
	return ok && !in->ended;
}

bool table_read(struct table *t)
{
	struct reading in = {.table = t, .line = 1, .record = {.line = 1, .empty = true}};
	bool           ok;

	t->separator = 0;
	in.in = fopen(t->file, "re");
	if (!in.in) {
		say("cannot read %s: %s", t->file, strerror(errno));
		return false;
	}
	if (csv_init(&in.parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
		mem_end();
	csv_set_blk_size(&in.parser, READ_BYTES);
	ok = file_read(&in);
	csv_free(&in.parser);
	text_fini(&in.text);
	text_fini(&in.record.whole);
	text_fini(&in.record.bytes);
	free(in.record.ends);
	fclose(in.in);
	return ok;
}
