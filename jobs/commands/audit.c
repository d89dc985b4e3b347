/* audit.c - the command `audit`: every invariant of schema/invariants.sql, also while the service is at work.
 *
 * Each statement is a snapshot of its own: a transaction under way raises no alarm, and no snapshot lasts long enough
 * to slow down claims. InnoDB makes a snapshot without stopping commits, and now and then one has a transaction without
 * another that was committed before. So a statement that finds rows is run again, and only rows that both runs find
 * count. Invariants are checked range by range over the keys of a table; a range takes a quarter of a second. One
 * invariant is a single statement: the units that slots have promised against the lines of live reservations, which
 * have no index by sku (every order would pay for it). The statement takes 1.0 s with 200,000 live reservations of two
 * lines among 1,000,000, 4 s with all of them live. The database makes the sums; memory here does not grow with the
 * data. The last invariant is no statement: audit_events.c. */
#include "jobs/commands/audit.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/catalogue.h"
#include "engine/db/db.h"
#include "jobs/commands/audit_events.h"
#include "jobs/commands/database.h"
#include "jobs/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_MAX = 20, BLOCKS_MAX = 40, RANGE_MS = 250, KEYS_FIRST = 500, KEYS_MAX = 100000, SUSPECTS_MAX = 100000 };

static const struct {
	const char *name, *text;
} source[] = {
#include "invariants.h"
};

/* Key columns of tables that blocks walk in ranges. */
static const struct walk {
	const char    *word;
	enum statement page;   /* the end of a range */
	bool           ranges; /* false: one statement over everything */
} walks[] = {
	{"sku", AUDIT_PAGE_SKU, true},
	{"movement", AUDIT_PAGE_MOVEMENT, true},
	{.word = "once"},
	{"reservation", AUDIT_PAGE_RESERVATION, true},
	{"task", AUDIT_PAGE_TASK, true},
};

/* An invariant. */
struct block {
	char               name[48];
	const struct walk *walk;
	const char        *begin, *end; /* the invariant's SQL */
	int64_t            broken;      /* number of rows that break it */
	struct text        shown;       /* first of these rows, as printed */
	struct json_writer w;           /* the writer of `shown` */
};

/* One audit. */
struct audit {
	struct db   *db;
	struct block blocks[BLOCKS_MAX];
	size_t       count;
	int64_t      sku_id; /* the sku to check; 0: all */
	bool         json, tty;
};

/* ---- the file of invariants */

/* The next block from `at` on: its head `NAME by TABLE` or `NAME at once`, and where its SQL begins and ends. */
static const char *block_next(const char *at, struct block *b)
{
	static const char mark[] = "-- name: ";
	const char       *found = strstr(at, mark), *next;
	char              word[48] = "";

	if (!found)
		return NULL;
	*b = (struct block){.begin = strchr(found, '\n') + 1};
	sscanf(found + strlen(mark), "%47s %*s %47s", b->name, word);
	for (size_t i = 0; i < LENGTH(walks); i++)
		if (strcmp(walks[i].word, word) == 0)
			b->walk = &walks[i];
	assert(b->walk);
	next = strstr(b->begin, mark);
	next = next ? next : b->begin + strlen(b->begin);
	for (b->end = next; b->end[-1] != ';';)
		b->end--;
	b->end--;
	return next;
}

static bool block_is_of_sku(const struct block *b)
{
	return b->walk->page == AUDIT_PAGE_SKU || memmem(b->begin, (size_t)(b->end - b->begin), "{sku ", 5);
}

static void blocks_read(struct audit *a)
{
	const char *at = source[0].text;

	while ((at = block_next(at, &a->blocks[a->count]))) {
		a->count += !a->sku_id || block_is_of_sku(&a->blocks[a->count]);
		assert(a->count < BLOCKS_MAX);
	}
}

/* {range COLUMN}: after low, up to high (INT64_MAX: all that follow). {sku TEXT}: # is the sku's number. */
static void hole_fill(struct text *sql, const struct audit *a, const char *hole, int len, int64_t low, int64_t high)
{
	int word = (int)strcspn(hole, " ") + 1;

	if (strncmp(hole, "range", 5) == 0) {
		text_format(sql, "AND %.*s > %lld", len - word, hole + word, (long long)low);
		if (high != INT64_MAX)
			text_format(sql, " AND %.*s <= %lld", len - word, hole + word, (long long)high);
		return;
	}
	for (int i = word; a->sku_id && i < len; i++)
		if (hole[i] == '#')
			text_int(sql, a->sku_id);
		else
			text_char(sql, hole[i]);
}

static void block_sql(struct text *sql, const struct audit *a, const struct block *b, int64_t low, int64_t high)
{
	text_reset(sql);
	for (const char *at = b->begin; at < b->end;) {
		size_t left = (size_t)(b->end - at);
		size_t len = strcspn(at, "{") < left ? strcspn(at, "{") : left;

		text_bytes(sql, at, len);
		at += len;
		if (at < b->end) {
			int hole = (int)strcspn(at, "}");

			hole_fill(sql, a, at + 1, hole - 1, low, high);
			at += hole + 1;
		}
	}
}

/* ---- findings */

/* Rows of one look at a block. */
struct finding {
	const struct audit *audit;
	struct block       *block;
	uint64_t           *suspects; /* hashes of the rows that the first look found, sorted for the second */
	size_t              count, max;
	bool many; /* true: more rows than are kept: no snapshot is so wrong, and the second look is believed */
};

/* Columns that name the thing a row is about: two looks at the thing agree in them, while numbers may have changed. */
static const char *const about[] = {"sku",         "sku_id",         "location", "location_id", "slot",   "order_id",
                                    "movement_id", "reservation_id", "task_id",  "movement_no", "key_id", NULL};

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
static enum db_result block_check(struct audit *a, struct block *b, const struct text *sql)
{
	struct finding f = {.audit = a, .block = b};
	enum db_result result = db_run(a->db, sql, suspect_read, &f);

	if (result == DB_OK && f.count > 0) {
		qsort(f.suspects, f.count, sizeof(*f.suspects), by_hash);
		b->w.to = &b->shown;
		result = db_run(a->db, sql, finding_read, &f);
	}
	free(f.suspects);
	return result;
}

/* Checks each block of the walk over one range. */
static enum db_result range_check(struct audit *a, const struct walk *walk, int64_t low, int64_t high)
{
	struct text    sql = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < a->count && result == DB_OK; i++) {
		if (a->blocks[i].walk != walk)
			continue;
		block_sql(&sql, a, &a->blocks[i], low, high);
		result = block_check(a, &a->blocks[i], &sql);
	}
	text_fini(&sql);
	return result;
}

/* ---- ranges */

struct page {
	int64_t last, keys;
};

static void page_read(void *arg, const struct db_row *row)
{
	*(struct page *)arg = (struct page){db_int(row, 0), db_int(row, 1)};
}

static enum db_result page_find(struct audit *a, const struct walk *walk, int64_t low, int64_t count, struct page *page)
{
	return db_ask(a->db, walk->page, &(struct fill){.after_id = low, .limit = count}, page_read, page);
}

static void progress(const struct audit *a, const struct walk *walk, int64_t keys)
{
	if (a->tty)
		fprintf(stderr, "\r%-12s %-12lld", walk->word, (long long)keys);
}

/* The last range has no end, so that lines whose parent is gone are looked at, too. */
static enum db_result walk_ranges(struct audit *a, const struct walk *walk)
{
	struct page    page = {0};
	int64_t        low = 0, count = KEYS_FIRST, seen = 0;
	enum db_result result = DB_OK;

	for (bool more = true; more && result == DB_OK; low = page.last) {
		int64_t since, took_ms;

		result = page_find(a, walk, low, count, &page);
		more = page.keys == count;
		since = clock_ms();
		if (result == DB_OK)
			result = range_check(a, walk, low, more ? page.last : INT64_MAX);
		took_ms = clock_ms() - since;
		seen += page.keys;
		progress(a, walk, seen);
		if (took_ms < RANGE_MS / 2 && count < KEYS_MAX)
			count *= 2;
		else if (took_ms > RANGE_MS && count > 1)
			count /= 2;
	}
	return result;
}

static enum db_result walk_run(struct audit *a, const struct walk *walk)
{
	progress(a, walk, 0);
	if (!walk->ranges)
		return range_check(a, walk, 0, INT64_MAX);
	if (a->sku_id && walk->page == AUDIT_PAGE_SKU)
		return range_check(a, walk, a->sku_id - 1, a->sku_id);
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

/* The invariant that needs more than SQL; it is not by sku. */
static enum db_result events_check(struct audit *a)
{
	struct block  *b = &a->blocks[a->count];
	struct finding f = {.audit = a, .block = b};

	if (a->sku_id)
		return DB_OK;
	a->count++;
	strcpy(b->name, "events_add_up");
	b->w.to = &b->shown;
	if (a->tty)
		fprintf(stderr, "\r%-25s", "events");
	return audit_events(a->db, AUDIT_SUBJECTS, event_print, &f);
}

/* ---- the report */

static int64_t report_text(const struct audit *a)
{
	int64_t broken = 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct block *b = &a->blocks[i];

		if (b->broken > 0)
			printf("%s", b->shown.data);
		if (b->broken > SHOWN_MAX)
			printf("%s: and %lld more rows\n", b->name, (long long)(b->broken - SHOWN_MAX));
		broken += b->broken;
	}
	printf("%zu invariants checked, %s\n", a->count, broken ? "not all hold" : "all hold");
	return broken;
}

static int64_t report_json(const struct audit *a)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};
	int64_t            broken = 0;

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
		broken += b->broken;
	}
	json_close_array(&w);
	json_put_bool(&w, "whole", broken == 0);
	json_close_object(&w);
	printf("%s\n", out.data);
	text_fini(&out);
	return broken;
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
	enum db_result result;

	a->db = db;
	db_silence_set(db, 0);
	db_stream(db);
	result = db_connect(db) ? DB_OK : DB_AWAY;
	if (result == DB_OK && option_given(OPTION_sku)) {
		result = sku_find(db, option_text(OPTION_sku), &a->sku_id);
		if (result == DB_OK && a->sku_id == 0) {
			say("there is no sku %s", option_text(OPTION_sku));
			return EXIT_TROUBLE;
		}
	}
	blocks_read(a);
	for (size_t i = 0; i < LENGTH(walks) && result == DB_OK; i++)
		result = walk_run(a, &walks[i]);
	if (result == DB_OK)
		result = events_check(a);
	if (a->tty)
		fprintf(stderr, "\r%25s\r", "");
	if (result != DB_OK)
		return EXIT_UNAVAILABLE;
	return (a->json ? report_json(a) : report_text(a)) > 0 ? EXIT_TROUBLE : EXIT_DONE;
}

int audit_run(char **operands)
{
	struct audit audit = {.json = option_given(OPTION_json), .tty = isatty(STDERR_FILENO)};
	int          status = database_run(EMBEDDED_FIND, false, audit_act, &audit);

	(void)operands;
	for (size_t i = 0; i < audit.count; i++)
		text_fini(&audit.blocks[i].shown);
	return status;
}
