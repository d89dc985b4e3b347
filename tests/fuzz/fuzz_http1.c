/* fuzz_http1.c - any bytes as what a client sends on one connection, without a service; the first says how they are
 * cut.
 *
 * Cut in any way they are the same requests, with the same fault behind them, seen early or late in one piece. Each is
 * within its own bytes: its method and target, its headers, its body, which joined from chunks is no longer than what
 * came. */
#include "input.h"
#include "api/http/http1.h"

#include <stdlib.h>
#include <string.h>

static const struct http1_limits limits = {.head_max = 2000, .body_max = 1000};

/* Up to the end of the next request, or of the bytes, or to a fault; how many were read. */
static size_t read_one(struct http1 *f, const char *bytes, size_t len, size_t piece)
{
	size_t at = 0;

	*f = (struct http1){.limits = &limits};
	while (at < len && !f->fault && f->state != HTTP1_DONE)
		at += http1_read(f, bytes + at, len - at < piece ? len - at : piece);
	assert(at <= len && (f->fault || f->head + f->body == at));
	return at;
}

static void same(const struct http1 *a, const struct http1 *b)
{
	assert(a->fault == b->fault);
	if (a->fault)
		return;
	assert(a->state == b->state && a->head == b->head && a->body == b->body && a->body_at == b->body_at);
	assert(a->length == b->length && a->is_10 == b->is_10);
	assert(memcmp(&a->target, &b->target, sizeof(a->target)) == 0);
	assert(memcmp(a->headers, b->headers, sizeof(a->headers)) == 0);
	assert(memcmp(a->counts, b->counts, sizeof(a->counts)) == 0);
	assert(http1_is_last(a) == http1_is_last(b));
}

static bool within(struct http1_span span, size_t from, size_t to)
{
	return span.at >= from && span.at <= span.end && span.end <= to;
}

/* On a copy that ends where the request does. */
static void check(const struct http1 *f, const char *bytes, size_t len)
{
	const char *values[HEADERS], *again[HEADERS];
	char       *copy = malloc(len), *body;
	size_t      body_len;

	memcpy(copy, bytes, len);
	assert(f->body_at <= len && f->method.at == 0 && f->method.end > 0);
	assert(within(f->target, f->method.end + 1, f->body_at) && f->target.end > f->target.at);
	http1_headers(f, copy, values);
	http1_headers(f, copy, again);
	for (enum header h = 0; h < HEADERS; h++) {
		const char *value = values[h];

		assert((value != NULL) == (f->counts[h] > 0));
		assert(!value || (within(f->headers[h], f->target.end, f->body_at) &&
		                  strlen(value) <= f->headers[h].end - f->headers[h].at));
		assert(!value || strcmp(value, again[h]) == 0);
	}
	body = http1_body(f, copy, &body_len);
	assert(body == copy + f->body_at && body_len <= len - f->body_at);
	assert(f->counts[HEADER_TRANSFER_ENCODING] || body_len == len - f->body_at);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;

	for (size_t at = 0, len; size > 0 && at < size - 1; at += len) {
		struct http1 f, again;

		len = read_one(&f, bytes + at, size - 1 - at, size);
		read_one(&again, bytes + at, size - 1 - at, 1u + data[0] % 64);
		same(&f, &again);
		if (f.state != HTTP1_DONE)
			break;
		check(&f, bytes + at, len);
	}
	return 0;
}
