/* test_http_syntax.c - texts that are no request, or only almost one, byte by byte on a socket: one answer to each
 * request, in the words of the contract, then the end of the connection. */
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"
#include "tests/kit/patience.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAR_MS = PATIENCE_MS, MIB = 1 << 20 };

#define HOST  "Host: localhost\r\n"
#define GET   "GET /livez HTTP/1.1\r\n" HOST
#define POST  "POST /v1/availability HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
#define ASKED "{\"skus\":[\"A\"]}"

/* `count` answers, the last with this status. A fault ends the connection, and its answer is a problem. */
static void expect_answers(const char *bytes, size_t len, int count, int status, bool ends)
{
	struct text heard = {0};
	int         fd = attack_open(flow_port(0)), last, answers;
	bool        ended;
	char       *body;

	attack_send(fd, bytes, len);
	ended = ends ? attack_hear(fd, HEAR_MS, &heard) : attack_hear_answers(fd, count, &heard);
	answers = attack_answers(&heard, &last);
	cr_expect(answers == count && last == status && ended == ends,
	          "%.*s\n%d answers, the last %d, the connection %s:\n%s", len < 500 ? (int)len : 500, bytes, answers,
	          last, ended ? "ended" : "stays", heard.data);
	body = strstr(heard.data, "\r\n\r\n{\"type\"");
	if (status >= 400 && status != 405) {
		cJSON *problem = body ? cJSON_Parse(body + 4) : NULL;

		cr_expect(problem && cJSON_GetNumberValue(cJSON_GetObjectItem(problem, "status")) == status &&
		                  strstr(heard.data, "application/problem+json") &&
		                  strstr(heard.data, "X-Request-Id: "),
		          "%.*s\nis answered\n%s", len < 500 ? (int)len : 500, bytes, heard.data);
		cJSON_Delete(problem);
	}
	close(fd);
	text_fini(&heard);
}

#define STAYS(count, status, bytes) expect_answers(bytes, sizeof(bytes) - 1, count, status, false)
#define ENDS(count, status, bytes)  expect_answers(bytes, sizeof(bytes) - 1, count, status, true)

static void begin(void)
{
	flow_begin();
	flow_step("receipt A +10 -> 201");
	flow_step("mark");
}

static void end(void)
{
	flow_steps("unchanged",
	           "raw GET /livez -> 200");
	flow_end();
}

Test(http_syntax, request_lines)
{
	begin();
	ENDS(1, 400, "GET /livez\r\n");
	ENDS(1, 400, "GET /livez HTTP/0.9\r\n\r\n");
	ENDS(1, 400, "GET /livez HTTP/2.0\r\n\r\n");
	ENDS(1, 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");
	ENDS(1, 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a hello of TLS");
	ENDS(1, 400,
	     "GET /livez HTTP/1.1\n"
	     "Host: localhost\n\n");
	ENDS(1, 400, "\r\n" GET "\r\n");
	ENDS(1, 400, "GET /v1/skus/A\0B HTTP/1.1\r\n" HOST "\r\n");
	ENDS(1, 400, "GET /v1/skus/A\rB HTTP/1.1\r\n" HOST "\r\n");
	ENDS(1, 400, "GET /v1/skus/A B HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 400, "GET /v1/skus/A%00 HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 400, "GET /v1/skus/A%0d%0aX:%20y HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 405, "BREW /v1/skus HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 200, "GET /v1/skus/A HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 200, "GET http://x/livez HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 303, "GET http://x HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 404, "GET ftp://x/livez HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 404, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 404, "CONNECT x:443 HTTP/1.1\r\n" HOST "\r\n");
	STAYS(1, 404, "GET |\"<>\\^`{} HTTP/1.1\r\n" HOST "\r\n");
	ENDS(1, 200, "GET /livez HTTP/1.0\r\n\r\n");
	STAYS(2, 200,
	      "GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	      "GET /livez HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
	end();
}

Test(http_syntax, headers)
{
	begin();
	ENDS(1, 400, "GET /livez HTTP/1.1\r\n\r\n");
	ENDS(1, 400, GET HOST "\r\n");
	ENDS(1, 400, GET "Authorization: Bearer a\r\nA: b\r\nauthorization: Bearer b\r\n\r\n");
	STAYS(1, 200, GET "Authorization: Bearer a\r\n\r\n");
	ENDS(1, 400, GET "A: b\r\n c\r\n\r\n");
	ENDS(1, 400, GET "A : b\r\n\r\n");
	ENDS(1, 400, GET "A: b\0c\r\n\r\n");
	ENDS(1, 400, GET "A: b\n\r\n");
	ENDS(1, 400, GET "no colon\r\n\r\n");
	STAYS(1, 200, GET "A:\tb\t\r\n\r\n");
	ENDS(1, 417, POST "Expect: more\r\nContent-Length: 14\r\n\r\n" ASKED);
	STAYS(1, 200, POST "Expect: 100-CONTINUE\r\nContent-Length: 14\r\n\r\n" ASKED);
	STAYS(1, 100, POST "Expect: 100-continue\r\nContent-Length: 14\r\n\r\n");
	end();
}

Test(http_syntax, lengths)
{
	begin();
	ENDS(1, 400, POST "Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	ENDS(1, 400, POST "Content-Length: 14\r\nContent-Length: 14\r\n\r\n" ASKED);
	ENDS(1, 400, POST "Content-Length: +14\r\n\r\n" ASKED);
	ENDS(1, 400, POST "Content-Length: -1\r\n\r\n");
	ENDS(1, 400, POST "Content-Length: 14\0 \r\n\r\n" ASKED);
	ENDS(1, 400, POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n");
	ENDS(1, 400, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
	ENDS(1, 400, POST "Transfer-Encoding: identity\r\n\r\n");
	STAYS(2, 200, "HEAD /livez HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nGET " GET "\r\n");
	ENDS(1, 413, POST "Content-Length: 99999999\r\n\r\n");
	STAYS(1, 200, POST "content-length:\t14\r\n\r\n" ASKED);
	STAYS(1, 200, POST "transfer-encoding:\tCHUNKED\r\n\r\ne\r\n" ASKED "\r\n0\r\n\r\n");
	end();
}

Test(http_syntax, chunks)
{
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
	begin();
	ENDS(1, 400, CHUNKED "0xe\r\n" ASKED "\r\n0\r\n\r\n");
	ENDS(1, 400, CHUNKED "+e\r\n" ASKED "\r\n0\r\n\r\n");
	ENDS(1, 400, CHUNKED "-e\r\n" ASKED "\r\n0\r\n\r\n");
	ENDS(1, 400, CHUNKED "e;a=b\r\n" ASKED "\r\n0\r\n\r\n");
	ENDS(1, 400, CHUNKED "e\n" ASKED "\r\n0\r\n\r\n");
	ENDS(1, 400, CHUNKED "e\r\n" ASKED "x\r\n0\r\n\r\n");
	ENDS(1, 400, CHUNKED "d\r\n" ASKED "\r\n0\r\n\r\n");
	ENDS(1, 413, CHUNKED "7ffffffffffffff\r\n");
	STAYS(1, 200, CHUNKED "00e\r\n" ASKED "\r\n0\r\nTrailer: x\r\n\r\n");
	end();
}

/* Requests before the fault are answered first, those behind it never. */
Test(http_syntax, in_a_row)
{
	begin();
	STAYS(3, 200, GET "\r\n" GET "\r\n" GET "\r\n");
	ENDS(3, 400,
	     GET "\r\n" GET "\r\n"
	         "GET /livez HTTP/1.1\n\n" GET "\r\n");
	ENDS(2, 400,
	     POST "Content-Length: 14\r\n\r\n" ASKED POST "Content-Length: 14\r\nContent-Length: 0\r\n\r\n" GET "\r\n");
	ENDS(1, 400, POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" GET "\r\n");
	ENDS(2, 200, GET "\r\n" GET "Connection: close\r\n\r\n" GET "\r\n");
	ENDS(1, 200, GET "Connection: keep-alive\r\nConnection: close\r\n\r\n" GET "\r\n");
	ENDS(1, 200, "GET /livez HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n" GET "\r\n");
	end();
}

/* Of each a MiB. */
Test(http_syntax, without_end)
{
	static const char *const heads[] = {
		"GET /",
		GET "A: ",
		GET,
		POST "Transfer-Encoding: chunked\r\n\r\n",
		POST "Transfer-Encoding: chunked\r\n\r\n0\r\nA: ",
	};
	char *bytes = malloc(MIB);

	begin();
	for (size_t i = 0; i < LENGTH(heads); i++) {
		memset(bytes, '0', MIB);
		memcpy(bytes, heads[i], strlen(heads[i]));
		expect_answers(bytes, MIB, 1, 400, true);
	}
	free(bytes);
	end();
}
