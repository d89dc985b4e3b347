/* escape.h - the characters of JSON strings: escapes, read strictly (RFC 8259, section 7) and written one
 * way. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include "engine/base/base.h"

enum { ESCAPE_MAX = 6 }; /* the most bytes that escape_write writes */

/* Reads the escape at `at`, a backslash in a text that ends in a NUL, and gives its character. *len is the length of
 * the escape, both halves of a surrogate pair together. 0: the escape is refused, and *why says why. Where it is no
 * JSON either, *len is 0. */
uint32_t escape_read(const char *at, size_t *len, const char **why);

/* Writes a character the one way that names and answers have it: ", \ and control characters as their shortest escape,
 * all others in UTF-8. The result is never longer than the escape it was read from. Returns the place of the next byte;
 * adds no NUL. */
char *escape_write(char *to, uint32_t c);

#endif
