/* http.h - a small blocking HTTP/1.1 client over loopback TCP with keep-alive, for the tests.
 *
 * Written here, because the tests must be able to send requests that a decent client never sends (bad escapes, bytes
 * that are not UTF-8, a length without a body) and must see every header of the answer. A client belongs to one
 * thread. */
#ifndef TESTS_HTTP_H
#define TESTS_HTTP_H

#include "engine/base/text.h"
#include "engine/base/base.h"

#include <cjson/cJSON.h>

/* One request as the test wants it. Zero-initialised is a GET of nothing. */
struct call {
	char        method[16];
	struct text path;    /* with the query, sent unchanged */
	struct text headers; /* complete lines, each with its CRLF */
	struct text body;
	bool        has_host; /* the step has named a Host */
	bool        has_type; /* the step has named a Content-Type, perhaps none; otherwise it is JSON */
	bool        raw_body; /* framing (Content-Length or Transfer-Encoding) is in `headers` already */
};
void call_fini(struct call *c);

/* An answer. Status 0: none came, and `body` says why. */
struct answer {
	int         status;
	struct text head; /* the status line and the headers as they came */
	struct text body;
	cJSON      *json; /* the body as JSON; NULL if it is not */
};
void answer_fini(struct answer *a);
/* The value of a header, without regard to case. false: it is not there. */
bool answer_header(const struct answer *a, const char *name, char *value, size_t size);

struct client {
	int         port;
	int         fd;     /* -1: not connected */
	const char *bearer; /* sent with every call; NULL: none. The caller's */
};
void client_open(struct client *c, int port); /* connects at the first call */
void client_close(struct client *c);
/* True if the connection stands, false if no server listens there. */
bool client_connect(struct client *c);
/* Sends, and waits 30 s at most for the answer. A kept connection that the server has closed in the meantime is opened
 * again; a request that was sent is never sent twice. */
void client_call(struct client *c, const struct call *call, struct answer *out);
/* As client_call, with the parts of a call; an empty body is no body. */
void client_ask(struct client *c, const char *method, const char *path, const char *body, struct answer *out);

#endif
