/* terminal.c - see terminal.h. */
#include "jobs/commands/terminal.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is(int fd)
{
	const char *kind = getenv("TERM");

	return isatty(fd) && kind && strcmp(kind, "dumb") != 0;
}

bool terminal_paints(int fd)
{
	const char *never = getenv("NO_COLOR");

	return terminal_is(fd) && (!never || !*never);
}

unsigned terminal_width(int fd)
{
	struct winsize size = {0};

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* The character of `len` bytes at `at`, in UTF-8. */
static uint32_t character(const char *at, size_t len)
{
	uint32_t c = (unsigned char)at[0] & (len == 1 ? 0x7fU : 0xffU >> (len + 1));

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)at[i] & 0x3fU);
	return c;
}

size_t terminal_text(struct text *to, const char *from)
{
	size_t columns = 0;

	while (*from) {
		size_t   len = (unsigned char)*from < 0x80 ? 1 : utf8_length(from);
		uint32_t c = len ? character(from, len) : 0;

		if (c < ' ' || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
		    (c >= 0x2066 && c <= 0x2069)) {
			text_format(to, "\\u%04x", len ? c : (unsigned char)*from);
			columns += 6;
		} else {
			text_bytes(to, from, len);
			columns++;
		}
		from += len ? len : 1;
	}
	return columns;
}
