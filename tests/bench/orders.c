/* orders.c - which orders there are, how long they took, and what was wrong. */
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "bench.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t number_spread(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64, S. Vigna */
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

void order_write(struct text *to, uint64_t number)
{
	uint64_t      spread = number_spread(number);
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(spread >> (8 * i));
	text_bytes(to, "O-", 2);
	text_hex(to, bytes, sizeof(bytes));
}

int64_t order_qty(uint64_t number)
{
	return 1 + (int64_t)(number % QTY_KINDS);
}

/* ---- latencies */

void samples_add(struct samples *s, int64_t us)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 1 << 10;
		s->us = mem_resize(s->us, s->cap * sizeof(*s->us));
	}
	s->us[s->count++] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void samples_join(struct samples *to, const struct samples *from)
{
	for (size_t i = 0; i < from->count; i++)
		samples_add(to, from->us[i]);
}

static int us_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

double samples_ms(struct samples *s, double share)
{
	if (!s->count)
		return 0;
	qsort(s->us, s->count, sizeof(*s->us), us_compare);
	return s->us[(size_t)(share * (double)(s->count - 1))] / 1000.0;
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median_of(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), double_compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* ---- what was wrong */

enum { WRONGS_TOLD = 20 };

static atomic_int  wrongs;
static atomic_bool hushed;

void bench_hush(void)
{
	hushed = true;
}

bool bench_was_wrong(void)
{
	return wrongs > 0;
}

void bench_wrong(const char *format, ...)
{
	char    line[1024];
	va_list ap;

	if (atomic_fetch_add(&wrongs, 1) >= WRONGS_TOLD || hushed)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	say("bench: wrong: %s", line);
}
