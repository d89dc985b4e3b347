/* import.c - the command `import`: loads movements from a CSV file.
 *
 * The file is read up to three times: to check every row and to take its hash, to look for rows that were loaded
 * before, and to send the others (parts.c). The ids of all movements are made of the hash (or --id), so that the same
 * file sent twice is one delivery. A count says what is there now, and does not add up: without a time it is another
 * one each time. */
#include "commands/import.h"
#include "commands/absent.h"
#include "commands/database.h"
#include "commands/import/bad.h"
#include "commands/import/forecast.h"
#include "commands/import/orders.h"
#include "commands/import/parts.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/engine.h"
#include "engine/loop.h"

#include <stdio.h>
#include <sys/stat.h>

enum { NAME_MAX_BYTES = 40 };

enum { NAMED_MAX = 100 }; /* bad rows that are named in messages */

struct import {
	struct delivery delivery;
	struct bad      bad_rows;
	bool            skip_bad, json, absent, dry;
	int64_t         as_of;    /* for counts without a time in their row, ms; 0: now */
	char            name[48]; /* the first part of every movement_id */
	struct parts    parts;
	bool            is_orders; /* the list is of orders, and not of stock */
	struct orders   orders;
	int64_t         rows, bad, units;
	bool            failed; /* the bad rows cannot be written */
	bool            of_now; /* some rows count what is there now */
	struct listed   listed; /* with --absent-are-zero: what the list has */
	int64_t         zeroed; /* .. and what it lacks */
};

static void bad_take(struct import *im, const struct delivery_row *row)
{
	if (++im->bad <= NAMED_MAX)
		say("%s, line %lld: %s", im->delivery.file, (long long)row->line, row->wrong);
	else if (im->bad == NAMED_MAX + 1)
		say("%s: more than %d bad rows; %s", im->delivery.file, NAMED_MAX,
		    im->bad_rows.name ? "the others are in the file of --bad" : "--bad FILE would have the others");
	if (im->bad_rows.name && !im->failed)
		im->failed = !bad_row(&im->bad_rows, row->wrong, row->raw, row->raw_len, &im->delivery.head,
		                      im->delivery.table.separator);
}

static void row_check(void *arg, const struct delivery_row *row)
{
	struct import *im = arg;

	if (row->wrong) {
		bad_take(im, row);
		return;
	}
	if (im->absent)
		listed_add(&im->listed, row->sku, row->location ? row->location : "main");
	if (row->idle)
		return;
	im->rows++;
	im->of_now |= movement_is(im->delivery.naming.kind, COUNTED) && !row->as_of && !im->as_of;
	if (im->units < QTY_MAX)
		im->units += row->qty;
}

static void row_load(void *arg, const struct delivery_row *row)
{
	struct import      *im = arg;
	struct delivery_row sent = *row;

	if (row->wrong || row->idle || im->parts.failed)
		return;
	sent.as_of = row->as_of ? row->as_of : im->as_of;
	parts_row(&im->parts, &sent);
}

static void row_ignore(void *arg, const struct delivery_row *row)
{
	(void)arg;
	(void)row;
}

static void order_load(void *arg, const struct delivery_row *row)
{
	struct import *im = arg;

	if (!row->wrong && !im->orders.failed)
		orders_row(&im->orders, row);
}

static void bytes_read(void *arg, int64_t bytes)
{
	(void)arg;
	bar_set(bytes);
}

/* Begins the bar of the first reading: the bytes of the file, if it is one. */
static void bar_of_file(const char *file)
{
	struct stat st;

	bar_begin("bytes checked", stat(file, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : 0);
}

/* The kind and the time of counts are part of the digest: the same rows with another one are another delivery. So is
 * each count of what is there now. */
static bool file_digest(struct import *im, EVP_MD_CTX *sha, unsigned char *digest)
{
	const char   *kind = list_word(im->delivery.naming.kind), *as_of = option_text(OPTION_as_of);
	unsigned char once[16];

	random_bytes(once, sizeof(once));
	return EVP_DigestInit_ex(sha, EVP_sha256(), NULL) && delivery_read(&im->delivery) &&
	       (im->delivery.naming.kind == RECEIPT || EVP_DigestUpdate(sha, kind, strlen(kind))) &&
	       (!as_of || EVP_DigestUpdate(sha, as_of, strlen(as_of))) &&
	       (!im->of_now || EVP_DigestUpdate(sha, once, sizeof(once))) && EVP_DigestFinal_ex(sha, digest, NULL);
}

/* Rows that were not loaded as they stand, each kind with its number. */
static void passed_tell(const struct passed *p)
{
	const struct {
		int64_t     count;
		const char *what;
	} told[] = {{p->no_sku, "rows without a sku are passed over"},
	            {p->no_units, "rows without a number of units are passed over"},
	            {p->at_zero, "rows of 0 units are passed over (--new-skus makes their skus)"},
	            {p->below, "rows below 0 are taken as 0"},
	            {p->ended, "rows of orders that have ended are passed over"},
	            {p->summed, "rows are added to an earlier one for the same sku and location"}};

	for (size_t i = 0; i < LENGTH(told); i++)
		if (told[i].count > 0)
			say("%lld %s", (long long)told[i].count, told[i].what);
}

static bool file_check(struct import *im)
{
	EVP_MD_CTX   *sha = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct text   hex = {0};
	bool          ok;

	im->delivery.arg = im;
	im->delivery.each = row_ignore; /* the first reading of orders finds those with a bad row */
	if (im->is_orders && !delivery_read(&im->delivery)) {
		EVP_MD_CTX_free(sha);
		return false;
	}
	im->delivery.sha = sha;
	im->delivery.tells = true;
	im->delivery.each = row_check;
	im->delivery.arg = im;
	im->delivery.read = bytes_read;
	bar_of_file(im->delivery.file);
	ok = file_digest(im, sha, digest);
	bar_end();
	im->delivery.read = NULL;
	EVP_MD_CTX_free(sha);
	im->delivery.sha = NULL;
	im->delivery.tells = false;
	if (!ok)
		return false;
	text_hex(&hex, digest, 16);
	snprintf(im->name, sizeof(im->name), "import-%s", option_given(OPTION_id) ? option_text(OPTION_id) : hex.data);
	text_fini(&hex);
	if (im->failed)
		return false;
	passed_tell(&im->delivery.passed);
	if (im->bad > 0 && im->absent) {
		say("%lld bad rows: nothing was loaded, because what they are is absent from the full list",
		    (long long)im->bad);
		return false;
	}
	if (im->bad == 0 || im->skip_bad)
		return bad_end(&im->bad_rows);
	say("%lld bad rows: nothing was loaded (--skip-bad leaves them out, --bad FILE writes them to a file as well)",
	    (long long)im->bad);
	return false;
}

/* One object of JSON; `made`: the name of what was made, movements or orders. */
static void report_json(const struct import *im, const char *made, int64_t count, int64_t replayed, int64_t refused)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_put_int(&w, "rows", im->rows);
	json_put_int(&w, "units", im->units);
	json_put_int(&w, made, count);
	json_put_int(&w, "replayed", replayed);
	json_put_int(&w, "bad", im->bad);
	json_put_int(&w, "refused", refused);
	if (im->absent)
		json_put_int(&w, "zeroed", im->zeroed);
	json_close_object(&w);
	printf("%s\n", out.data);
	text_fini(&out);
}

static void import_report(const struct import *im)
{
	const struct parts *p = &im->parts;

	if (im->json) {
		report_json(im, "movements", p->movements, p->replayed, p->refused);
		return;
	}
	printf("%lld rows, %lld units in %lld movements%s; %lld bad rows left out", (long long)im->rows,
	       (long long)im->units, (long long)p->movements,
	       p->movements && p->replayed == p->movements ? ", all received before" : "", (long long)im->bad);
	if (p->refused > 0)
		printf(", %lld refused", (long long)p->refused);
	if (im->absent)
		printf("; %lld absent, counted as 0", (long long)im->zeroed);
	printf("\n");
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
	if (im->bad > 0 && im->bad_rows.name)
		say("the bad rows are in %s: put them right there, and load that file by itself", im->bad_rows.name);
	else if (im->bad > 0 && !im->of_now)
		say("put the bad rows right where they stand, and load the file with --id %s: no row is loaded twice",
		    im->name + strlen("import-"));
}

/* ---- what the list lacks */

struct zeros {
	struct import *import;
	struct parts  *parts;
};

static void zero_came(void *arg, const char *sku, const char *location)
{
	struct zeros *z = arg;

	z->import->zeroed++;
	if (!z->import->dry)
		parts_row(z->parts, &(struct delivery_row){.number = z->import->zeroed,
		                                           .sku = sku,
		                                           .location = location,
		                                           .expected = -1,
		                                           .as_of = z->import->as_of});
}

/* Counts what the list lacks as 0, in a delivery of its own: what it is depends on the stock. False: a fault, which a
 * message has told. */
static bool absent_load(struct import *im, const struct database *database)
{
	unsigned char once[16];
	struct text   name = {0};
	struct parts  parts = {.file = im->delivery.file,
	                       .kind = im->delivery.naming.kind,
	                       .engine = im->parts.engine,
	                       .loop = im->parts.loop,
	                       .renew = im->parts.renew,
	                       .renew_arg = im->parts.renew_arg};
	struct zeros  z = {im, &parts};
	struct db    *db = database_connect(database);
	bool          ok = db != NULL;

	random_bytes(once, sizeof(once));
	text_add(&name, "import-");
	text_hex(&name, once, sizeof(once));
	parts.name = name.data;
	parts_begin(&parts, false);
	if (ok)
		ok = absent_find(db, &im->listed, zero_came, &z);
	if (!ok)
		say("the database does not say what the list lacks");
	db_free(db);
	parts_end(&parts, im->zeroed);
	im->parts.engine = parts.engine;
	im->parts.movements += parts.movements;
	im->parts.refused += parts.refused;
	parts_fini(&parts);
	text_fini(&name);
	return ok && !parts.failed;
}

/* ---- orders */

static void orders_report(const struct import *im)
{
	const struct orders *o = &im->orders;

	if (im->json) {
		report_json(im, "orders", o->made + o->replayed, o->replayed, o->refused);
		return;
	}
	printf("%lld rows, %lld units in %lld orders, %lld of them there before; %lld bad rows left out",
	       (long long)im->rows, (long long)im->units, (long long)(o->made + o->replayed), (long long)o->replayed,
	       (long long)im->bad);
	if (o->refused > 0)
		printf(", %lld orders refused", (long long)o->refused);
	printf("\n");
}

static bool import_orders(struct import *im)
{
	struct orders *o = &im->orders;

	if (im->dry) {
		printf("%s: a list of kind reservation, separated by %s, with %s\n%lld rows, %lld units; %lld bad "
		       "rows\n"
		       "nothing was loaded\n",
		       im->delivery.file, table_separators(&im->delivery.table), im->delivery.names.data,
		       (long long)im->rows, (long long)im->units, (long long)im->bad);
		return true;
	}
	*o = (struct orders){.file = im->delivery.file, .engine = im->parts.engine, .loop = im->parts.loop};
	im->delivery.each = order_load;
	bar_begin("rows", im->rows);
	o->failed |= !delivery_read(&im->delivery);
	orders_end(o);
	bar_end();
	if (!o->failed)
		orders_report(im);
	if (im->bad > 0 && !o->failed)
		say("put the bad rows right, and load the file again: what is there is not made again");
	return !o->failed && o->refused == 0;
}

/* ---- the whole */

static void forecast_print(struct import *im)
{
	printf("%s: a list of kind %s, separated by %s, with %s\n", im->delivery.file,
	       movement_kind_name(im->delivery.naming.kind), table_separators(&im->delivery.table),
	       im->delivery.names.data);
	printf("%lld rows, %lld units; %lld bad rows\n", (long long)im->rows, (long long)im->units, (long long)im->bad);
	forecast_tell(im->parts.forecast);
	if (im->absent)
		printf("  %lld skus at locations that the list lacks would be counted as 0\n", (long long)im->zeroed);
	printf("nothing was loaded\n");
}

/* Whether the movements under the delivery's name may be of another file. A name that is made of the file's hash is of
 * this one; only an older program has cut rows that were bad, or that apply in their order, into other parts. */
static bool needs_look(const struct import *im)
{
	enum movement_kind kind = im->delivery.naming.kind;

	return option_given(OPTION_id) || (!im->of_now && (im->bad > 0 || !movement_is(kind, MAKES_SKUS | COUNTED)));
}

static bool import_rows(struct import *im, const struct database *database)
{
	struct forecast forecast = {
		.file = im->delivery.file, .kind = im->delivery.naming.kind, .makes = im->parts.makes};

	im->parts.forecast = im->dry ? &forecast : NULL;
	if (im->dry || needs_look(im))
		rows_take(im, true);
	if (im->parts.failed)
		say("nothing was loaded");
	else if (!im->dry)
		rows_take(im, false);
	if (!im->parts.failed && im->absent)
		im->parts.failed = !absent_load(im, database);
	if (!im->parts.failed && im->dry) {
		im->parts.refused = forecast.refused;
		forecast_print(im);
	} else if (!im->parts.failed) {
		import_report(im);
		import_hint(im);
	}
	forecast_fini(&forecast);
	return !im->parts.failed && im->parts.refused == 0;
}

static struct engine *engine_anew(struct source *source)
{
	return engine_open(&(struct engine_options){.source = source, .lanes = 1});
}

static struct engine *engine_renew(void *source, struct engine *old)
{
	engine_close(old);
	return engine_anew(source);
}

static int import_load(struct import *im)
{
	struct database database;
	int             status = database_open(&database, im->dry ? EMBEDDED_FIND : EMBEDDED_MAKE, false);
	bool            ok;

	if (status != EXIT_DONE)
		return status;
	if (!option_given(OPTION_log_level))
		log_level = LOG_WARN; /* lanes that come and go are no news in a command */
	database_watch(&database);
	im->parts.file = im->delivery.file;
	im->parts.kind = im->delivery.naming.kind;
	im->parts.name = im->name;
	im->parts.loop = loop_new();
	im->parts.renew = engine_renew;
	im->parts.renew_arg = database.source;
	im->parts.engine = engine_anew(database.source);
	ok = im->is_orders ? import_orders(im) : import_rows(im, &database);
	engine_close(im->parts.engine);
	loop_free(im->parts.loop);
	parts_fini(&im->parts);
	return database_close(&database, ok ? EXIT_DONE : EXIT_TROUBLE);
}

/* What goes with counts alone. */
static int count_options(struct import *im)
{
	const char *as_of = option_text(OPTION_as_of);
	bool        counts = movement_is(im->delivery.naming.kind, COUNTED);
	int64_t     us = 0;

	if (as_of && !counts)
		return say_status(EXIT_USAGE, "--as-of goes with --kind count");
	if (option_given(OPTION_sum) && !counts)
		return say_status(EXIT_USAGE, "--sum goes with --kind count: rows of other kinds add up as they are");
	if (option_given(OPTION_absent_are_zero) && !counts)
		return say_status(EXIT_USAGE, "--absent-are-zero goes with --kind count");
	if (as_of && (!time_read(as_of, &us) || us < 1000))
		return say_status(EXIT_USAGE, "--as-of is a time of RFC 3339, as 2026-11-20T22:00:00Z, not %s", as_of);
	im->as_of = us / 1000;
	im->absent = option_given(OPTION_absent_are_zero);
	im->delivery.sums = option_given(OPTION_sum);
	return EXIT_DONE;
}

static int naming_options(struct import *im)
{
	const char    *from = option_text(OPTION_from), *names = option_text(OPTION_columns);
	struct naming *n = &im->delivery.naming;
	char           why[400];

	if (from && !(n->from = preset_find(from)))
		return say_status(EXIT_USAGE, "--from is %s, not %s", preset_words(), from);
	if (from && !movement_is(n->kind, COUNTED | MAKES_SKUS))
		return say_status(EXIT_USAGE, "--from goes with --kind count or receipt: its file says what is there");
	if (names && !naming_read(n, names, why, sizeof(why)))
		return say_status(EXIT_USAGE, "%s", why);
	return EXIT_DONE;
}

/* EXIT_DONE, or EXIT_USAGE after saying what is wrong with an option. */
static int import_options(struct import *im)
{
	const char *id = option_text(OPTION_id), *kind = option_text(OPTION_kind);

	if (option_given(OPTION_from) && !option_given(OPTION_kind))
		kind = movement_kind_name(STOCKTAKE);
	for (enum movement_kind k = 0; k < KINDS; k++)
		if (movement_is(k, LISTED) && strcmp(kind, movement_kind_name(k)) == 0)
			im->delivery.naming.kind = k;
	im->is_orders = strcmp(kind, list_word(ORDERS_LIST)) == 0;
	if (!im->delivery.naming.kind && !im->is_orders)
		return say_status(EXIT_USAGE, "--kind is receipt, count, adjustment, transfer or reservation, not %s",
		                  kind);
	if (im->is_orders && (id || option_given(OPTION_new_skus)))
		return say_status(EXIT_USAGE, "%s does not go with --kind reservation", id ? "--id" : "--new-skus");
	if (id && !id_valid(id, strlen(id), NAME_MAX_BYTES))
		return say_status(EXIT_USAGE, "--id " ID_RULE, (size_t)NAME_MAX_BYTES);
	if (id && code_is_of_jobs(id))
		return say_status(EXIT_USAGE, "--id " OF_JOBS_RULE);
	im->dry = option_given(OPTION_dry_run);
	im->skip_bad = option_given(OPTION_skip_bad) || option_given(OPTION_bad);
	im->bad_rows.name = im->dry ? NULL : option_text(OPTION_bad);
	im->json = option_given(OPTION_json);
	im->parts.makes = im->delivery.makes = option_given(OPTION_new_skus);
	return count_options(im) == EXIT_DONE ? naming_options(im) : EXIT_USAGE;
}

static void import_fini(struct import *im)
{
	bad_fini(&im->bad_rows);
	listed_fini(&im->listed);
	delivery_fini(&im->delivery);
}

int import_run(void)
{
	struct import im = {.delivery.file = operand(0)};
	int           status;

	mem_return_large();
	if (!im.delivery.file)
		return say_status(EXIT_USAGE, "import needs a file; try `holdfast import --help`");
	status = import_options(&im);
	if (status == EXIT_DONE)
		status = file_check(&im) ? import_load(&im) : EXIT_TROUBLE;
	import_fini(&im);
	return status;
}
