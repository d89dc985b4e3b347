/* import.c - the command `import`: loads movements from a CSV file.
 *
 * The file is read twice: once to check every row and to take its hash, once to send the rows (parts.c). The ids of all
 * movements are made of the hash (or --id), so that the same file sent twice is one delivery. */
#include "commands/import.h"
#include "commands/database.h"
#include "commands/import/parts.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/engine.h"
#include "engine/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 40 };

struct import {
	const char  *file;
	bool         skip_bad, json;
	int64_t      as_of;    /* for counts without a time in their row, ms; 0: now */
	char         name[48]; /* the first part of every movement_id */
	struct parts parts;    /* parts.engine is NULL on the first pass */
	int64_t      rows, bad, units;
};

/* Takes a row: the first pass counts rows, the second sends them, until a part fails. */
static void row_came(void *arg, const struct delivery_row *row)
{
	struct import      *im = arg;
	struct delivery_row sent = *row;

	if (row->wrong) {
		im->bad++;
		if (!im->parts.engine)
			say("%s, line %lld: %s", im->file, (long long)row->line, row->wrong);
	} else if (!im->parts.engine) {
		im->rows++;
		if (im->units < QTY_MAX)
			im->units += row->qty;
	} else if (!im->parts.failed) {
		sent.as_of = row->as_of ? row->as_of : im->as_of;
		parts_row(&im->parts, &sent);
	}
}

/* The kind and the time of counts are part of the digest: the same rows with another one are another delivery. */
static bool file_digest(struct import *im, EVP_MD_CTX *sha, unsigned char *digest)
{
	const char *kind = movement_kind_name(im->parts.kind), *as_of = option_text(OPTION_as_of);

	return EVP_DigestInit_ex(sha, EVP_sha256(), NULL) &&
	       delivery_read(im->file, im->parts.kind, sha, row_came, im) &&
	       (im->parts.kind == RECEIPT || EVP_DigestUpdate(sha, kind, strlen(kind))) &&
	       (!as_of || EVP_DigestUpdate(sha, as_of, strlen(as_of))) && EVP_DigestFinal_ex(sha, digest, NULL);
}

static bool file_check(struct import *im)
{
	EVP_MD_CTX   *sha = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct text   hex = {0};
	bool          ok = file_digest(im, sha, digest);

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
	const struct parts *p = &im->parts;
	struct text         out = {0};
	struct json_writer  w = {.to = &out};

	if (!im->json) {
		printf("%lld rows, %lld units in %lld movements%s; %lld bad rows left out", (long long)im->rows,
		       (long long)im->units, (long long)p->movements,
		       p->movements && p->replayed == p->movements ? ", all received before" : "", (long long)im->bad);
		if (p->refused > 0)
			printf(", %lld refused", (long long)p->refused);
		printf("\n");
		return;
	}
	json_open_object(&w, NULL);
	json_put_int(&w, "rows", im->rows);
	json_put_int(&w, "units", im->units);
	json_put_int(&w, "movements", p->movements);
	json_put_int(&w, "replayed", p->replayed);
	json_put_int(&w, "bad", im->bad);
	json_put_int(&w, "refused", p->refused);
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
	im->parts.file = im->file;
	im->parts.name = im->name;
	im->parts.loop = loop_new();
	im->parts.engine = engine_open(&(struct engine_options){.source = database.source, .lanes = 1});
	bar_begin("rows", im->rows);
	im->parts.failed = !delivery_read(im->file, im->parts.kind, NULL, row_came, im) || im->parts.failed;
	parts_end(&im->parts);
	bar_end();
	engine_close(im->parts.engine);
	loop_free(im->parts.loop);
	if (!im->parts.failed)
		import_report(im);
	return database_close(&database, im->parts.failed || im->parts.refused > 0 ? EXIT_TROUBLE : EXIT_DONE);
}

/* EXIT_DONE, or EXIT_USAGE after saying what is wrong with an option. */
static int import_options(struct import *im)
{
	const char *id = option_text(OPTION_id), *kind = option_text(OPTION_kind), *as_of = option_text(OPTION_as_of);
	int64_t     us = 0;

	for (enum movement_kind k = 0; k < KINDS; k++)
		if (movement_is(k, LISTED) && strcmp(kind, movement_kind_name(k)) == 0)
			im->parts.kind = k;
	if (!im->parts.kind)
		return say_status(EXIT_USAGE, "--kind is receipt, count, adjustment or transfer, not %s", kind);
	if (as_of && !movement_is(im->parts.kind, COUNTED))
		return say_status(EXIT_USAGE, "--as-of goes with --kind count");
	if (as_of && (!time_read(as_of, &us) || us < 1000))
		return say_status(EXIT_USAGE, "--as-of is a time of RFC 3339, as 2026-11-20T22:00:00Z, not %s", as_of);
	if (id && !id_valid(id, strlen(id), NAME_MAX_BYTES))
		return say_status(EXIT_USAGE, "--id " ID_RULE, (size_t)NAME_MAX_BYTES);
	if (id && code_is_of_jobs(id))
		return say_status(EXIT_USAGE, "--id " OF_JOBS_RULE);
	im->as_of = us / 1000;
	im->skip_bad = option_given(OPTION_skip_bad);
	im->json = option_given(OPTION_json);
	return EXIT_DONE;
}

int import_run(void)
{
	struct import im = {.file = operand(0)};

	if (!im.file)
		return say_status(EXIT_USAGE, "import needs a file; try `holdfast import --help`");
	if (import_options(&im) != EXIT_DONE)
		return EXIT_USAGE;
	if (!file_check(&im))
		return EXIT_TROUBLE;
	return import_load(&im);
}
