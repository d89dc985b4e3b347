/* test_http1.c - where requests end and what is no request, without a server: http1.c alone. Each text is read in one
 * piece, byte by byte, and in pieces of seven. */
#include "api/http/http1.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct http1_limits limits = {.head_max = 1000, .body_max = 100};

/* Reads the bytes in pieces, request by request; how many were complete. */
static int feed(struct http1 *f, const char *bytes, size_t len, size_t piece)
{
	int complete = 0;

	*f = (struct http1){.limits = &limits};
	for (size_t at = 0; at < len && !f->fault;) {
		at += http1_read(f, bytes + at, len - at < piece ? len - at : piece);
		if (f->state == HTTP1_DONE) {
			complete++;
			*f = (struct http1){.limits = &limits};
		}
	}
	return complete;
}

static void expect(const char *bytes, size_t len, int complete, enum http1_fault fault, bool between)
{
	const size_t pieces[] = {1, 7, len};

	for (size_t i = 0; i < LENGTH(pieces); i++) {
		struct http1 f;
		int          came = feed(&f, bytes, len, pieces[i]);

		cr_expect(came == complete && f.fault == fault && (f.head == 0) == between,
		          "%.*s\nin pieces of %zu: %d complete, fault %d (%s), %d bytes of a head", (int)len, bytes,
		          pieces[i], came, f.fault, f.fault ? f.detail : "", (int)f.head);
	}
}

/* Complete requests, and nothing behind them. */
#define WELL(count, bytes) expect(bytes, sizeof(bytes) - 1, count, HTTP1_SOUND, true)
/* The first is not there yet. */
#define PART(bytes) expect(bytes, sizeof(bytes) - 1, 0, HTTP1_SOUND, false)
/* `count` good ones before the fault. */
#define WRONG(count, fault, bytes) expect(bytes, sizeof(bytes) - 1, count, HTTP1_##fault, false)
#define GET                        "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST                       "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED                    POST "Transfer-Encoding: chunked\r\n\r\n"

Test(http1, requests)
{
	WELL(1, GET "\r\n");
	WELL(3, GET "\r\n" GET "\r\n" GET "\r\n");
	WELL(1, POST "Content-Length: 5\r\n\r\n12345");
	WELL(2, POST "Content-Length: 5\r\n\r\n12345" POST "content-LENGTH:\t0 \r\n\r\n");
	WELL(1, CHUNKED "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n");
	WELL(2, CHUNKED "0\r\nName: value\r\n\r\n" GET "\r\n");
	WELL(1, POST "Transfer-Encoding:\tChunked\t \r\n\r\n0\r\n\r\n");
	WELL(1, "GET / HTTP/1.0\r\n\r\n");
	WELL(1, "GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n");
	WELL(1, "BREW / HTTP/1.1\r\nHost: a\r\n\r\n");
	WELL(1, GET "Name: \xc3\xa9 \t \"x\"\r\nEmpty:\r\n\r\n");
	WELL(2, "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345" GET "\r\n");
	WELL(1, POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx");
	PART("G");
	PART(GET);
	PART(GET "\r");
	PART(POST "Content-Length: 5\r\n\r\n1234");
	PART(CHUNKED "3\r\nabc\r\n");
	PART(CHUNKED "0\r\n");
}

Test(http1, request_lines)
{
	WRONG(0, MALFORMED, "GET /\r\n");
	WRONG(0, MALFORMED, "GET  / HTTP/1.1\r\n");
	WRONG(0, MALFORMED, "GET / HTTP/1.1 \r\n");
	WRONG(0, MALFORMED, "GET / a HTTP/1.1\r\n");
	WRONG(0, MALFORMED, "GET / HTTP/2.0\r\n");
	WRONG(0, MALFORMED, "GET / HTTP/1.10\r\n");
	WRONG(0, MALFORMED, "GET / HTTP/1.+1\r\n");
	WRONG(0, MALFORMED, "GET / http/1.1\r\n");
	WRONG(0, MALFORMED, "GET /\x01 HTTP/1.1\r\n");
	WRONG(0, MALFORMED, "GET /\0 HTTP/1.1\r\n");
	WRONG(0, MALFORMED, "GET /\xc3\xa9 HTTP/1.1\r\n");
	WRONG(0, MALFORMED, "GET / HTTP/1.1\nHost: a\n\n");
	WRONG(0, MALFORMED, "GET / HTTP/1.1\r\r\n");
	WRONG(0, MALFORMED, "\r\nGET / HTTP/1.1\r\n");
	WRONG(0, MALFORMED, "\x16\x03\x01\x02");
	WRONG(0, MALFORMED, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
}

Test(http1, headers)
{
	WRONG(0, MALFORMED, "GET / HTTP/1.1\r\n\r\n");
	WRONG(0, MALFORMED, GET "Host: b\r\n\r\n");
	WRONG(0, MALFORMED, GET "Authorization: Bearer a\r\nauthorization: Bearer a\r\n\r\n");
	WRONG(0, MALFORMED, "GET / HTTP/1.0\r\nAuthorization:\r\nAuthorization:\r\n\r\n");
	WRONG(0, MALFORMED, GET " folded\r\n\r\n");
	WRONG(0, MALFORMED, GET "A: b\r\n\tfolded\r\n\r\n");
	WRONG(0, MALFORMED, GET "A : b\r\n\r\n");
	WRONG(0, MALFORMED, GET ": b\r\n\r\n");
	WRONG(0, MALFORMED, GET "A\r\n\r\n");
	WRONG(0, MALFORMED, GET "A: b\n\r\n");
	WRONG(0, MALFORMED, GET "A: b\0c\r\n\r\n");
	WRONG(0, MALFORMED, GET "A: b\rc\r\n\r\n");
	WRONG(0, MALFORMED, GET "\n");
	WRONG(0, EXPECTATION, GET "Expect: more\r\n\r\n");
}

Test(http1, lengths)
{
	WRONG(0, MALFORMED, POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n");
	WRONG(0, MALFORMED, POST "Content-Length: 5, 5\r\n");
	WRONG(0, MALFORMED, POST "Content-Length: +5\r\n");
	WRONG(0, MALFORMED, POST "Content-Length: 0x5\r\n");
	WRONG(0, MALFORMED, POST "Content-Length: 5 5\r\n");
	WRONG(0, MALFORMED, POST "Content-Length:\r\n");
	WRONG(0, MALFORMED, POST "Content-Length: 9999999999999999999999999\r\n");
	WRONG(0, MALFORMED, POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
	WRONG(0, MALFORMED, POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n");
	WRONG(0, MALFORMED, POST "Transfer-Encoding: chunked, chunked\r\n");
	WRONG(0, MALFORMED, POST "Transfer-Encoding: gzip, chunked\r\n");
	WRONG(0, MALFORMED, POST "Transfer-Encoding: chunked;q=1\r\n");
	WRONG(0, MALFORMED, POST "Transfer-Encoding:\r\n");
	WRONG(0, MALFORMED, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
	WRONG(0, TOO_LONG, POST "Content-Length: 101\r\n\r\n");
}

Test(http1, chunks)
{
	WRONG(0, MALFORMED, CHUNKED "0x3\r\n");
	WRONG(0, MALFORMED, CHUNKED "+3\r\n");
	WRONG(0, MALFORMED, CHUNKED "-3\r\n");
	WRONG(0, MALFORMED, CHUNKED " 3\r\n");
	WRONG(0, MALFORMED, CHUNKED "3 \r\n");
	WRONG(0, MALFORMED, CHUNKED "3;a=b\r\n");
	WRONG(0, MALFORMED, CHUNKED "\r\n");
	WRONG(0, MALFORMED, CHUNKED "3\nabc\r\n");
	WRONG(0, MALFORMED, CHUNKED "3\r\nabcd\r\n");
	WRONG(0, MALFORMED, CHUNKED "3\r\nabc\n");
	WRONG(0, MALFORMED, CHUNKED "3\r\nabc3\r\nabc");
	WRONG(0, MALFORMED, CHUNKED "0000000000000000");
	WRONG(0, TOO_LONG, CHUNKED "7fffffffffffff\r\n");
	WRONG(0, TOO_LONG, CHUNKED "65\r\n");
	WRONG(0, MALFORMED, CHUNKED "0\r\n folded\r\n\r\n");
}

Test(http1, what_is_good_before_a_fault)
{
	WRONG(2, MALFORMED,
	      GET "\r\n" POST "Content-Length: 2\r\n\r\nxx"
	          "\n");
	WRONG(1, MALFORMED, CHUNKED "0\r\n\r\n" CHUNKED "+");
}

Test(http1, long_ones)
{
	char bytes[3000];

	memset(bytes, 'a', sizeof(bytes));
	expect(bytes, sizeof(bytes), 0, HTTP1_MALFORMED, false);
	memcpy(bytes, GET "Name: ", strlen(GET "Name: "));
	expect(bytes, sizeof(bytes), 0, HTTP1_MALFORMED, false);
	memcpy(bytes, CHUNKED, strlen(CHUNKED));
	for (size_t i = strlen(CHUNKED); i + 6 <= sizeof(bytes); i += 6)
		memcpy(bytes + i, "1\r\nx\r\n", 6); /* more frame than data */
	expect(bytes, sizeof(bytes), 0, HTTP1_TOO_LONG, false);
}

/* ---- what was asked */

/* The request in `bytes`, which becomes writable. */
static struct http1 asked(char *to, const char *bytes)
{
	struct http1 f = {.limits = &limits};

	strcpy(to, bytes);
	cr_assert(http1_read(&f, to, strlen(to)) == strlen(to) && f.state == HTTP1_DONE, "%s", bytes);
	return f;
}

static void expect_header(const char *bytes, enum header header, const char *value)
{
	char         copy[400];
	struct http1 f = asked(copy, bytes);

	for (int again = 0; again < 2; again++) {
		const char *values[HEADERS], *is;

		http1_headers(&f, copy, values);
		is = values[header];
		cr_expect(value ? is && strcmp(is, value) == 0 : !is, "%s\ngave %s", bytes, is ? is : "nothing");
	}
}

Test(http1, values)
{
	expect_header(GET "\r\n", HEADER_HOST, "a");
	expect_header(GET "\r\n", HEADER_X_REQUEST_ID, NULL);
	expect_header(GET "x-request-ID:\t b c \t\r\n\r\n", HEADER_X_REQUEST_ID, "b c");
	expect_header(GET "X-Request-Id:\r\n\r\n", HEADER_X_REQUEST_ID, "");
	expect_header(GET "X-Request-Id: \t \r\n\r\n", HEADER_X_REQUEST_ID, "");
	expect_header(GET "X-Request-Id: first\r\nX-Request-Id: second\r\n\r\n", HEADER_X_REQUEST_ID, "first");
	expect_header(GET "X-Request-Idx: b\r\nX-Request-I: b\r\n\r\n", HEADER_X_REQUEST_ID, NULL);
	expect_header(CHUNKED "0\r\nX-Request-Id: trailer\r\n\r\n", HEADER_X_REQUEST_ID, NULL);
}

static void expect_body(const char *bytes, const char *body)
{
	char         copy[400];
	struct http1 f = asked(copy, bytes);
	size_t       len;
	const char  *is = http1_body(&f, copy, &len);

	cr_expect(len == strlen(body) && memcmp(is, body, len) == 0, "%s\ngave %.*s", bytes, (int)len, is);
}

Test(http1, bodies)
{
	expect_body(GET "\r\n", "");
	expect_body(POST "Content-Length: 5\r\n\r\n12345", "12345");
	expect_body(CHUNKED "0\r\n\r\n", "");
	expect_body(CHUNKED "3\r\nabc\r\n00A\r\n0123456789\r\n1\r\n0\r\n0\r\nName: value\r\n\r\n", "abc01234567890");
}

static void expect_last(const char *bytes, bool last)
{
	char         copy[400];
	struct http1 f = asked(copy, bytes);

	cr_expect(http1_is_last(&f) == last, "%s", bytes);
}

Test(http1, last_ones)
{
	expect_last(GET "\r\n", false);
	expect_last(GET "Connection: close\r\n\r\n", true);
	expect_last(GET "Connection: keep-alive, TE ,\tClose\r\n\r\n", true);
	expect_last(GET "Connection: closed, clos\r\n\r\n", false);
	expect_last(GET "Connection: TE\r\nConnection: close\r\n\r\n", true);
	expect_last(GET "Connection:,,close,\r\n\r\n", true);
	expect_last(CHUNKED "0\r\nConnection: close\r\n\r\n", false);
	expect_last("GET / HTTP/1.0\r\n\r\n", true);
	expect_last("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false);
	expect_last("GET / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", false);
	expect_last("GET / HTTP/1.0\r\nConnection: TE\r\nConnection: keep-alive\r\n\r\n", false);
	expect_last("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", true);
}
