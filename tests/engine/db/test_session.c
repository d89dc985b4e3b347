/* test_session.c - a session is what we make it, whatever the server's own settings are: the same flows on servers that
 * an operator has set against us, and connections that the server closes. */
#include "tests/lang/flow.h"
#include "tests/kit/server.h"

#include <signal.h>
#include <stdio.h>
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

TestSuite(session, .init = setup, .fini = teardown);

/* ---- servers that are set against us */

/* 60 orders of nine lines each, in one call: orders NAME0, NAME1 .. */
static void orders(const char *name)
{
	struct text step = {0};

	for (int i = 0; i < 60; i++)
		text_format(&step, "%s %s%d A@l1=1 A@l2=1 A@l3=1 B@l1=1 B@l2=1 B@l3=1 C@l1=1 C@l2=1 C@l3=1 ttl=60",
		            i ? " |" : "batch", name, i);
	text_add(&step, " -> 201 held lines=9 | ...");
	flow_each((const char *const[]){step.data, NULL});
	text_fini(&step);
}

static void delivery_write(char *path, size_t size)
{
	FILE *file;

	snprintf(path, size, "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	file = fopen(path, "w");
	cr_assert(file && fputs("sku,qty,location\nD,5,\nE,6,\nF,7,\nA,1,l1\nB,1,l2\n", file) >= 0 &&
	          fclose(file) == 0);
}

static void orders_live(void)
{
	flow_steps(
		"receipt M1 A@l1 +200 A@l2 +200 A@l3 +200 B@l1 +200 B@l2 +200 B@l3 +200 C@l1 +200 C@l2 +200 C@l3 +200"
		" -> 201 lines=9",
		"receipt M1 A@l1 +200 A@l2 +200 A@l3 +200 B@l1 +200 B@l2 +200 B@l3 +200 C@l1 +200 C@l2 +200 C@l3 +200"
		" -> 200 replayed lines=9");
	orders("R");
	orders("S");
	orders("E");
	flow_steps("race 30*2 release R# -> 60x 200 released lines=9",
	           "race 30*2 release R# -> 60x 200 released replayed lines=9",
	           "confirm S0           -> 200",
	           "confirm S1           -> 200",
	           "confirm S2           -> 200",
	           "confirm S3           -> 200",
	           "race 30*2 confirm S# -> 56x 200 confirmed lines=9 | 4x 200 confirmed replayed lines=9",
	           "availability A B C   -> items=A,B,C",
	           "sku A                -> available=240 reserved=360 locations=3",
	           "list limit=100       -> 200 more items[0].order_id=E59 items[99].lines=9",
	           "list limit=100 next  -> 200 end items=80",
	           "skus limit=2         -> items=A,B more",
	           "skus limit=2 next    -> items=C end");
}

static void orders_end(void)
{
	flow_steps("claim settle w limit=20           -> 201 orders=20 orders[19].lines=9",
	           "complete 1 S0 S1                  -> 200 completed=2",
	           "fail 1 S2=retry S3=bury           -> 200 retried=1 buried=1",
	           "give-back 1                       -> 200 returned",
	           "kick S3                           -> 200 confirmed",
	           "work settle --batch 50            -> 0",
	           "wait work settle                  -> 0",
	           "sql SELECT SUM(qty) FROM movement JOIN movement_line USING (movement_no) WHERE kind = 5 -> -531",
	           "tick 61                           ",
	           "work expire --batch 25            -> 0",
	           "get E0                            -> expired lines=9",
	           "get S59                           -> settled lines=9",
	           "list state=expired limit=50       -> more",
	           "list state=expired limit=50 next  -> end items=10",
	           "confirm E0 reacquire              -> 200 confirmed reacquired lines=9");
}

static void stock_moves(void)
{
	char path[300];

	delivery_write(path, sizeof(path));
	flow_step("run import %s -> 0 '~5 rows, 20 units in 1 movements'", path);
	flow_steps("count C1 A@l1=100 B@l2=90         -> 201 lines=2",
	           "adjust J1 A@l1 -10 A@l2 +10       -> 201",
	           "movements A limit=3               -> 200 items=3 more",
	           "movements A limit=3 next          -> 200",
	           "serve --lanes 4",
	           "second --lanes 2 --slot 4",
	           "race 20*5 reserve X# F=1 ttl=1    -> 7x 201 held | 93x 409 short",
	           "tick 2",
	           "race 20*2 reserve Y# F=1 || reserve Z# F=1 D=9 mode=best_effort -> *x 201 held | *x 409 short",
	           "sku F                             -> available=0 reserved=7",
	           "run purge --keep 0                -> 0",
	           "run reap                          -> 0",
	           "run kick --all                    -> 0",
	           "run stats                         -> 0",
	           "run audit                         -> 0 '~all hold'");
}

/* Reservations, movements, tasks, lists, jobs and commands, on a server with these settings. */
static void flows(const char *const *options, const char *const *settings)
{
	struct db *db;

	server_start(&server, options);
	db = server_connect(&server, "mysql");
	for (; *settings; settings++)
		cr_assert(db_text(db, *settings, NULL, NULL) == DB_OK, "%s: %s", *settings, db_error(db));
	db_free(db);
	server_use(&server);
	flow_begin();
	orders_live();
	orders_end();
	stock_moves();
	flow_end();
}

Test(session, hash_joins)
{
	flows((const char *const[]){"--lower-case-table-names=1", "--innodb-rollback-on-timeout",
	                            "--default-time-zone=-11:00", "--init-connect=SET timestamp = 1500000000", NULL},
	      (const char *const[]){
		      "SET GLOBAL join_cache_level = 4, GLOBAL completion_type = 'CHAIN', GLOBAL sql_mode = 'ANSI'",
		      "SET GLOBAL tx_isolation = 'REPEATABLE-READ', GLOBAL sql_select_limit = 2, GLOBAL "
		      "sql_safe_updates = 1",
		      "SET GLOBAL max_statement_time = 0.0001, GLOBAL max_join_size = 1, GLOBAL lock_wait_timeout = 0",
		      "SET GLOBAL idle_write_transaction_timeout = 1, GLOBAL wait_timeout = 1",
		      "SET GLOBAL optimizer_max_sel_arg_weight = 1, GLOBAL optimizer_search_depth = 0", NULL});
}

Test(session, batched_key_access)
{
	flows((const char *const[]){"--skip-character-set-client-handshake", "--character-set-server=utf16",
	                            "--default-time-zone=+13:00", "--innodb-snapshot-isolation=ON",
	                            "--init-connect=SET autocommit = 0", "--session-track-system-variables=*",
	                            "--session-track-transaction-info=CHARACTERISTICS", "--query-cache-type=1",
	                            "--loose-optimizer-disk-read-cost=10000", "--loose-optimizer-scan-setup-cost=0",
	                            "--loose-optimizer-row-lookup-cost=10000", NULL},
	      (const char *const[]){
		      "SET GLOBAL join_cache_level = 8, GLOBAL optimizer_switch = 'mrr=on,mrr_sort_keys=on'",
		      "SET GLOBAL completion_type = 'RELEASE', GLOBAL sql_mode = 'ORACLE', GLOBAL autocommit = 0",
		      "SET GLOBAL tx_isolation = 'SERIALIZABLE', GLOBAL tx_read_only = 1, GLOBAL unique_checks = 0",
		      "SET GLOBAL check_constraint_checks = 0, GLOBAL foreign_key_checks = 0",
		      "SET GLOBAL character_set_client = latin1, GLOBAL collation_connection = utf16_bin",
		      "SET GLOBAL character_set_results = utf16, GLOBAL in_predicate_conversion_threshold = 2",
		      "SET GLOBAL default_storage_engine = MyISAM, GLOBAL session_track_state_change = 1", NULL});
}

/* While the service stands still the server closes all of its connections; calls that come then are answered all the
 * same. */
Test(session, connections_that_the_server_closes)
{
	/* clang-format off */
	static const char *const steps[] = {
		"reserve R1 A=1    -> 201 held",
		"get R1            -> held",
		"confirm R1        -> 200 confirmed",
		"sku A             -> 200",
		"claim settle w    -> 201",
		"list state=held   -> 200 end",
		"receipt M1 B +1   -> 201",
		"release R1        -> 200",
		"skus              -> items=A,B",
		"tasks             -> 200",
		"movements B       -> 200 end",
	};
	/* clang-format on */

	server_start(&server, (const char *const[]){"--wait-timeout=1", "--interactive-timeout=1",
	                                            "--secure-timestamp=YES", NULL});
	server_use(&server);
	flow_begin();
	flow_steps("serve --lanes 2 --jobs=expire,reap",
	           "receipt A +100 B +1           -> 201",
	           "start W work expire --every 2 -> 0");
	for (size_t i = 0; i < LENGTH(steps); i += 4) {
		flow_signal(SIGSTOP);
		usleep(1500000);
		flow_signal(SIGCONT);
		for (size_t k = i; k < i + 4 && k < LENGTH(steps); k++)
			flow_step("%s", steps[k]);
	}
	flow_steps("signal W TERM",
	           "end W -> 0");
	flow_end();
}
