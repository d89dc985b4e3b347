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

uint32_t utf8_read(const char *at, size_t *len)
{
	uint32_t c;

	*len = (unsigned char)*at < 0x80 ? 1 : utf8_length(at);
	c = (unsigned char)*at & (*len <= 1 ? 0xffU : 0xffU >> (*len + 1));
	for (size_t i = 1; i < *len; i++)
		c = c << 6 | ((unsigned char)at[i] & 0x3fU);
	return c;
}

struct range {
	uint32_t from, to;
};

static bool is_in(const struct range *ranges, size_t count, uint32_t c)
{
	for (size_t i = 0; i < count && c >= ranges[i].from; i++)
		if (c <= ranges[i].to)
			return true;
	return false;
}

bool character_hides(uint32_t c)
{
	static const struct range hidden[] = {
		{0x0, 0x1f},      {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
		{0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
		{0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
		{0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	};

	return is_in(hidden, LENGTH(hidden), c);
}

bool character_is_space(uint32_t c)
{
	static const struct range spaces[] = {
		{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
		{0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
	};

	return is_in(spaces, LENGTH(spaces), c);
}

bool character_moves(const char *at, size_t *len, uint32_t *c)
{
	size_t bytes;

	*c = utf8_read(at, &bytes);
	*len = bytes > 0 ? bytes : 1;
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
