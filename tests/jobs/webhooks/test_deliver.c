/* test_deliver.c - the deliveries of webhooks: every event, in its order, signed, for as long as it takes. Also
 * receivers that fail, hang or are gone, and deliverers that die. */
#include "engine/base/clock.h"
#include "jobs/webhooks/signature.h"
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"
#include "tests/kit/inbox.h"
#include "tests/kit/patience.h"
#include "tests/lang/steps.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALLOW   "--webhooks-allow 127.0.0.0/8"
#define DELIVER "start D work deliver " ALLOW
/* READ_MS: deliverers know what a row says within a second. */
enum { SOON_MS = PATIENCE_MS, READ_MS = PATIENCE_MS / 8 };

static int port;

static void begin(void)
{
	port = inbox_open();
	flow_begin();
	flow_steps("serve --lanes 2 " ALLOW,
	           "receipt A +100000 B +100000 -> 201");
}

/* A webhook W to the path /W, with these members more. */
static void webhook(const char *name, const char *members)
{
	flow_step("raw POST /v1/webhooks {'webhook_id':'%s','url':'http://127.0.0.1:%d/%s'%s} -> 201", name, port, name,
	          members);
}

/* So many webhooks more, as W is, to its path. */
static void copies(int count)
{
	flow_step(
		"sql INSERT INTO webhook (webhook_id, url, from_oldest, parallel, created_at, secret, due_at, place,"
		" waits_since) SELECT CONCAT('W', seq), url, 0, parallel, created_at, secret, UTC_TIMESTAMP(3), place,"
		" waits_since FROM webhook, seq_1_to_%d -> ",
		count);
}

static void webhook_secret(const char *name, char to[SECRET_SIZE])
{
	char          path[100];
	struct client c;
	struct answer a = {0};
	cJSON        *secret;

	client_open(&c, flow_port(0));
	if (to[0]) { /* rotate */
		snprintf(path, sizeof(path), "/v1/webhooks/%s/rotate", name);
		client_ask(&c, "POST", path, "", &a);
	} else {
		struct text body = {0};

		text_format(&body, "{\"webhook_id\":\"%s\",\"url\":\"http://127.0.0.1:%d/%s\"}", name, port, name);
		client_ask(&c, "POST", "/v1/webhooks", body.data, &a);
		text_fini(&body);
	}
	secret = cJSON_GetObjectItemCaseSensitive(a.json, "secret");
	cr_assert(cJSON_IsString(secret), "no secret: %s", a.body.data);
	snprintf(to, SECRET_SIZE, "%s", secret->valuestring);
	answer_fini(&a);
	client_close(&c);
}

static void expect_came(const char *path, int status, size_t count)
{
	if (!inbox_waits(path, status, count, SOON_MS))
		flow_fail("%zu of %zu came to %s with %d", inbox_count(path, status), count, path, status);
}

/* Exactly so many, also after a while. */
static void expect_only(const char *path, int status, size_t count)
{
	expect_came(path, status, count);
	usleep(300000);
	cr_expect_eq(inbox_count(path, status), count, "%zu instead of %zu came to %s with %d",
	             inbox_count(path, status), count, path, status);
}

static void expect_signed(const struct received *in, const char *first, const char *second, const char *third)
{
	const char *const secrets[SECRETS] = {first, second, third};
	struct text       is = {0};

	cr_assert(signature_write(&is, secrets, in->id, atoll(in->timestamp), in->body, in->len));
	cr_expect_str_eq(in->signature, is.data);
	text_fini(&is);
}

/* ---- what comes */

Test(deliver, every_event_in_order)
{
	char secret[SECRET_SIZE] = "";

	begin();
	webhook_secret("W", secret);
	flow_steps("reserve R0 A=1 confirm=true -> 201",
	           DELIVER);
	for (int i = 1; i < 50; i++)
		flow_step("reserve R%d A=1 confirm=true -> 201", i);
	expect_only("/W", 200, 100);
	for (int i = 0; i < 100; i++) {
		struct received in = inbox_get("/W", (size_t)i);
		char            order[20];

		snprintf(order, sizeof(order), "R%d", i / 2);
		cr_expect_str_eq(received_member(&in, "data.order_id"), order);
		cr_expect_str_eq(received_member(&in, "type"), i % 2 ? "reservation.confirmed" : "reservation.held");
		cr_expect_str_eq(received_member(&in, "id"), in.id);
		cr_expect(!strchr(in.id, '.'));
		expect_signed(&in, secret, NULL, NULL);
	}
	flow_steps("wait raw GET /v1/webhooks/W  -> state=active failures=0 last_status=200 cursor_age_s=0",
	           "signal D TERM",
	           "end D                  -> 0",
	           "wait raw GET /metrics  -> holdfast_events_delivered_total=100 holdfast_events_failures_total=0",
	           "reserve LATE A=1       -> 201",
	           "work deliver " ALLOW " -> 0");
	expect_only("/W", 200, 101);
	flow_end();
}

Test(deliver, from_the_oldest_and_only_some_types)
{
	begin();
	flow_steps("reserve R1 A=1  -> 201",
	           "reserve R2 A=1  -> 201",
	           "release R1      -> 200");
	webhook("ALL", ",'from':'oldest'");
	webhook("SOME", ",'from':'oldest','types':['reservation.released']");
	webhook("NEW", "");
	flow_steps("serve --lanes 1 --jobs=deliver " ALLOW,
	           "release R2 -> 200");
	expect_only("/ALL", 200, 5);
	expect_only("/SOME", 200, 2);
	expect_only("/NEW", 200, 1);
	cr_expect_str_eq(inbox_get("/SOME", 0).id, inbox_get("/ALL", 3).id);
	flow_step("wait raw GET /metrics -> holdfast_events_delivered_total=8");
	flow_end();
}

/* Signed with the last two for a day, and with the one that was in use before, however often the call came since. */
Test(deliver, rotated)
{
	static const struct {
		const char *tick;
		int         rotations;
		int         signed_by[SECRETS]; /* -1: nothing */
	} rows[] = {{"tick 0", 1, {1, 0, -1}},
	            {"tick 3600", 2, {3, 2, 0}},
	            {"tick 83000", 0, {3, 2, -1}},
	            {"tick 3600", 0, {3, -1, -1}}};
	char secrets[5][SECRET_SIZE] = {"", "rotate", "rotate", "rotate"};
	int  told = 1;

	begin();
	webhook_secret("W", secrets[0]);
	flow_step(DELIVER);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const int      *by = rows[i].signed_by;
		struct received in;

		flow_step("%s", rows[i].tick);
		for (int n = 0; n < rows[i].rotations; n++)
			webhook_secret("W", secrets[told++]);
		usleep((useconds_t)patience_ms(READ_MS) * 1000);
		flow_step("reserve R%zu A=1 -> 201", i);
		expect_came("/W", 200, i + 1);
		in = inbox_get("/W", i);
		expect_signed(&in, secrets[by[0]], by[1] < 0 ? NULL : secrets[by[1]],
		              by[2] < 0 ? NULL : secrets[by[2]]);
	}
	flow_end();
}

/* ---- what fails */

Test(deliver, what_fails_is_repeated_before_the_next)
{
	struct received first, again, next;

	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 500, .times = 1});
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201",
	           "reserve R2 A=1 -> 201");
	expect_came("/W", 500, 1);
	flow_step(
		"wait raw GET /v1/webhooks/W -> failures=1 last_status=500 failed_event=* retry_at=~5 failing_since=*");
	expect_only("/W", 200, 2);
	first = inbox_get("/W", 0);
	again = inbox_get("/W", 1);
	next = inbox_get("/W", 2);
	cr_expect_str_eq(first.id, again.id);
	cr_expect_str_eq(received_member(&again, "data.order_id"), "R1");
	cr_expect_str_eq(received_member(&next, "data.order_id"), "R2");
	cr_expect(again.at_ms - first.at_ms >= 4400 && again.at_ms - first.at_ms < 7500, "after %lld ms",
	          (long long)(again.at_ms - first.at_ms));
	cr_expect_gt(atoll(again.timestamp), atoll(first.timestamp));
	flow_steps("wait raw GET /v1/webhooks/W  -> failures=0 last_status=200 !failed_event !last_error",
	           "signal D TERM",
	           "end D                  -> 0 ~event=webhook_failing",
	           "raw GET /metrics       -> holdfast_events_failures_total=1");
	flow_end();
}

Test(deliver, asked_to_come_again_later)
{
	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 503, .times = 1, .retry_after_s = 2});
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201");
	expect_came("/W", 200, 1);
	cr_expect(inbox_get("/W", 1).at_ms - inbox_get("/W", 0).at_ms >= 1900);
	cr_expect(inbox_get("/W", 1).at_ms - inbox_get("/W", 0).at_ms < 4000);
	flow_end();
}

Test(deliver, gone)
{
	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 410, .times = 1});
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201",
	           "reserve R2 A=1 -> 201",
	           "wait raw GET /v1/webhooks/W -> state=off reason=gone last_status=410 failures=1 !retry_at");
	expect_only("/W", 0, 1);
	flow_steps("raw POST /v1/webhooks/W/enable -> 200 state=active failures=0 !reason");
	expect_only("/W", 200, 2);
	flow_steps("signal D TERM",
	           "end D -> 0 ~event=webhook_off ~reason=gone");
	flow_end();
}

/* The schedule stands in the database: a restart is no reason to come sooner, nor later. */
Test(deliver, the_schedule_survives_a_restart)
{
	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 500});
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201");
	expect_came("/W", 500, 2);
	flow_steps("wait raw GET /v1/webhooks/W -> failures=2",
	           "signal D TERM",
	           "end D -> 0",
	           DELIVER);
	expect_only("/W", 0, 2);
	flow_steps("signal D KILL",
	           "end D -> 137",
	           "tick 335",
	           DELIVER);
	expect_came("/W", 500, 3);
	flow_steps("wait raw GET /v1/webhooks/W -> failures=3 state=active",
	           "signal D TERM",
	           "end D -> 0",
	           "sql UPDATE webhook SET failing_since = failing_since - INTERVAL 5 DAY -> ",
	           "tick 2000");
	inbox_answers("/W", (struct manner){.status = 502, .times = 1});
	flow_steps(DELIVER,
	           "wait raw GET /v1/webhooks/W -> state=off reason=failed failures=4 last_status=502");
	flow_steps("raw POST /v1/webhooks/W/enable -> state=active failures=0");
	expect_came("/W", 200, 1);
	flow_end();
}

/* Days without a try are no failures: there was no deliverer, or the clock was moved. The deliverer keeps its pause,
 * too. */
Test(deliver, a_clock_that_is_moved_switches_nothing_off)
{
	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 500});
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201");
	expect_came("/W", 500, 1);
	flow_steps("wait raw GET /v1/webhooks/W -> failures=1",
	           "tick 700000");
	expect_only("/W", 0, 1);
	expect_came("/W", 500, 2);
	flow_steps("wait raw GET /v1/webhooks/W -> failures=2 state=active",
	           "signal D KILL",
	           "end D -> 137",
	           "tick 700000",
	           "sql UPDATE webhook SET due_at = UTC_TIMESTAMP(3) + INTERVAL 8 DAY -> ", /* a lease that is none */
	           DELIVER);
	expect_came("/W", 500, 3);
	flow_step("wait raw GET /v1/webhooks/W -> failures=3 state=active");
	flow_end();
}

Test(deliver, skip)
{
	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 400});
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201",
	           "reserve R2 A=1 -> 201");
	expect_came("/W", 400, 1);
	flow_steps("wait raw GET /v1/webhooks/W -> failures=1");
	inbox_answers("/W", (struct manner){.status = 200});
	flow_steps("raw POST /v1/webhooks/W/enable {'skip':true} -> 200 failures=0");
	expect_only("/W", 200, 1);
	cr_expect_str_eq(
		received_member(&(struct received){.body = inbox_get("/W", 1).body, .len = inbox_get("/W", 1).len},
	                        "data.order_id"),
		"R2");
	flow_end();
}

/* A time, of which the test knows how long ago it was by the stored times alone. */
Test(deliver, from_a_time)
{
	begin();
	webhook("W", "");
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201");
	expect_came("/W", 200, 1);
	flow_steps("wait sql SELECT last_status FROM webhook -> 200",
	           "raw POST /v1/webhooks/W/enable {'from':'2020-01-01T00:00:00Z'} -> 200");
	expect_only("/W", 200, 3);
	cr_expect_str_eq(inbox_get("/W", 2).id, inbox_get("/W", 0).id);
	flow_steps("raw POST /v1/webhooks/W/enable {'from':'2099-01-01T00:00:00Z'} -> 200",
	           "raw DELETE /v1/webhooks/W -> 204",
	           "reserve R2 A=1 -> 201"); /* after the deletion, if only just: not delivered */
	usleep((useconds_t)patience_ms(READ_MS) * 1000);
	expect_only("/W", 200, 3);
	flow_end();
}

Test(deliver, what_is_not_kept_any_more)
{
	begin();
	flow_steps("reserve R1 A=1 -> 201");
	webhook("W", "");
	flow_steps("reserve R2 A=1 -> 201",
	           "reserve R3 A=1 -> 201",
	           "sql REPLACE INTO log_floor SELECT writer_id, MAX(event_no), MAX(stamp) FROM event"
	           " GROUP BY writer_id",
	           "sql DELETE FROM event",
	           DELIVER,
	           "wait raw GET /v1/webhooks/W -> state=off reason=cursor_expired",
	           "raw POST /v1/webhooks/W/enable -> state=active",
	           "reserve R4 A=1 -> 201");
	expect_only("/W", 200, 1);
	flow_end();
}

/* ---- many at once */

/* 20 ms an answer: one at a time 300 deliveries take 6 s. */
Test(deliver, parallel)
{
	begin();
	webhook("W", ",'parallel':16");
	inbox_answers("/W", (struct manner){.status = 200, .delay_ms = 20});
	for (int i = 0; i < 100; i++)
		flow_step("batch R%d A=1 -> 201", i);
	for (int i = 0; i < 100; i++)
		flow_step("confirm R%d -> 200", i);
	for (int i = 0; i < 100; i++)
		flow_step("release R%d -> 200", i);
	flow_step(DELIVER);
	if (!inbox_waits("/W", 200, 300, 4000))
		flow_fail("%zu of 300 in 4 s", inbox_count("/W", 200));
	cr_expect_leq(inbox_at_once("/W"), 16);
	cr_expect_geq(inbox_at_once("/W"), 12);
	for (int i = 0; i < 100; i++) {
		static const char *const types[] = {"reservation.held", "reservation.confirmed",
		                                    "reservation.released"};
		int                      seen = 0;
		char                     order[20];

		snprintf(order, sizeof(order), "R%d", i);
		for (size_t k = 0; k < 300; k++) {
			struct received in = inbox_get("/W", k);

			if (strcmp(received_member(&in, "data.order_id"), order) == 0)
				cr_expect_str_eq(received_member(&in, "type"), types[seen++ % 3]);
		}
		cr_expect_eq(seen, 3);
	}
	flow_end();
}

/* One order that the receiver does not take holds up itself alone, by a thousand events at most: so many come between
 * its first try, which is the first of all, and its second. */
Test(deliver, parallel_is_a_thousand_ahead_at_most)
{
	const char *order;
	size_t      ahead = 0;

	begin();
	webhook("W", ",'parallel':8,'types':['reservation.held']");
	inbox_answers("/W", (struct manner){.status = 500, .times = 1, .retry_after_s = 8});
	flow_step("reserve FIRST A=1 -> 201");
	flow_repeat("batch", " R# A=1 |", 999, " R999 A=1 -> 201 | ...");
	flow_repeat("batch", " S# A=1 |", 99, " S99 A=1 -> 201 | ...");
	flow_step(DELIVER);
	if (!inbox_waits("/W", 200, 1101, 30000))
		flow_fail("%zu of 1101 came", inbox_count("/W", 200));
	expect_only("/W", 200, 1101);
	do {
		struct received in = inbox_get("/W", ++ahead);

		order = received_member(&in, "data.order_id");
	} while (strcmp(order, "FIRST") != 0);
	cr_expect_leq(ahead - 1, 1000, "%zu came", ahead - 1);
	flow_end();
}

/* An event that was delivered ahead of a refused one stays delivered. */
Test(deliver, parallel_and_given_back)
{
	begin();
	webhook("W", ",'parallel':8,'types':['reservation.held']");
	inbox_answers("/W", (struct manner){.status = 500, .times = 1});
	flow_step("reserve FIRST A=1 -> 201");
	flow_step(DELIVER);
	expect_came("/W", 500, 1);
	flow_repeat("batch", " R# A=1 |", 299, " R299 A=1 -> 201 | ...");
	expect_came("/W", 200, 300);
	inbox_answers("/W", (struct manner){.status = 500, .times = 1});
	flow_steps("signal D TERM",
	           "end D -> 0",
	           DELIVER);
	expect_came("/W", 500, 2);
	flow_steps("wait sql SELECT failures, LENGTH(ahead) > 2000 FROM webhook -> 2,1",
	           "raw POST /v1/webhooks/W/enable -> 200 failures=0");
	expect_only("/W", 200, 301);
	expect_only("/W", 0, 303);
	flow_step("wait sql SELECT failures, ISNULL(ahead) FROM webhook -> 0,1");
	flow_end();
}

Test(deliver, one_that_hangs_holds_up_nobody)
{
	begin();
	webhook("GOOD", "");
	webhook("HANGS", "");
	inbox_answers("/HANGS", (struct manner){.status = 0});
	flow_step(DELIVER);
	for (int i = 0; i < 200; i++)
		flow_step("reserve R%d A=1 -> 201", i);
	if (!inbox_waits("/GOOD", 200, 200, 3000))
		flow_fail("%zu of 200", inbox_count("/GOOD", 200));
	cr_expect_eq(inbox_count("/HANGS", 0), 1);
	flow_end();
}

/* Pages of 200 events with their lines would be 200 MB. */
Test(deliver, receivers_that_are_down_take_no_memory)
{
	enum { LINES = 250, GROWTH_MAX = 110 << 10 };
	struct text order = {0};
	long        before;

	begin();
	inbox_answers("/W", (struct manner){.status = 503});
	flow_repeat("receipt", " S# +1000", LINES - 1, " S249 +1000 -> 201");
	text_add(&order, " L#");
	for (int i = 0; i < LINES; i++)
		text_format(&order, " S%d=1", i);
	text_add(&order, " |");
	flow_repeat("batch", order.data, 99, " L99 A=1 -> 201 | ...");
	text_fini(&order);
	flow_step("serve --lanes 1 --jobs=deliver " ALLOW);
	before = attack_rss(flow_pid(0));
	webhook("W", ",'from':'oldest','parallel':16");
	copies(99);
	flow_step("wait:30 sql SELECT COUNT(*) FROM webhook WHERE failures > 0 AND behind -> 100");
	cr_expect(attack_rss(flow_pid(0)) - before < GROWTH_MAX, "it grew by %ld KiB",
	          attack_rss(flow_pid(0)) - before);
	inbox_answers("/W", (struct manner){.status = 200});
	flow_steps("sql DELETE FROM webhook WHERE webhook_id <> 'W' -> ",
	           "raw POST /v1/webhooks/W/enable -> 200",
	           "wait sql SELECT behind, failures FROM webhook -> 0,0");
	flow_end();
}

/* ---- deliverers that die, and several */

Test(deliver, killed_and_taken_over)
{
	begin();
	webhook("W", "");
	flow_step(DELIVER);
	flow_step("reserve R0 A=1 -> 201");
	expect_came("/W", 200, 1);
	flow_steps("signal D KILL",
	           "end D -> 137");
	for (int i = 1; i < 20; i++)
		flow_step("reserve R%d A=1 -> 201", i);
	flow_step("start E work deliver " ALLOW);
	expect_only("/W", 200, 1); /* the lease */
	flow_step("tick 31");
	expect_came("/W", 200, 20);
	cr_expect_leq(inbox_count("/W", 200), 21, "about a second's deliveries come again");
	flow_end();
}

/* Frozen beyond its lease, it changes nothing and sends nothing when it wakes. */
Test(deliver, frozen_and_taken_over)
{
	begin();
	webhook("W", "");
	flow_step(DELIVER " --lease 2");
	flow_step("reserve R0 A=1 -> 201");
	expect_came("/W", 200, 1);
	flow_steps("wait sql SELECT last_status FROM webhook -> 200",
	           "signal D STOP",
	           "reserve R1 A=1 -> 201",
	           "start E work deliver --lease 2 " ALLOW);
	expect_came("/W", 200, 2);
	usleep(1000000);
	flow_step("signal D CONT");
	usleep(700000);
	flow_step("reserve R2 A=1 -> 201");
	expect_only("/W", 200, 3);
	flow_steps("signal D TERM",
	           "end D -> 0",
	           "reserve R3 A=1 -> 201");
	expect_only("/W", 200, 4);
	flow_end();
}

Test(deliver, two_deliverers_serve_each_webhook_once)
{
	begin();
	webhook("V", "");
	webhook("W", "");
	flow_steps(DELIVER,
	           "start E work deliver --workers 2 " ALLOW);
	for (int i = 0; i < 100; i++)
		flow_step("reserve R%d A=1 -> 201", i);
	expect_only("/V", 200, 100);
	expect_only("/W", 200, 100);
	flow_steps("signal D TERM",
	           "end D -> 0");
	flow_step("reserve LAST A=1 -> 201");
	expect_only("/V", 200, 101);
	expect_only("/W", 200, 101);
	flow_end();
}

/* Eight at a time, twice a second, would take 25 s. */
Test(deliver, all_webhooks_are_claimed_at_once)
{
	begin();
	webhook("W", "");
	copies(399);
	flow_steps(DELIVER,
	           "wait:12 sql SELECT COUNT(*) FROM webhook WHERE task_id IS NOT NULL -> 400");
	flow_end();
}

Test(deliver, deleted_and_switched_off_ones_stop_within_a_second)
{
	begin();
	webhook("W", "");
	inbox_answers("/W", (struct manner){.status = 200, .delay_ms = 20});
	flow_step(DELIVER);
	flow_repeat("batch", " R# A=1 |", 499, " R499 A=1 -> 201 | ...");
	expect_came("/W", 200, 20);
	flow_step("raw DELETE /v1/webhooks/W -> 204");
	usleep((useconds_t)patience_ms(READ_MS) * 1000);
	expect_only("/W", 0, inbox_count("/W", 0));
	cr_expect_lt(inbox_count("/W", 0), 500);
	flow_end();
}

/* The copy has the deliverer's own number in the row: nothing else tells that what is remembered is void. */
Test(deliver, restored_under_it)
{
	begin();
	webhook("W", "");
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201");
	expect_came("/W", 200, 1);
	flow_steps("wait sql SELECT last_status FROM webhook -> 200",
	           "sql CREATE TABLE copy_event AS SELECT * FROM event -> ",
	           "sql CREATE TABLE copy_writer AS SELECT * FROM log_writer -> ",
	           "sql CREATE TABLE copy_webhook AS SELECT * FROM webhook -> ",
	           "reserve R2 A=1 -> 201");
	expect_came("/W", 200, 2);
	flow_steps("wait sql SELECT w.place = c.place FROM webhook w JOIN copy_webhook c -> 0",
	           "sql BEGIN NOT ATOMIC DELETE FROM event; INSERT INTO event SELECT * FROM copy_event;"
	           " DELETE FROM log_writer; INSERT INTO log_writer SELECT * FROM copy_writer;"
	           " UPDATE webhook w JOIN copy_webhook c SET w.place = c.place; END -> ",
	           "cut",
	           "reserve R3 A=1 -> 201");
	expect_only("/W", 200, 3);
	flow_steps("wait raw GET /v1/webhooks/W -> state=active failures=0",
	           BY_HAND);
	flow_end();
}

/* The new one has an address, types, a secret and a place of its own. */
Test(deliver, deleted_and_made_anew_under_its_id)
{
	char            secret[SECRET_SIZE] = "";
	struct received in;

	begin();
	flow_step("raw POST /v1/webhooks {'webhook_id':'W','url':'http://127.0.0.1:%d/OLD'} -> 201", port);
	flow_steps(DELIVER,
	           "reserve R1 A=1 -> 201");
	expect_came("/OLD", 200, 1);
	flow_step("raw DELETE /v1/webhooks/W -> 204");
	webhook_secret("W", secret);
	flow_steps("wait sql SELECT COUNT(*) FROM webhook WHERE task_id IS NULL -> 0",
	           "reserve R2 A=1 -> 201");
	expect_only("/W", 200, 1);
	in = inbox_get("/W", 0);
	cr_expect_str_eq(received_member(&in, "data.order_id"), "R2");
	expect_signed(&in, secret, NULL, NULL);
	expect_only("/OLD", 0, 1);
	flow_end();
}

static void key_write(char path[300], const char *name, const char *key)
{
	FILE *file;

	snprintf(path, 300, "%s/%s.%s", scratch_dir(), flow_scratch()->name, name);
	file = fopen(path, "we");
	cr_assert(file && fputs(key, file) >= 0 && fclose(file) == 0 && chmod(path, 0600) == 0);
}

/* A deliverer with another key, or none, leaves the webhook to others, at once and for good. */
Test(deliver, sealed_for_another)
{
	char key[300];

	port = inbox_open();
	flow_begin();
	key_write(key, "vault", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
	flow_step("serve --lanes 1 " ALLOW " --webhooks-key %s", key);
	flow_step("receipt A +10 -> 201");
	webhook("W", "");
	flow_steps("reserve R1 A=1 -> 201",
	           DELIVER,
	           "wait sql SELECT version > 0, IFNULL(task_id, 0), due_at <= UTC_TIMESTAMP(3) FROM webhook -> 1,0,1");
	flow_step("start E work deliver " ALLOW " --webhooks-key %s", key);
	expect_came("/W", 200, 1);
	flow_steps("reserve R2 A=1 -> 201",
	           "signal D TERM",
	           "end D -> 0 ~event=webhook_sealed");
	expect_only("/W", 200, 2);
	unlink(key);
	flow_end();
}

/* The first key seals, each of them opens. */
Test(deliver, the_key_is_changed)
{
	char old[300], new[300];

	port = inbox_open();
	flow_begin();
	key_write(old, "old", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
	key_write(new, "new", "HxECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
	cr_assert(chmod(new, 0640) == 0);
	flow_step("serve --lanes 1 " ALLOW " --webhooks-key %s", old);
	flow_step("receipt A +10 -> 201");
	webhook("V", "");
	webhook("W", "");
	flow_step("serve --lanes 1 " ALLOW " --webhooks-key %s --webhooks-key %s", new, old);
	flow_step("start D work deliver " ALLOW " --webhooks-key %s,%s", new, old);
	flow_steps("reserve R1 A=1 -> 201",
	           "raw POST /v1/webhooks/W/rotate -> 200");
	expect_came("/V", 200, 1);
	expect_came("/W", 200, 1);
	flow_steps("signal D TERM",
	           "end D -> 0");
	flow_step("start E work deliver " ALLOW " --webhooks-key %s", new);
	flow_step("reserve R2 A=1 -> 201");
	expect_came("/W", 200, 2);
	expect_only("/V", 200, 1);
	flow_steps("signal E TERM",
	           "end E -> 0 ~event=secret_open ~option=--webhooks-key '~webhook=W hint' '~webhook=V hint'");
	unlink(old);
	unlink(new);
	flow_end();
}
