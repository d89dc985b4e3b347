/* utf8.h - the characters of texts: where they end, and which of them a terminal must not get. */
#ifndef UTF8_H
#define UTF8_H

#include "engine/base/base.h"

/* The number of bytes of the character at `at`, which is not ASCII; 0 if the bytes are no UTF-8 (RFC 3629, section 4).
 * The text ends in a NUL. */
size_t utf8_length(const char *at);
bool   utf8_valid(const char *text);
/* The number of the character at `at`; *len is its bytes, 0 if they are no UTF-8. A NUL counts as a character. */
uint32_t utf8_read(const char *at, size_t *len);
/* True: the character does not show. It is a control character, a separator of lines, or one that Unicode lets programs
 * leave out (Default_Ignorable_Code_Point: of no width, of the direction of text, variation selectors). */
bool character_hides(uint32_t c);
bool character_is_space(uint32_t c); /* White_Space of Unicode */
/* Writes the character, of four bytes at most, and returns the place behind it; adds no NUL. */
char *utf8_write(char *to, uint32_t c);

/* True: the character at `at`, which is not the end, does not show, but may move or turn the text beside it on a
 * terminal: a control character of C0 or C1, DEL, or one of Unicode's for the direction of text (UAX 9). True also for
 * a byte that is no UTF-8. *len is its length in bytes, *c its number. */
bool character_moves(const char *at, size_t *len, uint32_t *c);

#endif
