/* fuzz_cursor.c - any bytes as a cursor. What is taken is what would be written for the same key, so that there is one
 * text for each place in a list. The check at the end is repaired first, because it is no secret. */
#include "input.h"
#include "engine/read/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keys_check(const char *cursor, char list, int64_t filter)
{
	char    again[CURSOR_SIZE];
	int64_t a, b, c;

	if (!cursor_read(cursor, list, filter, &a, &b, &c))
		return;
	cursor_write(again, list, filter, a, b, c);
	assert(strcmp(again, cursor) == 0);
}

static void code_check(const char *cursor)
{
	char   code[SKU_MAX + 1], again[CURSOR_SIZE];
	size_t len;

	if (!cursor_read_code(cursor, 's', 0, code, SKU_MAX, &len))
		return;
	assert(len <= SKU_MAX);
	code[len] = '\0';
	if (!*cursor || strlen(code) < len)
		return;
	cursor_write_code(again, 's', 0, code);
	assert(strcmp(again, cursor) == 0);
}

/* The same text with the right check in place of what stands behind its last dot. */
static void repair(char *to, const char *cursor)
{
	const char *keys = strncmp(cursor, "s.", 2) == 0 ? cursor + 2 : cursor, *dot = strrchr(keys, '.');
	size_t      len = dot ? (size_t)(dot - keys) : strlen(keys);
	uint32_t    h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)keys[i]) * 16777619u;
	snprintf(to, CURSOR_SIZE, "%.*s.%08x", (int)((size_t)(keys - cursor) + len), cursor, h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *cursor = input_text(data, size), repaired[CURSOR_SIZE];

	if (strlen(cursor) < CURSOR_SIZE) { /* page_op takes no longer one */
		repair(repaired, cursor);
		for (int i = 0; i < 2; i++) {
			const char *one = i ? repaired : cursor;

			keys_check(one, 'm', 1);
			keys_check(one, 'r', 0);
			keys_check(one, 'r', HELD);
			code_check(one);
		}
	}
	free(cursor);
	return 0;
}
