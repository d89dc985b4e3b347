/* import.c - the command `import`: receives stock from a CSV file.
 *
 * The file is read twice: once to check every row and to take its hash, once to send the rows as receipts of up to
 * 1,000 lines. A movement_id is made of the hash (or --id) and the number of the part, so that the same file twice is
 * one delivery. */
#include "jobs/commands/import.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/engine.h"
#include "engine/loop.h"
#include "jobs/terminal/bar.h"
#include "jobs/commands/database.h"
#include "jobs/commands/delivery.h"
#include "jobs/options.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_LINES = 1000, FLYING_MAX = 16, NAME_MAX_BYTES = 40 };

struct import {
	const char    *file;
	bool           skip_bad, json;
	char           name[48]; /* the first part of every movement_id */
	struct engine *engine;   /* NULL on the first pass */
	struct loop   *loop;
	/* ---- the outcome */
	int64_t    rows, bad, units, lines_sent, replayed;
	unsigned   parts;
	int        flying; /* parts sent and not answered */
	int        status;
	struct op *part;
};

/* ---- sending */

static void part_done(void *arg, struct op *op)
{
	struct import *im = arg;

	im->flying--;
	if (op->outcome == OUTCOME_REPLAYED)
		im->replayed++;
	else if (op->outcome != OUTCOME_OK)
		im->status = say_status(EXIT_TROUBLE, "part %s was refused: %s", op->id, outcome_detail(op->outcome));
	im->lines_sent += (int64_t)op->lines_count;
	bar_set(im->lines_sent);
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
	op->move.kind = RECEIPT;
	op->move.reason = "import";
	op_seal(op, NULL);
	parts_wait(im, FLYING_MAX - 1);
	im->flying++;
	while (!engine_start(im->engine, op, im->loop, part_done, im))
		parts_wait(im, im->flying > 1 ? im->flying - 2 : 0);
	engine_wake(im->engine);
}

/* ---- reading */

/* Takes a row: the first pass counts rows, the second sends them, until a part is refused. */
static void row_came(void *arg, const struct delivery_row *row)
{
	struct import *im = arg;

	if (row->wrong) {
		im->bad++;
		if (!im->engine)
			say("%s, line %lld: %s", im->file, (long long)row->line, row->wrong);
	} else if (!im->engine) {
		im->rows++;
		im->units += row->qty;
	} else if (im->status == EXIT_DONE) {
		if (!im->part)
			im->part = op_new(OP_MOVE, PART_LINES, PART_LINES * (SKU_MAX + LOCATION_MAX + 2));
		assert(im->part);
		op_line(im->part, row->sku, strlen(row->sku), row->location, row->location ? strlen(row->location) : 0,
		        row->qty);
		if (im->part->lines_count == PART_LINES)
			part_send(im);
	}
}

static bool file_check(struct import *im)
{
	EVP_MD_CTX   *sha = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct text   hex = {0};
	bool          ok = EVP_DigestInit_ex(sha, EVP_sha256(), NULL) && delivery_read(im->file, sha, row_came, im) &&
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
	struct database database;
	int             status = database_open(&database, EMBEDDED_MAKE, false);

	if (status != EXIT_DONE)
		return status;
	if (!option_given(OPTION_log_level))
		log_level = LOG_WARN; /* lanes that come and go are no news in a command */
	database_watch(&database);
	im->bad = 0;
	im->loop = loop_new();
	im->engine = engine_open(&(struct engine_options){.source = database.source, .lanes = 1});
	bar_begin("rows", im->rows);
	if (!delivery_read(im->file, NULL, row_came, im))
		im->status = EXIT_TROUBLE;
	if (im->status == EXIT_DONE)
		part_send(im);
	parts_wait(im, 0);
	bar_end();
	op_free(im->part);
	engine_close(im->engine);
	loop_free(im->loop);
	if (im->status == EXIT_DONE)
		import_report(im);
	return database_close(&database, im->status);
}

int import_run(void)
{
	struct import im = {.file = operand(0)};
	const char   *id = option_text(OPTION_id);

	if (!im.file)
		return say_status(EXIT_USAGE, "import needs a file; try `holdfast import --help`");
	if (id && !code_valid(id, strlen(id), NAME_MAX_BYTES))
		return say_status(EXIT_USAGE, "--id " CODE_RULE, (size_t)NAME_MAX_BYTES);
	if (id && code_is_of_jobs(id))
		return say_status(EXIT_USAGE, "--id " OF_JOBS_RULE);
	im.skip_bad = option_given(OPTION_skip_bad);
	im.json = option_given(OPTION_json);
	if (!file_check(&im))
		return EXIT_TROUBLE;
	return import_load(&im);
}
