/* cursor.h - cursors of lists: text that a client keeps and sends back. A cursor outlives the process. Pure.
 *
 * A cursor names its list, its filter and the last key, with a check against texts from elsewhere. The check is no
 * secret: a cursor made by hand may hold any number, so a list checks its values. */
#ifndef CURSOR_H
#define CURSOR_H

#include "engine/op.h"

enum { CURSOR_SIZE = sizeof(((struct page *)0)->cursor) };

/* LIST.filter.a.b.c.check: numbers. `to` has CURSOR_SIZE bytes. */
void cursor_write(char *to, char list, int64_t filter, int64_t a, int64_t b, int64_t c);
/* false: the text is another list's, another filter's, or none that cursor_write gave; a, b and c are void then. */
bool cursor_read(const char *from, char list, int64_t filter, int64_t *a, int64_t *b, int64_t *c) MUST_CHECK;

/* LIST.HEX.check: the code after which a page begins, in hexadecimal, so that it is read back byte by byte.
 * filter: a hash of the list's, which is in the check; 0: it has none. */
void cursor_write_code(char *to, char list, uint32_t filter, const char *code);
/* Up to `max` bytes without a NUL behind them, for which `code` has room; an empty cursor is the code of no bytes. */
bool cursor_read_code(const char *from, char list, uint32_t filter, char *code, size_t max, size_t *len) MUST_CHECK;

#endif
