/* test_tls.c - HTTPS: what is spoken and what is refused, from a client that can be asked to be a bad one; long bodies
 * and answers; clients that send something else, stop, or go; draining; files that are wrong, and new ones. */
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "tests/kit/cert.h"
#include "tests/lang/trap.h"
#include "tests/kit/patience.h"
#include "tests/kit/peer.h"
#include "tests/kit/program.h"

#include <errno.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HANDSHAKE_MS = 10000 }; /* of the service */

/* Asks, and expects an answer with `says` in it; its status. */
static int call(struct peer *p, const char *method, const char *path, const char *body, const char *says)
{
	struct text answer = {0};
	int         status;

	peer_ask(p, method, path, body);
	status = peer_read(p, &answer);
	cr_expect(status && strstr(answer.data, says), "%s %s: %d, without %s: %.600s", method, path, status, says,
	          answer.data ? answer.data : "");
	text_fini(&answer);
	return status;
}

/* The service lives and serves. */
static void well(void)
{
	struct peer p;

	cr_assert(peer_open(&p, flow_port(0), &(struct wish){0}), "no handshake any more");
	cr_expect(call(&p, "GET", "/readyz", "", "ok") == 200);
	peer_close(&p);
}

/* Waits for the end of the stream; how much came before it. -1: it did not end in time. */
static long bytes_to_end(int fd)
{
	char    bytes[4096];
	long    sum = 0;
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		sum += n;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : sum;
}

/* ---- around the tests */

static void cert(const char *names, int days)
{
	cert_write(scratch_dir(), flow_scratch()->name, names, days);
}

static void begin(void)
{
	const char *name;

	flow_begin();
	name = flow_scratch()->name;
	cert("DNS:localhost,IP:127.0.0.1", 30);
	flow_step("serve --lanes 2 --tls-cert %s/%s.cert --tls-key %s/%s.key", scratch_dir(), name, scratch_dir(),
	          name);
}

static void end(void)
{
	well();
	flow_end();
}

/* True: the programs said the text. */
static bool log_has(const char *text)
{
	struct text said = {0};
	char        path[300];
	bool        has;

	snprintf(path, sizeof(path), "%s/%s.log", scratch_dir(), flow_scratch()->name);
	program_log_all(path, &said);
	has = strstr(said.data, text) != NULL;
	text_fini(&said);
	return has;
}

static void log_wait(const char *text)
{
	int64_t from = clock_ms();

	while (!log_has(text) && !patience_is_over(from, PATIENCE_MS))
		usleep(10000);
	cr_expect(log_has(text), "after %lld ms without %s", (long long)(clock_ms() - from), text);
}

/* ---- what is kept */

Test(tls, leaves_no_core)
{
	char  line[200];
	FILE *limits;
	bool  none = false;

	begin();
	snprintf(line, sizeof(line), "/proc/%d/limits", flow_pid(0));
	cr_assert_not_null(limits = fopen(line, "r"));
	while (fgets(line, sizeof(line), limits))
		none |= strncmp(line, "Max core file size        0                    0 ", 49) == 0;
	fclose(limits);
	cr_expect(none, "a core would hold the key");
	end();
}

/* ---- what is spoken */

Test(tls, versions_ciphers_protocols)
{
	static const struct wish good[] = {
		{.version = TLS1_2_VERSION},
		{.version = TLS1_3_VERSION},
		{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"},
		{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305"},
		{.alpn = "http/1.1", .chosen = "http/1.1"},
	};
	static const struct wish bad[] = {
		{.version = TLS1_VERSION},
		{.version = TLS1_1_VERSION},
		{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES256-SHA384"},
		{.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-SHA"},
		{.alpn = "h2"},
	};
	struct peer p;

	begin();
	for (size_t i = 0; i < LENGTH(good); i++) {
		const unsigned char *chosen;
		unsigned             len;

		cr_assert(peer_open(&p, flow_port(0), &good[i]), "good %zu is refused", i);
		SSL_get0_alpn_selected(p.ssl, &chosen, &len);
		cr_expect(len == (good[i].chosen ? strlen(good[i].chosen) : 0) &&
		          (!len || memcmp(chosen, good[i].chosen, len) == 0));
		cr_expect(call(&p, "GET", "/livez", "", "ok") == 200);
		peer_close(&p);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		cr_expect(!peer_open(&p, flow_port(0), &bad[i]), "bad %zu is accepted", i);
	end();
}

Test(tls, no_renegotiation)
{
	struct text answer = {0};
	struct peer p;

	begin();
	cr_assert(peer_open(&p, flow_port(0), &(struct wish){.version = TLS1_2_VERSION}));
	cr_expect(SSL_get_secure_renegotiation_support(p.ssl));
	cr_expect(call(&p, "GET", "/livez", "", "ok") == 200);
	cr_expect(SSL_renegotiate(p.ssl) == 1);
	cr_expect(SSL_do_handshake(p.ssl) <= 0, "the service renegotiates");
	cr_expect(peer_read(&p, &answer) == 0);
	peer_close(&p);
	text_fini(&answer);
	end();
}

/* ---- requests */

Test(tls, a_connection_of_many_requests)
{
	struct peer p;

	begin();
	cr_assert(peer_open(&p, flow_port(0), &(struct wish){0}));
	cr_expect(call(&p, "POST", "/v1/movements",
	               "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":300}]}",
	               "\"qty\":300") == 201);
	for (int i = 0; i < 200; i++) {
		char body[100];

		snprintf(body, sizeof(body), "{\"order_id\":\"R%d\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", i);
		cr_assert(call(&p, "POST", "/v1/reservations", body, "held") == 201);
	}
	cr_expect(call(&p, "GET", "/v1/skus/A", "", "\"available\":100,") == 200);
	cr_expect(call(&p, "POST", "/v1/reservations/R0/confirm", "{}", "confirmed") == 200);
	peer_close(&p);
	end();
}

/* All in one record, and more than one record holds: what has been decrypted must not be forgotten. */
Test(tls, pipelined_requests)
{
	enum { REQUESTS = 1000 };
	struct text asks = {0}, answers = {0};
	struct peer p;
	int         n, came = 0;

	begin();
	cr_assert(peer_open(&p, flow_port(0), &(struct wish){0}));
	for (int i = 0; i < REQUESTS; i++)
		text_add(&asks, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
	peer_send(&p, asks.data, asks.len);
	while (came < REQUESTS && (n = SSL_read(p.ssl, text_room(&answers, 16384), 16384)) > 0) {
		answers.len += (size_t)n;
		answers.data[answers.len] = '\0';
		came = 0;
		for (const char *at = answers.data; (at = strstr(at, "HTTP/1.1 200")) != NULL; at++)
			came++;
	}
	cr_expect(came == REQUESTS, "%d of %d answers", came, REQUESTS);
	peer_close(&p);
	text_fini(&asks);
	text_fini(&answers);
	end();
}

Test(tls, long_bodies_and_answers)
{
	struct text body = {0}, answer = {0};
	struct peer p;

	begin();
	cr_assert(peer_open(&p, flow_port(0), &(struct wish){0}));
	cr_expect(call(&p, "POST", "/v1/movements",
	               "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":9000}]}",
	               "9000") == 201);
	text_add(&body, "{\"reservations\":[");
	for (int i = 0; i < 1000; i++)
		text_format(&body, "%s{\"order_id\":\"R%d\",%8000s\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", i ? "," : "",
		            i, "");
	text_add(&body, "]}");
	cr_assert(body.len > 8000000 && body.len < 8 << 20);
	cr_expect(call(&p, "POST", "/v1/reservations/batch", body.data, "\"order_id\":\"R999\",") == 200);
	peer_ask(&p, "GET", "/v1/reservations?limit=1000", "");
	cr_expect(peer_read(&p, &answer) == 200 && answer.len > 100000 && strstr(answer.data, "\"R0\""), "%zu bytes",
	          answer.len);
	text_format(&body, "%2000000s", "");
	cr_expect(call(&p, "POST", "/v1/reservations/batch", body.data, "too_large") == 413);
	peer_close(&p);
	text_fini(&body);
	text_fini(&answer);
	end();
}

/* A farewell tells the last answer from one that was cut off (RFC 9112, 9.8). */
Test(tls, farewell)
{
	static const char *const last[] = {"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	                                   "NO REQUEST\n and more of it"};
	static const int         versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	char                     answer[4096];

	begin();
	for (size_t i = 0; i < LENGTH(last) * LENGTH(versions); i++) {
		struct peer p;
		int         n, came = 0;

		cr_assert(peer_open(&p, flow_port(0), &(struct wish){.version = versions[i % LENGTH(versions)]}));
		peer_send(&p, last[i / LENGTH(versions)], strlen(last[i / LENGTH(versions)]));
		while ((n = SSL_read(p.ssl, answer, sizeof(answer))) > 0)
			came += n;
		cr_expect(came > 0 && SSL_get_error(p.ssl, n) == SSL_ERROR_ZERO_RETURN, "%zu: %d bytes, then error %d",
		          i, came, SSL_get_error(p.ssl, n));
		peer_close(&p);
	}
	end();
}

/* A client that says that nothing more comes gets its answers, and a farewell. */
Test(tls, half_close)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	enum { REQUESTS = 300 };

	begin();
	for (size_t i = 0; i < LENGTH(versions); i++) {
		struct text bytes = {0};
		struct peer p;
		int         n, came = 0;

		cr_assert(peer_open(&p, flow_port(0), &(struct wish){.version = versions[i]}));
		for (int k = 0; k < REQUESTS; k++)
			text_add(&bytes, k % 2 ? "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
			                       : "GET /v1/skus HTTP/1.1\r\nHost: localhost\r\n\r\n");
		peer_send(&p, bytes.data, bytes.len);
		SSL_shutdown(p.ssl);
		text_reset(&bytes);
		while ((n = SSL_read(p.ssl, text_room(&bytes, 16384), 16384)) > 0)
			bytes.data[bytes.len += (size_t)n] = '\0';
		for (const char *at = bytes.data; (at = strstr(at, "HTTP/1.1 200")) != NULL; at++)
			came++;
		cr_expect(came == REQUESTS && SSL_get_error(p.ssl, n) == SSL_ERROR_ZERO_RETURN,
		          "%d answers, then error %d", came, SSL_get_error(p.ssl, n));
		peer_close(&p);
		text_fini(&bytes);
	}
	end();
}

/* Waits until so many readers wait for an event. */
static void waiting(struct peer *p, int count)
{
	char        line[60];
	struct text answer = {0};
	bool        so = false;

	snprintf(line, sizeof(line), "\nholdfast_events_waiting %d\n", count);
	for (int64_t from = clock_ms(); !so && !patience_is_over(from, PATIENCE_MS); usleep(10000)) {
		text_reset(&answer);
		peer_ask(p, "GET", "/metrics", "");
		so = peer_read(p, &answer) == 200 && strstr(answer.data, line);
	}
	cr_expect(so, "not %d", count);
	text_fini(&answer);
}

Test(tls, readers_that_wait)
{
	struct peer stays, leaves, resets, looks;
	struct text answer = {0};

	begin();
	cr_assert(peer_open(&stays, flow_port(0), &(struct wish){0}));
	cr_assert(peer_open(&leaves, flow_port(0), &(struct wish){0}));
	cr_assert(peer_open(&resets, flow_port(0), &(struct wish){0}));
	cr_assert(peer_open(&looks, flow_port(0), &(struct wish){0}));
	peer_ask(&stays, "GET", "/v1/events?after=now&wait_s=20", "");
	peer_ask(&leaves, "GET", "/v1/events?after=now&wait_s=20", "");
	peer_ask(&resets, "GET", "/v1/events?after=now&wait_s=20", "");
	waiting(&looks, 3);
	peer_close(&leaves);
	close(resets.fd);
	waiting(&looks, 1);
	cr_expect(call(&looks, "POST", "/v1/movements",
	               "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":3}]}",
	               "M1") == 201);
	cr_expect(peer_read(&stays, &answer) == 200 && strstr(answer.data, "movement.receipt"), "%s", answer.data);
	cr_expect(call(&stays, "GET", "/livez", "", "ok") == 200, "the connection does not go on");
	peer_close(&stays);
	peer_close(&looks);
	resets.fd = peer_tcp(flow_port(0));
	peer_close(&resets);
	text_fini(&answer);
	end();
}

/* ---- clients that are none */

Test(tls, plain_text_and_garbage)
{
	static const char plain[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
	char              garbage[3000];
	int               fd;
	long              came;

	begin();
	fd = peer_tcp(flow_port(0));
	cr_assert(send(fd, plain, strlen(plain), 0) > 0);
	came = bytes_to_end(fd);
	cr_expect(came >= 0 && came < 20, "%ld bytes in plain text", came); /* an alert at most */
	close(fd);
	for (int i = 0; i < 50; i++) {
		random_bytes(garbage, sizeof(garbage));
		if (i % 2)
			memcpy(garbage, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
			       11); /* the head of a ClientHello */
		fd = peer_tcp(flow_port(0));
		cr_expect(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL) > 0);
		cr_expect(bytes_to_end(fd) >= 0, "garbage is listened to");
		close(fd);
	}
	end();
}

/* Nothing at all, and the head of a greeting: both are closed when the time for a handshake is over, and no other. */
Test(tls, stalled_handshakes)
{
	struct peer old, new;
	int         silent, half;
	int64_t     from;

	begin();
	cr_assert(peer_open(&old, flow_port(0), &(struct wish){.version = TLS1_2_VERSION}));
	cr_assert(peer_open(&new, flow_port(0), &(struct wish){.version = TLS1_3_VERSION}));
	from = clock_ms();
	silent = peer_tcp(flow_port(0));
	half = peer_tcp(flow_port(0));
	cr_assert(send(half, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11, 0) == 11);
	cr_expect(bytes_to_end(silent) >= 0 && bytes_to_end(half) >= 0);
	cr_expect(clock_ms() - from >= HANDSHAKE_MS / 2, "they were closed too soon");
	/* The time of those that came before them would be over, too. */
	cr_expect(call(&old, "GET", "/livez", "", "ok") == 200);
	cr_expect(call(&new, "GET", "/livez", "", "ok") == 200);
	peer_close(&old);
	peer_close(&new);
	close(silent);
	close(half);
	end();
}

/* The client goes: in the handshake, in a request, before its answer, and without a word of farewell. */
Test(tls, clients_that_go)
{
	struct peer p;

	begin();
	for (int i = 0; i < 40; i++) {
		struct linger reset = {1, 0};

		if (i % 4 == 0) {
			p = (struct peer){.fd = peer_tcp(flow_port(0))};
			cr_assert(send(p.fd, "\x16\x03\x01\x02\x00\x01", 6, 0) == 6);
		} else {
			cr_assert(peer_open(&p, flow_port(0), &(struct wish){0}));
			peer_send(&p, "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n", i % 4 == 1 ? 11 : 40);
		}
		if (i % 8 > 3)
			setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		if (i % 4 == 3)
			SSL_shutdown(p.ssl);
		peer_close(&p);
	}
	end();
}

/* ---- the end */

Test(tls, drain)
{
	struct text answer = {0};
	struct peer waits, reads, idle, half = {0};

	begin();
	half.fd = peer_tcp(flow_port(0));
	cr_assert(peer_open(&idle, flow_port(0), &(struct wish){0}));
	cr_assert(peer_open(&waits, flow_port(0), &(struct wish){0}) &&
	          peer_open(&reads, flow_port(0), &(struct wish){0}));
	cr_expect(call(&waits, "POST", "/v1/movements",
	               "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":9}]}",
	               "\"qty\":9") == 201);
	flow_step("lock");
	peer_ask(&waits, "POST", "/v1/reservations", "{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}");
	peer_ask(&reads, "GET", "/openapi.yaml", "");
	trap_waiter();
	flow_terminate();
	log_wait("event=draining");
	usleep(500000); /* a drain with nothing on its way ends within 0.3 s */
	flow_step("unlock");
	cr_expect(peer_read(&waits, &answer) == 201 && strstr(answer.data, "Connection: close"), "%s", answer.data);
	cr_expect(peer_read(&reads, &answer) == 200 && answer.len > 50000, "%zu bytes", answer.len);
	peer_close(&waits);
	peer_close(&reads);
	text_fini(&answer);
	flow_end();
	peer_close(&idle);
	peer_close(&half);
}

/* ---- files */

static void refused(const char *cert_file, const char *key_file, const char *why)
{
	flow_step("run serve --lanes 2 --listen 127.0.0.1:0%s%s%s%s -> 78 '~%s'", *cert_file ? " --tls-cert " : "",
	          cert_file, *key_file ? " --tls-key " : "", key_file, why);
}

Test(tls, files_that_are_wrong)
{
	char cert_file[300], key_file[300], other[300];

	flow_begin();
	cert("DNS:localhost", 30);
	cert_write(scratch_dir(), "other", "DNS:localhost", 30);
	snprintf(cert_file, sizeof(cert_file), "%s/%s.cert", scratch_dir(), flow_scratch()->name);
	snprintf(key_file, sizeof(key_file), "%s/%s.key", scratch_dir(), flow_scratch()->name);
	snprintf(other, sizeof(other), "%s/other.key", scratch_dir());
	refused(cert_file, "", "--tls-cert and --tls-key go together");
	refused("", key_file, "--tls-cert and --tls-key go together");
	refused("/nowhere", key_file, "--tls-cert: cannot read /nowhere: No such file");
	refused(cert_file, "/nowhere", "--tls-key: cannot read /nowhere: No such file");
	refused(key_file, key_file, "is no PEM certificate that can be used");
	refused(cert_file, cert_file, "is no PEM private key without a passphrase that can be used");
	refused(cert_file, "/dev/null", "is no PEM private key without a passphrase that can be used");
	refused(cert_file, other, "does not belong to --tls-cert");
	cr_assert(chmod(key_file, 0644) == 0);
	flow_step("run serve --lanes 2 --listen 127.0.0.1:0 --tls-cert %s --tls-key %s --webhooks-key /nowhere"
	          " -> 78 ~event=secret_open ~option=--tls-key",
	          cert_file, key_file);
	flow_end();
}

/* Checks the name in the certificate that a new connection is shown. */
static void shown(const char *name)
{
	struct peer p;
	X509       *cert;

	cr_assert(peer_open(&p, flow_port(0), &(struct wish){0}));
	cert = SSL_get0_peer_certificate(p.ssl);
	cr_expect(X509_check_host(cert, name, 0, 0, NULL) == 1, "the certificate is not of %s", name);
	peer_close(&p);
}

static void hang_up(const char *until_said)
{
	flow_signal(SIGHUP);
	log_wait(until_said);
}

Test(tls, new_files)
{
	struct peer old;
	char        path[300];

	begin();
	cr_assert(peer_open(&old, flow_port(0), &(struct wish){0}));
	cr_expect(call(&old, "GET", "/metrics", "", "\nholdfast_certificate_expiry_timestamp_seconds 1") == 200);
	cert("DNS:renewed", 0);
	shown("localhost");
	hang_up("event=certificate_expired");
	shown("renewed");
	snprintf(path, sizeof(path), "%s/%s.cert", scratch_dir(), flow_scratch()->name);
	cr_assert(truncate(path, 20) == 0);
	hang_up("event=reload_failed");
	shown("renewed");
	cr_expect(call(&old, "GET", "/livez", "", "ok") == 200);
	peer_close(&old);
	end();
}
