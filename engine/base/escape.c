/* escape.c - see escape.h. */
#include "engine/base/escape.h"
#include "engine/base/text.h"

#include <string.h>

/* Escapes of one letter, and their characters. */
static const char short_escapes[] = "\"\\/bfnrt", short_meanings[] = "\"\\/\b\f\n\r\t";

size_t utf8_length(const char *at)
{
	unsigned char lead = (unsigned char)at[0], next = (unsigned char)at[1];
	size_t        len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (lead < 0xc2 || lead > 0xf4 || (next & 0xc0) != 0x80)
		return 0;
	if ((lead == 0xe0 && next < 0xa0) || (lead == 0xf0 && next < 0x90)) /* overlong */
		return 0;
	if ((lead == 0xed && next > 0x9f) || (lead == 0xf4 && next > 0x8f)) /* a surrogate; beyond U+10FFFF */
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool utf8_valid(const char *text)
{
	size_t len = 1;

	for (; *text && len > 0; text += len)
		len = (unsigned char)*text < 0x80 ? 1 : utf8_length(text);
	return len > 0;
}

bool character_moves(const char *at, size_t *len, uint32_t *c)
{
	size_t bytes = (unsigned char)*at < 0x80 ? 1 : utf8_length(at);

	*len = bytes > 0 ? bytes : 1;
	*c = (unsigned char)*at & (bytes <= 1 ? 0xffU : 0xffU >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++)
		*c = *c << 6 | ((unsigned char)at[i] & 0x3fU);
	return bytes == 0 || *c < ' ' || (*c >= 0x7f && *c < 0xa0) || *c == 0x61c || *c == 0x200e || *c == 0x200f ||
	       (*c >= 0x202a && *c <= 0x202e) || (*c >= 0x2066 && *c <= 0x2069);
}

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

static char *utf8_write(char *to, uint32_t c)
{
	static const unsigned leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	int                   len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = len - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(leads[len] | c);
	return to + len;
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
