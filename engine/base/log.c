/* log.c - see log.h. A line is built here and written by one write, so that lines of threads never mix. */
#include "engine/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "log_event reads l, ll and z as 64 bits");

enum log_level log_level = LOG_INFO;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

bool log_level_set(const char *name)
{
	for (size_t i = 0; i < LENGTH(level_names); i++)
		if (strcmp(name, level_names[i]) == 0) {
			log_level = (enum log_level)i;
			return true;
		}
	return false;
}

struct log_line {
	char   data[2048];
	size_t len;
};

/* Text that does not fit is left out; room for the end of the line is kept. */
static void line_char(struct log_line *l, char c)
{
	if (l->len < sizeof(l->data) - 1)
		l->data[l->len++] = c;
}

static void line_add(struct log_line *l, const char *text)
{
	while (*text)
		line_char(l, *text++);
}

/* `open`: the format has the quotes itself. */
static void line_value(struct log_line *l, const char *text, bool open)
{
	bool quotes = !open && !*text;

	for (const char *c = text; *c && !open; c++)
		quotes |= *c <= ' ' || *c == '"' || *c == '=' || *c == '\\';
	if (quotes)
		line_char(l, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			line_char(l, '\\');
		if (*text == '\n')
			line_add(l, "\\n");
		else
			line_char(l, (unsigned char)*text < ' ' ? ' ' : *text);
	}
	if (quotes)
		line_char(l, '"');
}

static void line_format(struct log_line *l, const char *format, va_list ap)
{
	for (; *format; format++) {
		char digits[32] = "";
		int  size = 0;

		if (*format != '%') {
			line_char(l, *format);
			continue;
		}
		while (*++format == 'l' || *format == 'z')
			size++;
		if (*format == 's')
			line_value(l, va_arg(ap, const char *), l->len > 0 && l->data[l->len - 1] == '"');
		else if (*format == 'd')
			snprintf(digits, sizeof(digits), "%" PRId64, size ? va_arg(ap, int64_t) : va_arg(ap, int));
		else if (*format == 'u')
			snprintf(digits, sizeof(digits), "%" PRIu64,
			         size ? va_arg(ap, uint64_t) : va_arg(ap, unsigned));
		else
			assert(!"the log knows d, u and s");
		line_add(l, digits);
	}
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
	struct log_line line = {.len = 0};
	struct timespec now;
	struct tm       utc;
	va_list         ap;

	if (level > log_level)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	line.len = strftime(line.data, sizeof(line.data), "time=%Y-%m-%dT%H:%M:%S", &utc);
	line.len += (size_t)snprintf(line.data + line.len, sizeof(line.data) - line.len, ".%03ldZ level=%s event=%s ",
	                             now.tv_nsec / 1000000, level_names[level], event);
	va_start(ap, format);
	line_format(&line, format, ap);
	va_end(ap);
	line.data[line.len++] = '\n';
	if (write(STDERR_FILENO, line.data, line.len) < 0)
		return; /* stderr itself failed: no place is left to say it */
}

static void line_say(const char *format, va_list ap)
{
	char line[2048];

	vsnprintf(line, sizeof(line), format, ap);
	fprintf(stderr, "holdfast: %s\n", line);
}

void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	line_say(format, ap);
	va_end(ap);
}

int say_status(int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	line_say(format, ap);
	va_end(ap);
	return status;
}

bool why_write(char *why, size_t why_size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, why_size, format, ap);
	va_end(ap);
	return false;
}
