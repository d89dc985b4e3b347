/* http.c - see http.h. */
#include "engine/base/clock.h"
#include "tests/kit/http.h"
#include "tests/kit/patience.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_WAIT_MS = 3 * PATIENCE_MS };

void call_fini(struct call *c)
{
	text_fini(&c->path);
	text_fini(&c->headers);
	text_fini(&c->body);
	*c = (struct call){0};
}

void answer_fini(struct answer *a)
{
	text_fini(&a->head);
	text_fini(&a->body);
	cJSON_Delete(a->json);
	*a = (struct answer){0};
}

bool answer_header(const struct answer *a, const char *name, char *value, size_t size)
{
	size_t len = strlen(name);

	for (const char *at = a->head.data; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (strncasecmp(at, name, len) != 0 || at[len] != ':')
			continue;
		at += len + 1;
		while (*at == ' ' || *at == '\t')
			at++;
		snprintf(value, size, "%.*s", (int)strcspn(at, "\r\n"), at);
		return true;
	}
	return false;
}

void client_open(struct client *c, int port)
{
	*c = (struct client){.port = port, .fd = -1};
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

bool client_connect(struct client *c)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)c->port)};
	int                yes = 1;
	char               byte;

	if (c->fd >= 0 && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
		return true; /* no bytes, so the connection stands; an end or stray bytes: open a new one */
	client_close(c);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(c->fd >= 0);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return true;
	client_close(c);
	return false;
}

static void request_write(struct text *to, const struct call *call, const struct client *c)
{
	bool reads = strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0;

	text_format(to, "%s %s HTTP/1.1\r\n", call->method, call->path.data);
	if (!call->has_host)
		text_format(to, "Host: 127.0.0.1:%d\r\n", c->port);
	if (c->bearer)
		text_format(to, "Authorization: Bearer %s\r\n", c->bearer);
	if (call->headers.len)
		text_bytes(to, call->headers.data, call->headers.len);
	if (call->body.len && !call->has_type)
		text_add(to, "Content-Type: application/json\r\n");
	if (!call->raw_body && (call->body.len || !reads))
		text_format(to, "Content-Length: %zu\r\n", call->body.len);
	text_add(to, "\r\n");
	if (call->body.len)
		text_bytes(to, call->body.data, call->body.len);
}

/* Stops early when an answer comes before all is sent: a server may refuse a body that it has not read. */
static void request_send(int fd, const struct text *request)
{
	size_t sent = 0;

	while (sent < request->len) {
		struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
		ssize_t       n;

		if (poll(&p, 1, patience_ms(ANSWER_WAIT_MS)) <= 0 || (p.revents & POLLIN))
			return;
		n = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n > 0)
			sent += (size_t)n;
	}
}

/* Adds what comes next. false: the end, an error, or nothing by the deadline. */
static bool receive(int fd, struct text *in, int64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t       left = deadline - clock_ms();
	ssize_t       n;

	if (left <= 0 || poll(&p, 1, (int)left) <= 0)
		return false;
	n = recv(fd, text_room(in, 65536), 65536, 0);
	if (n <= 0)
		return false;
	in->len += (size_t)n;
	in->data[in->len] = '\0';
	return true;
}

static void text_cut(struct text *t, size_t front)
{
	memmove(t->data, t->data + front, t->len - front + 1);
	t->len -= front;
}

/* Reads up to the empty line; provisional answers (1xx) are skipped. Bytes beyond the head stay in `in`. */
static bool receive_head(int fd, struct answer *out, struct text *in, int64_t deadline)
{
	for (;;) {
		char *end;

		while (!in->data || !(end = strstr(in->data, "\r\n\r\n")))
			if (!receive(fd, in, deadline))
				return false;
		text_reset(&out->head);
		text_bytes(&out->head, in->data, (size_t)(end - in->data) + 2);
		text_cut(in, (size_t)(end - in->data) + 4);
		if (sscanf(out->head.data, "HTTP/1.%*d %d", &out->status) != 1)
			return false;
		if (out->status >= 200)
			return true;
	}
}

static bool receive_chunks(int fd, struct answer *out, struct text *in, int64_t deadline)
{
	for (;;) {
		char  *line;
		size_t size, head;

		while (!in->data || !(line = strstr(in->data, "\r\n")))
			if (!receive(fd, in, deadline))
				return false;
		size = strtoul(in->data, NULL, 16);
		head = (size_t)(line - in->data) + 2;
		while (in->len < head + size + 2)
			if (!receive(fd, in, deadline))
				return false;
		text_bytes(&out->body, in->data + head, size);
		text_cut(in, head + size + 2);
		if (size == 0)
			return true;
	}
}

static bool receive_body(int fd, struct answer *out, struct text *in, int64_t deadline)
{
	char value[64];

	if (answer_header(out, "Transfer-Encoding", value, sizeof(value)) && strcasecmp(value, "chunked") == 0)
		return receive_chunks(fd, out, in, deadline);
	if (answer_header(out, "Content-Length", value, sizeof(value))) {
		size_t size = strtoul(value, NULL, 10);

		while (in->len < size)
			if (!receive(fd, in, deadline))
				return false;
		text_bytes(&out->body, in->data ? in->data : "", size);
		return true;
	}
	while (receive(fd, in, deadline))
		;
	text_bytes(&out->body, in->data ? in->data : "", in->len);
	return true;
}

static bool answer_is_last(const struct answer *a)
{
	char value[64];

	if (answer_header(a, "Connection", value, sizeof(value)))
		return strcasecmp(value, "close") == 0;
	return strncmp(a->head.data, "HTTP/1.0", 8) == 0;
}

static void answer_none(struct answer *out, const char *why)
{
	out->status = 0;
	text_reset(&out->body);
	text_add(&out->body, why);
}

void client_call(struct client *c, const struct call *call, struct answer *out)
{
	struct text request = {0}, in = {0};
	int64_t     deadline = clock_ms() + patience_ms(ANSWER_WAIT_MS);
	bool        bodiless, whole;

	answer_fini(out);
	if (!client_connect(c)) {
		answer_none(out, "nobody listens");
		return;
	}
	request_write(&request, call, c);
	request_send(c->fd, &request);
	if (!receive_head(c->fd, out, &in, deadline)) {
		answer_none(out, clock_ms() < deadline ? "it ended without an answer" : "no answer in time");
		client_close(c);
	} else {
		bodiless = strcmp(call->method, "HEAD") == 0 || out->status == 204 || out->status == 304;
		whole = bodiless || receive_body(c->fd, out, &in, deadline);
		if (!whole)
			answer_none(out, "the answer broke off");
		if (!whole || answer_is_last(out))
			client_close(c);
		if (whole && out->body.len)
			out->json = cJSON_ParseWithLength(out->body.data, out->body.len);
	}
	text_fini(&request);
	text_fini(&in);
}

void client_ask(struct client *c, const char *method, const char *path, const char *body, struct answer *out)
{
	struct call call = {0};

	snprintf(call.method, sizeof(call.method), "%s", method);
	text_add(&call.path, path);
	text_add(&call.body, body);
	client_call(c, &call, out);
	call_fini(&call);
}
