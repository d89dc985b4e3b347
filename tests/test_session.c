/* test_session.c - a session is what we make it, whatever the server's own settings are: the same flows on servers that an
 * operator has set against us, and what interrupts and closed connections leave behind. */
#include "tests/proxy.h"
#include "tests/server.h"
#include "tests/trap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct server server;

static void setup(void)
{
	server_make(&server, NULL);
}

static void teardown(void)
{
	server_remove(&server);
}

TestSuite(session, .init = setup, .fini = teardown, .timeout = 90);

/* ---- what breaks off, on the server of all tests */

static void number_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg += db_int(row, 0);
}

/* Half a set is nothing, whoever reads it. */
Test(torn, rows_of_half_a_set)
{
	struct scratch s;
	struct proxy  *proxy;
	struct db     *db;
	int64_t        sum = 0;

	scratch_open(&s);
	proxy = proxy_open(&s);
	snprintf(s.target.socket, sizeof(s.target.socket), "%s", s.link);
	db = db_new(&s.target);
	cr_assert(db_connect(db), "%s", db_error(db));
	proxy_arm(proxy, BREACH_TORN, "seq_1_to_1000");
	cr_expect(db_text(db, "SELECT seq FROM mysql.seq_1_to_1000", number_read, &sum) == DB_UNKNOWN && sum == 0,
	          "rows were given, their sum is %d", (int)sum);
	proxy_let_in(proxy);
	cr_assert(db_connect(db), "%s", db_error(db));
	cr_expect(db_text(db, "SELECT seq FROM mysql.seq_1_to_1000", number_read, &sum) == DB_OK && sum == 500500);
	db_free(db);
	proxy_close(proxy);
	scratch_close(&s);
}

/* What was read of a sku before the answer broke off is not remembered. */
Test(torn, totals)
{
	struct proxy *proxy;
	struct race  *first, *second;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_repeat("receipt", " A@L# +100", 50, " -> 201");
	proxy_arm(proxy, BREACH_TORN, "FROM stock_slot s");
	first = flow_race("1", "sku A");
	cr_expect(proxy_struck(proxy));
	usleep(300000);
	second = flow_race("1", "sku A max_age=60000");
	usleep(300000);
	proxy_let_in(proxy);
	trap_raced(first, "1x 200 available=5000");
	trap_raced(second, "1x 200 available=5000");
	flow_end();
	proxy_close(proxy);
}

/* Where what begins a transaction is interrupted time and again, nothing of the transaction stands by itself. */
Test(torn, what_begins_a_transaction)
{
	static const char *const steps[] = {
		"release  R1                -> 200 released",
		"adjust   A -1              -> 201",
		"confirm  R2                -> 200 confirmed",
		"reserve  R3 A=1            -> 201 held",
	};
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201", "reserve  R1 A=2            -> 201",
	           "reserve  R2 A=3            -> 201");
	for (size_t i = 0; i < COUNT(steps); i++) {
		flow_step("cut");
		flow_step("reserve R1 A=2 -> 200 replayed"); /* a new connection, which has not begun anything yet */
		proxy_arm(proxy, BREACH_WRONG, "SET autocommit = 0");
		flow_step("%s", steps[i]);
		cr_expect(proxy_struck(proxy), "%s", steps[i]);
	}
	flow_step("sku      A                 -> available=5 reserved=4");
	flow_end();
	proxy_close(proxy);
}
