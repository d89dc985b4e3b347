/* test_events.c - the feed of events over HTTP: its pages; readers that wait at its end, and what ends the wait. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/engine.h"
#include "engine/loop.h"
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"
#include "tests/lang/keyring.h"
#include "tests/lang/trap.h"
#include "tests/kit/patience.h"
#include "tests/kit/proxy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SOON_MS = PATIENCE_MS / 4, /* told within 0.5 s; the rest is a processor's that is not quite quiet */
	QUIET_MS = 300,            /* a reader that is told too soon is told within 0.1 s */
};

/* ---- clients that wait */

#define NOW "after=now&"

/* By the key of that name; NULL: none. */
static int ask_by(const char *key, int program, const char *query)
{
	char head[3000], bears[100] = "";
	int  fd = attack_open(flow_port(program));

	if (key)
		snprintf(bears, sizeof(bears), "Authorization: Bearer " BEARER "\r\n", key);
	snprintf(head, sizeof(head), "GET /v1/events?%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query, bears);
	cr_assert(attack_say(fd, head));
	return fd;
}

static int ask(int program, const char *query)
{
	return ask_by(NULL, program, query);
}

/* The engine has all that was asked so far: a connection that came later is answered. */
static void all_have_come(void)
{
	(void)trap_metric(0, "holdfast_connections");
}

/* As many wait now. */
static void waiting(int count)
{
	flow_step("wait raw GET /metrics -> holdfast_events_waiting=%d", count);
}

/* Within so many ms by the clock: for answers that must not come. */
static bool answered(int fd, int within_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, within_ms) > 0;
}

/* One answer of 200, with `says` in it. */
static void hear_within(int fd, const char *says, int within_ms)
{
	struct text heard = {0};
	int64_t     from = clock_ms();
	int         status;

	while (!answered(fd, 100) && !patience_is_over(from, within_ms))
		;
	cr_expect(answered(fd, 0), "no answer after %lld ms, without %s", (long long)(clock_ms() - from), says);
	attack_hear_answers(fd, 1, &heard);
	cr_expect(attack_answers(&heard, &status) == 1 && status == 200 && strstr(heard.data, says), "without %s: %s",
	          says, heard.data);
	text_fini(&heard);
}

static void hear(int fd, const char *says)
{
	hear_within(fd, says, PATIENCE_MS);
}

static void hear_soon(int fd, const char *says)
{
	hear_within(fd, says, SOON_MS);
}

#define EMPTY   "{\"items\":[],\"next_cursor\":\""
#define RECEIPT "\"type\":\"movement.receipt\""
#define HELD    "\"type\":\"reservation.held\""

/* ---- pages */

Test(events, pages)
{
	flow("events                                -> 200 items=0 more=false next_cursor=*",
	     "receipt M1 A +10                      -> 201",
	     "reserve R1 A=1                        -> 201",
	     "reserve R2 A=2 confirm=true           -> 201",
	     "release R1                            -> 200",
	     "events limit=2                        -> 200 items=movement.receipt,reservation.held more=true"
	     "                                         movement.receipt data.movement_id=M1"
	     "                                         reservation.held data.order_id=R1",
	     "events limit=2 next                   -> items=reservation.held,reservation.confirmed more=true",
	     "events limit=2 next                   -> items=reservation.released more=false",
	     "events next                           -> items=0 more=false next_cursor=*",
	     "release R2                            -> 200",
	     "events next                           -> items=reservation.released more=false",
	     "events after=now                      -> items=0 more=false",
	     "events types=reservation.released,movement.receipt -> items=movement.receipt,reservation.released,"
	     "reservation.released",
	     "events types=reservation.buried       -> items=0 more=false next_cursor=*",
	     "events after=2026-01-01T00:00:00Z limit=1 -> items=movement.receipt",
	     "raw HEAD /v1/events                   -> 200");
}

Test(events, refused)
{
	flow("events limit=0             -> 400 field=limit",
	     "events limit=1001          -> 400 field=limit",
	     "events wait_s=31           -> 400 field=wait_s",
	     "events wait_s=x            -> 400 field=wait_s",
	     "events types=order.held    -> 400 field=types",
	     "events types=stock.out,    -> 400 field=types",
	     "events after=yesterday     -> 400 invalid_request field=after",
	     "events after=              -> 400 field=after",
	     "events types=              -> 400 field=types",
	     "events cursor=x            -> 400 field=cursor",
	     "raw POST /v1/events {}     -> 405 Allow:GET",
	     "receipt A +1               -> 201",
	     "events                     -> 200 items=1",
	     "sql UPDATE event_log SET era = era + 1",
	     "events next                -> 410 cursor_expired",
	     "events next wait_s=9       -> 410 cursor_expired",
	     "sql UPDATE event_log SET keep_days = 0, era = era + 1",
	     "events                     -> 409 events_off",
	     "events after=now wait_s=9  -> 409 events_off",
	     "raw GET /metrics           -> holdfast_events_waiting=0");
}

Test(events, roles)
{
	flow("keys r read | o order | w worker | a admin",
	     "serve",
	     "events  -> 401 unauthorized",
	     "key r",
	     "events  -> 200",
	     "key o",
	     "events  -> 200",
	     "key w",
	     "events  -> 200",
	     "key a",
	     "events  -> 200");
}

/* A writer takes 12 letters of a cursor, and a cursor may be as long as a request's head. */
Test(events, a_cursor_of_a_thousand_writers)
{
	flow("receipt A +10          -> 201",
	     "sql INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at, event_no,"
	     " stamp) SELECT seq + 100, 0, seq, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 3000000, 1"
	     " FROM seq_1_to_1000",
	     "sql INSERT INTO log_floor SELECT seq + 100, 3000000, 1 FROM seq_1_to_1000",
	     "sql UPDATE event_log SET writer_last = 1100",
	     "events limit=1         -> 200 items=movement.receipt",
	     "events next            -> 200 items=0",
	     "reserve R1 A=1         -> 201",
	     "events next wait_s=5   -> 200 items=reservation.held");
}

/* ---- waiting */

Test(events, wait_for_what_comes)
{
	int fds[3];

	flow_begin();
	flow_step("second --lanes 1");
	fds[0] = ask(0, NOW "wait_s=20");
	fds[1] = ask(0, NOW "wait_s=20&types=reservation.held");
	fds[2] = ask(0, NOW "wait_s=20&limit=1");
	waiting(3);
	cr_expect(!answered(fds[0], QUIET_MS));
	flow_step("receipt A +10 -> 201");
	hear_soon(fds[0], RECEIPT);
	hear_soon(fds[2], RECEIPT);
	waiting(1);
	flow_step("@2 reserve R1 A=1 -> 201"); /* another process writes it */
	hear_soon(fds[1], HELD);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	flow_end();
}

/* No reader waits where events are there, whatever it allows. */
Test(events, no_wait_for_what_is_there)
{
	int fd;

	flow_begin();
	flow_step("receipt A +10 -> 201");
	fd = ask(0, "wait_s=30&limit=1");
	hear_soon(fd, RECEIPT);
	close(fd);
	flow_end();
}

/* Longer than a request may take otherwise, and than a connection may be idle. The cursor is behind what was passed. */
Test(events, nothing_comes)
{
	int     fd, other;
	int64_t from;

	flow_begin();
	flow_step("serve --request-timeout 1 --idle-timeout 1");
	flow_step("receipt A +10 -> 201");
	from = clock_ms();
	fd = ask(0, NOW "wait_s=11&types=stock.out"); /* any other request ends after 10.5 s */
	other = ask(0, NOW "wait_s=1");
	hear(other, EMPTY);
	cr_expect(clock_ms() - from >= 1000);
	waiting(1);
	flow_step("receipt A +10 -> 201");
	answered(fd, 11000);
	cr_expect(clock_ms() - from >= 11000);
	hear_soon(fd, EMPTY);
	close(fd);
	close(other);
	flow_end();
}

Test(events, drained)
{
	int     fds[3];
	int64_t from;

	flow_begin();
	for (int i = 0; i < 3; i++)
		fds[i] = ask(0, i ? NOW "wait_s=30" : NOW "wait_s=30&types=stock.out");
	waiting(3);
	from = clock_ms();
	flow_terminate();
	for (int i = 0; i < 3; i++) {
		hear(fds[i], EMPTY);
		cr_expect(attack_ends(fds[i], SOON_MS));
		close(fds[i]);
	}
	flow_step("restart");
	cr_expect(!patience_is_over(from, PATIENCE_MS), "the drain took %lld ms", (long long)(clock_ms() - from));
	flow_end();
}

/* 5 MB of other events lie before the one of the type: the answer has this event, and no page is empty. */
Test(events, a_type_behind_many_others)
{
	char         words[501], step[1100];
	struct race *race;

	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	flow_begin();
	snprintf(step, sizeof(step), "receipt M# A +1 reason=%s reference=%s", words, words);
	race = flow_race("8*600", step);
	trap_raced(race, "4800x 201");
	flow_steps("sql SELECT SUM(LENGTH(changes)) > 4 << 20 FROM event -> 1",
	           "adjust  A -1                         -> 201",
	           "events types=movement.adjustment     -> items=movement.adjustment more=false",
	           "events types=reservation.buried      -> items=0 more=false");
	flow_end();
}

Test(events, clients_that_leave)
{
	int fds[4];

	flow_begin();
	for (int i = 0; i < 4; i++)
		fds[i] = ask(0, NOW "wait_s=30");
	waiting(4);
	close(fds[0]);
	attack_reset(fds[1]);
	waiting(2);
	flow_step("receipt A +10 -> 201");
	hear(fds[2], RECEIPT);
	hear(fds[3], RECEIPT);
	close(fds[2]);
	close(fds[3]);
	flow_end();
}

/* The database is away for a while: a reader goes on waiting, and has its answer in time. */
Test(events, database_away)
{
	struct race *race;
	int          fd, other;

	flow_begin();
	flow_step("receipt A +10 -> 201");
	fd = ask(0, NOW "wait_s=25");
	other = ask(0, NOW "wait_s=3");
	waiting(2);
	flow_step("away");
	race = flow_race("1", "events");
	hear(other, EMPTY);
	trap_raced(race, "1x 503 unavailable");
	flow_steps("back",
	           "wait:16 reserve R1 A=1    -> 201");
	hear_soon(fd, HELD);
	close(fd);
	close(other);
	flow_end();
}

/* ---- many */

Test(events, many)
{
	enum { MANY = 500, FILES = MANY + 200 };
	static int     fds[MANY];
	struct decent *decent;
	int64_t        from;

	if (!attack_files(FILES))
		cr_skip_test("500 readers need %d open files: raise the hard limit (ulimit -Hn)", FILES);
	flow_begin();
	flow_step("receipt A +1000000 -> 201");
	for (int i = 0; i < MANY; i++)
		fds[i] = ask(0, i % 2 ? NOW "wait_s=30&types=movement.return"
		                      : NOW "wait_s=30&types=movement.return&limit=9");
	waiting(MANY);
	decent = decent_start(flow_port(0));
	decent_finish(decent, "500 readers that wait");
	waiting(MANY);
	flow_step("return A +1 -> 201");
	from = clock_ms();
	for (int i = 0; i < MANY; i++)
		while (!answered(fds[i], 100))
			cr_assert(!patience_is_over(from, SOON_MS), "reader %d has no answer after %lld ms", i,
			          (long long)(clock_ms() - from));
	waiting(0);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	flow_end();
}

/* Readers of one place differ in what they want: each is told that, and goes on behind it. */
Test(events, each_has_its_own)
{
	int fds[4];

	flow_begin();
	flow_step("receipt A +10 -> 201");
	fds[0] = ask(0, NOW "wait_s=30&limit=1");
	fds[1] = ask(0, NOW "wait_s=30&limit=9&types=reservation.held");
	fds[2] = ask(0, NOW "wait_s=30&types=reservation.confirmed");
	fds[3] = ask(0, NOW "wait_s=30&limit=1&types=reservation.released");
	waiting(4);
	flow_step("batch R1 A=1 | R2 A=1 confirm=true -> 201 held | 201 confirmed");
	hear(fds[0], "\"order_id\":\"R1\"");
	hear(fds[1], "\"more\":false");
	hear(fds[2], "\"type\":\"reservation.confirmed\"");
	waiting(1);
	flow_steps("events limit=2         -> items=movement.receipt,reservation.held more=true",
	           "events next            -> items=reservation.held,reservation.confirmed more=false",
	           "release R1             -> 200");
	hear(fds[3], "\"type\":\"reservation.released\"");
	for (size_t i = 0; i < LENGTH(fds); i++)
		close(fds[i]);
	flow_end();
}

/* The look that every page with an event takes before it is given. */
#define PAGE_IS_KEPT "global_status"

Test(events, one_page_for_all_at_a_place)
{
	static const char *const wants[] = {"&limit=1", "&limit=2", "&types=movement.receipt",
	                                    "&limit=2&types=movement.receipt"};
	struct proxy            *proxy;
	int                      fds[LENGTH(wants)];
	char                     query[100];

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("receipt A +10 -> 201");
	for (size_t i = 0; i < LENGTH(wants); i++) {
		snprintf(query, sizeof(query), NOW "wait_s=30%s", wants[i]);
		fds[i] = ask(0, query);
	}
	waiting(LENGTH(wants));
	proxy_arm(proxy, BREACH_WAIT, PAGE_IS_KEPT);
	flow_step("receipt A +1 -> 201");
	cr_expect(proxy_struck(proxy));
	proxy_arm(proxy, BREACH_WAIT, PAGE_IS_KEPT); /* a second page would come when that is given up */
	proxy_go_on(proxy);
	for (size_t i = 0; i < LENGTH(wants); i++) {
		hear_soon(fds[i], RECEIPT);
		close(fds[i]);
	}
	flow_end();
	proxy_close(proxy);
}

/* One key that reads from many places holds up no other key. */
Test(events, keys_take_turns)
{
	struct proxy *proxy;
	char          query[100];
	int           fds[5], other;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("keys many read | one read | a admin",
	           "serve --lanes 1",
	           "key a",
	           "receipt A +10 -> 201");
	proxy_arm(proxy, BREACH_WAIT, PAGE_IS_KEPT);
	for (size_t i = 0; i < LENGTH(fds); i++) {
		snprintf(query, sizeof(query), "after=2026-01-01T00:00:0%zuZ", i);
		fds[i] = ask_by("many", 0, query);
		if (i == 0)
			cr_expect(proxy_struck(proxy));
	}
	all_have_come();
	other = ask_by("one", 0, "limit=1");
	all_have_come(); /* and the first page is kept back */
	for (int i = 0; i < 2; i++) {
		proxy_arm(proxy, BREACH_WAIT, PAGE_IS_KEPT);
		proxy_go_on(proxy);
		cr_expect(proxy_struck(proxy));
	}
	hear(other, RECEIPT);
	cr_expect_not(answered(fds[4], 0));
	proxy_go_on(proxy);
	for (size_t i = 0; i < LENGTH(fds); i++) {
		hear(fds[i], RECEIPT);
		close(fds[i]);
	}
	close(other);
	flow_end();
	proxy_close(proxy);
}

/* A client that comes when all places are taken gets the place of the reader that waits longest. */
Test(events, places_run_out)
{
	enum { PLACES = 10, WAIT_MS = 30000 };
	int     fds[PLACES + 2], gone = 0;
	int64_t from;

	flow_begin();
	flow_step("serve --max-connections %d", PLACES);
	from = clock_ms();
	for (int i = 0; i < PLACES - 1; i++) {
		fds[i] = ask(0, NOW "wait_s=30");
		waiting(i + 1); /* by the flow's own connection, which has the last place */
	}
	cr_expect(!answered(fds[0], QUIET_MS));
	for (int i = PLACES - 1; i < PLACES + 2; i++) {
		fds[i] = ask(0, NOW "wait_s=30");
		hear(fds[gone], EMPTY);
		cr_expect(attack_ends(fds[gone], SOON_MS), "the place is kept");
		close(fds[gone++]);
	}
	/* On a machine that is slow enough the oldest has waited for all its time by now. */
	if (clock_ms() - from < WAIT_MS)
		for (int i = gone; i < PLACES + 2; i++)
			cr_expect(!answered(fds[i], i == gone ? QUIET_MS : 0), "reader %d was answered", i);
	flow_step("receipt A +10 -> 201");
	for (int i = gone; i < PLACES + 2; i++) {
		hear(fds[i], RECEIPT);
		close(fds[i]);
	}
	flow_end();
}

static void reader_done(void *arg, struct op *op)
{
	struct op **ended = arg;

	*ended = op;
}

static void wait_until(struct engine *e, size_t waiting)
{
	for (int64_t from = clock_ms(); engine_waiting(e) != waiting && !patience_is_over(from, PATIENCE_MS);)
		usleep(1000);
	cr_expect(engine_waiting(e) == waiting, "%zu wait, not %zu", engine_waiting(e), waiting);
}

/* The bound of the engine itself. */
Test(events, more_wait_than_may)
{
	struct engine_options options = {.lanes = 1, .slot = 7, .waiting_max = 2};
	struct db_target      target;
	struct engine        *e;
	struct loop          *loop;
	struct op            *ended[3] = {0};

	flow_begin();
	flow_step("receipt A +10 -> 201");
	target = flow_scratch()->target;
	snprintf(target.database, sizeof(target.database), "%s", flow_scratch()->name);
	options.source = source_new(&target);
	e = engine_open(&options);
	loop = loop_new();
	for (int i = 0; i < 3; i++) {
		struct op *op = op_new(OP_FOLLOW, 0, 0);

		*op->follow = (struct follow){.after = mem_copy("now"), .filter.all = true, .limit = 10, .wait_s = 30};
		cr_assert(engine_start(e, op, loop, reader_done, &ended[i]));
		engine_wake(e);
		if (i < 2)
			wait_until(e, (size_t)i + 1);
	}
	for (int64_t from = clock_ms(); !ended[0] && !patience_is_over(from, PATIENCE_MS); usleep(1000))
		loop_run(loop);
	cr_assert(ended[0] && !ended[1] && !ended[2]);
	cr_expect(ended[0]->outcome == OUTCOME_OK && ended[0]->follow->gives_way);
	wait_until(e, 2);
	engine_close(e);
	source_free(options.source);
	loop_run(loop);
	cr_assert(ended[1] && ended[2]);
	cr_expect(ended[1]->outcome == OUTCOME_OK && !ended[1]->follow->gives_way);
	for (int i = 0; i < 3; i++)
		op_free(ended[i]);
	loop_free(loop);
	flow_end();
}
