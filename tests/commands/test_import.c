/* test_import.c - the command import: what counts as a row, what is refused and how it is named, repeats. */
#include "engine/base/hash.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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
	{"sku,qty\nA,5\nB,7\n", " --json --log-level warn -> 0 rows=2 units=12 movements=1 replayed=0 bad=0 refused=0",
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
	{"sku,qty,location\nA,5\nB,7,paris\n",
         " -> 1 '~line 2: it has fewer fields than the first line' '~1 bad rows: nothing'", ""},
	{"sku,qty\nA\nB,0\nC,-1\nD,1.5\nE,x\nF,1000000000001\n,5\n\"A \",5\nOK,1\n",
         " -> 1 '~line 2: it has fewer fields' '~line 3: qty' '~line 4: qty' '~line 5: qty' '~line 6: qty' '~line 7: "
         "qty'"
         " '~line 8: sku' '~line 9: sku' '~8 bad rows: nothing was loaded'",
         ""},
	{"sku,qty,location\nA,1,\" b\"\n", " -> 1 '~line 2: location must be'", ""},
	{"sku,amount\nA,5\n",
         " -> 1 '~the first line must name the columns sku and qty; separated by commas, it names sku, amount'", ""},
	{"order_id,sku,qty\nR1,A,5\n",
         " -> 1 '~the column order_id is of a list of another kind: say --kind reservation'", ""},
	{"sku,qty,waits_since\nA,5,\n",
         " -> 1 '~the column waits_since is of a list of another kind: say --kind reservation'", ""},
	{"sku,qty,ship_after,state\nA,5,,new\n", " -> 1 '~the column ship_after is of a list of another kind'", ""},
	{"sku,qty,location\nA,5,12345678901234567890123456789012345678901234567890123456789012345\n",
         " -> 1 '~line 2: location must be'", ""},
	{"sku,qty\rA,5\rB,x\rC,1\rD,-2\r", " -> 1 '~line 3: qty' '~line 5: qty' '~2 bad rows'", ""},
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

/* Rows that were received before are found by the ids of their movements: no lane works for them, and no row is locked
 * by them. */
Test(import, a_repeat_reads)
{
	struct text rows = {0};

	text_add(&rows, "sku,qty\n");
	for (int i = 0; i < 2500; i++)
		text_format(&rows, "S%d,2\n", i);
	flow_begin();
	import(rows.data, " --new-skus -> 0 '~3 movements;'");
	flow_step("lock");
	import(rows.data, " --new-skus -> 0 '~2500 rows, 5000 units in 3 movements, all received before'");
	flow_step("unlock");
	text_add(&rows, "S1,1\n");
	import(rows.data, " --id other -> 0 '~2501 rows, 5001 units in 3 movements;'");
	flow_steps("sql SELECT COUNT(*) FROM movement         -> 6",
	           "sql SELECT SUM(available) FROM stock_slot -> 10001");
	flow_end();
	text_fini(&rows);
}

/* More rows than a movement holds, and more than are read at once. */
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

/* Rows of a list of `count`: one unit each of S0, S1 ..; the skus repeat after `skus`. Rows `bad` and every `each`
 * after it have no number unless they were put right. */
static const char *rows_made(struct text *rows, int count, int skus, int bad, int each, bool right)
{
	text_reset(rows);
	text_add(rows, "sku,qty\n");
	for (int i = 1; i <= count; i++)
		if (i >= bad && (i - bad) % each == 0 && !right)
			text_format(rows, "S%d,one\n", i % skus);
		else
			text_format(rows, "S%d,1\n", i % skus);
	return rows->data;
}

/* A file that was loaded without its bad rows, put right and loaded again: each row once, and so at any later time. */
Test(import, put_right)
{
	static const struct {
		int count, skus, bad, each;
	} lists[] = {{3100, 3100, 17, 5000}, {2300, 700, 990, 11}, {4001, 13, 1, 1000}, {999, 999, 5, 5000}};
	struct text rows = {0};

	flow_begin();
	for (size_t i = 0; i < LENGTH(lists); i++) {
		int  count = lists[i].count, skus = lists[i].skus, bad = lists[i].bad, each = lists[i].each;
		int  bads = (count - bad) / each + 1;
		char step[200];

		snprintf(step, sizeof(step), " --id d%zu --skip-bad -> 0 '~%d rows, ' '~; %d bad rows left out'", i,
		         count - bads, bads);
		import(rows_made(&rows, count, skus, bad, each, false), step);
		flow_step("sql SELECT SUM(available) FROM stock_slot -> %d", count - bads);
		snprintf(step, sizeof(step), " --id d%zu --json -> 0 rows=%d bad=0", i, count);
		for (int again = 0; again < 2; again++) {
			import(rows_made(&rows, count, skus, bad, each, true), step);
			flow_step("sql SELECT SUM(available) FROM stock_slot -> %d", count);
		}
		flow_steps("sql DELETE FROM movement_line",
		           "sql DELETE FROM movement",
		           "sql DELETE FROM stock_slot",
		           "sql DELETE FROM sku");
	}
	flow_step(BY_HAND);
	flow_end();
	text_fini(&rows);
}

/* A row that was put right may be part of a sum: of rows for one sku any that fit were loaded before. */
Test(import, put_right_in_a_sum)
{
	flow_begin();
	import("sku,qty\nA,x\nA,4\nA,7\nA,y\nB,1\n", " --id d --skip-bad -> 0 '~3 rows, 12 units'");
	import("sku,qty\nA,3\nA,4\nA,7\nA,11\nB,1\n", " --id d -> 0 '~5 rows, 26 units'");
	flow_step("sku A -> available=25");
	import("sku,qty\nA,3\nA,4\nA,7\nA,11\nB,1\n", " --id d -> 0 '~all received before'");
	flow_steps("sku A -> available=25",
	           "sku B -> available=1");
	flow_end();
}

/* Another file under the id of one that was loaded: none of its rows is loaded, whatever part is another one. */
Test(import, another_file_under_an_id)
{
	struct text rows = {0};

	flow_begin();
	import(rows_made(&rows, 2600, 2600, 1, 5000, true), " --id d -> 0");
	text_format(&rows, "T,5\n"); /* more rows at the end are fine: they are missing */
	import(rows.data, " --id d -> 0 '~2601 rows, 2605 units'");
	import(rows_made(&rows, 2601, 2601, 2600, 1, true),
	       " --id d -> 1 '~movement import-d-3' '~nothing was loaded'");
	import(rows_made(&rows, 2600, 1300, 1, 5000, true), " --id d -> 1 '~import-d-2 was made of other rows'");
	import(rows_made(&rows, 900, 1300, 1, 5000, true), " --id d -> 1 '~import-d-1 was made of other rows'");
	import("sku,qty\n", " --id d -> 1 '~import-d-1 was made of rows that the file does not have'");
	import("sku,qty\nT,1\n", " --id d --kind adjustment -> 1 '~import-d-1 was made of other rows'");
	flow_steps("sql SELECT SUM(available) FROM stock_slot -> 2605",
	           "sku T                                    -> available=5");
	flow_end();
	text_fini(&rows);
}

/* The message says under which id the file is to be loaded when it was put right. */
Test(import, the_id_of_a_file_with_bad_rows)
{
	static const char file[] = "sku,qty\nA,5\nB,x\n";
	unsigned char     digest[SHA256_BYTES];
	struct text       hex = {0}, step = {0};

	sha256(file, sizeof(file) - 1, digest);
	text_hex(&hex, digest, 16);
	flow_begin();
	text_format(&step, " --skip-bad -> 0 '~load the file with --id %s: no row is loaded twice'", hex.data);
	import(file, step.data);
	text_reset(&step);
	text_format(&step, " --id %s -> 0 '~2 rows, 8 units in 2 movements;'", hex.data);
	import("sku,qty\nA,5\nB,3\n", step.data);
	flow_steps("sku A -> available=5",
	           "sku B -> available=3");
	flow_end();
	text_fini(&hex);
	text_fini(&step);
}

/* A stock list is of now, unless it says another time: the list of three nights ago counts again. */
Test(import, lists_of_nights)
{
	flow_begin();
	flow_steps("receipt A +10 -> 201");
	for (int i = 0; i < 3; i++) {
		import(i % 2 ? "sku,counted\nA,8\n" : "sku,counted\nA,11\n",
		       " --kind count -> 0 '~in 1 movements;' '!~received before'");
		flow_step("sku A -> available=%d", i % 2 ? 8 : 11);
	}
	import("sku,counted\nA,7\n", " --kind count --id night -> 0 '!~received before'");
	import("sku,counted\nA,7\n", " --kind count --id night -> 0 '~received before'");
	import("sku,counted\nA,8\n", " --kind count --id night -> 1 '~import-night-1 was made of other rows'");
	flow_step("sku A -> available=7");
	flow_end();
}

/* ---- other kinds */

static const struct {
	const char *content, *step, *stock; /* from A 5 at main and 5 at paris, B 7 at main, of which 4 are held */
} kinds[] = {
	{"sku,counted\nA,9\nB,6\n", " --kind count -> 0 '~2 rows, 15 units in 1 movements; 0 bad rows left out'",
         "A,main,9 A,paris,5 B,main,6"},
	{"sku,counted,expected\nA,1,6\nB,3,\nC,1,\nA,2,9\n",
         " --kind count -> 1"
         " '~line 5: it counts a sku and location again' '~1 bad rows: nothing was loaded'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,counted,expected\nA,1,6\nB,3,\nC,1,\nB,2,\n",
         " --kind count --skip-bad -> 1"
         " '~line 2: count_mismatch {sku:A,location:main,expected:6,on_hand:5}'"
         " '~line 3: short {sku:B,location:main,counted:3,reserved:4}'"
         " '~line 4: unknown_sku {sku:C,location:main}'"
         " '~3 rows, 5 units in 0 movements; 1 bad rows left out, 3 refused'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,location,qty,expected\nA,main,-1,5\nB,main,2,9\nA,paris,1,\n",
         " --kind adjustment -> 1 '~line 3: count_mismatch {sku:B,location:main,expected:9,on_hand:7}'"
         " '~3 rows, 2 units in 1 movements; 0 bad rows left out, 1 refused'",
         "A,main,4 A,paris,6 B,main,7"},
	{"sku,qty,expected\nA,-1,-5\nB,1,x\n",
         " --kind adjustment -> 1 '~line 2: expected must' '~line 3: expected must' '~2 bad rows'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,counted\nA,-1\nB,9000000000000001\nB,\nB,x\nB,1.5\n",
         " --kind count -> 1 '~line 2: counted must'"
         " '~line 3: counted' '~line 4: counted' '~line 5: counted' '~line 6: counted' '~5 bad rows'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,counted,as_of\nA,1,monday\nB,1,2026-11-20\n",
         " --kind count -> 1 '~line 2: as_of must be a time'"
         " '~line 3: as_of must be a time' '~2 bad rows'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,qty\nA,9\n", " --kind count -> 1 '~the first line must name the columns sku and counted'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,counted,qty\nA,9,1\n",
         " --kind count -> 1 '~the column qty is of a list of another kind: say --kind receipt or adjustment or "
         "transfer'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,qty,location\nA,-5,main\nA,-1,main\nB,-2,\nA,3,rome\nC,1,main\n",
         " --kind adjustment -> 1"
         " '~line 3: short {sku:A,location:main,requested:1,available:0}'"
         " '~line 6: unknown_sku {sku:C,location:main}' '~2 refused'",
         "A,main,0 A,paris,5 A,rome,3 B,main,5"},
	{"sku,qty\nA,0\nA,-1000000000001\nA,--1\nA,-\n",
         " --kind adjustment -> 1 '~line 2: qty must not be 0'"
         " '~line 3: qty must' '~line 4: qty must' '~line 5: qty must' '~4 bad rows'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,from,to,qty\nA,main,paris,5\nA,paris,rome,10\nB,main,paris,4\nA,main,rome,1\n",
         " --kind transfer -> 1"
         " '~line 4: short {sku:B,location:main,requested:4,available:3}'"
         " '~line 5: short {sku:A,location:main,requested:1,available:0}' '~2 refused'",
         "A,main,0 A,paris,0 A,rome,10 B,main,7"},
	{"sku,from,to,qty\nA,main,ordered,1\nA,main,paris,2\n",
         " --kind transfer -> 1"
         " '~line 2: wrong_kind {sku:A,from:main,to:ordered}' '~1 refused'",
         "A,main,3 A,paris,7 B,main,7"},
	{"sku,from,to,qty\nA,main,main,1\nA,,main,1\nA,main,,1\n",
         " --kind transfer -> 1"
         " '~line 2: to must be another' '~line 3: from must be' '~line 4: to must be' '~3 bad rows'",
         "A,main,5 A,paris,5 B,main,7"},
	{"sku,qty\nA,1\n", " --kind transfer -> 1 '~must name the columns sku, qty, from and to'",
         "A,main,5 A,paris,5 B,main,7"},
};

Test(import, kinds)
{
	flow_begin();
	flow_steps("raw PUT /v1/locations/ordered {'kind':'incoming'} -> 201");
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		import("sku,location,qty\nA,main,5\nA,paris,5\nB,main,7\n", " -> 0");
		flow_steps("sql UPDATE stock_slot JOIN sku USING (sku_id) SET available = 3, reserved = 4"
		           " WHERE code = 'B' -> ");
		import(kinds[i].content, kinds[i].step);
		flow_step(
			"sql SELECT k.code, o.code, SUM(available + reserved) FROM stock_slot JOIN sku k USING (sku_id)"
			" JOIN location o USING (location_id) GROUP BY 1, 2 ORDER BY 1, 2 -> %s",
			kinds[i].stock);
		flow_steps("sql DELETE FROM movement_line",
		           "sql DELETE FROM movement_transfer",
		           "sql DELETE FROM movement",
		           "sql DELETE FROM stock_counted",
		           "sql DELETE FROM stock_slot",
		           "sql DELETE FROM sku");
	}
	flow_step(BY_HAND);
	flow_end();
}

Test(import, options)
{
	flow_begin();
	import("sku,qty\nA,5\n",
	       " --kind return -> 64 '~--kind is receipt, count, adjustment, transfer or reservation'");
	import("sku,qty\nA,5\n", " --as-of 2026-11-20T22:00:00Z -> 64 '~--as-of goes with'");
	import("sku,counted\nA,5\n", " --kind count --as-of monday -> 64 '~--as-of is a time'");
	flow_end();
}

/* The same file does the rows that were left, one by one, whatever became of the others. */
Test(import, what_was_left)
{
	static const char file[] = "sku,qty\nA,-4\nB,-4\nC,-4\n";

	flow_begin();
	flow_steps("receipt A +4 B +3 -> 201");
	import(file, " --kind adjustment -> 1 '~line 3: short' '~line 4: unknown_sku' '!~line 2' '~in 1 movements;'");
	import(file, " --kind adjustment -> 1 '~line 3: short' '~line 4: unknown_sku' '!~line 2'"
	             " '~in 1 movements, all received before;' '~2 refused'");
	flow_steps("receipt B +2 -> 201");
	import(file, " --kind adjustment -> 1 '~line 4: unknown_sku' '!~line 3' '~in 2 movements;' '~1 refused'");
	flow_steps("receipt A +9 B +9 C +4 -> 201");
	import(file, " --kind adjustment -> 0 '~in 3 movements;' '!~refused'");
	import(file, " --kind adjustment -> 0 '~in 3 movements, all received before;'");
	import(file, " --kind receipt -> 1 '~line 2: qty'");
	flow_steps("sku A -> available=9",
	           "sku B -> available=10",
	           "sku C -> available=0");
	flow_end();
}

/* The same of rows that apply in the order of the file. */
Test(import, adjustments_put_right)
{
	flow_begin();
	flow_steps("receipt A +10 B +10 -> 201");
	import("sku,qty\nA,-1\nA,x\nB,-2\nA,-3\nB,-\nA,-4\n",
	       " --kind adjustment --id d --skip-bad -> 0 '~4 rows, -10 units in 3 movements; 2 bad'");
	import("sku,qty\nA,-1\nA,-1\nB,-2\nA,-3\nB,-5\nA,-4\n",
	       " --kind adjustment --id d -> 0 '~6 rows, -16 units in 4 movements;'");
	flow_steps("sku A -> available=1",
	           "sku B -> available=3");
	import("sku,from,to,qty\nA,main,x,y\nB,main,x,1\nB,x,z,1\n", " --kind transfer --id t --skip-bad -> 0");
	import("sku,from,to,qty\nA,main,x,1\nB,main,x,1\nB,x,z,1\n", " --kind transfer --id t -> 0");
	flow_step("run export stock -> 0 ~A,x,stock,1,0,1 ~B,z,stock,1,0,1 ~B,main,stock,2,0,2");
	flow_end();
}

/* A time of RFC 3339, so many seconds ago. */
static const char *ago(char *text, size_t size, int s)
{
	time_t    at = time(NULL) - s;
	struct tm tm;

	strftime(text, size, "%FT%TZ", gmtime_r(&at, &tm));
	return text;
}

/* Rows for the same sku apply in the order of the file, also if a row between is refused. */
Test(import, in_the_order_of_the_file)
{
	flow_begin();
	flow_steps("receipt A +1 B +5 -> 201");
	import("sku,qty\nA,10\nGHOST,-1\nA,-11\nA,2\nGHOST,1\nA,-3\nB,-5\nGHOST,2\nB,-5\n",
	       " --kind adjustment -> 1 '~line 3: unknown_sku' '~line 6: unknown_sku' '~line 7: short' '~line 9: "
	       "unknown_sku'"
	       " '~line 10: short' '~, 5 refused'");
	flow_steps("sku A -> available=2",
	           "sku B -> available=0");
	flow_end();
}

/* The same list with another time is another count; an id that names other rows is refused. */
Test(import, counts_of_a_time)
{
	char at[40], step[100], rows[100];

	flow_begin();
	flow_steps("receipt A +5 B +5 -> 201",
	           "tick 7200",
	           "adjust A -1 -> 201");
	snprintf(step, sizeof(step), " --kind count --as-of %s -> 0 '!~received before'", ago(at, sizeof(at), 3600));
	import("sku,counted\nA,6\nB,5\n", step);
	flow_steps("sku A -> available=5");
	snprintf(step, sizeof(step), " --kind count --as-of %s -> 0 '!~received before'", ago(at, sizeof(at), 1800));
	import("sku,counted\nA,6\nB,5\n", step);
	snprintf(step, sizeof(step), " --kind count --as-of %s -> 0 '~all received before'", at);
	import("sku,counted\nA,6\nB,5\n", step);
	snprintf(rows, sizeof(rows), "sku,counted,as_of\nA,9,%s\nB,4,\n", ago(at, sizeof(at), 3000));
	import(rows, " --kind count -> 1 '~line 2: count_mismatch {sku:A,location:main,counted_at:' '!~line 3'");
	flow_steps("sku A -> available=5",
	           "sku B -> available=4");
	import("sku,counted\nA,4\nB,5\n", " --kind count --id x -> 0");
	import("sku,counted\nA,3\nB,5\n", " --kind count --id x -> 1 '~movement import-x-1 was made of other rows'");
	import("sku,counted\nA,4\n", " --kind count --id x -> 1 '~movement import-x-1 was made' '~nothing was loaded'");
	import("sku,counted\nA,4\nB,5\nC,1\n", " --kind count --id x -> 1 '~line 4: unknown_sku'");
	import("sku,counted,as_of\nA,1,2020-01-01T00:00:00Z\nB,7,\n",
	       " --kind count -> 1 '~line 2: invalid_request {sku:A,location:main,as_of:must be' '!~line 3'");
	import("sku,counted\nA,4\n", " --kind count --as-of 2099-01-01T00:00:00Z -> 1 '~line 2: invalid_request'");
	flow_steps("sku A -> available=4",
	           "sku B -> available=7");
	flow_end();
}

/* Promised units are taken, too, if a row says so; rows that were left out come with the same file later. */
Test(import, losses)
{
	flow_begin();
	flow_steps("serve",
	           "raw PUT /v1/locations/bo {'kind':'incoming'} -> 201",
	           "receipt A +5 B +5 C +5 C@west +2 -> 201",
	           "reserve R1 A=2 B=4 C=4 C@west=2 confirm=true -> 201",
	           "reserve R2 A=3 -> 201");
	import("sku,counted,short,to\nA,1,maybe,\nB,1,,bo\nC,1,backorder,"
	       "b2345678901234567890123456789012345678901234567890123456789012345\n",
	       " --kind count -> 1 '~line 2: short must be' '~line 3: to goes with short' '~line 4: to must' '~3 bad "
	       "rows'");
	import("sku,counted,short,to\nA,1,backorder,bo\nB,1,,\nC,1,backorder,none\n",
	       " --kind count -> 1 '~line 3: short {sku:B,location:main,counted:1,reserved:4}'"
	       " '~line 4: unknown_location {sku:C,location:main,to:none}' '~in 1 movements' '~2 refused'");
	flow_step("get R2 -> held A@bo=3");
	flow_step("raw PUT /v1/locations/none {'kind':'incoming'} -> 201");
	import("sku,counted,short,to\nA,1,backorder,bo\nB,1,,\nC,1,backorder,none\n",
	       " --kind count -> 1 '~line 3: short' '~in 1 movements;' '~1 refused'");
	import("sku,location,qty,short,to\nB,main,-3,backorder,bo\nC,main,-1,backorder,bo\nC,west,-1,backorder,bo\n",
	       " --kind adjustment -> 0 '~in 1 movements'");
	import("sku,location,qty,short,to\nB,main,-3,backorder,bo\nC,main,-1,backorder,bo\nC,west,-1,backorder,bo\n",
	       " --kind adjustment -> 0 '~all received before'");
	flow_steps("get R1 -> confirmed A@bo=1 A@main=1 B@bo=2 B@main=2 C@bo=2 C@none=3 C@west=1",
	           "run audit -> 0");
	flow_end();
}

/* A total above the maximum names its rows, too. */
Test(import, limit)
{
	flow_begin();
	flow_steps("receipt A +1 B +1 -> 201");
	import("sku,counted\nA,9000000000000000\n", " --kind count -> 0");
	import("sku,qty\nA,1\nB,2\nC,3\n", " -> 1 '~line 2: limit {sku:A,location:main}' '~1 refused'");
	import("sku,qty\nA,1\nB,2\n", " -> 1 '~line 2: limit' '~1 refused'");
	flow_steps("sku B -> available=5",
	           "sku C -> available=3");
	flow_end();
}

/* An adjustment of one unit for each of many skus. Every 500th sku is unknown. The first sku comes again every 50 rows,
 * so that there are many parts. */
static void adjustments(int count)
{
	struct text rows = {0};
	char        path[300];

	text_add(&rows, "sku,qty\n");
	for (int i = 0; i < count; i++)
		text_format(&rows, "%s%d,-1\n", i % 500 == 499 ? "GHOST" : "S", i % 50 ? i : 0);
	file_write(rows.data, path, sizeof(path));
	text_fini(&rows);
	flow_step(
		"sql INSERT INTO sku (code, created_at) SELECT CONCAT('S', seq), UTC_TIMESTAMP(3) FROM seq_0_to_%d -> ",
		count - 1);
	flow_steps("sql INSERT INTO location (code) VALUES ('main') -> ",
	           "sql INSERT INTO stock_slot SELECT sku_id, location_id, 3, 200, 0 FROM sku JOIN location -> ",
	           "sql INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at)"
	           " VALUES (1, 'begin', 1, '', UTC_TIMESTAMP(3)) -> ",
	           "sql INSERT INTO movement_line SELECT 1, sku_id, location_id, 3, 200 FROM sku JOIN location -> ");
}

/* Killed in the middle, and beside another one of the same file: each row counts once. */
Test(import, killed_and_twice_at_once)
{
	char path[300];

	flow_begin();
	adjustments(3000);
	snprintf(path, sizeof(path), "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	flow_step("start W import %s --kind adjustment", path);
	flow_steps("wait sql SELECT COUNT(*) > 2 FROM movement -> 1",
	           "signal W KILL",
	           "end W -> 137");
	flow_step("start W import %s --kind adjustment", path);
	flow_step("run import %s --kind adjustment -> 1 '~, 6 refused'", path);
	flow_steps("end W -> 1 '~, 6 refused'",
	           "sql SELECT units, COUNT(*) FROM (SELECT SUM(available) AS units FROM stock_slot GROUP BY sku_id) s"
	           " GROUP BY 1 ORDER BY 1 -> 140,1 199,2934 200,65",
	           "sql SELECT COUNT(*) FROM movement_line WHERE movement_no > 1 -> 2994");
	flow_end();
}
