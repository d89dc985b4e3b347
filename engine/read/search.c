/* search.c - see search.h. Three things tell what has changed. Changes of texts are numbered in the order of their
 * commits (table sku_text). New skus have rising numbers. A number that is left out may be of a sku that is committed a
 * moment later, so it is asked for again for a while. Every answer is of one moment of the database.
 *
 * Memory that is no longer true is forgotten: the catalogue has another past, a number is lower than a known one, or a
 * known sku has another code or is gone. */
#include "engine/read/search.h"
#include "engine/base/clock.h"
#include "engine/base/codes.h"
#include "engine/base/memory.h"
#include "engine/base/utf8.h"
#include "engine/catalogue/past.h"
#include "engine/rows.h"
#include "engine/catalogue/sku_details.h"

/* MISSING_MS: longer than a transaction that makes a sku can last. */
enum { TEXTS_PAGE = 10000, MISSING_MAX = 4096, MISSING_MS = 30000, RESTARTS_MAX = 3 };
enum { BARCODES_BYTES = BARCODES_MAX * (BARCODE_MAX + 1) };

/* A number up to the newest one that no sku had yet. */
struct missing {
	uint32_t sku_id;
	int64_t  until_ms; /* clock_ms until which it is asked for */
};

struct search {
	struct sku_texts texts;
	unsigned         past;    /* catalogue_past of the texts; 0: none are known */
	int64_t          number;  /* of the last change that is known; -1: none was looked for */
	uint32_t         newest;  /* the largest number of a sku that was read; 0: none */
	struct missing  *missing; /* MISSING_MAX at most, sorted */
	size_t           missing_count;
	int64_t          refused_until_ms; /* clock_ms until which the texts are too large; in the past: they are not */
};

struct search *search_new(size_t bytes_max)
{
	struct search *s = mem_alloc(sizeof(*s));

	s->texts.max = bytes_max;
	s->number = -1;
	return s;
}

void search_forget(struct search *s)
{
	sku_texts_fini(&s->texts);
	free(s->missing);
	s->missing = NULL;
	s->missing_count = 0;
	s->past = s->newest = 0;
	s->number = -1;
}

void search_free(struct search *s)
{
	if (!s)
		return;
	search_forget(s);
	free(s);
}

/* ---- what is missing */

static void missing_add(struct search *s, uint32_t sku_id, int64_t until_ms)
{
	if (!s->missing)
		s->missing = mem_alloc(MISSING_MAX * sizeof(*s->missing));
	if (s->missing_count == MISSING_MAX) {
		s->missing_count--;
		memmove(s->missing, s->missing + 1, s->missing_count * sizeof(*s->missing));
	}
	s->missing[s->missing_count++] = (struct missing){sku_id, until_ms};
}

/* The numbers between the newest known one and the next. */
static void gap_add(struct search *s, uint32_t next)
{
	uint32_t from = s->newest + 1;

	if (next - from > MISSING_MAX)
		from = next - MISSING_MAX;
	for (uint32_t id = from; id < next; id++)
		missing_add(s, id, clock_ms() + MISSING_MS);
}

/* Drops those that have been found, and those that will not come. */
static void missing_drop(struct search *s)
{
	size_t  left = 0, len;
	int64_t now_ms = clock_ms();

	for (size_t i = 0; i < s->missing_count; i++)
		if (s->missing[i].until_ms > now_ms && !sku_texts_code(&s->texts, s->missing[i].sku_id, &len))
			s->missing[left++] = s->missing[i];
	s->missing_count = left;
}

/* ---- reading */

/* PART_LAST: the number of the last change. The others are skus: changed ones, new ones, and found ones of those that
 * were missing. */
enum part { PART_LAST, PART_CHANGED, PART_NEW, PART_MISSING };

struct texts_reader {
	struct search *search;
	uint32_t       newest;               /* that was known before */
	bool           other;                /* the known texts are of another past */
	bool           large;                /* there is no room for more */
	bool           has_newest;           /* the newest known sku is there */
	int64_t        last;                 /* number of the last change of all */
	size_t         changed, made, found; /* rows of each part */
};

/* True: the statement may give this row, and each column has a size that it may have. */
static bool row_fits(const struct texts_reader *in, const struct db_row *row)
{
	int64_t part = db_int(row, 0), number = db_int(row, 1), id = db_int(row, 2);
	size_t  rows = part == PART_CHANGED ? in->changed : part == PART_NEW ? in->made : in->found;

	if (part < PART_LAST || part > PART_MISSING || number < 0)
		return false;
	if (part == PART_LAST)
		return true;
	if (id < 1 || id > UINT32_MAX || !row->col[3] || row->len[3] > SKU_MAX || rows == TEXTS_PAGE)
		return false;
	if ((row->col[4] && row->len[4] > SKU_NAME_BYTES) || (row->col[5] && row->len[5] > BARCODES_BYTES))
		return false;
	if (part == PART_CHANGED)
		return number > in->search->number;
	return part == PART_MISSING || id > in->search->newest || (id == in->newest && in->made == 0);
}

/* True: the code can be a code. A damaged row may have any bytes; its sku is not found. */
static bool is_code(const char *code, size_t len)
{
	return len > 0 && strlen(code) == len && utf8_valid(code);
}

static void text_enter(struct texts_reader *in, const struct db_row *row)
{
	struct search        *s = in->search;
	const struct sku_text text = {(uint32_t)db_int(row, 2),
	                              row->col[3],
	                              row->col[4],
	                              row->col[5],
	                              row->len[3],
	                              row->col[4] ? row->len[4] : 0,
	                              row->col[5] ? row->len[5] : 0};
	size_t                len;
	const char           *known = sku_texts_code(&s->texts, text.sku_id, &len);

	in->other |= known && (len != text.code_len || memcmp(known, text.code, len) != 0);
	if (text.sku_id == in->newest && known && db_int(row, 0) == PART_NEW)
		return; /* it only shows that it is there */
	if (!in->other && !in->large && is_code(text.code, text.code_len))
		in->large = !sku_texts_put(&s->texts, &text);
}

static void text_read(void *arg, const struct db_row *row)
{
	struct texts_reader *in = arg;
	struct search       *s = in->search;
	uint32_t             id;

	if (!row_fits(in, row)) {
		db_other(row);
		return;
	}
	id = (uint32_t)db_int(row, 2);
	if (db_int(row, 0) == PART_LAST) {
		in->last = db_int(row, 1);
		return;
	}
	text_enter(in, row);
	if (db_int(row, 0) == PART_CHANGED) {
		s->number = db_int(row, 1);
		in->changed++;
	} else if (db_int(row, 0) == PART_NEW) {
		in->made++;
		in->has_newest |= id == in->newest;
		if (id > s->newest)
			gap_add(s, id);
		s->newest = id;
	} else {
		in->found++;
	}
}

/* One page of changes and new skus. The first one notes the last change: all texts are read behind that moment. *more:
 * there are further pages. */
static enum db_result page_read(struct db *db, struct search *s, struct texts_reader *in, bool *more)
{
	struct values  missing = {0};
	bool           first = s->number < 0;
	enum db_result result;

	*in = (struct texts_reader){.search = s, .newest = s->newest, .has_newest = s->newest == 0};
	missing_drop(s);
	values_row(&missing, V_INT(0));
	for (size_t i = 0; i < s->missing_count; i++)
		values_row(&missing, V_INT(s->missing[i].sku_id));
	s->number = first ? INT64_MAX : s->number;
	result = db_ask(db, TEXTS_READ,
	                &(struct fill){.after_id = s->number, .sku = s->newest, .rows = &missing, .limit = TEXTS_PAGE},
	                text_read, in);
	values_fini(&missing);
	if (first)
		s->number = in->last;
	in->other |= in->last < s->number || !in->has_newest;
	*more = in->changed == TEXTS_PAGE || in->made == TEXTS_PAGE;
	return result;
}

/* Reads pages until nothing is left, from the beginning where what is known is of another past. */
static enum db_result texts_read(struct db *db, struct search *s, bool *large)
{
	struct texts_reader in = {.large = false};
	int                 restarts = 0;
	bool                more = true;
	enum db_result      result = DB_OK;

	while (result == DB_OK && more && !in.large) {
		result = page_read(db, s, &in, &more);
		if (result != DB_OK || !in.other)
			continue;
		search_forget(s);
		more = true;
		result = ++restarts < RESTARTS_MAX ? DB_OK : DB_RETRY;
	}
	*large = in.large;
	return result;
}

/* Texts that are not all known are forgotten. */
enum db_result search_read(struct db *db, struct search *s, bool *large)
{
	unsigned       past = catalogue_past(past_catalogue(db));
	enum db_result result;

	*large = clock_ms() < s->refused_until_ms;
	if (*large)
		return DB_OK;
	if (s->past != past)
		search_forget(s);
	result = texts_read(db, s, large);
	if (*large)
		s->refused_until_ms = clock_ms() + SEARCH_REFUSED_MS;
	if (*large || result != DB_OK)
		search_forget(s);
	else
		s->past = past;
	return result;
}

enum db_result search_keep(struct db *db, struct search *s)
{
	bool large;

	return s->past > 0 ? search_read(db, s, &large) : DB_OK;
}

/* ---- finding */

bool search_fits(const char *text)
{
	size_t characters = 0, bytes;

	if (!utf8_valid(text))
		return false;
	for (; *text && characters <= SEARCH_MAX; text += bytes, characters++) {
		uint32_t c = utf8_read(text, &bytes);

		if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
			return false;
	}
	return characters >= SEARCH_MIN && characters <= SEARCH_MAX;
}

/* The sku of this code in the catalogue, if it has the number that was found; otherwise NULL. */
static struct sku *known_sku(struct catalogue *c, const struct sku_found *found)
{
	char        code[SKU_MAX + 1];
	struct sku *sku;

	assert(found->len <= SKU_MAX);
	memcpy(code, found->code, found->len);
	code[found->len] = '\0';
	sku = catalogue_sku(c, code);
	return sku && sku_id(sku) == found->sku_id ? sku : NULL;
}

/* The numbers by which orders find their units never come from this memory: the database gives those that the catalogue
 * lacks, or knows otherwise. */
static enum db_result skus_know(struct db *db, const struct sku_found *found, size_t count, struct sku **list)
{
	struct catalogue *c = past_catalogue(db);
	struct values     codes = {0};
	enum db_result    result = DB_OK;

	for (size_t i = 0; i < count; i++)
		if (!known_sku(c, &found[i]))
			values_row(&codes, V_BYTES(found[i].code, found[i].len));
	if (codes.count > 0)
		result = db_ask(db, SKU_FIND, &(struct fill){.rows = &codes}, sku_row_read, c);
	values_fini(&codes);
	for (size_t i = 0; result == DB_OK && i < count; i++) {
		list[i] = known_sku(c, &found[i]);
		result = list[i] ? DB_OK : DB_RETRY;
	}
	return result;
}

enum db_result search_find(struct db *db, struct search *s, const char *text, const char *code, bool exact,
                           struct sku **list, size_t max, size_t *count)
{
	struct sku_found *found = mem_alloc(max * sizeof(*found));
	struct sku_found  after = {.exact = exact, .code = code, .len = strlen(code)};
	enum db_result    result;

	*count = sku_texts_find(&s->texts, text, strlen(text), *code ? &after : NULL, found, max);
	result = skus_know(db, found, *count, list);
	if (result == DB_RETRY)
		search_forget(s);
	free(found);
	return result;
}

bool search_exact(const struct search *s, const char *text, const struct sku *sku)
{
	return sku_texts_exact(&s->texts, text, strlen(text), sku_id(sku));
}
