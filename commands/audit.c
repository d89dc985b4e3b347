/* audit.c - the command `audit`: every invariant of schema/invariants.sql, also while the service is at work.
 *
 * Each statement is a snapshot of its own: a transaction under way raises no alarm, and no snapshot lasts long enough
 * to slow down claims. InnoDB makes a snapshot without stopping commits: now and then a snapshot has a transaction and
 * lacks another that was committed before it. So a statement that finds rows is run again, and only rows that both runs
 * find count. Invariants are checked range by range over the keys of a table; a range takes about a quarter of a
 * second. One invariant is a single statement: the units that slots have promised against the lines of live
 * reservations, which have no index by sku (every order would pay for it). The statement takes 1.0 s with 200,000 live
 * reservations of two lines among 1,000,000, 4 s with all of them live. The database makes the sums, so the memory of
 * this process does not grow with the data. The last invariant is no statement: audit_events.c. */
#include "commands/audit.h"
#include "commands/audit_events.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "commands/upkeep.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

#include <errno.h>
#include <stdio.h>

enum { SHOWN_MAX = 20, BLOCKS_MAX = 60, RANGE_MS = 250, KEYS_FIRST = 500, KEYS_MAX = 100000, SUSPECTS_MAX = 100000 };

/* Key columns of tables that invariants walk in ranges. */
static const struct walk {
	const char         *word; /* also the table, where it has a page */
	enum statement_flag of;   /* the flag of its invariants */
	enum statement      page; /* reads the end of a range; unused by a walk that is done at once */
} walks[] = {
	{"sku", STATEMENT_BY_SKU, AUDIT_PAGE_SKU},    {"movement", STATEMENT_BY_MOVEMENT, AUDIT_PAGE_MOVEMENT},
	{.word = "sums", .of = STATEMENT_AT_ONCE},    {"reservation", STATEMENT_BY_RESERVATION, AUDIT_PAGE_RESERVATION},
	{"task", STATEMENT_BY_TASK, AUDIT_PAGE_TASK},
};

/* An invariant. */
struct block {
	const char        *name;
	enum statement     sql;
	unsigned           walk;   /* a flag; 0: none */
	int64_t            broken; /* number of rows that break it */
	struct text        shown;  /* first of these rows, as printed */
	struct json_writer w;      /* the writer of `shown` */
};

/* One audit. */
struct audit {
	struct db   *db;
	struct block blocks[BLOCKS_MAX];
	size_t       count;
	int64_t      sku_id; /* the sku to check; 0: all */
	bool         json;
};

/* Reads the invariants: the statements that have the flag of a walk. */
static void blocks_read(struct audit *a)
{
	for (int i = 0; i < STATEMENT_COUNT; i++) {
		const struct sql_block *s = &statements[i];
		unsigned                walk = s->flags & STATEMENT_INVARIANT;

		assert(a->count < BLOCKS_MAX - 1);
		if (walk && (!a->sku_id || walk == STATEMENT_BY_SKU || strstr(s->text, "{sku}")))
			a->blocks[a->count++] = (struct block){.name = s->name, .sql = (enum statement)i, .walk = walk};
	}
}

/* ---- findings */

/* Rows of one look at a block. */
struct finding {
	const struct audit *audit;
	struct block       *block;
	uint64_t           *suspects; /* hashes of the rows that the first look found, sorted for the second */
	size_t              count, max;
	bool many; /* true: more rows than are kept. No snapshot is so wrong, so every row of the second look counts */
};

/* Columns that name the thing a row is about: two looks at the thing agree in them, while numbers may have changed. */
static const char *const about[] = {"sku",         "sku_id",         "location", "location_id", "slot",   "order_id",
                                    "movement_id", "reservation_id", "task_id",  "movement_no", "key_id", "customer",
                                    NULL};

static uint64_t row_hash(const struct db_row *row)
{
	struct text key = {0};
	uint64_t    hash;

	for (unsigned i = 0; i < row->columns; i++)
		for (size_t k = 0; about[k]; k++)
			if (strcmp(db_column(row, i), about[k]) == 0) {
				text_format(&key, "%s=", about[k]);
				text_bytes(&key, row->col[i] ? row->col[i] : "", row->col[i] ? row->len[i] : 0);
				text_char(&key, row->col[i] ? '/' : '-');
			}
	hash = hash_bytes(key.data, key.len);
	text_fini(&key);
	return hash;
}

static void suspect_read(void *arg, const struct db_row *row)
{
	struct finding *f = arg;

	f->many |= f->count == SUSPECTS_MAX;
	if (f->many)
		return;
	f->suspects = mem_reach(f->suspects, f->count, &f->max, sizeof(*f->suspects));
	f->suspects[f->count++] = row_hash(row);
}

static int by_hash(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_suspect(const struct finding *f, const struct db_row *row)
{
	uint64_t hash = row_hash(row);

	return f->many || bsearch(&hash, f->suspects, f->count, sizeof(hash), by_hash);
}

static void value_json(struct json_writer *w, const struct db_row *row, unsigned i)
{
	const char *name = db_column(row, i), *text = row->col[i];
	char       *end = NULL;
	long long   n;

	errno = 0;
	n = text && db_is_number(row, i) ? strtoll(text, &end, 10) : 0;
	if (!text)
		json_put_null(w, name);
	else if (end && !*end && errno == 0)
		json_put_int(w, name, n);
	else
		json_put_bytes(w, name, text, row->len[i]);
}

/* One value, as in the log: in quotes where it could be taken for more. */
static void value_print(struct text *to, const char *name, const char *value)
{
	struct json_writer w = {.to = to};

	text_format(to, " %s=", name);
	if (*value && !strpbrk(value, " \"=\\"))
		text_add(to, value);
	else
		json_put_string(&w, NULL, value);
}

static void finding_read(void *arg, const struct db_row *row)
{
	struct finding *f = arg;
	struct block   *b = f->block;

	if (!is_suspect(f, row) || b->broken++ >= SHOWN_MAX)
		return;
	if (f->audit->json) {
		json_open_object(&b->w, NULL);
		for (unsigned i = 0; i < row->columns; i++)
			value_json(&b->w, row, i);
		json_close_object(&b->w);
		return;
	}
	text_format(&b->shown, "%s:", b->name);
	for (unsigned i = 0; i < row->columns; i++)
		value_print(&b->shown, db_column(row, i), row->col[i] ? row->col[i] : "-");
	text_char(&b->shown, '\n');
}

/* Looks at one range for one block, and a second time where the first look found rows. */
static enum db_result block_check(struct audit *a, struct block *b, const struct fill *range)
{
	struct finding f = {.audit = a, .block = b};
	enum db_result result = db_ask(a->db, b->sql, range, suspect_read, &f);

	if (result == DB_OK && f.count > 0) {
		qsort(f.suspects, f.count, sizeof(*f.suspects), by_hash);
		b->w.to = &b->shown;
		result = db_ask(a->db, b->sql, range, finding_read, &f);
	}
	free(f.suspects);
	return result;
}

/* Checks each block of the walk over one range. */
static enum db_result range_check(struct audit *a, const struct walk *walk, int64_t from, int64_t until)
{
	const struct fill range = {.from_id = from, .until_id = until, .sku = a->sku_id};
	enum db_result    result = DB_OK;

	for (size_t i = 0; i < a->count && result == DB_OK; i++)
		if (a->blocks[i].walk == walk->of)
			result = block_check(a, &a->blocks[i], &range);
	return result;
}

/* ---- ranges */

struct page {
	int64_t last, keys;
};

/* The last range has no end, so that lines without a parent are checked, too. */
static enum db_result walk_ranges(struct audit *a, const struct walk *walk)
{
	struct page    page = {0};
	int64_t        low = 0, count = KEYS_FIRST, seen = 0;
	enum db_result result = DB_OK;

	for (bool more = true; more && result == DB_OK; low = page.last) {
		int64_t since, took_ms;

		result = db_ask(a->db, walk->page, &(struct fill){.after_id = low, .limit = count}, db_ints, &page);
		more = page.keys == count;
		since = clock_ms();
		if (result == DB_OK)
			result = range_check(a, walk, low + 1, more ? page.last : INT64_MAX);
		took_ms = clock_ms() - since;
		seen += page.keys;
		bar_set(seen);
		if (took_ms < RANGE_MS / 2 && count < KEYS_MAX)
			count *= 2;
		else if (took_ms > RANGE_MS && count > 1)
			count /= 2;
	}
	return result;
}

static enum db_result walk_run(struct audit *a, const struct walk *walk)
{
	if (walk->of == STATEMENT_AT_ONCE) {
		bar_begin(walk->word, 0);
		return range_check(a, walk, 0, INT64_MAX);
	}
	if (a->sku_id && walk->of == STATEMENT_BY_SKU)
		return range_check(a, walk, a->sku_id, a->sku_id);
	bar_of_table(a->db, walk->word, walk->word);
	return walk_ranges(a, walk);
}

/* ---- events */

static void event_print(void *arg, const struct event_finding *found)
{
	struct finding *f = arg;
	struct block   *b = f->block;

	if (b->broken++ >= SHOWN_MAX)
		return;
	if (f->audit->json) {
		json_open_object(&b->w, NULL);
		json_put_string(&b->w, found->about, found->id);
		json_put_string(&b->w, "why", found->why);
		json_close_object(&b->w);
		return;
	}
	text_format(&b->shown, "%s:", b->name);
	value_print(&b->shown, found->about, found->id);
	value_print(&b->shown, "why", found->why);
	text_char(&b->shown, '\n');
}

/* Checks the invariant that needs more than SQL. It is never limited to one sku. */
static enum db_result events_check(struct audit *a)
{
	struct block  *b = &a->blocks[a->count];
	struct finding f = {.audit = a, .block = b};

	if (a->sku_id)
		return DB_OK;
	a->count++;
	*b = (struct block){.name = "events_add_up", .w.to = &b->shown};
	bar_begin("events", 0);
	return audit_events(a->db, AUDIT_SUBJECTS, event_print, &f);
}

/* ---- the report */

static void report_text(const struct audit *a, bool whole)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct block *b = &a->blocks[i];

		if (b->broken > 0)
			printf("%s", b->shown.data);
		if (b->broken > SHOWN_MAX)
			printf("%s: and %lld more rows\n", b->name, (long long)(b->broken - SHOWN_MAX));
	}
	printf("%zu invariants checked, %s\n", a->count, whole ? "all hold" : "not all hold");
}

static void report_json(const struct audit *a, bool whole)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_open_array(&w, "invariants");
	for (size_t i = 0; i < a->count; i++) {
		const struct block *b = &a->blocks[i];

		json_open_object(&w, NULL);
		json_put_string(&w, "name", b->name);
		json_open_array(&w, "rows");
		text_bytes(&out, b->shown.data ? b->shown.data : "", b->shown.len);
		json_close_array(&w);
		json_put_int(&w, "broken", b->broken);
		json_close_object(&w);
	}
	json_close_array(&w);
	json_put_bool(&w, "whole", whole);
	json_close_object(&w);
	printf("%s\n", out.data);
	text_fini(&out);
}

/* ---- the command */

static void sku_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 1);
}

static enum db_result sku_find(struct db *db, const char *code, int64_t *sku_id)
{
	struct values  rows = {0};
	enum db_result result;

	values_row(&rows, V_TEXT(code));
	result = db_ask(db, SKU_FIND, &(struct fill){.rows = &rows}, sku_read, sku_id);
	values_fini(&rows);
	return result;
}

static int audit_act(struct db *db, void *arg)
{
	struct audit  *a = arg;
	bool           whole = true;
	enum db_result result;

	a->db = db;
	db_silence_set(db, 0);
	db_stream(db);
	result = db_connect(db) ? DB_OK : DB_AWAY;
	if (result == DB_OK && option_given(OPTION_sku)) {
		result = sku_find(db, option_text(OPTION_sku), &a->sku_id);
		if (result == DB_OK && a->sku_id == 0)
			return say_status(EXIT_TROUBLE, "there is no sku %s", option_text(OPTION_sku));
	}
	blocks_read(a);
	for (size_t i = 0; i < LENGTH(walks) && result == DB_OK; i++)
		result = walk_run(a, &walks[i]);
	if (result == DB_OK)
		result = events_check(a);
	bar_end();
	if (result != DB_OK)
		return EXIT_UNAVAILABLE;
	for (size_t i = 0; i < a->count; i++)
		whole = whole && a->blocks[i].broken == 0;
	(a->json ? report_json : report_text)(a, whole);
	if (!a->sku_id)
		upkeep_note(db, whole ? UPKEEP_AUDITED : UPKEEP_AUDIT_FAILED, 0);
	return whole ? EXIT_DONE : EXIT_TROUBLE;
}

int audit_run(void)
{
	struct audit audit = {.json = option_given(OPTION_json)};
	int          status = database_run(EMBEDDED_FIND, false, audit_act, &audit);

	for (size_t i = 0; i < audit.count; i++)
		text_fini(&audit.blocks[i].shown);
	return status;
}
