/* clock.c - see clock.h. */
#include "engine/base/clock.h"

#include <time.h>

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

int64_t clock_wall_ms(void)
{
	return clock_read_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_ms(void)
{
	return clock_us() / 1000;
}

bool clock_before(const _Atomic int64_t *until_ms)
{
	int64_t at_ms = atomic_load_explicit(until_ms, memory_order_relaxed);

	return at_ms != 0 && clock_ms() < at_ms;
}

void clock_extend(_Atomic int64_t *until_ms, int64_t for_ms)
{
	int64_t to_ms = clock_ms() + for_ms;

	if (to_ms > atomic_load_explicit(until_ms, memory_order_relaxed))
		atomic_store_explicit(until_ms, to_ms, memory_order_relaxed);
}

void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

struct timespec clock_until(int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms % 1000 * 1000000L;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	return until;
}

bool clock_due(int64_t *due_ms, int64_t pause_ms)
{
	int64_t now_ms = clock_ms();

	if (now_ms < *due_ms)
		return false;
	*due_ms = now_ms + pause_ms;
	return true;
}

/* Days since 1970-01-01 of a Gregorian date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = y / 400, yoe = y - era * 400;
	int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* Reads the digits at *at and returns their number. *at moves behind the first other character, but not behind the NUL.
 * No part of a time has more than four digits, so a number of five digits grows no further. */
static int digits_read(const char **at)
{
	int n = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		if (n < 10000)
			n = n * 10 + (**at - '0');
	*at += **at != '\0';
	return n;
}

int64_t time_parse(const char *datetime)
{
	int part[6], ms = 0, scale = 100;

	if (!datetime)
		return TIME_NONE;
	for (size_t i = 0; i < LENGTH(part); i++) {
		if (*datetime < '0' || *datetime > '9')
			return TIME_NONE;
		part[i] = digits_read(&datetime);
	}
	for (; *datetime >= '0' && *datetime <= '9' && scale > 0; datetime++, scale /= 10)
		ms += (*datetime - '0') * scale;
	return ((days_from_civil(part[0], part[1], part[2]) * 24 + part[3]) * 60 + part[4]) * 60000 + part[5] * 1000 +
	       ms;
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

/* Two digits and what stands behind them. */
static char *pair_write(char *to, int n, char mark)
{
	to[0] = (char)('0' + n / 10);
	to[1] = (char)('0' + n % 10);
	to[2] = mark;
	return to + 3;
}

void time_write(struct text *t, int64_t ms)
{
	int   in_day, year, month, day;
	char *to = text_room(t, 24), *at;

	ms = ms < 0 ? 0 : ms > TIME_LAST ? TIME_LAST : ms;
	in_day = (int)(ms / 1000 % 86400);
	civil_from_days(ms / 86400000, &year, &month, &day);
	(void)pair_write(to, year / 100, 0);
	at = pair_write(to + 2, year % 100, '-');
	at = pair_write(at, month, '-');
	at = pair_write(at, day, 'T');
	at = pair_write(at, in_day / 3600, ':');
	at = pair_write(at, in_day / 60 % 60, ':');
	at = pair_write(at, in_day % 60, '.');
	*at++ = (char)('0' + ms / 100 % 10);
	at = pair_write(at, (int)(ms % 100), 'Z');
	*at = '\0';
	t->len += (size_t)(at - to);
}

/* A number of exactly `width` digits between least and most, and the mark behind it (0: none is looked for). */
static bool part_read(const char **at, int width, int least, int most, char mark, int *n)
{
	*n = 0;
	for (int i = 0; i < width; i++, ++*at) {
		if (**at < '0' || **at > '9')
			return false;
		*n = *n * 10 + (**at - '0');
	}
	return *n >= least && *n <= most && (!mark || *(*at)++ == mark);
}

static bool fraction_read(const char **at, int64_t *us)
{
	int64_t scale = 100000;

	*us = 0;
	if (**at != '.')
		return true;
	for (++*at; **at >= '0' && **at <= '9'; ++*at, scale /= 10)
		*us += (**at - '0') * scale;
	return scale < 100000;
}

static bool offset_read(const char **at, int *minutes)
{
	char sign = *(*at)++;
	int  hour = 0, minute = 0;

	if (sign != 'Z' && sign != 'z' &&
	    ((sign != '+' && sign != '-') || !part_read(at, 2, 0, 23, ':', &hour) ||
	     !part_read(at, 2, 0, 59, 0, &minute)))
		return false;
	*minutes = (hour * 60 + minute) * (sign == '-' ? -1 : 1);
	return **at == '\0';
}

bool time_read(const char *at, int64_t *us)
{
	int     y, mo, d, h, mi, s, minutes, y2, mo2, d2;
	int64_t days;

	if (!part_read(&at, 4, 1970, 9999, '-', &y) || !part_read(&at, 2, 1, 12, '-', &mo) ||
	    !part_read(&at, 2, 1, 31, 0, &d) || (*at != 'T' && *at != 't'))
		return false;
	at++;
	if (!part_read(&at, 2, 0, 23, ':', &h) || !part_read(&at, 2, 0, 59, ':', &mi) ||
	    !part_read(&at, 2, 0, 60, 0, &s) || !fraction_read(&at, us) || !offset_read(&at, &minutes))
		return false;
	days = days_from_civil(y, mo, d);
	civil_from_days(days, &y2, &mo2, &d2);
	*us += (((days * 24 + h) * 60 + mi - minutes) * 60 + s) * 1000000;
	return mo2 == mo && d2 == d && *us >= 0;
}
