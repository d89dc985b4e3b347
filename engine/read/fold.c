/* fold.c - see fold.h. No folded character has more bytes than it had. */
#include "engine/read/fold.h"
#include "engine/base/utf8.h"

/* Where letters of both cases take turns, the lower case is the next one of every even or of every odd number. */
enum { EVEN = 1000, ODD = 1001 };

static const struct folding {
	uint32_t from, to;
	int      add; /* or EVEN, or ODD */
} foldings[] = {
	{'A', 'Z', 32},          {0xb5, 0xb5, 775},      {0xc0, 0xd6, 32},        {0xd8, 0xde, 32},
	{0x100, 0x12f, EVEN},    {0x132, 0x137, EVEN},   {0x139, 0x148, ODD},     {0x14a, 0x177, EVEN},
	{0x178, 0x178, -121},    {0x179, 0x17e, ODD},    {0x17f, 0x17f, -268},    {0x386, 0x386, 38},
	{0x388, 0x38a, 37},      {0x38c, 0x38c, 64},     {0x38e, 0x38f, 63},      {0x391, 0x3a1, 32},
	{0x3a3, 0x3ab, 32},      {0x3c2, 0x3c2, 1},      {0x400, 0x40f, 80},      {0x410, 0x42f, 32},
	{0x460, 0x481, EVEN},    {0x48a, 0x4bf, EVEN},   {0x1e00, 0x1e95, EVEN},  {0x1e9b, 0x1e9b, -58},
	{0x1e9e, 0x1e9e, -7615}, {0x1ea0, 0x1eff, EVEN}, {0x212a, 0x212a, -8383}, {0x212b, 0x212b, -8262},
};

uint32_t character_fold(uint32_t c)
{
	const struct folding *f = foldings, *end = foldings + LENGTH(foldings);

	while (f < end && c > f->to)
		f++;
	if (f == end || c < f->from)
		return c;
	if (f->add == EVEN || f->add == ODD)
		return c + (c % 2 == (f->add == ODD));
	return (uint32_t)((int64_t)c + f->add);
}

char *text_fold(char *to, const char *from, size_t len)
{
	const char *end = to + len;
	size_t      bytes;

	for (size_t i = 0; i < len; i += bytes) {
		uint32_t c = utf8_read(from + i, &bytes);

		if (bytes == 0) {
			*to++ = '?';
			bytes = 1;
		} else {
			to = utf8_write(to, character_fold(c));
		}
	}
	assert(to <= end); /* the caller's room */
	return to;
}
