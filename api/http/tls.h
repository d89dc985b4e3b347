/* tls.h - HTTPS: the certificate and its key, and their use by connections. The only door to OpenSSL's
 * connections.
 *
 * TLS 1.2 and 1.3 with forward secrecy and authenticated ciphers, no renegotiation, no compression, no client
 * certificates; by ALPN only http/1.1 is spoken. A client has 10 s for its handshake. All loops share the certificate;
 * a connection is its loop's. */
#ifndef TLS_H
#define TLS_H

#include "engine/base/base.h"

struct bufferevent;
struct event_base;
struct tls;

/* Reads a certificate (PEM, with the chain behind it) and its private key (PEM, without a passphrase). NULL: one of the
 * files cannot be used, `why` says in one line which and why. */
struct tls *tls_open(const char *cert_file, const char *key_file, char *why, size_t why_size) MUST_CHECK;
/* Connections that still live keep what they need. NULL is fine. */
void tls_close(struct tls *t);
/* Reads both files again, for new connections; living ones go on with what they have. Files that are wrong change
 * nothing and are an error in the log. False: there is no TLS. */
bool tls_reload(struct tls *t) MUST_CHECK;
/* When the certificate expires, ms since 1970; TIME_NONE: there is none. Any thread. */
int64_t tls_expires(const struct tls *t);
/* Makes the server's end of a new connection on a socket, which closes with it; the caller's. */
struct bufferevent *tls_bufferevent(struct event_base *base, int fd, struct tls *t) MUST_CHECK;
/* Tells the client that nothing follows (RFC 9112, 9.8), when all has been sent; once. Bytes of the client may still be
 * read. */
void tls_farewell(struct bufferevent *bev);

#endif
