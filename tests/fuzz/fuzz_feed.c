/* fuzz_feed.c - any bytes as a place in the log of events. What is taken is what would be written for the same place,
 * so that there is one text for each. The bytes get a right check first, because it is no secret; then they are tried
 * as a text as they stand. */
#include "engine/base/text.h"
#include "engine/log/feed_cursor.h"
#include "input.h"

#include <stdlib.h>
#include <string.h>

static void place_check(const char *text)
{
	struct feed_place p = {0};
	char             *again;

	if (feed_place_read(text, &p)) {
		again = feed_place_write(&p);
		assert(strcmp(again, text) == 0);
		free(again);
	}
	feed_place_fini(&p);
}

/* base64url of the bytes and their check (FNV-1a). */
static void checked(struct text *to, const uint8_t *data, size_t size)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t          h = 2166136261u, bits = 0;
	unsigned          count = 0;

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 16777619u;
	text_char(to, 'e');
	for (size_t i = 0; i < size + 4; i++) {
		bits = bits << 8 | (i < size ? data[i] : h >> 8 * (i - size) & 0xff);
		for (count += 8; count >= 6; count -= 6)
			text_char(to, letters[bits >> (count - 6) & 63]);
	}
	if (count > 0)
		text_char(to, letters[bits << (6 - count) & 63]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char       *as_it_stands = input_text(data, size);
	struct text text = {0};

	checked(&text, data, size);
	place_check(text.data);
	place_check(as_it_stands);
	text_fini(&text);
	free(as_it_stands);
	return 0;
}
