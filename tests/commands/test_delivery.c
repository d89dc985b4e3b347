/* test_delivery.c - reading a CSV file of stock, row by row; the command: test_import.c. */
#include "commands/import/delivery.h"
#include "tests/lang/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[300];

static const char *file_of(const char *bytes, size_t len)
{
	FILE *out;

	snprintf(path, sizeof(path), "%s/delivery-XXXXXX", scratch_dir());
	out = fdopen(mkstemp(path), "w");
	cr_assert(out && fwrite(bytes, 1, len, out) == len && fclose(out) == 0);
	return path;
}

/* "1:A=3@annex 2:! ": each row with the line on which it begins. */
static void row_write(void *arg, const struct delivery_row *row)
{
	struct text *to = arg;

	text_format(to, "%lld:", (long long)row->line);
	if (row->wrong)
		text_format(to, "%.3s ", row->wrong);
	else
		text_format(to, "%s=%lld%s%s ", row->sku, (long long)row->qty, row->location ? "@" : "",
		            row->location ? row->location : "");
}

static bool read_file(const char *file, enum movement_kind                                  kind,
                      void (*each)(void *arg, const struct delivery_row *row), struct text *rows)
{
	struct delivery d = {.file = file, .naming.kind = kind, .each = each, .arg = rows};

	bool ok = delivery_read(&d);

	delivery_fini(&d);
	return ok;
}

static void rows_are(const char *bytes, size_t len, const char *expected)
{
	struct text rows = {0};
	bool        ok;

	text_add(&rows, "");
	ok = read_file(file_of(bytes, len), RECEIPT, row_write, &rows);
	cr_expect(ok == (expected != NULL), "%s: %s", bytes, ok ? "read" : "refused");
	if (ok && expected)
		cr_expect_str_eq(rows.data, expected);
	text_fini(&rows);
}

/* Every column is found, also behind many others. */
Test(delivery, wide)
{
	static const int at[] = {63, 64, 65, 100, 1000, 20000};

	for (size_t i = 0; i < LENGTH(at); i++) {
		struct text file = {0};

		text_add(&file, "sku,qty");
		for (int column = 2; column < at[i]; column++)
			text_format(&file, ",c%d", column);
		text_add(&file, ",location\nA,3");
		for (int column = 2; column < at[i]; column++)
			text_add(&file, ",x");
		text_add(&file, ",annex\n");
		rows_are(file.data, file.len, "2:A=3@annex ");
		text_fini(&file);
	}
}

Test(delivery, rows)
{
	static const struct {
		const char *text, *rows; /* NULL: the file is refused */
	} cases[] = {
		{"sku,qty\nA,3\n", "2:A=3 "},
		{"sku,qty\nA,3", "2:A=3 "},
		{"QTY,note,Location,SKU\r\n3,\"x \"\"y\"\", z\",annex,A\r\n4,,,B\r\n", "2:A=3@annex 3:B=4 "},
		{"note,sku,qty\n\"two\nlines\",A,1\n,B,2\n", "2:A=1 4:B=2 "},
		{"sku,qty\n\n\nA,1\n\n", "4:A=1 "},
		{"sku,qty\nA,0\nB,-1\nC,1e3\nD,1000000000001\nE,00000000000001\nF,\n",
	         "2:qty 3:qty 4:qty 5:qty 6:qty 7:qty "},
		{"sku,qty\n,1\n\" a\",1\n..,1\n\"a \",1\n", "2:sku 3:sku 4:sku 5:sku "},
		{"sku,qty,location\nA,1,\" b\"\nA,1,.\n", "2:loc 3:loc "},
		{"sku,qty\rA,1\rB,x\r\rC,2", "2:A=1 3:qty 5:C=2 "},
		{"sku,qty\r\nA,1\r\n\r\nB,x\n\rC,2\r", "2:A=1 4:qty 6:C=2 "},
		{"note,sku,qty\r\"two\rlines\",A,1\r,B,2\r", "2:A=1 4:B=2 "},
		{"sku,qty,location\nRED L/2, 1 ,# 1\n\"50%, \"\"a\"\"\",2,?\n", "2:RED L/2=1@# 1 3:50%, \"a\"=2@? "},
		{"sku,qty\nA\n", "2:it  "},
		{"sku,qty\nA,1,000\nA,1,\nB,2\n", "2:it  3:it  4:B=2 "},
		{"", NULL},
		{"sku\nA\n", NULL},
		{"sku,qty,QTY\nA,1,2\n", NULL},
		{"sku,location,qty,Location\nA,a,1,b\n", NULL},
		{"note,sku,qty,note\nx,A,1,y\n", "2:A=1 "},
		{"a,b\n1,2\n", NULL},
		{"sku,from,to,qty\nA,main,annex,3\n", NULL}, /* lists of other kinds */
		{"sku,qty,counted\nA,3,3\n", NULL},
		{"sku,qty,short\nA,3,\n", NULL},
		{"order_id,sku,qty\nR,A,3\n", NULL},
		{"sku,qty\nA\"B,1\n", NULL},
		{"sku,qty\n\"A,1\n", NULL},
	};
	static const char nul[] = "sku,qty\nA\0B,1\n";

	for (size_t i = 0; i < LENGTH(cases); i++)
		rows_are(cases[i].text, strlen(cases[i].text), cases[i].rows);
	rows_are(nul, sizeof(nul) - 1, "2:sku ");
	cr_expect(!read_file("/nowhere", RECEIPT, row_write, &(struct text){0}));
}
