/* import.c - the command `import`: receives stock from a CSV file (RFC 4180, read by libcsv).
 *
 * The file is read twice: once to check every row and to take its hash, once to send the rows as receipts of up to
 * 1,000 lines. A movement_id is made of the hash (or --id) and the number of the part, so that the same file twice is
 * one delivery. */
#include "api/options.h"
#include "api/json.h"
#include "engine/engine.h"

#include <csv.h>
#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART_LINES = 1000, FIELD_MAX = 128, COLUMNS_MAX = 64, FLYING_MAX = 16 };

struct import {
	const char    *file;
	bool           skip_bad, json, tty;
	char           name[48]; /* the first part of every movement_id */
	struct engine *engine;   /* NULL on the first pass */
	struct loop   *loop;
	/* ---- reading */
	int64_t line, row_line; /* of the file, from 1; where the row that is being read began */
	bool    row_open;
	int     column, header[COLUMNS_MAX]; /* what stands in each column: a FIELD_, or -1 */
	char    field[3][FIELD_MAX];
	bool    row_empty, headed;
	bool    too_long;
	/* ---- what came of it */
	int64_t    rows, bad, units, lines_sent, replayed;
	unsigned   parts;
	int        flying; /* parts that have not come back */
	int        status;
	struct op *part;
};
enum { FIELD_SKU, FIELD_QTY, FIELD_LOCATION };

/* ---- sending */

static void part_done(void *arg, struct op *op)
{
	struct import *im = arg;

	im->flying--;
	if (op->outcome == OUTCOME_REPLAYED)
		im->replayed++;
	else if (op->outcome != OUTCOME_OK) {
		say("part %s was refused: %s", op->id, outcome_detail(op->outcome));
		im->status = EXIT_TROUBLE;
	}
	im->lines_sent += (int64_t)op->lines_count;
	if (im->tty)
		fprintf(stderr, "\r%lld of %lld rows ", (long long)im->lines_sent, (long long)im->rows);
	op_free(op);
}

static void parts_wait(struct import *im, int most)
{
	struct pollfd ready = {loop_fd(im->loop), POLLIN, 0};

	while (im->flying > most) {
		poll(&ready, 1, 1000);
		loop_run(im->loop);
	}
}

static void part_send(struct import *im)
{
	struct op *op = im->part;

	if (!op)
		return;
	im->part = NULL;
	snprintf(op->id, sizeof(op->id), "%s-%u", im->name, ++im->parts);
	op->movement_kind = RECEIPT;
	op->reason = "import";
	if (!op_seal(op, NULL)) {
		say("no memory");
		exit(EXIT_TROUBLE);
	}
	parts_wait(im, FLYING_MAX - 1);
	im->flying++;
	while (!engine_start(im->engine, op, im->loop, part_done, im))
		parts_wait(im, im->flying > 1 ? im->flying - 2 : 0);
}

/* ---- reading */

static void bad_row(struct import *im, const char *what)
{
	im->bad++;
	if (!im->engine)
		say("%s, line %lld: %s", im->file, (long long)im->row_line, what);
}

static bool qty_read(const char *text, int64_t *qty)
{
	size_t len = strlen(text);

	if (len == 0 || len > 10 || strspn(text, "0123456789") != len)
		return false;
	*qty = strtoll(text, NULL, 10);
	return *qty >= 1 && *qty <= 1000000000;
}

static void row_take(struct import *im)
{
	const char *sku = im->field[FIELD_SKU], *location = im->field[FIELD_LOCATION];
	int64_t     qty = 0;

	if (im->too_long || !code_valid(sku, strlen(sku), SKU_MAX))
		bad_row(im, "sku must be 1 to 64 bytes of printable ASCII without space / ? # %");
	else if (*location && !code_valid(location, strlen(location), LOCATION_MAX))
		bad_row(im, "location must be 1 to 32 bytes of the same alphabet");
	else if (!qty_read(im->field[FIELD_QTY], &qty))
		bad_row(im, "qty must be an integer from 1 to 1000000000");
	else if (!im->engine) {
		im->rows++;
		im->units += qty;
	} else {
		if (!im->part)
			im->part = op_new(OP_MOVE, PART_LINES, PART_LINES * (SKU_MAX + LOCATION_MAX + 2));
		assert(im->part);
		op_line(im->part, sku, strlen(sku), *location ? location : NULL, strlen(location), qty);
		if (im->part->lines_count == PART_LINES)
			part_send(im);
	}
}

static void header_take(struct import *im, const char *name, size_t len)
{
	static const char *const names[] = {"sku", "qty", "location"};

	if (im->column >= COLUMNS_MAX)
		return;
	im->header[im->column] = -1;
	for (int i = 0; i < 3; i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0)
			im->header[im->column] = i;
}

static void field_came(void *data, size_t len, void *arg)
{
	struct import *im = arg;
	int            what;

	im->row_empty &= len == 0 && im->column == 0;
	if (!im->headed) {
		header_take(im, data ? data : "", len);
	} else if (im->column < COLUMNS_MAX && (what = im->header[im->column]) >= 0) {
		im->too_long |= len >= FIELD_MAX || (len > 0 && memchr(data, '\0', len));
		if (!im->too_long && len > 0)
			memcpy(im->field[what], data, len);
		im->field[what][im->too_long ? 0 : len] = '\0';
	}
	im->column++;
}

static bool header_has(const struct import *im, int what)
{
	for (int i = 0; i < im->column && i < COLUMNS_MAX; i++)
		if (im->header[i] == what)
			return true;
	return false;
}

static void row_came(int end, void *arg)
{
	struct import *im = arg;

	(void)end;
	im->row_open = false;
	if (!im->headed) {
		im->headed = true;
		if (!header_has(im, FIELD_SKU) || !header_has(im, FIELD_QTY)) {
			say("%s: the first line must name the columns sku and qty", im->file);
			im->status = EXIT_TROUBLE;
		}
	} else if (!im->row_empty && im->status == EXIT_DONE) {
		row_take(im);
	}
	im->column = 0;
	im->row_empty = true;
	im->too_long = false;
	memset(im->field, 0, sizeof(im->field));
}

/* Line by line, so that a bad row is named by the line on which it began, whatever its fields contain. */
static bool lines_parse(struct import *im, struct csv_parser *parser, const char *at, size_t left)
{
	while (left > 0) {
		const char *end = memchr(at, '\n', left);
		size_t      len = end ? (size_t)(end - at) + 1 : left;
		bool        blank = strspn(at, "\r\n") >= len;

		if (!im->row_open)
			im->row_line = im->line;
		im->row_open |= !blank;
		if (csv_parse(parser, at, len, field_came, row_came, im) != len)
			return false;
		im->line += end != NULL;
		at += len;
		left -= len;
	}
	return true;
}

/* One pass over the file. The first one hashes it. */
static bool file_pass(struct import *im, EVP_MD_CTX *sha)
{
	struct csv_parser parser;
	char              buffer[(1 << 16) + 1];
	FILE             *in = fopen(im->file, "re");
	size_t            n;
	bool              ok = in && csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0;

	if (!in) {
		say("cannot read %s: %s", im->file, strerror(errno));
		return false;
	}
	im->line = im->row_line = 1;
	im->row_open = false;
	im->column = 0;
	im->headed = false;
	im->row_empty = true;
	memset(im->field, 0, sizeof(im->field));
	while (ok && (n = fread(buffer, 1, sizeof(buffer) - 1, in)) > 0) {
		buffer[n] = '\0';
		if (sha)
			EVP_DigestUpdate(sha, buffer, n);
		ok = lines_parse(im, &parser, buffer, n);
	}
	if (ferror(in)) {
		say("cannot read %s: %s", im->file, strerror(errno));
		im->status = EXIT_TROUBLE;
	}
	if (!ok || csv_fini(&parser, field_came, row_came, im) != 0) {
		say("%s, after line %lld: not CSV: %s", im->file, (long long)im->line,
		    csv_strerror(csv_error(&parser)));
		ok = false;
	}
	if (ok && !im->headed && im->status == EXIT_DONE) {
		say("%s is empty: the first line must name the columns sku and qty", im->file);
		im->status = EXIT_TROUBLE;
	}
	csv_free(&parser);
	fclose(in);
	return ok && im->status == EXIT_DONE;
}

static bool file_check(struct import *im)
{
	EVP_MD_CTX   *sha = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct text   hex = {0};
	bool          ok = EVP_DigestInit_ex(sha, EVP_sha256(), NULL) && file_pass(im, sha) &&
	          EVP_DigestFinal_ex(sha, digest, NULL);

	EVP_MD_CTX_free(sha);
	if (!ok)
		return false;
	text_hex(&hex, digest, 16);
	snprintf(im->name, sizeof(im->name), "import-%s", option_given(OPTION_id) ? option_text(OPTION_id) : hex.data);
	text_fini(&hex);
	if (im->bad == 0 || im->skip_bad)
		return true;
	say("%lld bad rows: nothing was loaded (--skip-bad leaves them out)", (long long)im->bad);
	return false;
}

static void import_report(const struct import *im)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	if (im->tty)
		fprintf(stderr, "\r");
	if (!im->json) {
		printf("%lld rows, %lld units in %lld movements%s; %lld bad rows left out\n", (long long)im->rows,
		       (long long)im->units, (long long)im->parts,
		       im->parts && im->replayed == im->parts ? ", all received before" : "", (long long)im->bad);
		return;
	}
	json_open_object(&w, NULL);
	json_put_int(&w, "rows", im->rows);
	json_put_int(&w, "units", im->units);
	json_put_int(&w, "movements", im->parts);
	json_put_int(&w, "replayed", im->replayed);
	json_put_int(&w, "bad", im->bad);
	json_close_object(&w);
	printf("%s\n", out.data);
	text_fini(&out);
}

static int import_load(struct import *im)
{
	struct house          house;
	struct house_options  options = option_house();
	struct engine_options engine = {.lanes = 1};
	int                   status = house_open(&house, &options);

	if (status != EXIT_DONE)
		return status;
	engine.target = house.target;
	im->bad = 0;
	im->loop = loop_new();
	im->engine = engine_open(&engine);
	if (file_pass(im, NULL))
		part_send(im);
	parts_wait(im, 0);
	engine_close(im->engine);
	loop_free(im->loop);
	house_close(&house);
	if (im->status == EXIT_DONE)
		import_report(im);
	return im->status;
}

int import_run(int argc, char **argv)
{
	struct import im = {0};
	char         *operand = NULL;
	int           status = options_read(command_find("import"), argc, argv, &operand, 1);

	if (status != EXIT_DONE)
		return status;
	if (!operand) {
		say("import needs a file; try `holdfast import --help`");
		return EXIT_USAGE;
	}
	if (option_given(OPTION_id) && !code_valid(option_text(OPTION_id), strlen(option_text(OPTION_id)), 40)) {
		say("--id is 1 to 40 bytes of printable ASCII without space / ? # %%");
		return EXIT_USAGE;
	}
	im.file = operand;
	im.skip_bad = option_given(OPTION_skip_bad);
	im.json = option_given(OPTION_json);
	im.tty = isatty(STDERR_FILENO);
	if (!file_check(&im))
		return EXIT_TROUBLE;
	return import_load(&im);
}
