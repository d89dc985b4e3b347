/* test_memory.c - no memory: the n-th allocation on the service's loop fails, n rising over a whole call, until there
 * is no n-th. The call is answered as ever, or 503, or its connection ends; a repeat is answered well; the process
 * lives, and the invariants hold. (tests/fault/memory.c; not under AddressSanitizer, which has an allocator of its
 * own.) */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "tests/attack.h"
#include "tests/cert.h"
#include "tests/fault/memory.h"
#include "tests/flow.h"
#include "tests/peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NTH_MAX = 3000, AGAIN_MAX = 3, SETTLE_US = 120000, PIECE_US = 20000, ANSWER_MS = 3000 };

static struct fault *fault;

static bool fault_prepare(void)
{
	char        path[512], library[512];
	const char *bin = getenv("HOLDFAST_BIN");
	int         fd;

	snprintf(library, sizeof(library), "%s", bin ? bin : "build/holdfast");
	snprintf(strrchr(library, '/') + 1, 32, "fault-memory.so");
	if (access(library, R_OK) != 0) {
		say("%s is not there: no allocation fails here", library);
		return false;
	}
	snprintf(path, sizeof(path), "%s/fault-%d", scratch_dir(), getpid());
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && ftruncate(fd, sizeof(*fault)) == 0);
	fault = mmap(NULL, sizeof(*fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(fault != MAP_FAILED);
	close(fd);
	setenv(FAULT_FILE, path, 1);
	setenv("LD_PRELOAD", realpath(library, NULL), 1);
	return true;
}

/* The status of one call on a connection of its own; 0: it ended, or nothing came. */
typedef int call(const char *method, const char *path, const char *body);

static void ask(struct text *to, const char *method, const char *path, const char *body)
{
	text_format(to,
	            "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
	            "Content-Length: %zu\r\n\r\n%s",
	            method, path, strlen(body), body);
}

/* At most so many answers, and then the end; how many there are. */
static int hear(int fd, const char *of, int most, int *status)
{
	struct text heard = {0};
	int         count;

	cr_expect(attack_hear(fd, ANSWER_MS, &heard), "%s: the connection stays open", of);
	count = attack_answers(&heard, status);
	cr_expect(count <= most, "more than %d answers:\n%s", most, heard.data);
	cr_expect(heard.len == 0 || strncmp(heard.data, "HTTP/1.1 ", 9) == 0, "half an answer:\n%s", heard.data);
	close(fd);
	text_fini(&heard);
	return count;
}

static int plain(const char *method, const char *path, const char *body)
{
	struct text request = {0};
	int         fd = attack_open(flow_port(0)), status = 0;

	ask(&request, method, path, body);
	attack_send(fd, request.data, request.len);
	hear(fd, path, 1, &status);
	text_fini(&request);
	return status;
}

/* Behind another request, and not all of it at once: a part of it has to be kept. */
static int in_pieces(const char *method, const char *path, const char *body)
{
	struct text request = {0};
	int         fd = attack_open(flow_port(0)), status = 0, count;
	size_t      first;

	text_add(&request, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
	first = request.len;
	ask(&request, method, path, body);
	first += (request.len - first) / 2;
	attack_send(fd, request.data, first);
	usleep(PIECE_US);
	attack_send(fd, request.data + first, request.len - first);
	count = hear(fd, path, 2, &status);
	text_fini(&request);
	return count == 2 || status == 503 ? status : 0;
}

/* With a handshake that finds memory, or with one that may not. */
static int by_tls_from(bool handshake, const char *method, const char *path, const char *body)
{
	struct text answer = {0};
	struct peer p;
	int64_t     from = clock_ms();
	int         status = 0;

	fault->armed = handshake;
	if (peer_open(&p, flow_port(0), &(struct wish){0})) {
		fault->armed = 1;
		peer_ask(&p, method, path, body);
		status = peer_read(&p, &answer);
		peer_close(&p);
	}
	cr_expect(clock_ms() - from < ANSWER_MS, "%s %s: the rest of an answer is waited for:\n%.400s", method, path,
	          answer.data ? answer.data : "");
	text_fini(&answer);
	return status;
}

static int by_tls(const char *method, const char *path, const char *body)
{
	return by_tls_from(false, method, path, body);
}

static int by_handshake(const char *method, const char *path, const char *body)
{
	return by_tls_from(true, method, path, body);
}

struct tally {
	int refused, ended, nth;
};

/* `path` and `body` name what they make by %d. A handshake asks for memory hundreds of times, of which some fail. */
static struct tally each_once(call *call, const char *method, const char *path, const char *body, int well)
{
	int refused = 0, ended = 0, nth = 1;

	for (fault->struck = 1; fault->struck && nth < NTH_MAX; nth += call == by_handshake ? 1 + nth / 10 : 1) {
		struct text to = {0}, with = {0};
		int         status;

		text_format(&to, path, nth);
		text_format(&with, body, nth);
		fault->nth = nth;
		fault->count = 0;
		fault->struck = 0;
		fault->armed = 1;
		status = call(method, to.data, with.data);
		fault->armed = 0;
		refused += status == 503;
		ended += status == 0;
		cr_expect(status == well || status == 503 || status == 0, "allocation %d of %s %s: %d", nth, method,
		          path, status);
		if (fault->struck)
			usleep(SETTLE_US);
		fault->nth = 0;
		status = call(method, to.data, with.data);
		cr_expect(status / 100 == 2, "after allocation %d of %s %s: %d", nth, method, path, status);
		text_fini(&to);
		text_fini(&with);
	}
	fault->armed = 0;
	say("%s %s: %d allocations, %d times 503, %d times the end of the connection", method, path, nth - 2, refused,
	    ended);
	return (struct tally){refused, ended, nth};
}

/* Other threads ask for memory too, so that a round may miss the few allocations that a 503 answers: then another. */
static void each_fails(call *call, const char *method, const char *path, const char *body, int well)
{
	struct tally t = each_once(call, method, path, body, well);

	for (int again = 0; again < AGAIN_MAX && t.refused == 0; again++)
		t = each_once(call, method, path, body, well);
	cr_expect(t.nth < NTH_MAX && t.refused > 0 && t.refused + t.ended >= 3, "it did not reach the service");
}

Test(memory, reserve)
{
	if (!fault_prepare())
		return;
	flow_begin();
	flow_steps("receipt A +100000 B +100000 -> 201");
	each_fails(plain, "POST", "/v1/reservations", "{\"order_id\":\"R%d\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}",
	           201);
	flow_end();
}

Test(memory, batch)
{
	if (!fault_prepare())
		return;
	flow_begin();
	flow_steps("receipt A +100000 B +100000 -> 201");
	each_fails(plain, "POST", "/v1/reservations/batch",
	           "{\"reservations\":[{\"order_id\":\"R%d\",\"lines\":[{\"sku\":\"A\",\"qty\":1},"
	           "{\"sku\":\"B\",\"qty\":2}]},{\"order_id\":1},{\"order_id\":\"GHOST\",\"lines\":[{\"sku\":\"C\","
	           "\"qty\":1}]}]}",
	           200);
	flow_end();
}

Test(memory, read)
{
	if (!fault_prepare())
		return;
	flow_begin();
	flow_steps("receipt A +10  -> 201",
	           "reserve R1 A=1 -> 201",
	           "reserve R2 A=1 -> 201");
	each_fails(plain, "GET", "/v1/skus/A?max_age_ms=60000", "", 200);
	each_fails(plain, "GET", "/v1/reservations?limit=1", "", 200);
	each_fails(plain, "GET", "/metrics", "", 200);
	flow_end();
}

Test(memory, change)
{
	if (!fault_prepare())
		return;
	flow_begin();
	flow_steps("receipt A +1000 -> 201",
	           "reserve R1 A=1  -> 201");
	each_fails(plain, "POST", "/v1/reservations/R1/confirm", "{}", 200);
	each_fails(plain, "POST", "/v1/movements",
	           "{\"movement_id\":\"M%d\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", 201);
	flow_end();
}

Test(memory, pieces)
{
	enum { BODY = 300000 };
	struct text large = {0};

	if (!fault_prepare())
		return;
	flow_begin();
	flow_steps("receipt A +100000 -> 201");
	each_fails(in_pieces, "POST", "/v1/reservations",
	           "{\"order_id\":\"R%d\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", 201);
	each_fails(in_pieces, "GET", "/v1/skus/A?max_age_ms=60000", "", 200);
	text_format(&large, "{\"skus\":[%*s\"A\"]}", BODY, "");
	each_fails(in_pieces, "POST", "/v1/availability", large.data, 200);
	text_fini(&large);
	flow_end();
}

/* A handshake, too, takes memory, and an answer is copied: half of one is none. */
Test(memory, tls)
{
	const char *name;

	if (!fault_prepare())
		return;
	flow_begin();
	name = flow_scratch()->name;
	cert_write(scratch_dir(), name, "DNS:localhost", 30);
	flow_step("serve --lanes 2 --tls-cert %s/%s.cert --tls-key %s/%s.key", scratch_dir(), name, scratch_dir(),
	          name);
	each_fails(by_tls, "GET", "/openapi.yaml", "", 200);
	each_fails(by_handshake, "GET", "/openapi.yaml", "", 200);
	flow_end();
}
