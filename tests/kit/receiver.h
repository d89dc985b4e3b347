/* receiver.h - receivers of webhooks for tests: HTTP/1.1 on loopback, plain or by TLS, good and bad ones. Each
 * connection has a thread, which may outlive the test; so a receiver is static or never freed. */
#ifndef TESTS_RECEIVER_H
#define TESTS_RECEIVER_H

#include "engine/base/text.h"
#include "engine/base/base.h"

#include <openssl/ssl.h>
#include <stdatomic.h>

#define RECEIVER_GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

struct receiver_client; /* a connection */

struct receiver {
	int         fd, port;
	const char *answer;                         /* sent after each request; NULL: `program` does something else */
	bool        closes;                         /* .. and then closes */
	bool (*program)(struct receiver_client *c); /* one of the receive_ functions; false: close */
	SSL_CTX     *tls;                           /* NULL: plain */
	atomic_int   connections, requests;
	atomic_llong sent; /* bytes */
	struct text  last; /* the last request; looked at when it was answered */
};

/* Listens on a port of 127.0.0.1 or, with AF_INET6, of ::1; 0: a free one. False: it cannot. */
bool receiver_open(struct receiver *r, int family, int port) MUST_CHECK;
/* On a free port of 127.0.0.1; ends the test if it cannot. */
void receiver_start(struct receiver *r);

/* Never answers. */
bool receive_hang(struct receiver_client *c);
/* Answer 200 byte by byte, for more than a second. */
bool receive_slow_head(struct receiver_client *c);
bool receive_slow_body(struct receiver_client *c);
/* Send a gigabyte: a body after a 200, after a 500; heads, one head, answers 103; no HTTP. */
bool receive_gigabyte(struct receiver_client *c);
bool receive_gigabyte_of_trouble(struct receiver_client *c);
bool receive_endless_heads(struct receiver_client *c);
bool receive_endless_line(struct receiver_client *c);
bool receive_endless_hints(struct receiver_client *c);
bool receive_no_http(struct receiver_client *c);
/* Answers the first request of a connection, reads the second one and is gone. */
bool receive_once(struct receiver_client *c);

#endif
