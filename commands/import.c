/* import.c - the command `import`: loads movements from a CSV file.
 *
 * The file is read three times: to check every row and to take its hash, to look for rows that were loaded before, and
 * to send the others (parts.c). The ids of all movements are made of the hash (or --id), so that the same file sent
 * twice is one delivery. A count says what is there now, and does not add up: without a time it is another one each
 * time. */
#include "commands/import.h"
#include "commands/database.h"
#include "commands/import/parts.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/engine.h"
#include "engine/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 40 };

struct import {
	struct delivery delivery;
	bool            skip_bad, json;
	int64_t         as_of;    /* for counts without a time in their row, ms; 0: now */
	char            name[48]; /* the first part of every movement_id */
	struct parts    parts;    /* parts.engine is NULL on the first pass */
	int64_t         rows, bad, units;
	bool            of_now; /* some rows count what is there now */
};

static void row_check(void *arg, const struct delivery_row *row)
{
	struct import *im = arg;

	if (row->wrong) {
		im->bad++;
		say("%s, line %lld: %s", im->delivery.file, (long long)row->line, row->wrong);
		return;
	}
	im->rows++;
	im->of_now |= movement_is(im->delivery.kind, COUNTED) && !row->as_of && !im->as_of;
	if (im->units < QTY_MAX)
		im->units += row->qty;
}

static void row_load(void *arg, const struct delivery_row *row)
{
	struct import      *im = arg;
	struct delivery_row sent = *row;

	if (row->wrong || im->parts.failed)
		return;
	sent.as_of = row->as_of ? row->as_of : im->as_of;
	parts_row(&im->parts, &sent);
}

/* The kind and the time of counts are part of the digest: the same rows with another one are another delivery. So is
 * each count of what is there now. */
static bool file_digest(struct import *im, EVP_MD_CTX *sha, unsigned char *digest)
{
	const char   *kind = movement_kind_name(im->delivery.kind), *as_of = option_text(OPTION_as_of);
	unsigned char once[16];

	random_bytes(once, sizeof(once));
	return EVP_DigestInit_ex(sha, EVP_sha256(), NULL) && delivery_read(&im->delivery) &&
	       (im->delivery.kind == RECEIPT || EVP_DigestUpdate(sha, kind, strlen(kind))) &&
	       (!as_of || EVP_DigestUpdate(sha, as_of, strlen(as_of))) &&
	       (!im->of_now || EVP_DigestUpdate(sha, once, sizeof(once))) && EVP_DigestFinal_ex(sha, digest, NULL);
}

static bool file_check(struct import *im)
{
	EVP_MD_CTX   *sha = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct text   hex = {0};
	bool          ok;

	im->delivery.sha = sha;
	im->delivery.tells = true;
	im->delivery.each = row_check;
	im->delivery.arg = im;
	ok = file_digest(im, sha, digest);
	EVP_MD_CTX_free(sha);
	im->delivery.sha = NULL;
	im->delivery.tells = false;
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

/* Takes all rows, for the first time or for the second. */
static void rows_take(struct import *im, bool looks)
{
	parts_begin(&im->parts, looks);
	im->delivery.each = row_load;
	bar_begin(looks ? "looked" : "rows", im->rows);
	im->parts.failed |= !delivery_read(&im->delivery);
	parts_end(&im->parts, im->delivery.numbers);
	bar_end();
}

/* A file with bad rows that are put right is another file, and so another delivery. */
static void import_hint(const struct import *im)
{
	if (im->bad > 0 && !im->of_now)
		say("put the bad rows right where they stand, and load the file with --id %s: no row is loaded twice",
		    im->name + strlen("import-"));
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
	im->parts.file = im->delivery.file;
	im->parts.kind = im->delivery.kind;
	im->parts.name = im->name;
	im->parts.loop = loop_new();
	im->parts.engine = engine_open(&(struct engine_options){.source = database.source, .lanes = 1});
	rows_take(im, true);
	if (!im->parts.failed)
		rows_take(im, false);
	else
		say("nothing was loaded");
	engine_close(im->parts.engine);
	loop_free(im->parts.loop);
	parts_fini(&im->parts);
	if (!im->parts.failed) {
		import_report(im);
		import_hint(im);
	}
	return database_close(&database, im->parts.failed || im->parts.refused > 0 ? EXIT_TROUBLE : EXIT_DONE);
}

/* EXIT_DONE, or EXIT_USAGE after saying what is wrong with an option. */
static int import_options(struct import *im)
{
	const char *id = option_text(OPTION_id), *kind = option_text(OPTION_kind), *as_of = option_text(OPTION_as_of);
	int64_t     us = 0;

	for (enum movement_kind k = 0; k < KINDS; k++)
		if (movement_is(k, LISTED) && strcmp(kind, movement_kind_name(k)) == 0)
			im->delivery.kind = k;
	if (!im->delivery.kind)
		return say_status(EXIT_USAGE, "--kind is receipt, count, adjustment or transfer, not %s", kind);
	if (as_of && !movement_is(im->delivery.kind, COUNTED))
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
	struct import im = {.delivery.file = operand(0)};

	if (!im.delivery.file)
		return say_status(EXIT_USAGE, "import needs a file; try `holdfast import --help`");
	if (import_options(&im) != EXIT_DONE)
		return EXIT_USAGE;
	if (!file_check(&im))
		return EXIT_TROUBLE;
	return import_load(&im);
}
