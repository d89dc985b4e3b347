/* test_import_orders.c - the command import, --kind reservation: open orders of another system. */
#include "tests/lang/flow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[300];

static void import(const char *content, const char *step)
{
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	file = fopen(path, "w");
	cr_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
	flow_step("run import %s --kind reservation%s", path, step);
}

Test(import_orders, made_once)
{
	static const char file[] =
		"order_id,sku,qty,location,customer,state,waits_since,ship_after,note\n"
		"R1,A,2,,c1,,,,x\nR1,B,1.0,x,c1,,,,\nR1,A,1,main,c1,,,,\n"
		"R2,A,1,,,held,,,\nR3,B,2,x,,Confirmed,,2027-01-02T03:04:05Z,\nR4,A,4,lorry,,,2026-11-20T10:00:00Z,,\n"
		"R5,A,1,,,settled,,,\nR6,B,1,x,,buried,,,\n";

	flow_begin();
	flow_steps("raw PUT /v1/locations/lorry {'kind':'incoming'} -> 201",
	           "receipt A +10 B@x +10 A@lorry +9 -> 201");
	import(file, " --dry-run -> 0 '~7 rows, 12 units' '~nothing was loaded'");
	flow_step("list -> items=");
	for (int again = 0; again < 2; again++) {
		import(file,
		       again ? " -> 0 '~7 rows, 12 units in 5 orders, 5 of them there before'"
		             : " -> 0 '~in 5 orders, 0 of them there before' '~1 rows of orders that have ended'");
		flow_steps("get R1 -> confirmed A=3 B@x=1 customer=c1",
		           "get R2 -> held A=1 expires_at=~900",
		           "get R3 -> confirmed B@x=2 ship_after=2027-01-02T03:04:05.000Z",
		           "get R4 -> confirmed A@lorry=4 waits_since=2026-11-20T10:00:00.000Z",
		           "get R5 -> 404",
		           "get R6 -> confirmed B@x=1",
		           "sku A -> available=6 reserved=4");
	}
	flow_steps("reserve R1 A=3 B@x=1 customer=c1 confirm=true -> 200 replayed confirmed",
	           "run audit -> 0");
	flow_end();
}

Test(import_orders, refused)
{
	flow_begin();
	flow_steps("receipt A +3 -> 201",
	           "reserve R1 A=1 -> 201");
	import("order_id,sku,qty\nR1,A,2\nR2,A,9\nR3,GHOST,1\nR4,A,1\n",
	       " -> 1 '~line 2: order R1: order_id_reused' '~line 3: order R2: short "
	       "{lines:[{sku:A,location:main,requested:9,'"
	       " '~line 4: order R3: unknown_sku {lines:[{sku:GHOST,location:main}]}'"
	       " '~in 1 orders, 0 of them there before; 0 bad rows left out, 3 orders refused'");
	flow_steps("get R4 -> confirmed A=1",
	           "get R2 -> 404");
	import("order_id,sku,qty\nR9,A,1\n", " --json -> 0 orders=1 replayed=0 refused=0 rows=1 units=1 bad=0");
	flow_end();
}

/* An order has as many rows as a call may have lines. */
Test(import_orders, long_orders)
{
	struct text file = {0};

	flow_begin();
	flow_step("receipt A +5000 -> 201");
	text_add(&file, "order_id,sku,qty\n");
	for (int i = 0; i < 2001; i++)
		text_format(&file, "%s,A,1\n", i < 1000 ? "R1" : "R2");
	import(file.data, " --skip-bad -> 0 '~line 1002: another row of its order is bad' '~more than 100 bad rows'"
	                  " '~in 1 orders' '~; 1001 bad rows'");
	flow_steps("get R1 -> confirmed A=1000",
	           "get R2 -> 404");
	flow_end();
	text_fini(&file);
}

/* A bad row makes its whole order bad, wherever it stands in it. */
Test(import_orders, bad_rows)
{
	static const char file[] =
		"order_id,sku,qty,customer,state,ship_after\n"
		"R1,A,1,,,\nR1,A,x,,,\nR2,A,1,,,\nR3,A,1,,,\nR2,B,1,,,\nR4,A,1,c,,\nR4,B,1,d,,\n"
		"R5,A,1,,gone,\nR6,A,1,,,2099-01-01T00:00:00Z\n,A,1,,,\nR7,A\nR8,A,0,,,\nR9,A,1,,,\n";
	char  bad[320], content[2000];
	FILE *out;

	flow_begin();
	flow_step("receipt A +20 B +20 -> 201");
	import(file,
	       " -> 1 '~line 2: another row of its order is bad' '~line 3: qty must' '~line 4: another row'"
	       " '~line 6: order_id stood further up' '~line 7: another row' '~line 8: the rows of an order say one'"
	       " '~line 9: state must be' '~line 10: ship_after must' '~line 11: order_id must' '~line 12: it has "
	       "fewer'"
	       " '~line 13: qty must' '!~line 5:' '!~line 14:' '~11 bad rows: nothing'");
	snprintf(bad, sizeof(bad), "%s.bad", path);
	(void)unlink(bad);
	flow_step("run import %s --kind reservation --bad %s -> 0 '~2 rows, 2 units in 2 orders'", path, bad);
	flow_steps("get R1 -> 404",
	           "get R2 -> 404",
	           "get R3 -> confirmed",
	           "get R9 -> confirmed");
	out = fopen(bad, "r");
	cr_assert(out != NULL);
	content[fread(content, 1, sizeof(content) - 1, out)] = '\0';
	fclose(out);
	cr_expect(strstr(content, "R1,A,1,,,\n") && strstr(content, "R1,A,x,,,\n") && strstr(content, "R2,B,1,,,\n"),
	          "%s", content);
	(void)unlink(bad);
	import("order_id,sku,qty\nR1,A,1\n", " --id x -> 64 '~--id does not go with'");
	import("order_id,sku,qty\nR1,A,1\n", " --from shopify -> 64");
	import("order_id,sku,counted\nR1,A,1\n", " -> 1 '~must name the columns sku, qty and order_id'");
	import("order_id,sku,qty,to\nR1,A,1,x\n", " -> 1 '~the column to is of a list of another kind'");
	import("order_id,sku,qty\nR9,A,1\n", " -> 0");
	flow_step("run import %s -> 1 '~the column order_id is of a list of another kind: say --kind reservation'",
	          path);
	flow_end();
}
