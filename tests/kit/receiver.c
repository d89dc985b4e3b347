/* receiver.c - see receiver.h. */
#include "tests/kit/receiver.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTE_US = 20000 };

struct receiver_client {
	struct receiver *of;
	int              fd;
	SSL             *ssl;
	struct text      request;
	size_t           parsed; /* the end of the request, in `request` */
	int              n;      /* requests so far */
};

static bool client_send(struct receiver_client *c, const char *text, size_t len)
{
	ssize_t n = c->ssl ? SSL_write(c->ssl, text, (int)len) : send(c->fd, text, len, MSG_NOSIGNAL);

	if (n > 0)
		c->of->sent += n;
	return n == (ssize_t)len;
}

static bool client_read(struct receiver_client *c)
{
	char       *end = NULL, *length;
	struct text t = {0};
	ssize_t     n;

	text_bytes(&t, c->request.data ? c->request.data + c->parsed : "", c->request.len - c->parsed);
	text_fini(&c->request);
	c->request = t;
	for (;;) {
		end = c->request.data ? strstr(c->request.data, "\r\n\r\n") : NULL;
		length = end ? strcasestr(c->request.data, "content-length: ") : NULL;
		c->parsed =
			end ? (size_t)(end - c->request.data) + 4 + (length ? strtoul(length + 16, NULL, 10) : 0) : 0;
		if (end && c->request.len >= c->parsed)
			return true;
		text_room(&c->request, 4096);
		n = c->ssl ? SSL_read(c->ssl, c->request.data + c->request.len, 4096)
		           : recv(c->fd, c->request.data + c->request.len, 4096, 0);
		if (n <= 0)
			return false;
		c->request.len += (size_t)n;
		c->request.data[c->request.len] = '\0';
	}
}

static void *client_main(void *arg)
{
	struct receiver_client *c = arg;
	struct receiver        *r = c->of;
	bool                    stays = !c->ssl || SSL_accept(c->ssl) == 1;

	while (stays && client_read(c)) {
		c->n++;
		text_reset(&r->last);
		text_bytes(&r->last, c->request.data, c->parsed);
		r->requests++;
		stays = r->answer ? client_send(c, r->answer, strlen(r->answer)) && !r->closes : r->program(c);
	}
	SSL_free(c->ssl);
	close(c->fd);
	text_fini(&c->request);
	free(c);
	return NULL;
}

static void *receiver_main(void *arg)
{
	struct receiver *r = arg;
	pthread_t        thread;
	int              fd;

	while ((fd = accept(r->fd, NULL, NULL)) >= 0) {
		struct receiver_client *c = calloc(1, sizeof(*c));

		r->connections++;
		*c = (struct receiver_client){.of = r, .fd = fd};
		if (r->tls) {
			c->ssl = SSL_new(r->tls);
			SSL_set_fd(c->ssl, fd);
		}
		pthread_create(&thread, NULL, client_main, c);
		pthread_detach(thread);
	}
	return NULL;
}

/* Listens on a port of 127.0.0.1 or, with another family, of ::1; 0: a free one. False: not possible. */
bool receiver_open(struct receiver *r, int family, int port)
{
	struct sockaddr_in  ipv4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct sockaddr    *at = family == AF_INET ? (struct sockaddr *)&ipv4 : (struct sockaddr *)&ipv6;
	socklen_t           size = family == AF_INET ? sizeof(ipv4) : sizeof(ipv6);
	pthread_t           thread;

	signal(SIGPIPE, SIG_IGN);
	ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ipv6.sin6_addr = in6addr_loopback;
	r->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->fd < 0 || bind(r->fd, at, size) != 0 || listen(r->fd, 100) != 0)
		return false;
	getsockname(r->fd, at, &size);
	r->port = ntohs(family == AF_INET ? ipv4.sin_port : ipv6.sin6_port);
	pthread_create(&thread, NULL, receiver_main, r);
	pthread_detach(thread);
	return true;
}

void receiver_start(struct receiver *r)
{
	cr_assert(receiver_open(r, AF_INET, 0), "cannot listen");
}

/* ---- receivers with faults */

bool receive_hang(struct receiver_client *c)
{
	char byte;

	return recv(c->fd, &byte, 1, 0) > 0;
}

static bool slowly(struct receiver_client *c, const char *text)
{
	for (; *text; text++) {
		if (!client_send(c, text, 1))
			return false;
		usleep(BYTE_US);
	}
	return true;
}

bool receive_slow_head(struct receiver_client *c)
{
	return slowly(c, "HTTP/1.1 200 OK\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n");
}

bool receive_slow_body(struct receiver_client *c)
{
	return client_send(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", 39) &&
	       slowly(c, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

/* Sends `first`, and then the same bytes until the client takes no more. */
static bool endless(struct receiver_client *c, const char *first, const char *more)
{
	struct text piece = {0};
	bool        taken = client_send(c, first, strlen(first));

	while (piece.len < 10000)
		text_add(&piece, more);
	while (taken && c->of->sent < 1000000000)
		taken = client_send(c, piece.data, piece.len);
	text_fini(&piece);
	return false;
}

bool receive_gigabyte(struct receiver_client *c)
{
	return endless(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", "a");
}

bool receive_gigabyte_of_trouble(struct receiver_client *c)
{
	return endless(c, "HTTP/1.1 500 Trouble\r\nContent-Length: 1000000000\r\n\r\n", "a");
}

bool receive_endless_heads(struct receiver_client *c)
{
	return endless(c, "HTTP/1.1 200 OK\r\n", "X-Head: a\r\n");
}

bool receive_endless_line(struct receiver_client *c)
{
	return endless(c, "HTTP/1.1 200 OK\r\nX-Line: ", "a");
}

bool receive_endless_hints(struct receiver_client *c)
{
	return endless(c, "", "HTTP/1.1 103 Early Hints\r\n\r\n");
}

bool receive_no_http(struct receiver_client *c)
{
	return endless(c, "SSH-2.0-OpenSSH_9.2\r\n", "no HTTP");
}

/* Reads the second request of a connection and is gone. */
bool receive_once(struct receiver_client *c)
{
	return c->n == 1 && client_send(c, RECEIVER_GOOD, strlen(RECEIVER_GOOD));
}
