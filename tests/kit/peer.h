/* peer.h - a blocking HTTPS client for the tests, which can also do what a decent client does not. It checks no
 * certificate. Reads give up after 15 s. One thread. */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include "engine/base/text.h"
#include "engine/base/base.h"

#include <openssl/ssl.h>

struct peer {
	int      fd;
	SSL_CTX *context;
	SSL     *ssl; /* NULL: not connected, or only by TCP */
};

/* Settings that a client insists on. Zero or NULL: OpenSSL's own. */
struct wish {
	int         version;
	const char *ciphers; /* of TLS 1.2 */
	const char *alpn;    /* one name .. */
	const char *chosen;  /* .. and the answer to it; NULL: the handshake must fail */
};

/* Opens a connection without a handshake; ends the test if no server listens. */
int peer_tcp(int port);
/* False: the handshake failed, and all is closed. */
bool peer_open(struct peer *p, int port, const struct wish *w) MUST_CHECK;
void peer_close(struct peer *p);
void peer_send(struct peer *p, const char *text, size_t len);
void peer_ask(struct peer *p, const char *method, const char *path, const char *body);
/* Reads one answer with a Content-Length, unchanged. Returns its status; 0: it did not come whole. */
int peer_read(struct peer *p, struct text *answer);

#endif
