/* text.h - text that grows. It always ends in a NUL that len does not count. Zero-initialised is empty and valid. */
#ifndef TEXT_H
#define TEXT_H

#include "engine/base/base.h"

#include <stdatomic.h>

struct text {
	char  *data;
	size_t len;
	size_t cap;
	size_t count; /* things in the text, where its owner counts them */
};
void text_fini(struct text *t);
void text_reset(struct text *t);             /* empties the text; the memory stays */
void text_reach(struct text *t, size_t cap); /* has room for that many bytes from now on, its NUL among them */
void text_grow(struct text *t, size_t more); /* text_room where there is none */
void text_int(struct text *t, int64_t n);
/* Write a number and a NUL, and return the place of the NUL. NUMBER_SIZE bytes are room for either, and for a sign. */
enum { NUMBER_SIZE = 24 };
char *decimal_write(char *to, uint64_t n);
char *hex_write(char *to, uint64_t n);

/* The place for `more` bytes and a NUL; the caller adds to len. Here and below the header has the body: these are
 * called for every few bytes of an answer. */
static inline char *text_room(struct text *t, size_t more)
{
	if (t->cap - t->len <= more)
		text_grow(t, more);
	return t->data + t->len;
}

static inline void text_bytes(struct text *t, const void *data, size_t len)
{
	char *to = text_room(t, len);

	memcpy(to, data, len);
	to[len] = '\0';
	t->len += len;
}

static inline void text_add(struct text *t, const char *string)
{
	text_bytes(t, string, strlen(string));
}

static inline void text_char(struct text *t, char c)
{
	text_bytes(t, &c, 1);
}

void text_hex(struct text *t, const void *data, size_t len);
int  hex_digit(char c);                         /* the digit's value; -1: none */
bool texts_equal(const char *a, const char *b); /* NULL equals NULL alone */
void text_format(struct text *t, const char *format, ...) PRINTF(2, 3);

/* A text with several owners, on any threads. Its maker is the first owner. Once there is a second, the text stays as
 * it is. */
struct text_shared {
	struct text    text;
	_Atomic size_t owners;
};
struct text_shared *text_shared_new(void);
struct text_shared *text_share(struct text_shared *t); /* one owner more */
void                text_leave(struct text_shared *t); /* one less, the last one frees it; NULL is fine */

#endif
