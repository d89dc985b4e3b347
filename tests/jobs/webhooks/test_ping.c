/* test_ping.c - pings of webhooks, and the attempts that deliverers tell of. */
#include "engine/base/clock.h"
#include "jobs/webhooks/attempts.h"
#include "jobs/webhooks/signature.h"
#include "tests/lang/flow.h"
#include "tests/kit/inbox.h"
#include "tests/kit/patience.h"
#include "tests/kit/receiver.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALLOW "--webhooks-allow 127.0.0.0/8"

static int port;

static void begin(void)
{
	port = inbox_open();
	flow_begin();
	flow_steps("serve --lanes 1 " ALLOW,
	           "receipt A +1000 -> 201");
}

static void webhook(const char *name)
{
	flow_step("raw POST /v1/webhooks {'webhook_id':'%s','url':'http://127.0.0.1:%d/%s'} -> 201", name, port, name);
}

/* ---- pings */

/* A ping is signed like a delivery, and stands in no feed; a webhook that is off gets it, too. */
Test(ping, comes_at_once)
{
	struct received in;

	begin();
	webhook("W");
	inbox_answers("/W", (struct manner){.status = 202, .body = "well \"taken\"\n", .times = 1});
	flow_steps("raw POST /v1/webhooks/W/ping -> 200 status=202 ms=* !error '~body:well '",
	           "sql SELECT failures, IFNULL(last_status, 0), behind FROM webhook -> 0,0,0",
	           "sql UPDATE webhook SET state = 2 -> ",
	           "raw POST /v1/webhooks/W/ping {} -> 200 status=200 body=",
	           "raw GET /v1/webhooks/W -> state=off",
	           "raw GET /v1/webhooks/W/attempts -> 200 items=0",
	           "events -> items=movement.receipt");
	cr_assert_eq(inbox_count("/W", 0), 2);
	in = inbox_get("/W", 0);
	cr_expect_str_eq(received_member(&in, "type"), "webhook.ping");
	cr_expect_str_eq(received_member(&in, "id"), in.id);
	cr_expect_str_eq(received_member(&in, "data.webhook_id"), "W");
	cr_expect(strncmp(in.id, "ping-", 5) == 0 && !strchr(in.id, '.'), "%s", in.id);
	cr_expect_str_neq(inbox_get("/W", 1).id, in.id);
	flow_end();
}

Test(ping, what_fails_is_told_and_not_repeated)
{
	begin();
	webhook("W");
	inbox_answers("/W", (struct manner){.status = 500, .body = "no", .times = 1});
	flow_steps("raw POST /v1/webhooks/W/ping -> 200 status=500 body=no !error",
	           "raw POST /v1/webhooks {'webhook_id':'OFF','url':'http://127.0.0.1:1/'} -> 201",
	           "raw POST /v1/webhooks/OFF/ping -> 200 !status !ms !body ~connect",
	           "raw POST /v1/webhooks/NONE/ping -> 404 unknown_webhook",
	           "raw POST /v1/webhooks/W/ping {'now':true} -> 400 field=now",
	           "raw GET /v1/webhooks/W/ping -> 405",
	           "raw GET /v1/webhooks/W -> failures=0 !last_status");
	cr_expect_eq(inbox_count("/W", 0), 1);
	flow_end();
}

/* A ping may not reach an address that deliveries may not reach. */
Test(ping, obeys_the_rules_of_addresses)
{
	static char            there[100], answer[200];
	static struct receiver other = {.answer = RECEIVER_GOOD}, r = {.answer = answer};

	receiver_start(&other);
	receiver_start(&r);
	snprintf(answer, sizeof(answer),
	         "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", other.port);
	snprintf(there, sizeof(there), "http://127.0.0.1:%d/", r.port);
	flow_begin();
	flow_step("serve --lanes 1 " ALLOW);
	flow_step("raw POST /v1/webhooks {'webhook_id':'W','url':'%s'} -> 201", there);
	flow_step("raw POST /v1/webhooks/W/ping -> 200 status=307");
	cr_expect(r.connections == 1 && other.connections == 0);
	flow_steps("serve --lanes 1",
	           "raw POST /v1/webhooks/W/ping -> 200 !status ~refused:",
	           "serve --lanes 1 --webhooks-allow 10.0.0.0/8",
	           "raw POST /v1/webhooks/W/ping -> 200 !status ~refused:");
	cr_expect_eq(r.connections, 1);
	flow_end();
}

/* A ping holds up no other call. */
Test(ping, one_at_a_time_and_16_in_all)
{
	int          delay_ms = patience_ms(1000) < 4000 ? patience_ms(1000) : 4000; /* a ping is cut off after 5 s */
	struct race *first, *others;

	begin();
	webhook("W");
	inbox_answers("/W", (struct manner){.status = 200, .delay_ms = delay_ms});
	flow_step("sql INSERT INTO webhook (webhook_id, url, from_oldest, parallel, created_at, secret, due_at, place,"
	          " waits_since) SELECT CONCAT('V', seq), CONCAT(url, seq), 0, 1, created_at, secret, due_at, place,"
	          " waits_since FROM webhook, seq_0_to_15 WHERE webhook_id = 'W' -> ");
	for (int i = 0; i < 16; i++) {
		char path[20];

		snprintf(path, sizeof(path), "/W%d", i);
		inbox_answers(path, (struct manner){.status = 200, .delay_ms = delay_ms});
	}
	first = flow_race("1", "raw POST /v1/webhooks/W/ping");
	cr_expect(inbox_waits("/W", 0, 1, PATIENCE_MS), "no ping came");
	flow_steps("raw POST /v1/webhooks/W/ping -> 429 rate_limited Retry-After:1",
	           "reserve R1 A=1 -> 201",
	           "raw GET /v1/jobs -> 200");
	trap_raced(first, "1x 200 status=200");
	others = flow_race("16", "raw POST /v1/webhooks/V#/ping");
	for (int i = 0; i < 16; i++) {
		char path[20];

		snprintf(path, sizeof(path), "/W%d", i);
		cr_expect(inbox_waits(path, 0, 1, PATIENCE_MS), "no ping came to %s", path);
	}
	flow_step("raw POST /v1/webhooks/W/ping -> 429 rate_limited");
	trap_raced(others, "16x 200 status=200");
	flow_step("raw POST /v1/webhooks/W/ping -> 200 status=200");
	flow_end();
}

/* A service that is to end answers a ping that is under way, which ends after 5 s. */
Test(ping, is_answered_by_a_service_that_ends)
{
	struct race *race;

	begin();
	webhook("W");
	inbox_answers("/W", (struct manner){.status = 0});
	race = flow_race("1", "raw POST /v1/webhooks/W/ping");
	if (!inbox_waits("/W", 0, 1, PATIENCE_MS))
		flow_fail("no ping came");
	flow_terminate();
	trap_raced(race, "1x 200 '~timed out'");
	flow_step("restart");
	flow_end();
}

Test(ping, sealed_for_another)
{
	char  key[300];
	FILE *file;

	port = inbox_open();
	flow_begin();
	snprintf(key, sizeof(key), "%s/%s.ping", scratch_dir(), flow_scratch()->name);
	file = fopen(key, "we");
	cr_assert(file && fputs("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", file) >= 0 && fclose(file) == 0 &&
	          chmod(key, 0600) == 0);
	flow_step("serve --lanes 1 " ALLOW " --webhooks-key %s", key);
	webhook("W");
	flow_steps("raw POST /v1/webhooks/W/ping -> 200 status=200",
	           "serve --lanes 1 " ALLOW,
	           "raw POST /v1/webhooks/W/ping -> 409 no_key_here");
	cr_expect_eq(inbox_count("/W", 0), 1);
	unlink(key);
	flow_end();
}

Test(ping, is_for_admins)
{
	struct received in;

	port = inbox_open();
	flow_begin();
	flow_steps("keys boss admin | shop order | eye read | hand worker",
	           "serve --lanes 1 " ALLOW,
	           "key boss");
	webhook("W");
	flow_steps("raw POST /v1/webhooks/W/ping    -> 200 status=200",
	           "raw GET /v1/webhooks/W/attempts -> 200 items=0",
	           "key shop",
	           "raw POST /v1/webhooks/W/ping    -> 403",
	           "raw GET /v1/webhooks/W/attempts -> 403",
	           "key eye",
	           "raw GET /v1/webhooks/W/attempts -> 403",
	           "key hand",
	           "raw POST /v1/webhooks/W/ping    -> 403");
	in = inbox_get("/W", 0);
	cr_expect_str_eq(received_member(&in, "by"), "boss");
	flow_end();
}

/* ---- attempts */

/* Nothing is written while no client asks. A client that asks waits for the deliverer, which may be in any process. */
Test(ping, attempts_are_told_to_who_asks)
{
	begin();
	webhook("W");
	inbox_answers("/W", (struct manner){.status = 500, .body = "full of orders", .times = 1});
	flow_steps("start D work deliver " ALLOW,
	           "reserve R1 A=1 -> 201",
	           "wait sql SELECT failures, ISNULL(attempts), ISNULL(asked_at) FROM webhook -> 1,1,1",
	           "raw GET /v1/webhooks/W/attempts -> 200 items=1 items[0].event_id=* items[0].at=~0"
	           " items[0].type=reservation.held items[0].status=500 items[0].ms=* '~body:full of orders' at=~0"
	           " instance=*",
	           "raw POST /v1/webhooks/W/enable -> 200",
	           "wait:3 raw GET /v1/webhooks/W/attempts -> 200 items=2 items[0].status=200 items[1].status=500",
	           "raw GET /v1/webhooks/X/attempts -> 404 unknown_webhook",
	           "raw GET /v1/webhooks/W/attempts?limit=2 -> 400",
	           "signal D TERM",
	           "end D -> 0",
	           "raw GET /v1/webhooks/W/attempts -> 200 items=0 !at !instance");
	flow_end();
}

/* An old list is better than none, and other clients do not wait for it. */
Test(ping, attempts_of_a_deliverer_that_is_frozen)
{
	struct race *race;

	begin();
	webhook("W");
	flow_steps("start D work deliver " ALLOW,
	           "reserve R1 A=1 -> 201",
	           "wait:3 raw GET /v1/webhooks/W/attempts -> 200 items=1",
	           "signal D STOP",
	           "sql UPDATE webhook SET attempts_at = UTC_TIMESTAMP(3) - INTERVAL 9 SECOND -> ");
	race = flow_race("2", "raw GET /v1/webhooks/W/attempts");
	usleep(300000);
	flow_steps("raw GET /v1/jobs -> 200",
	           "raw GET /v1/webhooks/W -> 200");
	trap_raced(race, "2x 200 items=1 at=~-9");
	flow_steps("signal D CONT",
	           "raw GET /v1/webhooks/W/attempts -> 200 items=1 at=~0");
	flow_end();
}

/* 10 s after the last client asked nothing is written any more. A webhook that is switched off keeps its last list. */
Test(ping, attempts_while_somebody_asks)
{
	begin();
	webhook("W");
	inbox_answers("/W", (struct manner){.status = 410, .body = "gone fishing"});
	flow_steps("start D work deliver " ALLOW,
	           "raw GET /v1/webhooks/W/attempts -> 200",
	           "wait:3 sql SELECT ISNULL(attempts) FROM webhook -> 0",
	           "tick 11",
	           "sql UPDATE webhook SET attempts = NULL, attempts_at = NULL -> ");
	usleep(2100000);
	flow_steps("sql SELECT ISNULL(attempts) FROM webhook -> 1",
	           "reserve R1 A=1 -> 201",
	           "wait raw GET /v1/webhooks/W -> state=off reason=gone",
	           "raw GET /v1/webhooks/W/attempts -> 200 items=1 items[0].status=410 '~gone fishing'");
	flow_end();
}

static struct posted posted_of(const char *body, size_t len)
{
	struct posted p = {.status = 200, .body_len = len};

	memcpy(p.body, body, len);
	return p;
}

/* The last 50, as many as fit, the newest first. */
Test(ping, attempts_are_bounded)
{
	struct attempts a = {0};
	struct posted   p = posted_of("", 0);
	struct text     list = {0};
	char            id[20];

	attempts_write(&a, &list);
	cr_expect_str_eq(list.data, "[]");
	for (int i = 0; i < 120; i++) {
		snprintf(id, sizeof(id), "e%d", i);
		attempts_add(&a, id, "stock.out", &p, SIZE_MAX);
	}
	cr_expect_eq(a.count, ATTEMPTS);
	text_reset(&list);
	attempts_write(&a, &list);
	cr_expect(strncmp(list.data, "[{\"event_id\":\"e119\",", 20) == 0, "%s", list.data);
	cr_expect(strstr(list.data, "\"e70\"") && !strstr(list.data, "\"e69\""));
	attempts_add(&a, "e", "stock.out", &p, 500);
	cr_expect(a.bytes <= 500 && a.count > 1, "%zu bytes", a.bytes);
	attempts_add(&a, "e", "stock.out", &p, 0);
	cr_expect_eq(a.count, 1);
	attempts_fini(&a);
	cr_expect_eq(a.bytes, 0);
	text_fini(&list);
}

Test(ping, bodies_become_text)
{
	static char longest[BODY_KEPT];
	static const struct {
		const char *body, *text;
	} rows[] = {
		{"ok", "\"ok\""},
		{"a\"b\\\n\x01", "\"a\\\"b\\\\\\n\\u0001\""},
		{"\xc3\xa4\xe2\x82\xac", "\"\xc3\xa4\xe2\x82\xac\""},
		{"a\xff\xfe"
	         "b",
	         "\"a\xef\xbf\xbd\xef\xbf\xbd"
	         "b\""},
		{"cut \xe2\x82", "\"cut \xef\xbf\xbd\xef\xbf\xbd\""},
	};
	struct text        out = {0};
	struct json_writer w = {&out, false};
	struct posted      p;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		p = posted_of(rows[i].body, strlen(rows[i].body));
		text_reset(&out);
		w.comma = false;
		posted_json(&w, &p);
		cr_expect(strstr(out.data, rows[i].text), "%s is not %s", out.data, rows[i].text);
	}
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + BODY_KEPT - 2, "\xe2\x82", 2); /* the third byte was not kept */
	p = posted_of(longest, sizeof(longest));
	text_reset(&out);
	w.comma = false;
	posted_json(&w, &p);
	cr_expect_str_eq(out.data + out.len - 4, "xxx\"");
	p.status = 0;
	snprintf(p.why, sizeof(p.why), "timed out");
	text_reset(&out);
	w.comma = false;
	posted_json(&w, &p);
	cr_expect(strstr(out.data, "\"error\":\"timed out\"") && !strstr(out.data, "status"), "%s", out.data);
	text_fini(&out);
}
