/* test_connection.c - clients that are slow, silent, greedy or gone, or never stop, while a decent client by the side
 * goes on reserving: none of them costs it more than its turn, and all of them are closed in the end. */
#include "engine/base/clock.h"
#include "tests/lang/attack.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HUNDRED = 100, THOUSAND = 1000, MIB_KIB = 1024, DRIP_MS = 30000 };

#define HEAD    " HTTP/1.1\r\nHost: localhost\r\n"
#define GET     "GET /livez" HEAD "\r\n"
#define SLOW_S  2 /* --request-timeout of most tests */
#define STOCKED "receipt A +1000000 -> 201"

static void serve_with(const char *options)
{
	flow_begin();
	flow_step("serve %s", options);
	flow_step(STOCKED);
}

static void open_all(int *fds, int count)
{
	for (int i = 0; i < count; i++)
		fds[i] = attack_open(flow_port(0));
}

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static int ended(const int *fds, int count)
{
	int n = 0;

	for (int i = 0; i < count; i++)
		n += attack_ends(fds[i], 0);
	return n;
}

/* Every 50 ms a byte on each, until all of them are closed, for half a minute at most. */
static void drip(const int *fds, int count, const char *head, const char *drops)
{
	int64_t from = clock_ms();
	int     left = count;

	for (int i = 0; i < count; i++)
		attack_say(fds[i], head);
	while (left > 0 && clock_ms() - from < DRIP_MS) {
		usleep(50000);
		for (int i = 0; i < count; i++)
			attack_push(fds[i], drops, 1);
		left = count - ended(fds, count);
	}
	cr_expect(left == 0, "%d of %d are still open", left, count);
	cr_expect(clock_ms() - from >= SLOW_S * 1000 - 100, "they were closed too soon");
}

Test(connection, slow_heads)
{
	int            fds[HUNDRED];
	struct decent *decent;

	serve_with("--request-timeout 2");
	open_all(fds, HUNDRED);
	decent = decent_start(flow_port(0));
	drip(fds, HUNDRED, "GET / HTTP/1.1\r\nHost: localhost\r\nA: ", "a");
	decent_finish(decent, "100 slow heads");
	close_all(fds, HUNDRED);
	flow_end();
}

Test(connection, slow_bodies)
{
	int            fds[HUNDRED];
	struct decent *decent;

	serve_with("--request-timeout 2");
	open_all(fds, HUNDRED / 2);
	decent = decent_start(flow_port(0));
	drip(fds, HUNDRED / 2, "POST /v1/reservations" HEAD "Content-Length: 1000\r\n\r\n", " ");
	open_all(fds + HUNDRED / 2, HUNDRED / 2);
	drip(fds + HUNDRED / 2, HUNDRED / 2, "POST /v1/reservations" HEAD "Transfer-Encoding: chunked\r\n\r\n3e8\r\n",
	     " ");
	decent_finish(decent, "100 slow bodies");
	close_all(fds, HUNDRED);
	flow_end();
}

/* The clock of a request begins with its connection, that of the next one with its first byte. */
Test(connection, silence)
{
	int         silent, idle, slow, status;
	struct text heard = {0};

	serve_with("--request-timeout 1 --idle-timeout 6");
	silent = attack_open(flow_port(0));
	idle = attack_open(flow_port(0));
	slow = attack_open(flow_port(0));
	attack_say(idle, GET);
	attack_say(slow, GET "G");
	cr_expect(attack_ends(silent, 5000), "a silent connection is open");
	cr_expect(attack_ends(slow, 5000), "the slow one is open");
	flow_step("raw GET /livez -> 200"); /* so that this connection is not cut with the others */
	cr_expect(!attack_hear_answers(idle, 1, &heard) && attack_answers(&heard, &status) == 1,
	          "the idle one is closed");
	cr_expect(attack_ends(idle, 15000), "the idle one is open");
	flow_step("raw GET /metrics -> holdfast_connections_cut_total=3");
	close_all((const int[]){silent, idle, slow}, 3);
	text_fini(&heard);
	flow_end();
}

/* A large body over a slow line is no attack: each MiB that comes buys time. */
Test(connection, slow_but_sure)
{
	enum { PIECE = 64 << 10, PIECES = 48 };
	char       *spaces = malloc(PIECE);
	int         fd, status, answers;
	struct text heard = {0};

	serve_with("--request-timeout 1");
	memset(spaces, ' ', PIECE);
	fd = attack_open(flow_port(0));
	attack_say(fd,
	           "POST /v1/availability" HEAD "Content-Type: application/json\r\nContent-Length: 3145749\r\n\r\n");
	for (int i = 0; i < PIECES; i++) {
		cr_expect(attack_send(fd, spaces, PIECE), "closed after %d pieces", i);
		usleep(50000);
	}
	attack_say(fd, "{\"skus\":[\"A\",\"NONE\"]}");
	attack_hear_answers(fd, 1, &heard);
	answers = attack_answers(&heard, &status);
	cr_expect(answers == 1 && status == 200, "%d answers, %d", answers, status);
	close(fd);
	free(spaces);
	text_fini(&heard);
	flow_end();
}

/* Large answers that nobody takes. */
Test(connection, slow_readers)
{
	enum { ASKED = 400 };
	static const char get[] = "GET /openapi.yaml" HEAD "\r\n";
	int               fds[HUNDRED / 2], gone = 0;
	struct decent    *decent;

	serve_with("--request-timeout 2 --max-buffered 100000000");
	open_all(fds, HUNDRED / 2);
	decent = decent_start(flow_port(0));
	for (int i = 0; i < HUNDRED / 2; i++)
		for (int k = 0; k < ASKED; k++)
			attack_push(fds[i], get, sizeof(get) - 1);
	for (int64_t from = clock_ms(); clock_ms() - from < 30000 && gone < HUNDRED / 2; usleep(100000)) {
		struct text metrics = {0};
		int         fd = attack_open(flow_port(0));

		attack_say(fd, "GET /metrics" HEAD "Connection: close\r\n\r\n");
		attack_hear(fd, 2000, &metrics);
		gone = atoi(strstr(metrics.data, "\nholdfast_connections_cut_total ") + 32);
		text_fini(&metrics);
		close(fd);
	}
	decent_finish(decent, "50 slow readers");
	cr_expect(gone == HUNDRED / 2, "%d of them were closed", gone);
	close_all(fds, HUNDRED / 2);
	flow_end();
}

Test(connection, idle_connections)
{
	enum { MANY = 5000, FILES = MANY + 200 };
	static int     fds[MANY];
	struct decent *decent;

	if (!attack_files(FILES))
		cr_skip_test("5,000 connections need %d open files: raise the hard limit (ulimit -Hn)", FILES);
	serve_with("");
	open_all(fds, MANY);
	for (int i = 0; i < MANY; i++)
		attack_say(fds[i], GET);
	flow_step("wait raw GET /metrics -> holdfast_connections=5001");
	decent = decent_start(flow_port(0));
	decent_finish(decent, "5,000 idle connections");
	flow_step("raw GET /metrics -> holdfast_connections=5001 holdfast_connections_cut_total=0");
	cr_expect(ended(fds, MANY) == 0);
	close_all(fds, MANY);
	flow_end();
}

/* The place is taken from those that do nothing with it. */
Test(connection, more_connections_than_places)
{
	enum { PLACES = 20, ROUNDS = 15 };
	int            fds[ROUNDS][PLACES], alive = 0;
	struct decent *decent;

	serve_with("--max-connections 20");
	decent = decent_start(flow_port(0));
	for (int round = 0; round < ROUNDS; round++) {
		open_all(fds[round], PLACES);
		for (int i = 0; i < PLACES; i++)
			attack_say(fds[round][i], round % 2 ? "GET / HTTP/1.1\r\n" : GET);
		usleep(200000);
	}
	decent_finish(decent, "300 connections in 20 places");
	usleep(1200000);
	for (int round = 0; round < ROUNDS; round++)
		alive += PLACES - ended(fds[round], PLACES);
	cr_expect(alive < ROUNDS * PLACES, "none was closed");
	for (int round = 0; round < ROUNDS; round++)
		close_all(fds[round], PLACES);
	flow_step("wait raw GET /livez -> 200");
	flow_end();
}

Test(connection, more_connections_than_files)
{
	enum { FILES = 80 };
	int           fds[HUNDRED];
	struct rlimit few = {FILES, FILES};

	serve_with("");
	cr_assert(prlimit(flow_pid(0), RLIMIT_NOFILE, &few, NULL) == 0);
	open_all(fds, HUNDRED);
	for (int i = 0; i < HUNDRED; i++)
		attack_say(fds[i], GET);
	usleep(500000);
	close_all(fds, HUNDRED);
	flow_steps("wait raw GET /livez           -> 200",
	           "reserve R1 A=1                -> 201 held");
	flow_end();
}

/* What it sent ahead counts while it waits for an answer: it has to go, not somebody who sends a little. */
Test(connection, much_behind_a_request_that_waits)
{
	enum { AHEAD = 60000 };
	static const char waits[] = "POST /v1/reservations" HEAD "Content-Type: application/json\r\n"
				    "Content-Length: 47\r\n\r\n"
				    "{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}";
	struct text       bytes = {0}, heard = {0};
	int               much, little, status;

	serve_with("--max-buffered 50000");
	flow_step("lock");
	text_add(&bytes, waits);
	while (bytes.len < AHEAD)
		text_add(&bytes, GET);
	much = attack_open(flow_port(0));
	little = attack_open(flow_port(0));
	attack_say(little, "GET /livez" HEAD);
	usleep(100000);
	attack_send(much, bytes.data, bytes.len);
	cr_expect(attack_ends(much, 10000), "it goes on");
	attack_say(little, "\r\n");
	attack_hear_answers(little, 1, &heard);
	cr_expect(attack_answers(&heard, &status) == 1 && status == 200, "%s", heard.data);
	flow_step("unlock");
	close_all((const int[]){much, little}, 2);
	text_fini(&bytes);
	text_fini(&heard);
	flow_end();
}

/* The byte that follows a large body is a byte: it does not keep the memory of the body. */
Test(connection, a_byte_behind_a_large_body)
{
	enum { CLIENTS = 30, BODY = 4 << 20, GROWTH_MAX = 48 * MIB_KIB };
	char       *spaces = malloc(BODY);
	int         fds[CLIENTS], status;
	long        before;
	struct text heard = {0};

	serve_with("");
	memset(spaces, ' ', BODY);
	memcpy(spaces, "{\"skus\":[\"A\"]}", 14);
	before = attack_rss(flow_pid(0));
	open_all(fds, CLIENTS);
	for (int i = 0; i < CLIENTS; i++) {
		attack_say(fds[i], "POST /v1/availability" HEAD
		                   "Content-Type: application/json\r\nContent-Length: 4194304\r\n\r\n");
		attack_send(fds[i], spaces, BODY);
		attack_say(fds[i], "G");
		text_reset(&heard);
		attack_hear_answers(fds[i], 1, &heard);
		cr_expect(attack_answers(&heard, &status) == 1 && status == 200, "%s", heard.data);
	}
	cr_expect(attack_rss(flow_pid(0)) - before < GROWTH_MAX, "it grew by %ld KiB",
	          attack_rss(flow_pid(0)) - before);
	close_all(fds, CLIENTS);
	free(spaces);
	text_fini(&heard);
	flow_end();
}

/* 160 MiB are on their way, 16 may be there. */
Test(connection, more_bytes_than_there_is_room)
{
	enum { CLIENTS = 20, PIECE = 64 << 10, PIECES = 128, GROWTH_MAX = 64 * MIB_KIB };
	char          *spaces = malloc(PIECE);
	int            fds[CLIENTS], closed = 0;
	long           before;
	struct decent *decent;

	serve_with("--max-buffered 16777216");
	memset(spaces, ' ', PIECE);
	before = attack_rss(flow_pid(0));
	open_all(fds, CLIENTS);
	decent = decent_start(flow_port(0));
	for (int i = 0; i < CLIENTS; i++)
		attack_say(fds[i], "POST /v1/reservations" HEAD "Content-Length: 8388608\r\n\r\n");
	for (int k = 0; k < PIECES - 1; k++)
		for (int i = 0; i < CLIENTS; i++)
			attack_push(fds[i], spaces, PIECE);
	usleep(300000);
	decent_finish(decent, "20 huge bodies");
	for (int i = 0; i < CLIENTS; i++) {
		struct text heard = {0};
		int         status;

		if (attack_hear(fds[i], 0, &heard) || attack_answers(&heard, &status) == 1)
			closed++;
		text_fini(&heard);
	}
	cr_expect(closed > CLIENTS / 2, "%d were closed", closed);
	cr_expect(attack_rss(flow_pid(0)) - before < GROWTH_MAX, "it grew by %ld KiB",
	          attack_rss(flow_pid(0)) - before);
	close_all(fds, CLIENTS);
	free(spaces);
	flow_end();
}

/* Operations that wait hold bytes, too: half of what there is, and a call that is alone as many as it needs. */
Test(connection, more_operations_than_there_is_room)
{
	struct race *race;

	serve_with("--lanes 1 --max-buffered 50000");
	race = trap_race_of_waiters("80", "reserve R# A=1");
	trap_raced(race, "*x 201 held | *x 503 busy Retry-After:*");
	cr_expect_geq(trap_metric(0, "holdfast_busy_total{cause=\"buffers_full\"}"), 20);
	cr_expect_geq(trap_number("SELECT COUNT(*) FROM reservation"), 20);
	flow_step("race 8*10 reserve R# A=1 -> *x 201 held | *x 200 held replayed");
	flow_repeat("batch LAST A=1", " | S# A=1", 199, " -> 201 held | ...");
	flow_step("sku A -> reserved=280");
	flow_end();
}

/* All of them are answered, in their order, though nobody reads before the end. */
Test(connection, pipelines)
{
	int         fd, status, answers;
	struct text asked = {0}, heard = {0};
	const char *at;

	serve_with("");
	fd = attack_open(flow_port(0));
	for (int i = 0; i < THOUSAND; i++)
		text_format(&asked, "GET /v1/skus/A" HEAD "X-Request-Id: n%d.\r\n\r\n", i);
	cr_assert(attack_send(fd, asked.data, asked.len));
	usleep(300000);
	shutdown(fd, SHUT_WR);
	cr_expect(attack_hear(fd, 5000, &heard), "it is not closed");
	answers = attack_answers(&heard, &status);
	cr_expect(answers == THOUSAND && status == 200, "%d answers, the last %d", answers, status);
	at = heard.data;
	for (int i = 0; i < THOUSAND && at; i++) {
		char name[40];

		snprintf(name, sizeof(name), "X-Request-Id: n%d.", i);
		at = strstr(at, name);
		cr_expect(at, "answer %d is missing or out of order", i);
	}
	close(fd);
	text_fini(&asked);
	text_fini(&heard);
	flow_end();
}

/* Who does not read is not read from. */
Test(connection, endless_pipelines)
{
	enum { CLIENTS = 5, GROWTH_MAX = 32 * MIB_KIB };
	int            fds[CLIENTS];
	size_t         len = 0;
	char          *many = malloc(64 << 10);
	long           before;
	struct decent *decent;

	serve_with("");
	while (len + strlen(GET) < 64 << 10) {
		memcpy(many + len, GET, strlen(GET));
		len += strlen(GET);
	}
	open_all(fds, CLIENTS);
	before = attack_rss(flow_pid(0));
	decent = decent_start(flow_port(0));
	for (int64_t from = clock_ms(); clock_ms() - from < 3000; usleep(2000))
		for (int i = 0; i < CLIENTS; i++)
			attack_push(fds[i], many, len);
	decent_finish(decent, "5 endless pipelines");
	cr_expect(attack_rss(flow_pid(0)) - before < GROWTH_MAX, "it grew by %ld KiB",
	          attack_rss(flow_pid(0)) - before);
	for (int i = 0; i < CLIENTS; i++)
		attack_reset(fds[i]);
	free(many);
	flow_end();
}

/* ---- clients that go, or go half */

enum { FEW = 50, MANY = 200 };

static void reserve(struct text *to, const char *id)
{
	char body[100];

	snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", id);
	text_reset(to);
	text_format(to,
	            "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	            "Content-Length: %zu\r\n\r\n%s",
	            strlen(body), body);
}

static int heard(int fd, int wait_ms, int *status)
{
	struct text text = {0};
	int         answers;

	attack_hear(fd, wait_ms, &text);
	answers = attack_answers(&text, status);
	text_fini(&text);
	return answers;
}

/* The end of a client's sending is not the end of the client. */
Test(connection, half_closed)
{
	struct text request = {0};
	int         fds[FEW];

	flow_begin();
	flow_step("receipt A +100 -> 201");
	for (int i = 0; i < FEW; i++) {
		char id[16];

		snprintf(id, sizeof(id), "R%d", i);
		reserve(&request, id);
		fds[i] = attack_open(flow_port(0));
		attack_send(fds[i], request.data, request.len);
		shutdown(fds[i], SHUT_WR);
	}
	for (int i = 0; i < FEW; i++) {
		int status, answers = heard(fds[i], 5000, &status);

		cr_expect(answers == 1 && status == 201, "R%d: %d answers, %d", i, answers, status);
		close(fds[i]);
	}
	flow_step("sku A -> available=50 reserved=50");
	text_fini(&request);
	flow_end();
}

/* What they asked for is done all the same, once, and a repeat finds it. Of a reset nobody knows what it overtook. */
Test(connection, closed_before_the_answer)
{
	struct text request = {0};

	flow_begin();
	flow_step("receipt A +1000 -> 201");
	for (int i = 0; i < MANY; i++) {
		char id[16];
		int  fd = attack_open(flow_port(0));

		snprintf(id, sizeof(id), "R%d", i);
		reserve(&request, id);
		attack_send(fd, request.data, request.len);
		if (i % 4 == 0)
			usleep(1000);
		if (i % 2)
			attack_reset(fd);
		else
			close(fd);
	}
	for (int i = 0; i < MANY; i += 2)
		flow_step("wait get R%d -> held", i);
	flow_steps("race 1*200 reserve R# A=1     -> *x 201 held | *x 200 held replayed",
	           "sku A                         -> available=800 reserved=200",
	           "raw GET /livez                -> 200");
	text_fini(&request);
	flow_end();
}

/* The request that is on its way when the service is told to end is still answered; one that never comes is not waited
 * for for ever. */
Test(connection, service_ends_while_a_request_arrives)
{
	struct text request = {0};
	int         whole, part, status = 0, answers;

	flow_begin();
	flow_step("receipt A +10 -> 201");
	reserve(&request, "R1");
	whole = attack_open(flow_port(0));
	part = attack_open(flow_port(0));
	attack_send(whole, request.data, request.len - 20);
	attack_send(part, request.data, request.len - 1);
	usleep(200000);
	flow_terminate();
	usleep(1000000);
	attack_send(whole, request.data + request.len - 20, 20);
	answers = heard(whole, 3000, &status);
	cr_expect(answers == 1 && status == 201, "%d answers, %d", answers, status);
	cr_expect(!attack_ends(part, 100), "the other was not waited for");
	cr_expect(attack_ends(part, 15000), "the other is open");
	flow_steps("restart",
	           "get R1 -> held",
	           "sku A  -> reserved=1");
	close(whole);
	close(part);
	text_fini(&request);
	flow_end();
}
