/* test_demo.c - the command demo: the shop that it opens, where it opens none, and how the shop lives. */
#include "tests/kit/drill.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/lang/flow.h"
#include "tests/lang/keyring.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Runs the demo against the service of the flow. */
static void demo(const char *rest)
{
	flow_step("alone demo --url http://127.0.0.1:%d %s", flow_port(0), rest);
}

static void shop_begin(void)
{
	flow_begin();
	flow_steps("serve --jobs=expire,reap,deliver",
	           "list -> items=");
}

Test(demo, orders_are_in_all_states)
{
	shop_begin();
	demo("--for 0 -> 0 '~300 skus at 8 locations and 281 orders' !~Ctrl-C");
	flow_steps("wait sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> 1,40 2,117 3,90 4,20 5,12 6,8",
	           "sql SELECT COUNT(*) FROM reservation_on_hold -> 9",
	           "sql SELECT COUNT(DISTINCT first_id) FROM reservation_part -> 6",
	           "sql SELECT COUNT(DISTINCT reservation_id) FROM reservation_returned -> 10",
	           "sql SELECT code, COUNT(DISTINCT reservation_id) FROM reservation_line JOIN location USING"
	           " (location_id) WHERE kind = 3 GROUP BY code -> lorry,24 supplier,12",
	           "sql SELECT COUNT(*) FROM job_task WHERE state = 1 -> 0",
	           "raw GET /v1/locations/lorry -> kind=incoming expected_at=~60",
	           "raw GET /v1/locations/main -> waits_at=lorry",
	           "sql SELECT COUNT(DISTINCT name), COUNT(DISTINCT barcode) FROM sku JOIN sku_barcode USING (sku_id)"
	           " -> 300,300",
	           "raw GET /v1/skus?barcode=2047110000016 -> items=MUG-SAGE 'items[0].name=Mug, sage'",
	           "raw GET /v1/skus?low=true&limit=1 -> items[0].low=* more",
	           "wait raw GET /v1/webhooks/bookkeeping -> failures=1",
	           "run audit -> 0");
	flow_end();
}

/* Nothing is changed where there is anything. */
static void refused(const char *step, const char *said)
{
	flow_begin();
	flow_step("%s", step);
	flow_step("mark");
	flow_step("alone demo --url http://127.0.0.1:%d --for 0 -> 1 '~is not empty, it has %s'", flow_port(0), said);
	flow_step("unchanged");
	flow_end();
}

Test(demo, another_database_stays_as_it_is)
{
	refused("receipt SHOE +1 -> 201", "skus (SHOE ..), locations (main ..): ");
	refused("raw PUT /v1/locations/attic {} -> 201", "locations (attic ..): ");
	refused("raw POST /v1/webhooks {'webhook_id':'w','url':'https://a.example'} -> 201", "webhooks (w ..): ");
}

/* All that the database has of the shop but times, in an order that does not depend on numbers. */
static const char *const shop_sql[] = {
	"SELECT code, name, per_customer, barcode FROM sku LEFT JOIN sku_barcode USING (sku_id, code) ORDER BY 1",
	"SELECT l.code, l.kind, q.code FROM location l LEFT JOIN location q ON q.location_id = l.waits_at ORDER BY 1",
	"SELECT s.code, l.code, SUM(available), SUM(reserved) FROM stock_slot JOIN sku s USING (sku_id) JOIN location l"
	" USING (location_id) GROUP BY 1, 2 ORDER BY 1, 2",
	"SELECT order_id, state, last_error, customer, reason FROM reservation LEFT JOIN reservation_note USING"
	" (reservation_id) LEFT JOIN reservation_on_hold USING (reservation_id) ORDER BY 1",
	"SELECT order_id, s.code, l.code, qty FROM reservation_line JOIN reservation USING (reservation_id) JOIN sku s"
	" USING (sku_id) JOIN location l USING (location_id) ORDER BY 1, 2, 3",
	"SELECT movement_id, kind, reason FROM movement WHERE movement_id NOT LIKE '%settlement%' ORDER BY 1"};

static void row_add(void *arg, const struct db_row *row)
{
	for (unsigned i = 0; i < row->columns; i++)
		text_format(arg, "%s ", row->col[i] ? row->col[i] : "-");
	text_char(arg, '\n');
}

static void shop_read(struct text *to)
{
	shop_begin();
	demo("--for 0 -> 0");
	flow_step("wait sql SELECT COUNT(*) FROM reservation WHERE state = 5 -> 12");
	for (size_t i = 0; i < LENGTH(shop_sql); i++)
		cr_assert_eq(db_text(flow_scratch()->db, shop_sql[i], row_add, to), DB_OK, "%s",
		             db_error(flow_scratch()->db));
	flow_end();
}

Test(demo, each_shop_is_the_same)
{
	struct text one = {0}, two = {0};

	shop_read(&one);
	shop_read(&two);
	cr_assert_gt(one.len, 30000);
	cr_expect_str_eq(one.data, two.data);
	text_fini(&one);
	text_fini(&two);
}

/* A demo beside the flow. */
static pid_t demo_begin(char *log, size_t size)
{
	char command[100];

	snprintf(log, size, "%s/%s.demo", scratch_dir(), flow_scratch()->name);
	snprintf(command, sizeof(command), "demo --url http://127.0.0.1:%d", flow_port(0));
	return program_begin(log, NULL, command);
}

static void ends_with(pid_t pid, int status)
{
	int ended;

	cr_assert(program_wait(pid, 3 * PATIENCE_MS, &ended));
	cr_expect_eq(ended, status);
}

Test(demo, lives_until_ctrl_c)
{
	char  log[300];
	pid_t pid;

	shop_begin();
	pid = demo_begin(log, sizeof(log));
	flow_steps("wait sql SELECT COUNT(*) > 300 FROM reservation -> 1",
	           "wait sql SELECT COUNT(*) > 90 FROM reservation WHERE state = 3 -> 1");
	kill(pid, SIGINT);
	ends_with(pid, 0);
	flow_steps("sql SELECT COUNT(*) FROM job_task WHERE kind = 1 AND state = 1 -> 0",
	           "run audit -> 0");
	flow_end();
}

/* The lorry comes after a minute, and the queue gets its units. In that minute held orders were confirmed, were
 * released and expired, and the demo made each kind of movement that it makes. The demo ends when the service is
 * gone. */
Test(demo, lorry_comes, DRILL)
{
	char        log[300];
	struct text said = {0};
	pid_t       pid;

	shop_begin();
	pid = demo_begin(log, sizeof(log));
	flow_steps("wait:90 sql SELECT COUNT(*) > 0 FROM movement WHERE movement_id LIKE 'unloaded-%' -> 1",
	           "wait raw GET /v1/locations/lorry -> expected_at=~60",
	           "sql SELECT COUNT(*) > 100 FROM reservation WHERE order_id > 'S-10281' AND confirmed_at >"
	           " created_at + INTERVAL 1 SECOND -> 1",
	           "sql SELECT COUNT(*) > 100 FROM reservation WHERE order_id > 'S-10281' AND confirmed_at ="
	           " created_at -> 1",
	           "sql SELECT COUNT(*) > 20 FROM reservation WHERE order_id > 'S-10281' AND state = 4 -> 1",
	           "sql SELECT COUNT(*) > 5 FROM reservation WHERE order_id > 'S-10281' AND state = 5 -> 1",
	           "wait:90 sql SELECT DISTINCT kind, REGEXP_REPLACE(movement_id, '-[0-9]+$', '') AS name FROM movement"
	           " WHERE kind <> 5 AND created_at >= (SELECT MIN(created_at) FROM movement WHERE movement_id LIKE"
	           " 'restocked-%') ORDER BY kind, name -> 1,lorry 1,restocked 2,broken 3,parcel 6,looked-at 6,to-store"
	           " 7,unloaded",
	           "sql SELECT COUNT(*) > 100 FROM reservation WHERE order_id > 'S-10281' AND state = 3 -> 1",
	           "wait sql SELECT COUNT(*) FROM reservation_line JOIN location USING (location_id) JOIN reservation"
	           " USING (reservation_id) WHERE code = 'lorry' AND order_id < 'S-10280' -> 0",
	           "run audit -> 0");
	flow_terminate();
	ends_with(pid, 69);
	program_log_all(log, &said);
	cr_expect(strstr(said.data, "is gone"), "%s", said.data);
	text_fini(&said);
	flow_end();
}

Test(demo, takes_a_key)
{
	char  file[300];
	FILE *out;

	flow_begin();
	flow_steps("keys boss admin | eyes read",
	           "key boss",
	           "list -> items=");
	demo("--for 0 -> 78 '~GET /v1/skus?limit=1: '");
	demo("--for 0 --key-file /nowhere -> 78 '~--key-file: cannot read /nowhere'");
	for (int admin = 0; admin < 2; admin++) {
		snprintf(file, sizeof(file), "%s/%s.key", scratch_dir(), flow_scratch()->name);
		out = fopen(file, "w");
		cr_assert(out);
		fprintf(out, BEARER "\n", admin ? "boss" : "eyes");
		fclose(out);
		flow_step("alone demo --url http://127.0.0.1:%d --for 0 --key-file %s -> %s", flow_port(0), file,
		          admin ? "0 '~300 skus'" : "78");
	}
	flow_end();
}

/* A slash at the end is no part of the address. */
Test(demo, prints_the_address_that_it_calls)
{
	shop_begin();
	flow_step("alone demo --url http://127.0.0.1:%d// --for 0 -> 0"
	          " '~; http://127.0.0.1:%d/console/ shows them'",
	          flow_port(0), flow_port(0));
	flow_step("alone demo --url http://127.0.0.1:%d/ --for 0 -> 1 '~behind http://127.0.0.1:%d is not empty'",
	          flow_port(0), flow_port(0));
	flow_end();
}

Test(demo, url)
{
	flow("alone demo --url 127.0.0.1:8080      -> 64 '~--url is http://HOST:PORT'",
	     "alone demo --db mariadb://a@b/c       -> 64 '~unknown flag --db'");
}
