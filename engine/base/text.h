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
void  text_fini(struct text *t);
void  text_reset(struct text *t);             /* empties the text; the memory stays */
char *text_room(struct text *t, size_t more); /* the place for `more` bytes; the caller adds to len */
void  text_reach(struct text *t, size_t cap); /* has room for that many bytes from now on, its NUL among them */
void  text_bytes(struct text *t, const void *data, size_t len);
void  text_add(struct text *t, const char *string);
void  text_char(struct text *t, char c);
void  text_int(struct text *t, int64_t n);
void  text_hex(struct text *t, const void *data, size_t len);
int   hex_digit(char c);                         /* the digit's value; -1: none */
bool  texts_equal(const char *a, const char *b); /* NULL equals NULL alone */
void  text_format(struct text *t, const char *format, ...) PRINTF(2, 3);

/* A text with several owners, on any threads. Its maker is the first; nobody changes it once there is a second. */
struct text_shared {
	struct text    text;
	_Atomic size_t owners;
};
struct text_shared *text_shared_new(void);
struct text_shared *text_share(struct text_shared *t); /* one owner more */
void                text_leave(struct text_shared *t); /* one less, the last one frees it; NULL is fine */

#endif
