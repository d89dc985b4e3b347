/* text.c - see text.h. */
#include "engine/base/text.h"
#include "engine/base/memory.h"

#include <stdio.h>

void text_fini(struct text *t)
{
	free(t->data);
	*t = (struct text){0};
}

void text_reset(struct text *t)
{
	t->len = t->count = 0;
	if (t->data)
		t->data[0] = '\0';
}

void text_reach(struct text *t, size_t cap)
{
	if (cap <= t->cap)
		return;
	t->data = mem_resize(t->data, cap);
	t->cap = cap;
}

void text_grow(struct text *t, size_t more)
{
	size_t cap = t->cap ? t->cap * 2 : 256;

	while (cap - t->len <= more)
		cap *= 2;
	text_reach(t, cap);
}

char *decimal_write(char *to, uint64_t n)
{
	int digits = 1;

	for (uint64_t most = 9; n > most && digits < 20; most = most * 10 + 9)
		digits++;
	to[digits] = '\0';
	for (int i = digits; i-- > 0; n /= 10)
		to[i] = (char)('0' + n % 10);
	return to + digits;
}

char *hex_write(char *to, uint64_t n)
{
	int digits = 1;

	for (uint64_t rest = n; rest > 15; rest >>= 4)
		digits++;
	to[digits] = '\0';
	for (int i = digits; i-- > 0; n >>= 4)
		to[i] = "0123456789abcdef"[n & 15];
	return to + digits;
}

void text_int(struct text *t, int64_t n)
{
	char *to = text_room(t, NUMBER_SIZE), *at = to;

	if (n < 0)
		*at++ = '-';
	at = decimal_write(at, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
	t->len += (size_t)(at - to);
}

void text_hex(struct text *t, const void *data, size_t len)
{
	const unsigned char *from = data;
	char                *to = text_room(t, 2 * len);

	for (size_t i = 0; i < len; i++) {
		to[2 * i] = "0123456789abcdef"[from[i] >> 4];
		to[2 * i + 1] = "0123456789abcdef"[from[i] & 15];
	}
	to[2 * len] = '\0';
	t->len += 2 * len;
}

bool texts_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 32) >= 'a' && (c | 32) <= 'f')
		return (c | 32) - 'a' + 10;
	return -1;
}

void text_format(struct text *t, const char *format, ...)
{
	va_list ap, again;
	char   *to;
	int     n;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, ap);
	assert(n >= 0);
	to = text_room(t, (size_t)n);
	vsnprintf(to, (size_t)n + 1, format, again);
	t->len += (size_t)n;
	va_end(again);
	va_end(ap);
}

struct text_shared *text_shared_new(void)
{
	struct text_shared *t = mem_alloc(sizeof(*t));

	atomic_init(&t->owners, 1);
	return t;
}

struct text_shared *text_share(struct text_shared *t)
{
	atomic_fetch_add(&t->owners, 1);
	return t;
}

void text_leave(struct text_shared *t)
{
	if (!t || atomic_fetch_sub(&t->owners, 1) > 1)
		return;
	text_fini(&t->text);
	free(t);
}
