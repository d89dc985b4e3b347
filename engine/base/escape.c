/* escape.c - see escape.h. */
#include "engine/base/escape.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"

/* Escapes of one letter, and their characters. */
static const char short_escapes[] = "\"\\/bfnrt", short_meanings[] = "\"\\/\b\f\n\r\t";

/* \uXXXX as a number; UINT32_MAX if it is something else. */
static uint32_t hex_read(const char *at)
{
	uint32_t n = 0;

	if (at[0] != '\\' || at[1] != 'u')
		return UINT32_MAX;
	for (size_t i = 2; i < 6; i++) {
		int digit = hex_digit(at[i]);

		if (digit < 0)
			return UINT32_MAX;
		n = n << 4 | (uint32_t)digit;
	}
	return n;
}

uint32_t escape_read(const char *at, size_t *len, const char **why)
{
	uint32_t c, low;

	if (at[1] != 'u') {
		const char *found = at[1] ? strchr(short_escapes, at[1]) : NULL;

		*len = found ? 2 : 0;
		*why = "is not JSON: there is no such escape";
		return found ? (uint32_t)short_meanings[found - short_escapes] : 0;
	}
	c = hex_read(at);
	*len = c == UINT32_MAX ? 0 : 6;
	if (c == UINT32_MAX) {
		*why = "is not JSON: \\u takes four hexadecimal digits";
		return 0;
	}
	if (c < 0xd800 || c > 0xdfff) {
		*why = "holds \\u0000";
		return c;
	}
	*why = "holds half of a surrogate pair";
	low = hex_read(at + 6);
	if (c > 0xdbff || low < 0xdc00 || low > 0xdfff)
		return 0;
	*len = 12;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

char *escape_write(char *to, uint32_t c)
{
	const char *found = c > 0 && c < 0x80 && c != '/' ? strchr(short_meanings, (int)c) : NULL;

	if (found) {
		*to++ = '\\';
		*to++ = short_escapes[found - short_meanings];
		return to;
	}
	if (c >= ' ')
		return utf8_write(to, c);
	memcpy(to, "\\u00", 4);
	to[4] = (char)('0' + (c >> 4));
	to[5] = "0123456789abcdef"[c & 15];
	return to + 6;
}
