/* test_damaged.c - rows that this version of the program has not written: what it cannot know is shown as the nearest
 * time or as unknown, and ends no process. Every answer comes from the one process that the flow began with. */
#include "tests/flow.h"

#include <stdio.h>
#include <string.h>

/* What is written into a row, and a step that reads it. */
static const struct damage {
	const char *statement, *step;
} rows[] = {
	{"UPDATE reservation SET state = 99", "get O -> 200 state=unknown"},
	{"UPDATE reservation SET state = 0", "get O -> 200 state=unknown"},
	{"UPDATE reservation SET state = 255", "run stats -> 0 ~held"},
	{"UPDATE reservation SET state = 7", "raw GET /v1/reservations?sku=A -> 200"},
	{"UPDATE reservation SET created_at = '1960-01-01'", "get O -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE reservation SET expires_at = '9999-12-31 23:59:59.999'", "get O -> 200"},
	{"UPDATE movement SET kind = 99", "movement M -> 200 kind=unknown"},
	{"UPDATE movement SET kind = 0", "movement M -> 200 kind=unknown"},
	{"UPDATE movement SET kind = 99", "run audit -> 1 ~M"},
	{"UPDATE movement SET created_at = '1960-01-01'", "movement M -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE event SET at = '1960-01-01'", "events -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE webhook SET state = 0", "raw GET /v1/webhooks/W -> 200 state=off reason=unknown"},
	{"UPDATE webhook SET state = 5", "raw GET /v1/webhooks/W -> 200 state=off reason=unknown"},
	{"UPDATE webhook SET state = 12", "raw GET /v1/webhooks -> 200 items=1"},
	{"UPDATE webhook SET state = 255", "raw GET /v1/webhooks/W -> 200 state=off reason=unknown"},
	{"UPDATE webhook SET created_at = '1960-01-01'", "raw GET /v1/webhooks/W -> 200 ~1970-01-01T00:00:00.000Z"},
	{"UPDATE webhook SET failures = 1, failing_since = NULL", "raw GET /v1/webhooks/W -> 200 failures=1"},
	{"UPDATE webhook SET skip_event = REPEAT('x', 48), failed_event = REPEAT('x', 48)",
         "raw GET /v1/webhooks/W -> 200 webhook_id=W"},
};

Test(damaged, rows_are_shown, .timeout = 60)
{
	flow_begin();
	flow_steps("receipt M A +10 -> 201",
	           "reserve O A=1 ttl=600 -> 201",
	           "raw POST /v1/webhooks {'webhook_id':'W','url':'https://shop.example/hook'} -> 201",
	           "sql CREATE TEMPORARY TABLE r AS SELECT * FROM reservation",
	           "sql CREATE TEMPORARY TABLE m AS SELECT * FROM movement",
	           "sql CREATE TEMPORARY TABLE e AS SELECT * FROM event",
	           "sql CREATE TEMPORARY TABLE w AS SELECT * FROM webhook");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		flow_step("sql %s", rows[i].statement);
		flow_step("%s", rows[i].step);
		flow_steps("sql REPLACE INTO reservation SELECT * FROM r",
		           "sql REPLACE INTO movement SELECT * FROM m",
		           "sql REPLACE INTO event SELECT * FROM e",
		           "sql REPLACE INTO webhook SELECT * FROM w");
	}
	flow_end();
}

/* What would change a reservation in an unknown state does nothing, and says so. */
Test(damaged, an_unknown_state_is_left_alone)
{
	struct text said = {0};

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "reserve O A=2 ttl=60 -> 201",
	           "reserve R A=1 ttl=60 -> 201",
	           "sql UPDATE reservation SET state = 99 WHERE order_id = 'O'",
	           "mark",
	           "confirm O -> 503 busy",
	           "confirm O reacquire -> 503 busy",
	           "release O -> 503 busy",
	           "extend O ttl=60 -> 503 busy",
	           "kick O -> 503 busy",
	           "split O P A=1 -> 503 busy",
	           "split O P A=1 then=release -> 503 busy",
	           "reserve N A=3 replaces=O -> 503 busy",
	           "reserve O A=2 ttl=60 -> 200 replayed state=unknown",
	           "unchanged",
	           "confirmations O R -> 503 busy | 200 confirmed",
	           "tick 61",
	           "work expire",
	           "get O -> 200 state=unknown",
	           "sku A -> 200 available=7 reserved=3",
	           "events -> 200 items=movement.receipt,reservation.held,reservation.held,reservation.confirmed",
	           "sql UPDATE reservation SET state = 1 WHERE order_id = 'O'");
	flow_said(&said);
	cr_expect(strstr(said.data, "event=state_unknown order_id=O state=99"));
	text_fini(&said);
	flow_end();
}

/* The columns of a task, one of which is not known: nobody changes the task or its order. */
Test(damaged, an_unknown_task_is_left_alone)
{
	static const char *const columns[] = {"kind = 99", "kind = 0", "state = 99", "state = 0"};

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "reserve O A=2 confirm=true -> 201",
	           "claim settle w lease=5 -> 201",
	           "tick 60",
	           "sql CREATE TEMPORARY TABLE t AS SELECT * FROM claimed_task");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		flow_step("sql UPDATE claimed_task SET %s", columns[i]);
		flow_steps("mark",
		           "task 1 -> 200 ~unknown",
		           "heartbeat 1 -> 409 lease_lost",
		           "complete 1 O -> 409 lease_lost",
		           "complete 1 -> 409 lease_lost",
		           "fail 1 O=bury:E -> 409 lease_lost",
		           "give-back 1 -> 409 lease_lost",
		           "run reap",
		           "work settle",
		           "unchanged",
		           "sql REPLACE INTO claimed_task SELECT * FROM t");
	}
	flow_steps("run reap",
	           "tick 60",
	           "work settle",
	           "get O -> 200 settled");
	flow_end();
}

Test(damaged, an_event_that_names_nothing_is_passed)
{
	static const char word[] = "event=event_damaged writer=";
	struct text       said = {0};
	const char       *first;

	flow_begin();
	flow_steps("receipt M A +10 -> 201",
	           "reserve O A=1 ttl=600 -> 201",
	           "sql CREATE TEMPORARY TABLE e AS SELECT * FROM event",
	           "sql UPDATE event SET changes = x'010100000252310101C1EE6D01FFFFFFFF0F0106' ORDER BY stamp LIMIT 1",
	           "events -> 200 items=reservation.held",
	           "receipt N A +1 -> 201",
	           "events -> 200 items=reservation.held,movement.receipt",
	           "run audit -> 1 ~M",
	           "sql REPLACE INTO event SELECT * FROM e");
	flow_said(&said);
	first = strstr(said.data, word);
	cr_assert(first);
	cr_expect_not(strstr(first + 1, word), "it is said once");
	text_fini(&said);
	flow_end();
}

/* Pages of memory that the program holds. */
static long pages_held(void)
{
	char  path[40];
	long  pages = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", flow_pid(0));
	file = fopen(path, "r");
	cr_assert(file && fscanf(file, "%*d %ld", &pages) == 1 && fclose(file) == 0);
	return pages;
}

Test(damaged, a_large_number_takes_no_memory)
{
	long before;

	flow_begin();
	flow_step("receipt M A +10 -> 201");
	before = pages_held();
	flow_steps("sql INSERT INTO sku VALUES (60000000, 'BIG', UTC_TIMESTAMP(3))",
	           "receipt N BIG +1 -> 201",
	           "sku BIG -> 200 available=1",
	           "reserve O BIG=1 ttl=600 -> 201");
	cr_expect(pages_held() < before + (100 << 20) / 4096);
	flow_end();
}
