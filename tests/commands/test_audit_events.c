/* test_audit_events.c - the audit of events: what is damaged, in the log or in the tables, is named; a whole database
 * passes, whatever was removed, and while it is worked on. */
#include "engine/db/txn.h"
#include "engine/log/keeping.h"
#include "commands/audit_events.h"
#include "tests/lang/flow.h"
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"

#include <stdio.h>
#include <string.h>

/* Makes every kind of event. The lane's writer is 1. */
static void orders_make(void)
{
	flow_begin();
	flow_steps("serve    --lanes 1",
	           "receipt  A +20 A@paris +5    -> 201",
	           "count    C1 A=20             -> 201",
	           "reserve  SETTLED A=1         -> 201",
	           "confirm  SETTLED             -> 200",
	           "reserve  KICKED A=1 confirm=true -> 201",
	           "claim    settle w            -> 201 task_id=1",
	           "complete 1 SETTLED           -> completed=1",
	           "fail     1 KICKED=bury       -> buried=1",
	           "kick     KICKED              -> 200",
	           "reserve  EXPIRED A=1 ttl=60  -> 201",
	           "reserve  BACK A=1 ttl=60     -> 201",
	           "tick     61",
	           "work     expire",
	           "confirm  BACK reacquire      -> 200 reacquired",
	           "reserve  OLD A=2             -> 201",
	           "extend   OLD ttl=900         -> 200",
	           "reserve  NEW A=2 A@paris=2 replaces=OLD -> 201",
	           "split    NEW PART A=1        -> 201",
	           "split    NEW GONE A@paris=1 then=release -> 201",
	           "release  PART                -> 200",
	           "reserve  HELD A=1 A@paris=1  -> 201",
	           "run audit                    -> 0 '~invariants checked, all hold'");
}

#define STAMP_OF_HELD "(SELECT changed FROM reservation WHERE order_id = 'HELD')"
static const char *const damages[][3] = {
	/* words, damage, mending */
	{"writer=1/3 why=the row is missing", "UPDATE event SET event_no = 1000 WHERE writer_id = 1 AND event_no = 3",
         "UPDATE event SET event_no = 3 WHERE event_no = 1000"},
	{"writer=1/3 why=the row cannot be read",
         "CREATE OR REPLACE TEMPORARY TABLE saved AS SELECT * FROM event; UPDATE event SET changes = 'x'"
         " WHERE writer_id = 1 AND event_no = 3",
         "REPLACE INTO event SELECT * FROM saved"},
	{"order_id=HELD why=it has no event",
         "UPDATE log_writer SET event_no = event_no - 1 WHERE stamp = " STAMP_OF_HELD,
         "UPDATE log_writer SET event_no = event_no + 1 WHERE stamp = " STAMP_OF_HELD},
	{"order_id=PART why=its last change has no event",
         "UPDATE reservation SET changed = changed + 1 WHERE order_id = 'PART'",
         "UPDATE reservation SET changed = changed - 1 WHERE order_id = 'PART'"},
	{"order_id=HELD why=its last event is newer than its row",
         "UPDATE reservation SET changed = changed - 1 WHERE order_id = 'HELD'",
         "UPDATE reservation SET changed = changed + 1 WHERE order_id = 'HELD'"},
	{"order_id=HELD why=its state is not that of its last event",
         "UPDATE reservation SET state = 5 WHERE order_id = 'HELD'",
         "UPDATE reservation SET state = 1 WHERE order_id = 'HELD'"},
	{"order_id=BACK why=its lines are not those of its last event",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = 2 WHERE order_id = 'BACK'",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = 1 WHERE order_id = 'BACK'"},
	{"order_id=NEW why=its lines are not those of its last event",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET location_id = 9 WHERE order_id = 'NEW'"
         " AND location_id = 2",
         "UPDATE reservation_line SET location_id = 2 WHERE location_id = 9"},
	{"order_id=HELD why=it has events and no row",
         "UPDATE reservation SET order_id = 'OTHER' WHERE order_id = 'HELD'",
         "UPDATE reservation SET order_id = 'HELD' WHERE order_id = 'OTHER'"},
	{"order_id=OTHER why=it has no event", "UPDATE reservation SET order_id = 'OTHER' WHERE order_id = 'HELD'",
         "UPDATE reservation SET order_id = 'HELD' WHERE order_id = 'OTHER'"},
	{"movement_id=C1 why=its event has no movement",
         "UPDATE movement SET movement_id = 'C2' WHERE movement_id = 'C1'",
         "UPDATE movement SET movement_id = 'C1' WHERE movement_id = 'C2'"},
	{"movement_id=C1 why=its kind is not that of its event",
         "UPDATE movement SET kind = 2 WHERE movement_id = 'C1'",
         "UPDATE movement SET kind = 4 WHERE movement_id = 'C1'"},
	{"movement_id=made-0 why=its units are not those of its event",
         "UPDATE movement_line SET qty = qty + 1 WHERE qty = 20",
         "UPDATE movement_line SET qty = qty - 1 WHERE qty = 21"},
	{"movement_id=C1 why=it has two events",
         "INSERT INTO event SELECT 1, 900, stamp + 900000000, at, changes FROM event WHERE writer_id = 1 AND event_no"
         " = 2; INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at, event_no)"
         " SELECT 9, 0, 9, 1, 0, batch_at, started_at, 900 FROM log_writer WHERE writer_id = 1;"
         " INSERT INTO log_floor VALUES (9, 899, 0); UPDATE event SET"
         " writer_id = 9 WHERE event_no = 900",
         "DELETE FROM event WHERE writer_id = 9; DELETE FROM log_writer WHERE writer_id = 9; DELETE FROM log_floor"},
	{"order_id=HELD why=it is made twice",
         "INSERT INTO event SELECT 9, 900, stamp + 1, at, changes FROM event WHERE stamp = " STAMP_OF_HELD
         "; INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at, event_no)"
         " SELECT 9, 0, 9, 1, 0, batch_at, started_at, 900 FROM log_writer WHERE writer_id = 1;"
         " INSERT INTO log_floor VALUES (9, 899, 0)",
         "DELETE FROM event WHERE writer_id = 9; DELETE FROM log_writer WHERE writer_id = 9; DELETE FROM log_floor"},
	{"order_id=HELD why=its last event is another one than it says",
         "UPDATE reservation SET last_event = last_event - 1 WHERE order_id = 'HELD'",
         "UPDATE reservation SET last_event = last_event + 1 WHERE order_id = 'HELD'"},
	{"order_id=SETTLED why=an event names another row before", /* row 1 of writer 1, which is a receipt */
         "CREATE OR REPLACE TEMPORARY TABLE saved AS SELECT * FROM event; UPDATE event e JOIN reservation r"
         " ON e.writer_id = last_event >> 40 AND event_no = last_event & 0xFFFFFFFFFF SET e.changes = INSERT(e.changes,"
         " LOCATE(0x8080808020, e.changes) - 1, 1, 0x81) WHERE order_id = 'SETTLED'",
         "REPLACE INTO event SELECT * FROM saved"},
	{"order_id=SETTLED why=an event is missing or comes out of order",
         "UPDATE event SET event_no = 1000 WHERE writer_id = 1 AND event_no = 4",
         "UPDATE event SET event_no = 4 WHERE event_no = 1000"},
};

static void sql_run(const char *statements)
{
	struct db  *db = flow_scratch()->db;
	struct text text = {0};

	text_add(&text, statements);
	for (char *rest = text.data, *one; (one = strsep(&rest, ";"));)
		cr_assert_eq(db_text(db, one, NULL, NULL), DB_OK, "%s: %s", one, db_error(db));
	text_fini(&text);
}

Test(audit_events, names_what_is_broken)
{
	orders_make();
	for (size_t i = 0; i < LENGTH(damages); i++) {
		sql_run(damages[i][1]);
		flow_step("run audit -> 1 '~events_add_up: %s'", damages[i][0]);
		sql_run(damages[i][2]);
		flow_step("run audit -> 0");
	}
	flow_steps("sql UPDATE reservation SET state = 5 WHERE order_id = 'HELD' -> ",
	           "run audit --json -> 1 whole=false ~events_add_up '~order_id:HELD,why:its state is not'",
	           "sql UPDATE reservation SET state = 1 WHERE order_id = 'HELD' -> ");
	flow_end();
}

/* The state and the lines are the same without it. */
Test(audit_events, a_missing_extension)
{
	flow("serve   --lanes 1",
	     "receipt A +10                -> 201",
	     "reserve LONG A=1 ttl=600     -> 201",
	     "reserve FIRST A=2            -> 201",
	     "split   FIRST PART A=1       -> 201",
	     "extend  LONG ttl=900         -> 200",
	     "run     audit                -> 0",
	     "sql     UPDATE log_writer SET event_no = event_no - 1",
	     "run     audit                -> 1 '~order_id=LONG why=it is held longer than its last event says'",
	     "sql     UPDATE log_writer SET event_no = event_no + 1",
	     "run     audit                -> 0");
}

/* Rows older than the oldest event kept are left out; younger orders are not. */
Test(audit_events, of_what_is_kept)
{
	int last;

	orders_make();
	last = (int)scratch_number(flow_scratch()->db, "SELECT event_no FROM log_writer WHERE writer_id = 1");
	for (int n = 1; n <= last; n++) {
		char sql[300];

		snprintf(sql, sizeof(sql),
		         "REPLACE INTO log_floor VALUES (1, %d, (SELECT stamp FROM event WHERE writer_id = 1"
		         " AND event_no = %d)); DELETE FROM event WHERE writer_id = 1 AND event_no"
		         " <= %d",
		         n, n, n);
		sql_run(sql);
		flow_step("run audit -> 0");
	}
	flow_steps("reserve YOUNG A=1                   -> 201",
	           "run purge --keep 0                  -> 0",
	           "run audit                           -> 0",
	           "sql UPDATE reservation SET state = 2, confirmed_at = created_at WHERE order_id = 'YOUNG' -> ",
	           "run audit                           -> 1 '~order_id=YOUNG why='",
	           "sql UPDATE reservation SET state = 1, confirmed_at = '2000-01-01' WHERE order_id = 'YOUNG' -> ");
	flow_end();
}

/* A log that was switched off gives no findings. */
Test(audit_events, of_no_log)
{
	orders_make();
	flow_steps("serve --lanes 1 --events-keep 0 -> ",
	           "reserve R1 A=1                  -> 201",
	           "confirm HELD                    -> 200",
	           "run audit                       -> 0",
	           "serve --lanes 1 --events-keep 1 -> ",
	           "release R1                      -> 200",
	           "run audit                       -> 0",
	           "reserve R1 A=2                  -> 422",
	           "reserve R2 A=2                  -> 201");
	flow_end();
}

static void found_count(void *arg, const struct event_finding *f)
{
	(void)f;
	++*(int *)arg;
}

/* If memory has room for few orders, each is still looked at once. */
Test(audit_events, pass_by_pass)
{
	struct db *db;
	int        found = 0;

	flow_begin();
	flow_orders("R", 1000);
	flow_steps("work settle --batch 100 -> 0",
	           "sql UPDATE reservation SET state = 2, settled_at = NULL WHERE order_id LIKE 'R%7' -> ");
	db = flow_scratch()->db;
	cr_expect_eq(audit_events(db, 16, found_count, &found), DB_OK);
	cr_expect_eq(found, 100, "%d", found);
	flow_steps("sql UPDATE reservation SET state = 3, settled_at = created_at WHERE order_id LIKE 'R%7' -> ");
	found = 0;
	cr_expect_eq(audit_events(db, 16, found_count, &found), DB_OK);
	cr_expect_eq(found, 0);
	flow_end();
}

/* Events are removed while the audit reads them. */
Test(audit_events, is_overtaken)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve --lanes 1",
	           "receipt A +10 -> 201",
	           "reserve R1 A=1 -> 201");
	proxy_arm(proxy, BREACH_WAIT, "r.changed >= ");
	flow_step("start P audit");
	cr_expect(proxy_struck(proxy));
	flow_step("confirm R1     -> 200");
	proxy_arm(proxy, BREACH_WAIT, "r.order_id IN");
	proxy_go_on(proxy);
	cr_expect(proxy_struck(proxy), "there was no second look");
	sql_run("REPLACE INTO log_floor SELECT w.writer_id, 3, e.stamp FROM log_writer w JOIN event e USING (writer_id)"
	        " WHERE w.event_no = 3 AND e.event_no = 3; DELETE FROM event WHERE event_no <= 3");
	proxy_go_on(proxy);
	flow_step("end P -> 0 '~all hold'");
	flow_end();
	proxy_close(proxy);
}

/* An order changes between the audit's look at the log and its look at the tables, or while it looks again. */
Test(audit_events, is_outrun)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("receipt A +10  -> 201",
	           "reserve R1 A=3 -> 201",
	           "reserve R2 A=1 -> 201");
	proxy_arm(proxy, BREACH_WAIT, "r.changed >= ");
	flow_step("start P audit");
	cr_expect(proxy_struck(proxy));
	flow_steps("split R1 S1 A=1 -> 201",
	           "release R2      -> 200",
	           "run purge --keep 0 -> 0",
	           "reserve R2 A=2  -> 201",
	           "sql UPDATE reservation SET changed = changed - 100000000 WHERE order_id = 'S1' -> ");
	proxy_arm(proxy, BREACH_WAIT, "r.order_id IN");
	proxy_go_on(proxy);
	cr_expect(proxy_struck(proxy), "there was no second look");
	flow_steps("sql UPDATE reservation SET changed = changed + 100000000 WHERE order_id = 'S1' -> ",
	           "confirm R1      -> 200",
	           "split R1 S2 A=1 -> 201");
	proxy_go_on(proxy);
	flow_step("end P -> 0 '~all hold'");
	flow_end();
	proxy_close(proxy);
}
