/* test_import_files.c - the command import: files as other programs write them, and what may be asked for beside. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void bytes_write(const char *bytes, size_t len, char *path, size_t size)
{
	FILE *file;

	snprintf(path, size, "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	file = fopen(path, "w");
	cr_assert(file && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

/* Imports `content`; the step goes on behind the file's name. */
static void import(const char *content, const char *step)
{
	char path[300];

	bytes_write(content, strlen(content), path, sizeof(path));
	flow_step("run import %s%s", path, step);
}

static void stock_is(const char *expected)
{
	flow_step("sql SELECT k.code, o.code, SUM(available) FROM stock_slot JOIN sku k USING (sku_id)"
	          " JOIN location o USING (location_id) GROUP BY 1, 2 ORDER BY 1, 2 -> %s",
	          expected);
}

static void stock_clear(void)
{
	flow_steps("sql DELETE FROM movement_line",
	           "sql DELETE FROM movement",
	           "sql DELETE FROM stock_counted",
	           "sql DELETE FROM stock_slot",
	           "sql DELETE FROM sku");
}

static const struct {
	const char *content, *step, *stock; /* in the end: sku, location, units */
} files[] = {
	{"sku;qty;location\nA;5;paris\nB;7;\n", " -> 0 '~2 rows, 12 units'", "A,paris,5 B,main,7"},
	{"sku\tqty\tnote\nA\t5\tx, y; z\n", " -> 0 '~1 rows, 5 units'", "A,main,5"},
	{"sku;amount\nA;5\n",
         " -> 1 '~must name the columns sku and qty; separated by semicolons, it names sku, amount'", ""},
	{"\"a note, with; more; semicolons\",sku,qty\nx,A,5\n", " -> 0", "A,main,5"},
	{"sep=;\r\nsku;qty\r\nA;5\r\nB;x\r\n", " -> 1 '~line 4: qty'", ""},
	{"\n\nsku;qty\nA;5\n", " -> 0", "A,main,5"},
	{"sku,qty\nA,5.0000\nB,6.0\nC,7.\nD,6.8800\nE,.0\n",
         " -> 1 '!~line 2' '!~line 3' '~line 4: qty' '~line 5: qty' '~line 6: qty'", ""},
	{"sku,qty\nA,5.0000\nB,2.000\n", " -> 0 '~2 rows, 7 units'", "A,main,5 B,main,2"},
	{"sku;qty\nA;5,0000\nB;6,0\nC;7.0000\n", " -> 0 '~3 rows, 18 units'", "A,main,5 B,main,6 C,main,7"},
	{"sku;qty\nA;1.000\nB;2,000\nC;3.00\n",
         " -> 1 '~line 2: qty is one or a thousand times as much' '~line 3: qty is one' '!~line 4'", ""},
	{"sku,qty,location\nA,5,x\n,,\nB,7,x\n,,\n", " -> 0 '~2 rows, 12 units' '~; 0 bad rows'", "A,x,5 B,x,7"},
	{"Variant SKU,Available,sku,Where\nA,5,no,x\n",
         " --columns 'sku=variant sku,qty=Available,location=where' -> 0"
         " '~columns are passed over: sku'",
         "A,x,5"},
	{"\"SKU, or code\",Available\nA,5\n", " --columns 'sku=\"SKU, or code\"' --columns qty=Available -> 0",
         "A,main,5"},
	{"sku,Stock\nA,5\n", " --columns qty=Available -> 1 '~has no column Available, which --columns gives for qty'",
         ""},
	{"sku,qty\nA,5\n", " --columns qty -> 64 '~--columns is FIELD=COLUMN'", ""},
	{"sku,qty\nA,5\n", " --columns colour=x -> 64 '~--columns is FIELD=COLUMN'", ""},
	{"sku,qty\nA,5\n", " --columns counted=qty -> 64 '~a list of kind receipt has no counted'", ""},
	{"sku,qty\nA,5\n", " --columns qty=a,qty=b -> 64 '~names qty twice'", ""},
	{"sku,qty,to\nA,5,x\n", " -> 1 '~--columns to= passes it over'", ""},
	{"sku,qty,to\nA,5,x\n", " --columns to= -> 0", "A,main,5"},
	{"sku,counted\nA,5\nB,0\nA,6\nA,1.00\n", " --kind count --sum --new-skus -> 0 '~2 rows are added' '~12 units'",
         "A,main,12"},
	{"sku,counted,expected\nA,5,\nA,6,3\n", " --kind count --sum --new-skus -> 1 '~line 3: a row that is added'",
         ""},
	{"sku,qty\nA,5\n", " --sum -> 64 '~--sum goes with --kind count'", ""},
	{"sku,counted\nA,5\n", " --kind count -> 1 '~unknown_sku' '~1 refused'", ""},
	{"sku,qty\nA,0\nB,5\n", " --new-skus -> 0 '~2 rows, 5 units in 1 movements'", "B,main,5"},
	{"sku,qty\nA,0\n", " -> 1 '~line 2: qty'", ""},
	{"sku,qty\nA,5\n", " --from shopware -> 64 '~--from is shopify, woocommerce or magento'", ""},
	{"sku,qty,to\nA,5,x\n", " --from shopify --kind transfer -> 64 '~--from goes with'", ""},
};

Test(import_files, forms)
{
	flow_begin();
	for (size_t i = 0; i < LENGTH(files); i++) {
		import(files[i].content, files[i].step);
		stock_is(files[i].stock);
		stock_clear();
	}
	flow_step(BY_HAND);
	flow_end();
}

/* UTF-16 of both orders, with a mark and without; letters that are no ASCII. */
Test(import_files, utf_16)
{
	static const char *const text =
		"sku\tqty\tlocation\r\nTasse wei\xC3\x9F\t5\tK\xC3\xB6ln\r\n\xF0\x9F\x8D\xBA\t2\t\r\n";
	char bytes[400], path[300];

	flow_begin();
	for (int form = 0; form < 4; form++) {
		size_t len = 0;
		bool   little = form % 2 == 0;

		if (form < 2) {
			bytes[len++] = little ? '\xFF' : '\xFE';
			bytes[len++] = little ? '\xFE' : '\xFF';
		}
		for (const unsigned char *at = (const unsigned char *)text; *at;) {
			unsigned units[2] = {*at}, count = 1, c;

			if (*at >= 0xF0) {
				c = (*at & 7U) << 18 | (at[1] & 63U) << 12 | (at[2] & 63U) << 6 | (at[3] & 63U);
				units[0] = 0xD800 + ((c - 0x10000) >> 10);
				units[1] = 0xDC00 + ((c - 0x10000) & 1023);
				count = 2;
				at += 4;
			} else if (*at >= 0xC0) {
				units[0] = (*at & 31U) << 6 | (at[1] & 63U);
				at += 2;
			} else {
				at++;
			}
			for (unsigned i = 0; i < count; i++) {
				bytes[len++] = (char)(little ? units[i] : units[i] >> 8);
				bytes[len++] = (char)(little ? units[i] >> 8 : units[i]);
			}
		}
		bytes_write(bytes, len, path, sizeof(path));
		flow_step("run import %s -> 0 '~2 rows, 7 units'", path);
		stock_is("Tasse weiß,Köln,5 🍺,main,2");
		stock_clear();
	}
	flow_step(BY_HAND);
	flow_end();
}

/* Exports of shop systems. */
Test(import_files, presets)
{
	static const char shopify[] =
		"Handle,Title,Option1 Name,SKU,HS Code,COO,Location,Incoming,Unavailable,Committed,Available,On hand\n"
		"mug,Mug,Title,MUG,,,Shop,0,0,1,4,5\n"
		"mug,\"Mug, large\",Title,'0012,,,Shop,0,0,0,0,0\n"
		"ring,Ring,Title,\"\",,,Shop,0,0,0,1,1\n"
		"cord,Cord,Title,CORD,,,Shop,0,0,0,-5,-5\n"
		"tee,Tee,Title,TEE,,,Shop,not stocked,not stocked,not stocked,not stocked,not stocked\n";
	static const char today[] =
		"Handle,Title,SKU,Location,Bin name,Available (not editable),On hand (current),On hand (new)\n"
		"mug,Mug,MUG,Shop,,4,6,\n";
	static const char places[] = "Handle,Title,SKU,HS Code,COO,Berlin Mitte,Annex\nmug,Mug,MUG,,,3,not stocked\n"
				     "cap,Cap,CAP,,,0,7\n";
	static const char products[] = "Handle,Title,Variant SKU,Variant Inventory Qty,Image Src\nmug,Mug,MUG,3,a.png\n"
				       "mug,,,,b.png\n";
	static const char woo[] = "ID,Type,SKU,Name,\"In stock?\",Stock\n1,simple,MUG,Mug,1,3\n2,variable,TEE,Tee,1,\n"
				  "3,variation,TEE-S,Tee,1,9\n4,simple,,Old,1,2\n";
	static const char magento[] = "source_code,sku,status,quantity\ndefault,MUG,1,5.0000\nberlin,MUG,1,15\n"
				      "berlin,CAP,0,0.0000\n";
	/* cells that a spreadsheet would take for formulas */
	static const char woo_marked[] = "ID,SKU,\"In stock?\",Stock\n1,'-9C,1,4\n2,'@HOME,0,'-5\n3,''Q,1,2\n";
	static const char magento_marked[] = "sku,product_type,qty\n\" -9C\",simple,4.0000\n=CAP,simple,\" -5.0000\"\n";

	flow_begin();
	import(shopify, " --from shopify --new-skus -> 0 '~1 rows without a sku' '~1 rows without a number'"
	                " '~1 rows below 0' '~3 rows, 5 units' '!~columns are passed over'");
	stock_is("MUG,Shop,5");
	flow_step("sql SELECT code FROM sku ORDER BY code -> 0012 CORD MUG");
	import(shopify, " --from shopify --columns counted=Available --new-skus -> 0 '~3 rows, 4 units'");
	stock_is("MUG,Shop,4");
	import(today, " --from shopify -> 0");
	stock_is("MUG,Shop,6");
	stock_clear();
	import(shopify, " --from shopify --kind receipt -> 0 '~2 rows of 0 units' '~1 rows, 5 units'");
	stock_is("MUG,Shop,5");
	stock_clear();
	import(places, " --from shopify --new-skus -> 0 '~3 rows, 10 units'");
	stock_is("CAP,Annex,7 MUG,Berlin Mitte,3");
	stock_clear();
	import(products, " --from shopify --new-skus -> 0 '~1 rows, 3 units'");
	stock_is("MUG,main,3");
	stock_clear();
	import(woo, " --from woocommerce --new-skus -> 0 '~2 rows, 12 units'");
	stock_is("MUG,main,3 TEE-S,main,9");
	stock_clear();
	import(magento, " --from magento --new-skus -> 0 '~3 rows, 20 units'");
	stock_is("MUG,berlin,15 MUG,default,5");
	stock_clear();
	import(woo_marked, " --from woocommerce --new-skus -> 0 '~1 rows below 0' '~3 rows, 6 units'");
	stock_is("''Q,main,2 -9C,main,4");
	flow_step("sql SELECT code FROM sku WHERE code LIKE '%%HOME' -> @HOME");
	stock_clear();
	import(magento_marked, " --from magento --new-skus -> 0 '~1 rows below 0' '~2 rows, 4 units'");
	stock_is("-9C,main,4");
	import(woo, " --from magento -> 1 '~must name the columns sku and quantity or qty'");
	stock_clear();
	flow_step(BY_HAND);
	flow_end();
}

/* The bad rows, corrected and loaded by themselves. */
Test(import_files, bad_rows)
{
	static const char list[] = "sku;qty;note\nA;5;x\nB;five;\"a \"\"b\"\"; c\"\nC;1\nD;2;y\n";
	char              path[300], bad[320], content[600];
	FILE             *file;
	size_t            len;

	flow_begin();
	bytes_write(list, sizeof(list) - 1, path, sizeof(path));
	snprintf(bad, sizeof(bad), "%s.bad", path);
	(void)unlink(bad);
	flow_step("run import %s --bad %s -> 0 '~2 rows, 7 units' '~2 bad rows left out' '~the bad rows are in'", path,
	          bad);
	flow_step("run import %s --bad %s -> 0 '~all received before'", path, bad);
	file = fopen(bad, "r");
	cr_assert(file != NULL);
	len = fread(content, 1, sizeof(content) - 1, file);
	content[len] = '\0';
	fclose(file);
	cr_expect_str_eq(
		content,
		"\xEF\xBB\xBFwrong;sku;qty;note\n"
		"\"qty must be an integer from 1 to 1000000000000, in plain digits\";B;five;\"a \"\"b\"\"; c\"\n"
		"\"it has fewer fields than the first line\";C;1\n");
	file = fopen(bad, "w");
	cr_assert(file && fputs("wrong;sku;qty;note\nx;B;5;z\nx;C;1;\n", file) >= 0 && fclose(file) == 0);
	flow_step("run import %s --bad %s -> 1 '~is there already, and has other rows'", path, bad);
	flow_step("run import %s -> 0 '~2 rows, 6 units' '~these columns are passed over: note'", bad);
	stock_is("A,main,5 B,main,5 C,main,1 D,main,2");
	flow_end();
	(void)unlink(bad);
}

/* A dry run says what would come, and changes nothing. */
Test(import_files, dry_run)
{
	flow_begin();
	flow_steps("receipt A +10 B +4 -> 201",
	           "reserve R1 B=3 -> 201",
	           "mark");
	import("sku;counted;Where\nA;7;\nB;2;\nNEW;5;attic\n",
	       " --kind count --columns location=Where --dry-run -> 1"
	       " '~a list of kind count, separated by semicolons, with sku, counted, location = Where'"
	       " '~line 4: would be refused: unknown_sku NEW' '~line 3: would be refused: short B at main, 2 of 3'"
	       " '~2 rows change what is there: 0 units more, 5 units fewer' '~2 rows would be refused' '~nothing was "
	       "loaded'");
	import("sku,counted,location\nA,7,main\nNEW,5,attic\n",
	       " --kind count --new-skus --dry-run -> 0 '~1 new skus: NEW' '~1 new locations: attic'"
	       " '~5 units more, 3 units fewer'");
	import("sku,qty\nA,7\nX,1\nY,2\nX,1\n",
	       " --dry-run -> 0 '~would be loaded: 4 rows, 11 units' '~2 new skus: X, Y'");
	import("sku,from,to,qty\nA,main,x,11\nA,main,x,1\n",
	       " --kind transfer --dry-run -> 1 '~line 2: would be refused: short A at main, 10 of 11'");
	import("sku,counted\nA,7\n",
	       " --kind count --absent-are-zero --dry-run -> 0 '~1 skus at locations that the list lacks'");
	flow_steps("unchanged",
	           "run import /no/such/file --dry-run -> 1");
	import("sku,qty\nA,7\n", " -> 0");
	import("sku,qty\nA,7\n", " --dry-run -> 0 '~would be loaded: 0 rows, 0 units'");
	flow_step("sku A -> available=17");
	flow_end();
}

/* A full list counts as 0 what it lacks, at its locations alone. */
Test(import_files, absent_are_zero)
{
	flow_begin();
	flow_steps("raw PUT /v1/locations/lorry {'kind':'incoming'} -> 201",
	           "receipt A +5 A@x +5 B +6 B@x +7 C@y +8 D@lorry +9 E +1 -> 201",
	           "reserve R1 E=1 -> 201");
	import("sku,counted,location\nA,4,main\n",
	       " --kind count --absent-are-zero -> 1 '~short {sku:E,location:main' '~; 2 absent, counted as 0'");
	flow_step("run export stock --raw -> 0 ~A,main,stock,4 ~A,x,stock,5 ~B,main,stock,0 ~B,x,stock,7 ~C,y,stock,8"
	          " ~D,lorry,incoming,9 ~E,main,stock,0,1");
	import("sku,counted,location\nA,4,main\nE,1,main\nA,3,x\n",
	       " --kind count --absent-are-zero -> 0 '~; 1 absent'");
	flow_step("run export stock --raw -> 0 ~A,x,stock,3 ~B,x,stock,0 ~C,y,stock,8");
	import("sku,counted\nA,4\nB,x\n",
	       " --kind count --absent-are-zero --skip-bad -> 1 '~1 bad rows: nothing was loaded'");
	import("sku,counted\n", " --kind count --absent-are-zero -> 0 '~; 0 absent'");
	import("sku,qty\nA,4\n", " --absent-are-zero -> 64");
	flow_step("run export stock --raw -> 0 ~A,main,stock,4 ~E,main,stock,0,1");
	flow_end();
}
