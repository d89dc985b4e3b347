/* utf8.c - see utf8.h. */
#include "engine/base/utf8.h"

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

char *utf8_write(char *to, uint32_t c)
{
	static const unsigned leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	int                   len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = len - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(leads[len] | c);
	return to + len;
}
