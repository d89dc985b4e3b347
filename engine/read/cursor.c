/* cursor.c - see cursor.h. A cursor that was read is written again and must give the same text. */
#include "engine/read/cursor.h"
#include "engine/base/hash.h"

#include <inttypes.h>
#include <stdio.h>

void cursor_write(char *to, char list, int64_t filter, int64_t a, int64_t b, int64_t c)
{
	char keys[200];

	snprintf(keys, sizeof(keys), "%c.%" PRId64 ".%" PRId64 ".%" PRId64 ".%" PRId64, list, filter, a, b, c);
	snprintf(to, CURSOR_SIZE, "%s.%08x", keys, hash_stable(keys, strlen(keys)));
}

bool cursor_read(const char *from, char list, int64_t filter, int64_t *a, int64_t *b, int64_t *c)
{
	char    found, again[CURSOR_SIZE];
	int64_t found_filter;

	if (sscanf(from, "%c.%" SCNd64 ".%" SCNd64 ".%" SCNd64 ".%" SCNd64 ".", &found, &found_filter, a, b, c) != 5)
		return false;
	cursor_write(again, list, filter, *a, *b, *c);
	return strcmp(again, from) == 0;
}

_Static_assert(sizeof("s.") + 2 * CURSOR_CODE_MAX + sizeof(".01234567") <= CURSOR_SIZE,
               "the longest code has room, in hexadecimal");

static void code_write(char *to, char list, uint32_t filter, const char *code, size_t len)
{
	struct text hex = {0};

	text_hex(&hex, code, len);
	snprintf(to, CURSOR_SIZE, "%c.%s.%08x", list, hex.data, hash_stable(hex.data, hex.len) ^ filter);
	text_fini(&hex);
}

void cursor_write_code(char *to, char list, uint32_t filter, const char *code)
{
	code_write(to, list, filter, code, strlen(code));
}

bool cursor_read_code(const char *from, char list, uint32_t filter, char *code, size_t max, size_t *len)
{
	char     again[CURSOR_SIZE];
	unsigned byte;
	int      used;

	*len = 0;
	if (!*from)
		return true;
	if (from[0] != list || from[1] != '.')
		return false;
	for (const char *at = from + 2; *len < max && sscanf(at, "%2x%n", &byte, &used) == 1 && used == 2; at += 2)
		code[(*len)++] = (char)byte;
	code_write(again, list, filter, code, *len);
	return strcmp(again, from) == 0;
}
