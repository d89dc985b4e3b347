/* test_import.c - the command import: what counts as a row, what is refused and how it is named, repeats. */
#include "tests/flow.h"
#include "tests/steps.h"

#include <stdio.h>
#include <string.h>

static void file_write(const char *content, char *path, size_t size)
{
	FILE *file;

	snprintf(path, size, "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	file = fopen(path, "w");
	cr_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* Imports `content`; the step goes on behind the file's name. */
static void import(const char *content, const char *step)
{
	char path[300];

	file_write(content, path, sizeof(path));
	flow_step("run import %s%s", path, step);
}

#define MARK "\xEF\xBB\xBF"

static const struct {
	const char *content, *step, *stock; /* in the end: sku, location, units */
} files[] = {
	{"sku,qty\nA,5\nB,7\n", " -> 0 '~2 rows, 12 units in 1 movements; 0 bad rows'", "A,main,5 B,main,7"},
	{"sku,qty\nA,5\nB,7\n", " --json --log-level warn -> 0 rows=2 units=12 movements=1 replayed=0 bad=0",
         "A,main,5 B,main,7"},
	{"qty,location,note,SKU\r\n5,paris,x,A\r\n7,,y,A\r\n", " -> 0 '~2 rows, 12 units'", "A,main,7 A,paris,5"},
	{"sku,qty\n\"A\",\"5\"\n\nB,7", " -> 0 '~2 rows, 12 units'", "A,main,5 B,main,7"},
	{"note,sku,qty\n\"two\nlines, \"\"quoted\"\"\",A,5\n", " -> 0 '~1 rows, 5 units'", "A,main,5"},
	{MARK "sku,qty\nA,5\n", " -> 0 '~1 rows, 5 units'", "A,main,5"},
	{MARK "\"sku\",\"qty\"\nA,5\n", " -> 0 '~1 rows, 5 units'", "A,main,5"},
	{"sku,qty\n" MARK "A,5\n", " -> 1 '~line 2: sku must be'", ""},
	{"sku,qty\nA,5\nB,7,paris\nC,1\n",
         " -> 1 '~line 3: it has more fields than the first line' '~1 bad rows: nothing'", ""},
	{"sku,qty\nA,5\nB,7,paris\nC,1\n", " --skip-bad -> 0 '~2 rows, 6 units' '~1 bad rows left out'",
         "A,main,5 C,main,1"},
	{"sku,qty\nA,5,\n", " -> 1 '~line 2: it has more fields than the first line'", ""},
	{"sku,qty,location\nA,5\nB,7,paris\n", " -> 0 '~2 rows, 12 units'", "A,main,5 B,paris,7"},
	{"sku,qty\nA\nB,0\nC,-1\nD,1.0\nE,x\nF,1000000001\n,5\n\"A \",5\nOK,1\n",
         " -> 1 '~line 2: qty' '~line 3: qty' '~line 4: qty' '~line 5: qty' '~line 6: qty' '~line 7: qty'"
         " '~line 8: sku' '~line 9: sku' '~8 bad rows: nothing was loaded'",
         ""},
	{"sku,qty,location\nA,1,\" b\"\n", " -> 1 '~line 2: location must be'", ""},
	{"sku,amount\nA,5\n", " -> 1 '~the first line must name the columns sku and qty'", ""},
	{"sku,qty,locaton\nA,5,paris\n", " -> 0 '~.csv: these columns are passed over: locaton' '~1 rows, 5 units'",
         "A,main,5"},
	{"a,sku,,\"b\nc\",qty,LOCATION,\n,A,,,5,paris,\n", " -> 0 '~columns are passed over: a, b?c'", "A,paris,5"},
	{"sku,qty,location\nA,5,paris\n", " -> 0 '!~passed over'", "A,paris,5"},
	{"sku,qty,Qty\nA,5,6\n", " -> 1 '~the first line names the column qty twice'", ""},
	{"", " -> 1 '~is empty: the first line must name'", ""},
	{"sku,qty\nA,5\n\"B,7\n", " -> 1 '~not CSV'", ""},
	{"sku,qty\n", " -> 0 '~0 rows, 0 units in 0 movements'", ""},
};

Test(import, files)
{
	flow_begin();
	for (size_t i = 0; i < LENGTH(files); i++) {
		import(files[i].content, files[i].step);
		flow_step("sql SELECT k.code, o.code, SUM(available) FROM stock_slot JOIN sku k USING (sku_id)"
		          " JOIN location o USING (location_id) GROUP BY 1, 2 ORDER BY 1, 2 -> %s",
		          files[i].stock);
		flow_steps("sql DELETE FROM movement_line",
		           "sql DELETE FROM movement",
		           "sql DELETE FROM stock_slot",
		           "sql DELETE FROM sku");
	}
	flow_step(BY_HAND);
	flow_end();
}

Test(import, the_same_file_is_one_delivery)
{
	flow_begin();
	import("sku,qty\nA,5\n", " -> 0");
	import("sku,qty\nA,5\n", " -> 0 '~all received before'");
	import("sku,qty\nA,5\n", " --id monday -> 0 '~1 rows, 5 units in 1 movements;'");
	import("sku,qty\nA,5\n", " --id monday -> 0 '~all received before'");
	import("sku,qty\nA,6\n", " -> 0 '~1 rows, 6 units in 1 movements;'");
	import("sku,qty\nA,5\n", " --id 'b ' -> 64");
	flow_steps("sku A                    -> available=16",
	           "movements A              -> items=3 items[0].kind=receipt items[0].reason=import",
	           "run import               -> 64",
	           "run import /no/such/file -> 1 '~cannot read'");
	flow_end();
}

/* More than a movement holds, and more than is read at once. */
Test(import, a_large_file)
{
	struct text rows = {0};

	text_add(&rows, "sku,qty\n");
	for (int i = 0; i < 25000; i++)
		text_format(&rows, "S%d,%d\n", i % 7000, 1 + i % 3);
	flow_begin();
	import(rows.data, " --json --log-level warn -> 0 rows=25000 movements=25 replayed=0 bad=0");
	import(rows.data, " --json --log-level warn -> 0 rows=25000 movements=25 replayed=25 bad=0");
	flow_steps("sql SELECT COUNT(*) FROM sku              -> 7000",
	           "sql SELECT SUM(available) FROM stock_slot -> 49999");
	flow_end();
	text_fini(&rows);
}
