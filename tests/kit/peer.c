/* peer.c - see peer.h. */
#include "engine/base/text.h"
#include "tests/kit/peer.h"
#include "tests/kit/patience.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 3 * PATIENCE_MS / 2 };

int peer_tcp(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct timeval     wait = {patience_ms(WAIT_MS) / 1000, 0};
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	cr_assert(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "nobody listens");
	return fd;
}

static SSL_CTX *wish_context(const struct wish *w)
{
	SSL_CTX      *context = SSL_CTX_new(TLS_client_method());
	unsigned char alpn[32] = "";

	SSL_CTX_set_security_level(context, 0); /* so that the service refuses, not this client */
	SSL_CTX_set_min_proto_version(context, w->version);
	SSL_CTX_set_max_proto_version(context, w->version);
	if (w->ciphers)
		cr_assert(SSL_CTX_set_cipher_list(context, w->ciphers));
	if (w->alpn) {
		alpn[0] = (unsigned char)strlen(w->alpn);
		memcpy(alpn + 1, w->alpn, alpn[0]);
		cr_assert(SSL_CTX_set_alpn_protos(context, alpn, alpn[0] + 1U) == 0);
	}
	return context;
}

void peer_close(struct peer *p)
{
	SSL_free(p->ssl);
	SSL_CTX_free(p->context);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct peer){.fd = -1};
}

bool peer_open(struct peer *p, int port, const struct wish *w)
{
	signal(SIGPIPE, SIG_IGN);
	p->fd = peer_tcp(port);
	p->context = wish_context(w);
	p->ssl = SSL_new(p->context);
	SSL_set_fd(p->ssl, p->fd);
	ERR_clear_error();
	if (SSL_connect(p->ssl) == 1)
		return true;
	peer_close(p);
	return false;
}

void peer_send(struct peer *p, const char *text, size_t len)
{
	while (len) {
		int n = SSL_write(p->ssl, text, len > 1 << 20 ? 1 << 20 : (int)len);

		if (n <= 0)
			return; /* the test judges the answer, or its absence */
		text += n;
		len -= (size_t)n;
	}
}

void peer_ask(struct peer *p, const char *method, const char *path, const char *body)
{
	struct text t = {0};

	text_format(
		&t,
		"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		method, path, strlen(body));
	text_add(&t, body);
	peer_send(p, t.data, t.len);
	text_fini(&t);
}

int peer_read(struct peer *p, struct text *answer)
{
	int   n, status = 0;
	char *end = NULL, *length;

	text_reset(answer);
	do {
		n = SSL_read(p->ssl, text_room(answer, 16384), 16384);
		if (n <= 0)
			return 0;
		answer->len += (size_t)n;
		answer->data[answer->len] = '\0';
		end = strstr(answer->data, "\r\n\r\n");
		length = end ? strstr(answer->data, "Content-Length: ") : NULL;
	} while (!length || answer->len < (size_t)(end + 4 - answer->data) +
	                                          strtoul(length + strlen("Content-Length: "), NULL, 10));
	sscanf(answer->data, "HTTP/1.1 %d", &status);
	return status;
}
