/* test_frame.c - where requests end and what is no request, without a server: frame.c alone. Each text is read in one
 * piece, byte by byte, and with its data passed over. */
#include "api/frame.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct frame_limits limits = {.head_max = 1000, .body_max = 100};

static struct frame fed(const char *bytes, size_t len, size_t piece)
{
	struct frame f = {.limits = &limits};

	for (size_t at = 0; at < len; at += piece) {
		size_t part = len - at < piece ? len - at : piece;
		size_t passed = frame_pass(&f, part);

		frame_read(&f, bytes + at + passed, part - passed);
	}
	return f;
}

static void expect(const char *bytes, size_t len, uint64_t complete, enum frame_fault fault, bool between)
{
	const size_t pieces[] = {1, 7, len};

	for (size_t i = 0; i < COUNT(pieces); i++) {
		struct frame f = fed(bytes, len, pieces[i]);

		cr_expect(f.complete == complete && f.fault == fault && frame_is_between(&f) == between,
		          "%.*s\nin pieces of %zu: %d complete, fault %d (%s), between %d", (int)len, bytes, pieces[i],
		          (int)f.complete, f.fault, f.fault ? f.detail : "", frame_is_between(&f));
	}
}

/* Complete requests, and nothing behind them. */
#define WELL(count, bytes) expect(bytes, sizeof(bytes) - 1, count, FRAME_SOUND, true)
/* The first is not there yet. */
#define PART(bytes) expect(bytes, sizeof(bytes) - 1, 0, FRAME_SOUND, false)
/* `count` good ones before the fault. */
#define WRONG(count, fault, bytes) expect(bytes, sizeof(bytes) - 1, count, FRAME_##fault, false)

#define GET     "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST    "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

Test(frame, requests)
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
	WELL(1, POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx");
	PART("G");
	PART(GET);
	PART(GET "\r");
	PART(POST "Content-Length: 5\r\n\r\n1234");
	PART(CHUNKED "3\r\nabc\r\n");
	PART(CHUNKED "0\r\n");
}

Test(frame, request_lines)
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

Test(frame, headers)
{
	WRONG(0, MALFORMED, "GET / HTTP/1.1\r\n\r\n");
	WRONG(0, MALFORMED, GET "Host: b\r\n\r\n");
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

Test(frame, lengths)
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
	WRONG(0, MALFORMED, "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
	WRONG(0, MALFORMED, "post / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
	WRONG(0, TOO_LONG, POST "Content-Length: 101\r\n\r\n");
}

Test(frame, chunks)
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

Test(frame, what_is_good_before_a_fault)
{
	WRONG(2, MALFORMED,
	      GET "\r\n" POST "Content-Length: 2\r\n\r\nxx"
	          "\n");
	WRONG(1, MALFORMED, CHUNKED "0\r\n\r\n" CHUNKED "+");
}

Test(frame, long_ones)
{
	char bytes[3000];

	memset(bytes, 'a', sizeof(bytes));
	expect(bytes, sizeof(bytes), 0, FRAME_MALFORMED, false);
	memcpy(bytes, GET "Name: ", strlen(GET "Name: "));
	expect(bytes, sizeof(bytes), 0, FRAME_MALFORMED, false);
	memcpy(bytes, CHUNKED, strlen(CHUNKED));
	for (size_t i = strlen(CHUNKED); i + 6 <= sizeof(bytes); i += 6)
		memcpy(bytes + i, "1\r\nx\r\n", 6); /* more frame than data */
	expect(bytes, sizeof(bytes), 0, FRAME_TOO_LONG, false);
}
