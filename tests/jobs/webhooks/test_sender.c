/* test_sender.c - deliveries to receivers that are good, wrong, slow, endless or gone, plain and by TLS, one and many;
 * where a delivery may go, by whatever name; what is sent. */
#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "jobs/webhooks/sender.h"
#include "jobs/webhooks/signature.h"
#include "tests/kit/cert.h"
#include "tests/kit/patience.h"
#include "tests/kit/receiver.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECRET   "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
#define BODY     "{\"type\":\"reservation.held\"}"
#define EMPTY(s) "HTTP/1.1 " s "\r\nContent-Length: 0\r\n\r\n"
/* SHORT_MS is a time-out that a test wants to see. HANG_S is longer than any test lasts. */
enum { WAIT_MS = 2 * PATIENCE_MS, SOON_MS = PATIENCE_MS / 3, SHORT_MS = 600, HANG_S = 3600 };

static const char loopback[] = "127.0.0.0/8,::1/128";

/* ---- names that hang: libcurl asks this function instead of the C library's */

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **to)
{
	static int (*asked)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	if (name && strcmp(name, "hangs.test") == 0) {
		sleep(HANG_S);
		return EAI_AGAIN;
	}
	if (!asked)
		*(void **)&asked = dlsym(RTLD_NEXT, "getaddrinfo");
	return asked(name, service, hints, to);
}

/* ---- deliveries */

static void post_to(struct sender *s, const char *url, void *arg)
{
	struct post p = {.url = url, .id = "7-63f1c2a9b1e00-0", .body = BODY, .len = strlen(BODY)};

	p.secrets[0] = SECRET;
	p.arg = arg;
	sender_post(s, &p);
}

static struct posted end_of(struct sender *s)
{
	struct posted done = {0};
	int64_t       from_ms = clock_ms();

	cr_assert_eq(sender_wait(s, patience_ms(WAIT_MS), &done, 1), 1, "no end came for %d ms",
	             (int)(clock_ms() - from_ms));
	return done;
}

static struct posted deliver(struct sender *s, const char *url)
{
	post_to(s, url, NULL);
	return end_of(s);
}

static const char *url_at(const struct receiver *r, const char *format)
{
	static char url[200];

	snprintf(url, sizeof(url), "%s127.0.0.1:%d/hook", format, r->port);
	return url;
}

static struct posted deliver_to(struct sender *s, const struct receiver *r)
{
	return deliver(s, url_at(r, r->tls ? "https://" : "http://"));
}

static struct sender *sender_to_loopback(int timeout_ms)
{
	return sender_new(&(struct sender_options){.allow = loopback, .timeout_ms = timeout_ms});
}

/* ---- the tests */

Test(sender, sends_what_standard_webhooks_asks_for)
{
	static const char *const secrets[SECRETS] = {SECRET, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};
	static struct receiver   r = {.answer = RECEIVER_GOOD};
	struct sender           *s = sender_to_loopback(0);
	struct post              p = {.id = "7-63f1c2a9b1e00-0", .body = BODY, .len = strlen(BODY), .arg = &r};
	struct posted            done;
	struct text              wanted = {0};
	int64_t                  now = time(NULL), then;
	char                     url[100], *at;

	receiver_start(&r);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/a%%20b?c=d&e", r.port);
	p.url = url;
	memcpy(p.secrets, secrets, sizeof(secrets));
	sender_post(s, &p);
	done = end_of(s);
	cr_expect(done.delivered && done.status == 200 && !done.gone && done.retry_after_s == -1 && !*done.why &&
	          done.arg == &r);
	at = strstr(r.last.data, "webhook-timestamp: ");
	cr_assert(at);
	then = strtoll(at + strlen("webhook-timestamp: "), NULL, 10);
	cr_expect(then >= now && then <= now + patience_ms(SOON_MS) / 1000);
	text_format(&wanted,
	            "POST /a%%20b?c=d&e HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: holdfast/%s\r\nAccept: */*\r\n"
	            "Content-Type: application/json\r\nwebhook-id: 7-63f1c2a9b1e00-0\r\nwebhook-timestamp: %lld\r\n"
	            "webhook-signature: ",
	            r.port, HOLDFAST_VERSION, (long long)then);
	cr_assert(signature_write(&wanted, secrets, p.id, then, BODY, strlen(BODY)));
	text_format(&wanted, "\r\nContent-Length: %zu\r\n\r\n" BODY, strlen(BODY));
	cr_expect_str_eq(r.last.data, wanted.data);
	text_fini(&wanted);
	text_fini(&r.last);
	sender_free(s);
}

#define RETRY(after) "HTTP/1.1 429 Slow Down\r\nRetry-After: " after "\r\nContent-Length: 0\r\n\r\n"

Test(sender, answers_are_judged)
{
	static const struct {
		const char *answer;
		int         status;
		int64_t     retry_after_s;
	} rows[] = {
		{RECEIVER_GOOD, 200, -1},
		{"HTTP/1.1 204 No Content\r\n\r\n", 204, -1},
		{"HTTP/1.1 299 Odd\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 299, -1},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" RECEIVER_GOOD, 200, -1},
		{"HTTP/1.0 202 OK\r\n\r\nuntil the end", 202, -1},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: a\r\n\r\n", 200, -1},
		{EMPTY("300 Many"), 300, -1},
		{EMPTY("304 Not Modified"), 304, -1},
		{EMPTY("400 Bad"), 400, -1},
		{EMPTY("410 Gone"), 410, -1},
		{EMPTY("500 Trouble"), 500, -1},
		{EMPTY("600 Odd"), 600, -1},
		{RETRY("120"), 429, 120},
		{RETRY("0"), 429, -1},
		{RETRY("-5"), 429, -1},
		{RETRY("soon"), 429, -1},
		{RETRY("3601"), 429, 3600},
		{RETRY("99999999999"), 429, 3600},
		{RETRY("99999999999999999999999999"), 429, 3600},
		{RETRY("Sun, 06 Nov 1994 08:49:37 GMT"), 429, -1},
		{RETRY("Sun, 06 Nov 2093 08:49:37 GMT"), 429, 3600},
		{"HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 503, 7},
		/* None is an answer. */
		{"", 0, -1},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", 0, -1},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 0, -1},
		{"HTTP/1.1 200 OK\r\nContent-Le", 0, -1},
		{"HTTP/1.1 200 OK\r\n", 0, -1},
		{"HTTP/1.1 200 OK", 0, -1},
		{"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n", 0, -1},
		{"HTTP/1.1 103 Early Hints\r\n\r\n", 0, -1},
		{"HTTP/1.1 abc\r\n\r\n", 0, -1},
		{"HTTP/4 200 OK\r\n\r\n", 0, -1},
		{"ok", 0, -1},
	};
	static struct receiver r = {.answer = "", .closes = true};
	struct sender         *s = sender_to_loopback(0);

	receiver_start(&r);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct posted done;

		r.answer = rows[i].answer;
		done = deliver_to(s, &r);
		cr_expect_eq(done.status, rows[i].status, "%s: %d %s", rows[i].answer, done.status, done.why);
		cr_expect_eq(done.delivered, rows[i].status / 100 == 2, "%s", rows[i].answer);
		cr_expect_eq(done.gone, rows[i].status == 410);
		cr_expect_eq(done.retry_after_s, rows[i].retry_after_s, "%s", rows[i].answer);
		cr_expect_eq(!*done.why, done.delivered, "%s: %s", rows[i].answer, done.why);
	}
	text_fini(&r.last);
	sender_free(s);
}

Test(sender, retry_after_as_a_date)
{
	static char            answer[200];
	static struct receiver r = {.answer = answer};
	time_t                 then = time(NULL) + 100;
	struct tm              tm;
	struct sender         *s = sender_to_loopback(0);
	struct posted          done;

	strftime(answer, sizeof(answer), RETRY("%a, %d %b %Y %H:%M:%S GMT"), gmtime_r(&then, &tm));
	receiver_start(&r);
	done = deliver_to(s, &r);
	cr_expect(done.retry_after_s > 90 && done.retry_after_s <= 100, "%lld", (long long)done.retry_after_s);
	text_fini(&r.last);
	sender_free(s);
}

Test(sender, endless_answers_end)
{
	static const struct {
		bool (*program)(struct receiver_client *c);
		int         status;
		bool        waits; /* until the time-out */
		const char *why;
	} rows[] = {
		{receive_hang, 0, true, "timed out"},
		{receive_slow_head, 0, true, "timed out"},
		{receive_slow_body, 0, true, "timed out"},
		{receive_gigabyte, 200, false, ""},
		{receive_endless_heads, 0, false, "the head of the answer is longer than 65536 bytes"},
		{receive_endless_line, 0, false, "the head of the answer is longer than 65536 bytes"},
		{receive_endless_hints, 0, false, "the head of the answer is longer than 65536 bytes"},
		{receive_no_http, 0, false, "HTTP/0.9"},
		{receive_gigabyte_of_trouble, 500, false, "answered 500"},
	};
	struct sender *impatient = sender_to_loopback(SHORT_MS), *patient = sender_to_loopback(patience_ms(WAIT_MS));

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct receiver *r = calloc(1, sizeof(*r)); /* threads of it may outlive the test */
		int64_t          start = clock_ms(), ms;
		struct posted    done;

		r->program = rows[i].program;
		receiver_start(r);
		done = deliver_to(rows[i].waits ? impatient : patient, r);
		ms = clock_ms() - start;
		cr_expect_eq(done.status, rows[i].status, "%zu: %d %s", i, done.status, done.why);
		cr_expect_eq(done.delivered, rows[i].status == 200, "%zu", i);
		cr_expect_not_null(strstr(done.why, rows[i].why), "%zu: %s", i, done.why);
		cr_expect(!rows[i].waits || ms >= SHORT_MS - 20, "%zu: %d ms", i, (int)ms);
		cr_expect(ms < patience_ms(SOON_MS), "%zu: %d ms", i, (int)ms);
		cr_expect(r->sent < 20000000, "%zu: %lld bytes were taken", i, (long long)r->sent);
	}
	sender_free(impatient);
	sender_free(patient);
}

Test(sender, nobody_is_there)
{
	static struct receiver r = {.answer = RECEIVER_GOOD};
	struct sender         *s = sender_to_loopback(0);
	struct posted          done;

	receiver_start(&r);
	shutdown(r.fd, SHUT_RDWR);
	close(r.fd);
	done = deliver_to(s, &r);
	cr_expect(!done.delivered && !done.status && strstr(done.why, "connect"), "%s", done.why);
	done = deliver(s, "http://no-such-host.invalid/");
	cr_expect(!done.delivered && !done.status && strstr(done.why, "resolve"), "%s", done.why);
	sender_free(s);
}

Test(sender, redirects_are_not_followed)
{
	static char            answer[200];
	static struct receiver other = {.answer = RECEIVER_GOOD}, r = {.answer = answer};
	struct sender         *s = sender_to_loopback(0);

	receiver_start(&other);
	receiver_start(&r);
	for (int status = 301; status <= 308; status++) {
		snprintf(answer, sizeof(answer),
		         "HTTP/1.1 %d Go\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", status,
		         other.port);
		cr_expect_eq(deliver_to(s, &r).status, status);
	}
	cr_expect_eq(other.connections, 0);
	text_fini(&r.last);
	sender_free(s);
}

/* ---- where it goes */

/* Each leads to this machine, and some to IPv6 of it. */
static const char *const spellings[] = {
	"127.0.0.1", "2130706433", "0x7f.1",    "0x7f000001",         "0177.0.0.1",      "127.1",
	"0.0.0.0",   "0",          "127.9.9.9", "%31%32%37.0.0.1",    "localhost",       "LOCALHOST",
	"[::1]",     "[::]",       "[0:0::1]",  "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:0.0.0.0]",
};

Test(sender, no_spelling_leads_to_loopback)
{
	static const char      elsewhere[] = "10.0.0.0/8", everywhere[] = "0.0.0.0/0,::/0";
	static struct receiver r = {.answer = RECEIVER_GOOD, .closes = true};
	static struct receiver six = {.answer = RECEIVER_GOOD, .closes = true};
	struct sender         *s;
	bool                   ipv6;

	receiver_start(&r);
	ipv6 = receiver_open(&six, AF_INET6, r.port);
	for (int pass = 0; pass < 2; pass++) {
		s = sender_new(&(struct sender_options){.allow = pass ? everywhere : elsewhere});
		for (size_t i = 0; i < LENGTH(spellings); i++) {
			char          url[100];
			struct posted done;

			if (!ipv6 && spellings[i][0] == '[')
				continue;
			if (strcmp(spellings[i], "127.9.9.9") == 0)
				continue; /* no receiver listens there */
			for (int tls = 0; tls < 2 - pass; tls++) {
				snprintf(url, sizeof(url), "http%s://%s:%d/", tls ? "s" : "", spellings[i], r.port);
				done = deliver(s, url);
				cr_expect_eq(done.delivered, pass == 1, "%s: %s", url, done.why);
				cr_expect(pass || strncmp(done.why, "refused: ", 9) == 0, "%s: %s", url, done.why);
			}
		}
		cr_expect_eq(r.connections + six.connections > 0, pass == 1);
		sender_free(s);
	}
	text_fini(&r.last);
	text_fini(&six.last);
}

Test(sender, a_name_that_changes_its_mind_is_judged_anew)
{
	char                   first[60], later[60], url[60];
	const char            *resolve[] = {first, NULL};
	static struct receiver r = {.answer = RECEIVER_GOOD, .closes = true};
	struct sender_options  o = {.allow = "127.0.0.1/32", .resolve = resolve};
	struct sender         *s = sender_new(&o);
	struct posted          done;

	receiver_start(&r);
	snprintf(first, sizeof(first), "shop.test:%d:127.0.0.1", r.port);
	snprintf(later, sizeof(later), "shop.test:%d:127.0.0.2", r.port);
	snprintf(url, sizeof(url), "http://shop.test:%d/", r.port);
	for (int i = 0; i < 3; i++) {
		resolve[0] = first;
		cr_expect(deliver(s, url).delivered);
		resolve[0] = later;
		done = deliver(s, url);
		cr_expect(strstr(done.why, "refused: a loopback"), "%s", done.why);
	}
	cr_expect_eq(r.connections, 3);
	/* Of two addresses the one that may be reached is, and what it comes to counts. */
	snprintf(later, sizeof(later), "shop.test:%d:127.0.0.2,127.0.0.1", r.port);
	cr_expect(deliver(s, url).delivered);
	shutdown(r.fd, SHUT_RDWR);
	close(r.fd);
	done = deliver(s, url);
	cr_expect(!done.delivered && strncmp(done.why, "refused: ", 9) != 0, "%s", done.why);
	text_fini(&r.last);
	sender_free(s);
}

Test(sender, kept_connections_are_judged_at_each_request)
{
	static struct receiver r = {.answer = RECEIVER_GOOD};
	struct sender         *s = sender_to_loopback(0);
	struct posted          done;

	receiver_start(&r);
	for (int i = 0; i < 100; i++)
		cr_expect(deliver_to(s, &r).delivered);
	cr_expect_eq(r.connections, 1);
	sender_allow(s, "127.0.0.2/32");
	done = deliver_to(s, &r);
	cr_expect(!done.delivered && strstr(done.why, "refused: a loopback"), "%s", done.why);
	cr_expect_eq(r.requests, 100);
	cr_expect_eq(r.connections, 1);
	text_fini(&r.last);
	sender_free(s);
}

Test(sender, no_proxy_is_used)
{
	static struct receiver proxy = {.answer = RECEIVER_GOOD}, r = {.answer = EMPTY("203 Mine")};
	struct sender         *s;
	char                   url[60];

	receiver_start(&proxy);
	receiver_start(&r);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", proxy.port);
	setenv("http_proxy", url, true);
	setenv("ALL_PROXY", url, true);
	s = sender_to_loopback(0);
	cr_expect_eq(deliver_to(s, &r).status, 203);
	cr_expect_eq(proxy.connections, 0);
	text_fini(&r.last);
	sender_free(s);
}

Test(sender, connections_that_die_are_made_anew)
{
	static struct receiver r = {.program = receive_once};
	struct sender         *s = sender_to_loopback(0);

	receiver_start(&r);
	for (int i = 0; i < 10; i++)
		cr_expect(deliver_to(s, &r).delivered, "%d", i);
	cr_expect_eq(r.connections, 10);
	text_fini(&r.last);
	sender_free(s);
}

/* ---- TLS */

static struct receiver tls_receiver(const char *name, const char *names, int days)
{
	struct receiver r = {.answer = RECEIVER_GOOD, .tls = SSL_CTX_new(TLS_server_method())};
	char            path[300];

	cert_write(scratch_dir(), name, names, days);
	snprintf(path, sizeof(path), "%s/%s.cert", scratch_dir(), name);
	cr_assert(SSL_CTX_use_certificate_chain_file(r.tls, path) == 1);
	snprintf(path, sizeof(path), "%s/%s.key", scratch_dir(), name);
	cr_assert(SSL_CTX_use_PrivateKey_file(r.tls, path, SSL_FILETYPE_PEM) == 1);
	return r;
}

static struct posted deliver_by_tls(const struct receiver *r, const char *ca)
{
	char                  path[300];
	struct sender_options o = {.allow = loopback};
	struct sender        *s;
	struct posted         done;

	snprintf(path, sizeof(path), "%s/%s.cert", scratch_dir(), ca ? ca : "");
	o.ca_file = ca ? path : NULL;
	s = sender_new(&o);
	done = deliver_to(s, r);
	sender_free(s);
	return done;
}

Test(sender, tls_is_verified)
{
	static struct receiver good, named, old, plain = {.answer = RECEIVER_GOOD};
	struct posted          done;
	char                   path[300];

	good = tls_receiver("sender-good", "IP:127.0.0.1", 30);
	named = tls_receiver("sender-named", "DNS:localhost,IP:127.0.0.2", 30);
	old = tls_receiver("sender-old", "IP:127.0.0.1", 0);
	receiver_start(&good);
	receiver_start(&named);
	receiver_start(&old);
	receiver_start(&plain);
	done = deliver_by_tls(&good, "sender-good");
	cr_expect(done.delivered, "%s", done.why);
	cr_expect(strstr(good.last.data, BODY));
	cr_expect_not(deliver_by_tls(&good, NULL).delivered, "nobody knows the authority");
	cr_expect_not(deliver_by_tls(&good, "sender-named").delivered, "another authority");
	cr_expect_not(deliver_by_tls(&named, "sender-named").delivered, "another name");
	cr_expect_not(deliver_by_tls(&old, "sender-old").delivered, "ended");
	plain.tls = good.tls; /* for https:// alone: its threads have begun without */
	snprintf(path, sizeof(path), "%s/sender-good.cert", scratch_dir());
	setenv("SSL_CERT_FILE", path, true);
	cr_expect(deliver_by_tls(&good, NULL).delivered, "the environment names the authority");
	cr_expect_eq(good.requests, 2);
	cr_expect_eq(named.requests + old.requests, 0);
	text_fini(&good.last);
	SSL_CTX_free(good.tls);
	SSL_CTX_free(named.tls);
	SSL_CTX_free(old.tls);
}

/* ---- many at once */

enum { MANY = 20, ROUNDS = 50 };

static void many(bool one_hangs)
{
	static struct receiver r[MANY];
	struct sender         *s = sender_to_loopback(patience_ms(4 * WAIT_MS));
	struct posted          done[7];
	int                    left[MANY], ended = 0;
	int64_t                start;
	size_t                 n;

	for (int i = 0; i < MANY; i++) {
		r[i] = (struct receiver){.answer = one_hangs && !i ? NULL : RECEIVER_GOOD, .program = receive_hang};
		left[i] = ROUNDS;
		receiver_start(&r[i]);
	}
	start = clock_ms();
	for (int i = 0; i < MANY; i++)
		post_to(s, url_at(&r[i], "http://"), &left[i]);
	while (ended < (MANY - one_hangs) * ROUNDS) {
		n = sender_wait(s, patience_ms(SOON_MS), done, LENGTH(done));
		cr_assert(n > 0 && !patience_is_over(start, SOON_MS), "%d have ended in %d ms", ended,
		          (int)(clock_ms() - start));
		for (size_t i = 0; i < n; i++, ended++) {
			int *of = done[i].arg;

			cr_expect(done[i].delivered && !(one_hangs && of == left), "%s", done[i].why);
			if (--*of)
				post_to(s, url_at(&r[of - left], "http://"), of);
		}
	}
	cr_expect_eq(sender_busy(s), one_hangs);
	for (int i = one_hangs; i < MANY; i++)
		cr_expect(r[i].connections == 1 && r[i].requests == ROUNDS);
	sender_free(s);
}

Test(sender, many_at_once)
{
	many(false);
}

Test(sender, one_that_hangs_holds_up_no_other)
{
	many(true);
}

Test(sender, a_name_that_hangs_holds_up_no_other)
{
	static struct receiver r = {.answer = RECEIVER_GOOD};
	int                    short_ms = patience_ms(SHORT_MS);
	struct sender         *s = sender_to_loopback(short_ms);
	int64_t                start = clock_ms(), longest = 0, hung_ms = 0;
	struct posted          done = {0};

	receiver_start(&r);
	post_to(s, "https://hangs.test/", s);
	while (!hung_ms && !patience_is_over(start, SHORT_MS + SOON_MS)) {
		int64_t began = clock_ms(), took;

		post_to(s, url_at(&r, "http://"), NULL);
		while (sender_wait(s, patience_ms(WAIT_MS), &done, 1) == 1 && done.arg == s)
			hung_ms = clock_ms() - start;
		cr_expect(done.delivered);
		took = clock_ms() - began;
		longest = took > longest ? took : longest;
	}
	cr_expect(hung_ms >= short_ms - 20, "it ended after %d ms", (int)hung_ms);
	cr_expect(longest < short_ms / 2, "one took %d ms", (int)longest);
	cr_expect(r.requests > 10);
	start = clock_ms();
	sender_free(s);
	cr_expect(!patience_is_over(start, SOON_MS), "waits for the resolver: %d ms", (int)(clock_ms() - start));
	text_fini(&r.last);
}

/* ---- around */

/* sender_wait is woken by a descriptor, without any attempt and while a receiver hangs. */
Test(sender, a_descriptor_wakes)
{
	static struct receiver r = {.program = receive_hang};
	struct sender         *s = sender_to_loopback(0);
	struct posted          done;
	int64_t                start = clock_ms();
	int                    wakes = eventfd(1, EFD_CLOEXEC);

	receiver_start(&r);
	sender_wake_by(s, wakes);
	cr_expect_eq(sender_wait(s, WAIT_MS, &done, 1), 0);
	post_to(s, url_at(&r, "http://"), NULL);
	cr_expect_eq(sender_wait(s, WAIT_MS, &done, 1), 0);
	cr_expect(clock_ms() - start < WAIT_MS / 2);
	sender_wake_by(s, -1);
	start = clock_ms();
	cr_expect_eq(sender_wait(s, SHORT_MS, &done, 1), 0);
	cr_expect(clock_ms() - start >= SHORT_MS);
	sender_free(s);
	close(wakes);
}

Test(sender, what_is_none_is_not_sent)
{
	static struct receiver r = {.answer = RECEIVER_GOOD};
	struct sender         *s = sender_to_loopback(0);
	struct posted          done[3];
	struct post            p = {.url = "http://127.0.0.1/", .body = BODY, .len = strlen(BODY), .secrets = {SECRET}};

	receiver_start(&r);
	p.url = url_at(&r, "http://");
	p.id = "1-1-1\r\nX-Evil: 1";
	sender_post(s, &p);
	p.id = "1.1.1";
	sender_post(s, &p);
	p.id = "";
	sender_post(s, &p);
	p.id = "1-1-1";
	p.secrets[0] = NULL;
	sender_post(s, &p);
	p.secrets[0] = "whsec_short";
	sender_post(s, &p);
	p.secrets[0] = SECRET;
	p.url = "http://127.0.0.1\r\nX-Evil: 1/";
	sender_post(s, &p);
	p.url = "file:///etc/passwd";
	sender_post(s, &p);
	cr_expect_eq(sender_busy(s), 7);
	for (size_t n = 0; n < 7;) {
		size_t more = sender_wait(s, patience_ms(WAIT_MS), done, LENGTH(done));

		cr_assert(more > 0);
		for (size_t i = 0; i < more; i++)
			cr_expect(!done[i].delivered && strncmp(done[i].why, "not sent: ", 10) == 0, "%s", done[i].why);
		n += more;
	}
	cr_expect_eq(sender_busy(s), 0);
	cr_expect_eq(r.connections, 0);
	cr_expect(deliver_to(s, &r).delivered);
	text_fini(&r.last);
	sender_free(s);
}

static const struct {
	const char *url;
	int         valid; /* 1: with everything allowed or nothing; 2: only where 127.0.0.0/8 is */
} urls[] = {
	{"https://shop.example/hook", 1},
	{"HTTPS://shop.example", 1},
	{"https://shop.example:8443/a%20b?c=%0d%0a&d", 1},
	{"https://8.8.8.8/", 1},
	{"https://[2606:4700::1111]:443/", 1},
	{"https://shop.example/a@b?c@d", 1},
	{"https://xn--bcher-kva.example/", 1},
	{"http://shop.example/", 2},
	{"http://127.0.0.1:8000/", 2},
	{"https://127.0.0.1/", 2},
	{"https://2130706433/", 2},
	{"https://0x7f.1/", 2},
	{"https://127.1/", 2},
	{"https://%31%32%37.0.0.1/", 2},
	{"https://[::ffff:127.0.0.1]/", 2},
	{"https://10.0.0.1/", 0},
	{"https://0.0.0.0/", 0},
	{"https://[::1]/", 0},
	{"https://[fe80::1%25eth0]/", 0},
	{"https://169.254.169.254/latest/meta-data", 0},
	{"http://8.8.8.8/", 0},
	{"", 0},
	{"https://", 0},
	{"https:///etc", 0},
	{"https:////shop.example/", 0},
	{"https:/shop.example", 0},
	{"https:shop.example", 0},
	{"https:\\\\shop.example\\", 0},
	{"//shop.example/", 0},
	{"shop.example", 0},
	{"127.0.0.1", 0},
	{"ftp://shop.example/", 0},
	{"file:///etc/passwd", 0},
	{"gopher://127.0.0.1/", 0},
	{"javascript:https://shop.example", 0},
	{" https://shop.example/", 0},
	{"https://shop.example/ ", 0},
	{"https://shop.example/a b", 0},
	{"https://shop.example/\r\nX: 1", 0},
	{"https://shop.example/\t", 0},
	{"https://shop.example/#part", 0},
	{"https://shop.example/#", 0},
	{"https://user@shop.example/", 0},
	{"https://user:word@shop.example/", 0},
	{"https://@shop.example/", 0},
	{"https://shop.example\\@other.example/", 0},
	{"https://shop.example:0x50/", 0},
	{"https://shop.example:99999/", 0},
	{"https://:443/", 0},
	{"https://?a", 0},
	{"https://[::1/", 0},
	{"https://a%0d%0ab/", 0},
	{"https://a%20b/", 0},
	{"https://a%2fb/", 0},
	{"https://a%40b/", 0},
	{"https://a%00b/", 0},
	{"https://b\xc3\xbc"
         "cher.example/",
         0},
	{"https://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", 0},
};

Test(sender, urls_are_judged)
{
	struct sender_options none = {0}, some = {.allow = loopback};
	char                  longest[WEBHOOK_URL_MAX + 2] = "https://shop.example/";
	const char           *why;

	for (size_t i = 0; i < LENGTH(urls); i++) {
		bool valid = webhook_url_valid(urls[i].url, &none, &why);

		cr_expect_eq(valid, urls[i].valid == 1, "%s", urls[i].url);
		cr_expect(valid || strncmp(why, "must ", 5) == 0, "%s: %s", urls[i].url, why);
	}
	for (size_t i = 0; i < LENGTH(urls); i++)
		cr_expect_eq(webhook_url_valid(urls[i].url, &some, &why),
		             urls[i].valid > 0 || strcmp(urls[i].url, "https://[::1]/") == 0, "%s", urls[i].url);
	memset(longest + strlen(longest), 'a', WEBHOOK_URL_MAX - strlen(longest));
	cr_expect(webhook_url_valid(longest, &none, &why));
	longest[WEBHOOK_URL_MAX] = 'a';
	cr_expect_not(webhook_url_valid(longest, &none, &why));
}
