/* inbox.h - the receiver of webhooks in the tests: a small HTTP server in the test's own process, on a port of
 * 127.0.0.1, that notes every request and answers as the test has set. A thread for each connection. Any thread. */
#ifndef TESTS_INBOX_H
#define TESTS_INBOX_H

#include "engine/base/text.h"

/* One request as it came. */
struct received {
	char    path[64];
	char    id[64], signature[300], timestamp[32]; /* of its headers */
	int64_t at_ms;                                 /* clock_ms at its end */
	char   *body;
	size_t  len;
	int     status; /* the answer; 0: none yet */
};

/* How a path answers from now on. */
struct manner {
	int         status; /* 0: never */
	int         delay_ms;
	int         times;         /* number of such answers, then 200; 0: for ever */
	int         retry_after_s; /* 0: no header */
	const char *body;          /* of the answer, up to 1000 bytes; NULL: none */
};

int  inbox_open(void); /* the port; lives as long as the test's process */
void inbox_answers(const char *path, struct manner m);
/* How many requests came to the path, or were answered with this status (not 0). */
size_t inbox_count(const char *path, int status);
/* The nth request to the path, from 0; its body lives as long as the process. Fails the test if it is not there. */
struct received inbox_get(const char *path, size_t n);
/* Waits until `count` requests to the path were answered with this status (0: came), for wait_ms (patience.h) at most.
 */
bool inbox_waits(const char *path, int status, size_t count, int wait_ms);
/* The most requests to the path that were under way at one time. */
int inbox_at_once(const char *path);
/* A member of the body of JSON, like "type" or "data.order_id", in a place of its own. */
const char *received_member(const struct received *r, const char *member);

#endif
