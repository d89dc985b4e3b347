/* base.c - see base.h. */
#include "engine/base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "log_event reads l, ll and z as 64 bits");

enum log_level log_level = LOG_INFO;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static void out_of_memory(size_t size)
{
	log_event(LOG_ERROR, "no_memory", "bytes=%zu", size);
	_exit(EXIT_TROUBLE);
}

void *mem_try(size_t size)
{
	return calloc(1, size ? size : 1);
}

void *mem_alloc(size_t size)
{
	void *p = mem_try(size);

	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_resize(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_reach(void *list, size_t count, size_t *max, size_t size)
{
	if (count < *max)
		return list;
	*max = *max ? *max * 2 : 16;
	return mem_resize(list, *max * size);
}

char *mem_copy(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(mem_alloc(size), text, size);
}

void text_fini(struct text *t)
{
	free(t->data);
	*t = (struct text){0};
}

void text_reset(struct text *t)
{
	t->len = 0;
	if (t->data)
		t->data[0] = '\0';
}

static char *text_try(struct text *t, size_t cap)
{
	char *data = t->failed ? NULL : realloc(t->data, cap);

	if (!data) {
		free(t->data);
		*t = (struct text){.tries = true, .failed = true};
		return NULL;
	}
	t->data = data;
	t->cap = cap;
	return t->data + t->len;
}

char *text_room(struct text *t, size_t more)
{
	if (t->cap - t->len <= more || !t->data) {
		size_t cap = t->cap ? t->cap * 2 : 256;

		while (cap - t->len <= more)
			cap *= 2;
		if (t->tries)
			return text_try(t, cap);
		t->data = mem_resize(t->data, cap);
		t->cap = cap;
	}
	return t->data + t->len;
}

void text_bytes(struct text *t, const void *data, size_t len)
{
	char *to = text_room(t, len);

	if (!to)
		return;
	memcpy(to, data, len);
	to[len] = '\0';
	t->len += len;
}

void text_add(struct text *t, const char *string)
{
	text_bytes(t, string, strlen(string));
}

void text_char(struct text *t, char c)
{
	text_bytes(t, &c, 1);
}

void text_int(struct text *t, int64_t n)
{
	char     digits[24], *at = digits + sizeof(digits);
	uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	do
		*--at = (char)('0' + u % 10);
	while (u /= 10);
	if (n < 0)
		*--at = '-';
	text_bytes(t, at, (size_t)(digits + sizeof(digits) - at));
}

void text_hex(struct text *t, const void *data, size_t len)
{
	const unsigned char *from = data;
	char                *to = text_room(t, 2 * len);

	if (!to)
		return;
	for (size_t i = 0; i < len; i++) {
		to[2 * i] = "0123456789abcdef"[from[i] >> 4];
		to[2 * i + 1] = "0123456789abcdef"[from[i] & 15];
	}
	to[2 * len] = '\0';
	t->len += 2 * len;
}

void text_format(struct text *t, const char *format, ...)
{
	va_list ap, again;
	char   *to;
	int     n;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, ap);
	assert(n >= 0);
	to = text_room(t, (size_t)n);
	if (to) {
		vsnprintf(to, (size_t)n + 1, format, again);
		t->len += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

bool log_level_set(const char *name)
{
	for (size_t i = 0; i < LENGTH(level_names); i++)
		if (strcmp(name, level_names[i]) == 0) {
			log_level = (enum log_level)i;
			return true;
		}
	return false;
}

/* ---- the log */

struct line {
	char   data[2048];
	size_t len;
};

/* What does not fit is left out; there is room for the end of the line. */
static void line_char(struct line *l, char c)
{
	if (l->len < sizeof(l->data) - 1)
		l->data[l->len++] = c;
}

static void line_add(struct line *l, const char *text)
{
	while (*text)
		line_char(l, *text++);
}

/* `open`: the format has the quotes itself. */
static void line_value(struct line *l, const char *text, bool open)
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

static void line_format(struct line *l, const char *format, va_list ap)
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
	struct line     line = {.len = 0};
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
		return; /* nowhere left to say it */
}

void say(const char *format, ...)
{
	char    line[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	fprintf(stderr, "holdfast: %s\n", line);
}

bool why_write(char *why, size_t why_size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, why_size, format, ap);
	va_end(ap);
	return false;
}

static int64_t clock_read_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_boot_ms(void)
{
	return clock_read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_ms(void)
{
	return clock_us() / 1000;
}

/* Days since 1970-01-01 of a Gregorian date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = y / 400, yoe = y - era * 400;
	int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

int64_t time_parse(const char *datetime)
{
	int year, month, day, hour, minute, second, ms = 0;

	if (!datetime)
		return TIME_NONE;
	if (sscanf(datetime, "%d-%d-%d %d:%d:%d.%3d", &year, &month, &day, &hour, &minute, &second, &ms) < 6)
		return TIME_NONE;
	return ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60000 + second * 1000 + ms;
}

/* The date of a day since 1970-01-01, by the same source. */
static void civil_from_days(int64_t days, int *y, int *m, int *d)
{
	int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

	*d = (int)(doy - (153 * mp + 2) / 5 + 1);
	*m = (int)(mp < 10 ? mp + 3 : mp - 9);
	*y = (int)(yoe + era * 400 + (*m <= 2));
}

static char *digits_write(char *to, int n, int width)
{
	for (int i = width; i-- > 0; n /= 10)
		to[i] = (char)('0' + n % 10);
	return to + width;
}

void time_write(struct text *t, int64_t ms)
{
	int   in_day = (int)(ms / 1000 % 86400), year, month, day;
	char *to = text_room(t, 24), *at;

	assert(ms >= 0);
	if (!to)
		return;
	civil_from_days(ms / 86400000, &year, &month, &day);
	at = digits_write(to, year, 4);
	*at++ = '-';
	at = digits_write(at, month, 2);
	*at++ = '-';
	at = digits_write(at, day, 2);
	*at++ = 'T';
	at = digits_write(at, in_day / 3600, 2);
	*at++ = ':';
	at = digits_write(at, in_day / 60 % 60, 2);
	*at++ = ':';
	at = digits_write(at, in_day % 60, 2);
	*at++ = '.';
	at = digits_write(at, (int)(ms % 1000), 3);
	*at++ = 'Z';
	*at = '\0';
	t->len += (size_t)(at - to);
}

void random_bytes(void *data, size_t len)
{
	if (getrandom(data, len, 0) != (ssize_t)len) {
		log_event(LOG_ERROR, "no_random", "errno=%d", errno);
		_exit(EXIT_TROUBLE);
	}
}

static uint64_t       hash_seed;
static pthread_once_t hash_once = PTHREAD_ONCE_INIT;

static void hash_start(void)
{
	random_bytes(&hash_seed, sizeof(hash_seed));
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const unsigned char *at = data;
	uint64_t             h;

	pthread_once(&hash_once, hash_start);
	h = 0xcbf29ce484222325u ^ hash_seed;
	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

bool code_valid(const char *code, size_t len, size_t max)
{
	if (len < 1 || len > max)
		return false;
	for (size_t i = 0; i < len; i++)
		if (code[i] <= ' ' || code[i] > '~' || strchr("/?#%", code[i]))
			return false;
	return !(code[0] == '.' && (len == 1 || (len == 2 && code[1] == '.')));
}
