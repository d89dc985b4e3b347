/* sales.c - the orders of a shop, to be replayed: its invoices, each one reservation. Rows that sell nothing (returns,
 * codes that are no sku) are left out, equal codes of an invoice are one line. Without a file they are made up in the
 * shape of the data set `Online Retail`, as tests/demo/made_up.py does it: few codes that sell a lot and many that
 * hardly sell, a dozen lines in the mean and sometimes two hundred. */
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "ledger.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_ORDERS = 2000, MADE_CODES = MADE_ORDERS / 3, MADE_LINES = 12, MADE_LINES_MAX = 200, FIELDS = 3 };

/* A row of the file: an invoice, a sku, a quantity. */
struct sale {
	int invoice, sku, qty;
};

static struct {
	struct line *lines; /* of all orders, one after the other; an order's are sorted by code */
	size_t      *first; /* where each order's begin, and where the last one's end */
	size_t       orders;
} sales;

int lines_sold(const struct ledger *l, uint64_t number, struct line *to)
{
	const size_t *first = &sales.first[number % sales.orders];

	(void)l;
	memcpy(to, sales.lines + first[0], (first[1] - first[0]) * sizeof(*to));
	return (int)(first[1] - first[0]);
}

/* ---- rows to orders */

struct rows {
	struct sale *list;
	size_t       count, max;
	char (*codes)[CODE_SIZE]; /* a sale's sku is an index of it; of a file each row's own, until codes_sort */
	size_t codes_count, codes_max;
	/* the reader's */
	int  column, wanted[64]; /* the field of each column, or -1 */
	bool headed;
	char field[FIELDS][CODE_SIZE], invoice[CODE_SIZE];
	int  invoices;
};
enum { FIELD_INVOICE, FIELD_CODE, FIELD_QTY };

static void sale_add(struct rows *r, int sku, int qty)
{
	r->list = mem_reach(r->list, r->count, &r->max, sizeof(*r->list));
	r->list[r->count++] = (struct sale){r->invoices, sku, qty};
}

static int code_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int sale_compare(const void *a, const void *b)
{
	const struct sale *x = a, *y = b;

	return x->invoice != y->invoice ? (x->invoice > y->invoice) - (x->invoice < y->invoice)
	                                : (x->sku > y->sku) - (x->sku < y->sku);
}

/* Each code once, sorted, so that the numbers of skus are in the order of their codes. */
static void codes_sort(struct rows *r)
{
	char(*by_number)[CODE_SIZE] = mem_alloc(r->codes_count * CODE_SIZE);

	size_t kept = 0;

	memcpy(by_number, r->codes, r->codes_count * CODE_SIZE);
	qsort(r->codes, r->codes_count, CODE_SIZE, code_compare);
	for (size_t i = 0; i < r->codes_count; i++)
		if (i == 0 || strcmp(r->codes[i], r->codes[kept - 1]) != 0)
			memmove(r->codes[kept++], r->codes[i], CODE_SIZE);
	r->codes_count = kept;
	for (size_t i = 0; i < r->count; i++) {
		const char(*at)[CODE_SIZE] =
			bsearch(by_number[r->list[i].sku], r->codes, r->codes_count, CODE_SIZE, code_compare);

		r->list[i].sku = (int)(at - r->codes);
	}
	free(by_number);
}

static void orders_make(struct rows *r)
{
	size_t lines = 0;

	codes_sort(r);
	qsort(r->list, r->count, sizeof(*r->list), sale_compare);
	sales.lines = mem_alloc(r->count * sizeof(*sales.lines));
	sales.first = mem_alloc((r->count + 1) * sizeof(*sales.first));
	for (size_t i = 0; i < r->count; i++) {
		const struct sale *s = &r->list[i];
		bool               same = i > 0 && s->invoice == s[-1].invoice;

		if (same && s->sku == s[-1].sku) {
			sales.lines[lines - 1].qty += s->qty;
			continue;
		}
		/* an invoice that is longer than an order may be goes on as another one */
		if (!same || lines - sales.first[sales.orders - 1] == LINES_MAX)
			sales.first[sales.orders++] = lines;
		sales.lines[lines++] = (struct line){s->sku, s->qty};
	}
	sales.first[sales.orders] = lines;
}

/* ---- made up */

static void made_up(struct rows *r)
{
	static const int quantities[] = {1, 1, 1, 2, 2, 3, 4, 6, 6, 8, 12, 12, 24, 48, 144};
	static double    sums[MADE_CODES]; /* of 1/3, 1/4, .. */
	uint64_t         draw = 0;

	r->codes = mem_alloc(MADE_CODES * sizeof(*r->codes));
	r->codes_count = MADE_CODES;
	for (int i = 0; i < MADE_CODES; i++) {
		sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (i + 3);
		snprintf(r->codes[i], CODE_SIZE, "%d%.1s", 20000 + (i * 7919) % 70000, &"ABL"[i % 4]);
	}
	for (; r->invoices < MADE_ORDERS; r->invoices++) {
		double chance = (double)(number_spread(draw++) >> 11) / (double)(UINT64_C(1) << 53);
		int    count = 1 + (int)(-MADE_LINES * log(1 - chance));

		for (int i = 0; i < count && i < MADE_LINES_MAX; i++) {
			double wanted = (double)(number_spread(draw++) >> 11) / (double)(UINT64_C(1) << 53) *
			                sums[MADE_CODES - 1];
			int sku = 0;

			while (sums[sku] < wanted)
				sku++;
			sale_add(r, sku, quantities[number_spread(draw++) % LENGTH(quantities)]);
		}
	}
}

/* ---- read */

static void field_came(void *text, size_t len, void *arg)
{
	static const char *const names[FIELDS] = {"InvoiceNo", "StockCode", "Quantity"};
	struct rows             *r = arg;
	int                      column = r->column++;

	if (column >= (int)LENGTH(r->wanted))
		return;
	if (!r->headed)
		r->wanted[column] = -1;
	for (int i = 0; !r->headed && i < FIELDS; i++)
		if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
			r->wanted[column] = i;
	if (r->headed && r->wanted[column] >= 0) /* a text that is too long is no code */
		snprintf(r->field[r->wanted[column]], CODE_SIZE, "%.*s", len < CODE_SIZE ? (int)len : 0,
		         (const char *)text);
}

static void row_came(int end, void *arg)
{
	struct rows *r = arg;
	const char  *code = r->field[FIELD_CODE];
	int          qty = atoi(r->field[FIELD_QTY]);

	(void)end;
	if (r->headed && qty > 0 && code_valid(code, strlen(code), SKU_MAX)) {
		r->invoices += strcmp(r->invoice, r->field[FIELD_INVOICE]) != 0;
		memcpy(r->invoice, r->field[FIELD_INVOICE], CODE_SIZE);
		r->codes = mem_reach(r->codes, r->codes_count, &r->codes_max, CODE_SIZE);
		memcpy(r->codes[r->codes_count], code, CODE_SIZE);
		sale_add(r, (int)r->codes_count++, qty);
	}
	r->headed = true;
	r->column = 0;
	memset(r->field, 0, sizeof(r->field));
}

static bool file_read(struct rows *r, const char *path)
{
	struct csv_parser parser;
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which some programs put first */
	char              buffer[1 << 16];
	FILE             *file = fopen(path, "re");
	size_t            n;
	bool              whole = file && csv_init(&parser, CSV_STRICT) == 0;

	if (!file) {
		say("bench: cannot read %s: %s", path, strerror(errno));
		return false;
	}
	if (whole && (fread(buffer, 1, strlen(mark), file) < strlen(mark) || memcmp(buffer, mark, strlen(mark)) != 0))
		rewind(file);
	while (whole && (n = fread(buffer, 1, sizeof(buffer), file)) > 0)
		whole = csv_parse(&parser, buffer, n, field_came, row_came, r) == n;
	whole = whole && csv_fini(&parser, field_came, row_came, r) == 0 && r->count > 0;
	if (!whole)
		say("bench: %s is no CSV file with sales in columns InvoiceNo, StockCode, Quantity", path);
	csv_free(&parser);
	fclose(file);
	return whole;
}

bool sales_open(struct ledger *l, const char *file)
{
	struct rows r = {0};
	bool        read = true;

	if (file)
		read = file_read(&r, file);
	else
		made_up(&r);
	if (read) {
		orders_make(&r);
		printf("%s: %zu orders, %zu lines of %zu skus\n", file ? file : "made-up sales", sales.orders,
		       sales.first[sales.orders], r.codes_count);
	}
	l->codes = r.codes;
	l->count = (int)r.codes_count;
	free(r.list);
	return read;
}

void sales_close(struct ledger *l)
{
	free(l->codes);
	free(sales.lines);
	free(sales.first);
}
