/* escape.h - the characters of JSON strings: UTF-8 and escapes, read strictly (RFC 8259, section 7) and written one
 * way. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include "engine/base/base.h"

enum { ESCAPE_MAX = 6 }; /* the most bytes that escape_write writes */

/* The number of bytes of the character at `at`, which is not ASCII; 0 if the bytes are no UTF-8 (RFC 3629, section 4).
 * The text ends in a NUL. */
size_t utf8_length(const char *at);
bool   utf8_valid(const char *text);

/* True: the character at `at`, which is not the end, does not show, but may move or turn the text beside it on a
 * terminal: a control character of C0 or C1, DEL, or one of Unicode's for the direction of text (UAX 9); likewise a byte
 * that is no UTF-8. *len is its length in bytes, *c its number. */
bool character_moves(const char *at, size_t *len, uint32_t *c);

/* Reads the escape at `at`, a backslash in a text that ends in a NUL, and gives its character. *len is the length of
 * the escape, both halves of a surrogate pair together. 0: no such character is allowed, and *why says so in words;
 * *len is 0 where it is no JSON either. */
uint32_t escape_read(const char *at, size_t *len, const char **why);

/* Writes a character the one way that names and answers have it: ", \ and control characters as their shortest escape,
 * all others in UTF-8. The result is never longer than the escape it was read from. Returns the place of the next byte;
 * adds no NUL. */
char *escape_write(char *to, uint32_t c);

#endif
