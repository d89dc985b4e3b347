/* test_connection.c - clients that are slow, silent, greedy or gone, or never stop, while a decent client by the side
 * goes on reserving: none of them costs it more than its turn, and all of them are closed in the end. */
#include "engine/base/clock.h"
#include "tests/lang/attack.h"
#include "tests/lang/trap.h"
#include "tests/kit/patience.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HUNDRED = 100, THOUSAND = 1000, MIB_KIB = 1024, SOON_MS = PATIENCE_MS / 2, LONG_MS = 3 * PATIENCE_MS };

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

/* The program has read what was sent so far: it answers a connection that came later. */
static void sent_is_read(void)
{
	cr_expect_geq(trap_metric(0, "holdfast_connections"), 1);
}

/* Waits until the program has said it. */
static void said_wait(const char *what)
{
	struct text said = {0};
	int64_t     from = clock_ms();

	for (flow_said(&said); !strstr(said.data, what) && !patience_is_over(from, PATIENCE_MS); flow_said(&said)) {
		usleep(10000);
		text_reset(&said);
	}
	cr_expect(strstr(said.data, what), "after %lld ms without %s", (long long)(clock_ms() - from), what);
	text_fini(&said);
}

/* Every 50 ms a byte on each, until all of them are closed, for LONG_MS at most. */
static void drip(const int *fds, int count, const char *head, const char *drops)
{
	int64_t from = clock_ms();
	int     left = count;

	for (int i = 0; i < count; i++)
		attack_say(fds[i], head);
	while (left > 0 && !patience_is_over(from, LONG_MS)) {
		usleep(50000);
		for (int i = 0; i < count; i++)
			attack_push(fds[i], drops, 1);
		left = count - ended(fds, count);
	}
	cr_expect(left == 0, "%d of %d are still open after %lld ms", left, count, (long long)(clock_ms() - from));
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
	bool        over = false;
	struct text heard = {0};

	serve_with("--request-timeout 1 --idle-timeout 6");
	silent = attack_open(flow_port(0));
	idle = attack_open(flow_port(0));
	slow = attack_open(flow_port(0));
	attack_say(idle, GET);
	attack_say(slow, GET "G");
	cr_expect(attack_ends(silent, SOON_MS), "a silent connection is open");
	cr_expect(attack_ends(slow, SOON_MS), "the slow one is open");
	flow_step("raw GET /livez -> 200"); /* so that this connection is not cut with the others */
	cr_expect(!attack_hear_answers(idle, 1, &heard) && attack_answers(&heard, &status) == 1,
	          "the idle one is closed");
	for (int64_t from = clock_ms(); !over && !patience_is_over(from, LONG_MS); usleep(100000)) {
		flow_step("raw GET /livez -> 200");
		over = attack_ends(idle, 0);
	}
	cr_expect(over, "the idle one is open");
	flow_step("raw GET /metrics -> holdfast_connections_cut_total=3");
	close_all((const int[]){silent, idle, slow}, 3);
	text_fini(&heard);
	flow_end();
}

/* A large body over a slow line is no attack: each MiB that comes buys time. A MiB takes a fifth of the time that it
 * buys, so that a machine which is busy may take longer; the whole takes more time than there is without. */
Test(connection, slow_but_sure)
{
	enum { PIECE = 64 << 10, PIECES = 96, PIECE_MS = 25 };
	char       *spaces = malloc(PIECE);
	int         fd, status, answers;
	int64_t     from;
	struct text heard = {0};

	serve_with("--request-timeout 2");
	memset(spaces, ' ', PIECE);
	fd = attack_open(flow_port(0));
	attack_say(fd,
	           "POST /v1/availability" HEAD "Content-Type: application/json\r\nContent-Length: 6291477\r\n\r\n");
	from = clock_ms();
	for (int i = 0; i < PIECES; i++) {
		while (clock_ms() - from < (int64_t)i * PIECE_MS)
			usleep(1000);
		cr_expect(attack_send(fd, spaces, PIECE), "closed after %d pieces", i);
	}
	cr_expect(clock_ms() - from > SLOW_S * 1000);
	attack_say(fd, "{\"skus\":[\"A\",\"NONE\"]}");
	attack_hear_answers(fd, 1, &heard);
	answers = attack_answers(&heard, &status);
	cr_expect(answers == 1 && status == 200, "%d answers, %d", answers, status);
	close(fd);
	free(spaces);
	text_fini(&heard);
	flow_end();
}

/* Large answers that no client takes. */
Test(connection, slow_readers)
{
	enum { ASKED = 400 };
	static const char get[] = "GET /openapi.yaml" HEAD "\r\n";
	int               fds[HUNDRED / 2];
	struct decent    *decent;

	serve_with("--request-timeout 2 --max-buffered 100000000");
	open_all(fds, HUNDRED / 2);
	decent = decent_start(flow_port(0));
	for (int i = 0; i < HUNDRED / 2; i++)
		for (int k = 0; k < ASKED; k++)
			attack_push(fds[i], get, sizeof(get) - 1);
	flow_step("wait:30 raw GET /metrics -> holdfast_connections_cut_total=%d", HUNDRED / 2);
	decent_finish(decent, "50 slow readers");
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
	int            fds[ROUNDS][PLACES];
	bool           closed = false;
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
	for (int64_t from = clock_ms(); !closed && !patience_is_over(from, PATIENCE_MS); usleep(50000))
		for (int round = 0; round < ROUNDS; round++)
			closed |= ended(fds[round], PLACES) > 0;
	cr_expect(closed, "none was closed");
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
	said_wait("event=accept_failed");
	usleep(200000); /* accept is tried again with each tick, ten times a second */
	close_all(fds, HUNDRED);
	flow_steps("wait raw GET /livez           -> 200",
	           "reserve R1 A=1                -> 201 held");
	flow_end();
}

/* The bytes that a client sent ahead count while it waits for an answer: it has to go, not a client that sends a
 * little. */
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
	sent_is_read();
	attack_send(much, bytes.data, bytes.len);
	cr_expect(attack_ends(much, PATIENCE_MS), "it goes on");
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

	serve_with("--request-timeout 300"); /* or they are cut, with the byte or before it, on a busy machine */
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

/* There is an answer, or the end. */
static bool is_refused(int fd)
{
	struct text heard = {0};
	int         status;
	bool        refused = attack_hear(fd, 0, &heard) || attack_answers(&heard, &status) == 1;

	text_fini(&heard);
	return refused;
}

/* 160 MiB are on their way, 16 may be there. */
Test(connection, more_bytes_than_there_is_room)
{
	enum { CLIENTS = 20, PIECE = 64 << 10, BODY = 8 << 20, GROWTH_MAX = 64 * MIB_KIB };
	char          *spaces = malloc(PIECE);
	int            fds[CLIENTS], closed = 0;
	size_t         left[CLIENTS]; /* 0: it was closed */
	bool           more = true;
	long           before;
	int64_t        from;
	struct decent *decent;

	serve_with("--max-buffered 16777216");
	memset(spaces, ' ', PIECE);
	before = attack_rss(flow_pid(0));
	open_all(fds, CLIENTS);
	decent = decent_start(flow_port(0));
	for (int i = 0; i < CLIENTS; i++)
		attack_say(fds[i], "POST /v1/reservations" HEAD "Content-Length: 8388608\r\n\r\n");
	for (int i = 0; i < CLIENTS; i++)
		left[i] = BODY - PIECE; /* a body that is whole would be answered */
	for (from = clock_ms(); (more || closed <= CLIENTS / 2) && !patience_is_over(from, PATIENCE_MS); usleep(1000)) {
		more = false;
		for (int i = 0; i < CLIENTS; i++) {
			if (left[i] == 0)
				continue;
			left[i] -= attack_push(fds[i], spaces, left[i] < 2 * PIECE ? left[i] / 2 : PIECE);
			if (is_refused(fds[i])) {
				left[i] = 0;
				closed++;
			}
			more |= left[i] >= PIECE;
		}
	}
	decent_finish(decent, "20 huge bodies");
	cr_expect(closed > CLIENTS / 2, "%d were closed in %lld ms", closed, (long long)(clock_ms() - from));
	cr_expect(attack_rss(flow_pid(0)) - before < GROWTH_MAX, "it grew by %ld KiB",
	          attack_rss(flow_pid(0)) - before);
	close_all(fds, CLIENTS);
	free(spaces);
	flow_end();
}

/* The memory that is taken counts, and the rest of a round of clients goes back: four times 480 MiB are on their way,
 * 64 may be there. */
Test(connection, memory_counts_not_length)
{
	enum { CLIENTS = 60, PIECE = 64 << 10, BODY = 8 << 20, GROWTH_MAX = 80 * MIB_KIB, IDLE_ROUNDS = 50 };
	char  *spaces = malloc(PIECE);
	int    fds[CLIENTS];
	size_t left[CLIENTS];
	long   before, most = 0;

	serve_with("--max-buffered 67108864");
	memset(spaces, ' ', PIECE);
	before = attack_rss(flow_pid(0));
	for (int round = 0; round < 4; round++) {
		open_all(fds, CLIENTS);
		for (int i = 0; i < CLIENTS; i++) {
			attack_say(fds[i], "POST /v1/reservations" HEAD "Content-Length: 8388608\r\n\r\n");
			left[i] = BODY - 1;
		}
		for (int idle = 0; idle < IDLE_ROUNDS; idle++) {
			size_t sent = 0;

			for (int i = 0; i < CLIENTS; i++) {
				size_t n = attack_push(fds[i], spaces, left[i] < PIECE ? left[i] : PIECE);

				left[i] -= n;
				sent += n;
			}
			most = attack_rss(flow_pid(0)) > most ? attack_rss(flow_pid(0)) : most;
			if (sent > 0)
				idle = 0;
			else
				usleep(1000);
		}
		close_all(fds, CLIENTS);
	}
	cr_expect(most - before < GROWTH_MAX, "it grew by %ld KiB", most - before);
	free(spaces);
	flow_end();
}

/* Operations that wait hold bytes, too: half of what there is, and a call that is alone as many as it needs. */
Test(connection, more_operations_than_there_is_room)
{
	struct race *race;

	serve_with("--lanes 1 --max-buffered 55000");
	race = trap_race_of_waiters("80", "reserve R# A=1");
	trap_raced(race, "*x 201 held | *x 503 busy Retry-After:*");
	cr_expect_geq(trap_metric(0, "holdfast_busy_total{cause=\"buffers_full\"}"), 20);
	cr_expect_geq(trap_number("SELECT COUNT(*) FROM reservation"), 20);
	flow_step("race 8*10 reserve R# A=1 -> *x 201 held | *x 200 held replayed");
	flow_repeat("batch LAST A=1", " | S# A=1", 199, " -> 201 held | ...");
	flow_step("sku A -> reserved=280");
	flow_end();
}

#define ANSWERED "holdfast_requests_total{route=\"GET /v1/skus/{sku}\",status=\"200\"}"

/* All of them are answered, in their order, though the client reads none before the end. */
Test(connection, pipelines)
{
	int         fd, status, answers;
	int64_t     from;
	struct text asked = {0}, heard = {0};
	const char *at;

	serve_with("");
	fd = attack_open(flow_port(0));
	for (int i = 0; i < THOUSAND; i++)
		text_format(&asked, "GET /v1/skus/A" HEAD "X-Request-Id: n%d.\r\n\r\n", i);
	cr_assert(attack_send(fd, asked.data, asked.len));
	from = clock_ms();
	for (int64_t now = -1, before = -1; (now > before || now <= 0) && !patience_is_over(from, PATIENCE_MS);
	     now = trap_metric(0, ANSWERED)) {
		usleep(20000);
		before = now; /* until no more of them is answered, as the client reads none */
	}
	shutdown(fd, SHUT_WR);
	cr_expect(attack_hear(fd, LONG_MS, &heard), "it is not closed"); /* a thousand, one after the other */
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

/* A client that does not read is not read from. */
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

enum {
	FEW = 50,
	MANY = 200,
	DRAINED_US = 500000, /* a drain with nothing on its way ends within 0.3 s */
};

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
		int status, answers = heard(fds[i], SOON_MS, &status);

		cr_expect(answers == 1 && status == 201, "R%d: %d answers, %d", i, answers, status);
		close(fds[i]);
	}
	flow_step("sku A -> available=50 reserved=50");
	text_fini(&request);
	flow_end();
}

/* Their calls are done all the same, once, and a repeat finds them. It is not known what a reset overtook. */
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
	sent_is_read();
	flow_terminate();
	said_wait("event=draining");
	usleep(DRAINED_US);
	attack_send(whole, request.data + request.len - 20, 20);
	answers = heard(whole, SOON_MS, &status);
	cr_expect(answers == 1 && status == 201, "%d answers, %d", answers, status);
	usleep(DRAINED_US);
	cr_expect(!attack_ends(part, 0), "the other was not waited for");
	cr_expect(attack_ends(part, 3 * PATIENCE_MS / 2), "the other is open");
	flow_steps("restart",
	           "get R1 -> held",
	           "sku A  -> reserved=1");
	close(whole);
	close(part);
	text_fini(&request);
	flow_end();
}
