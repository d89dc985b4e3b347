/* report.c - see report.h. A record in the pipe ends with RECORD, its fields with FIELD: the number of tests; or of a
 * test its verdict, seconds, assertions, name, and why it failed or was skipped. */
#include "tests/report.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/options.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD '\036'
#define FIELD  '\037'

enum { LINE_MS = 30000, TERMINAL_MS = 1000, AGAIN_MAX = 40, SLOWEST = 10, FIELDS = 5, REASON_BYTES = 4000 };

enum verdict { PASSED = 'p', FAILED = 'f', SKIPPED = 's', FLAKE = 'k' };

struct outcome {
	char        *name, *why;
	double       seconds;
	long         assertions;
	enum verdict verdict;
};

/* ---- Criterion's process */

static int pipe_fd;

/* A pipe takes a record of any size in pieces; there is one writer. */
static void record_write(struct text *record)
{
	const char *at = record->data;

	text_char(record, RECORD);
	while (at < record->data + record->len) {
		ssize_t n = write(pipe_fd, at, record->len - (size_t)(at - record->data));

		if (n <= 0)
			_exit(EXIT_FAILURE); /* the reader has gone */
		at += n;
	}
	text_fini(record);
}

static void tell_all(struct criterion_test_set *set)
{
	struct text record = {0};
	size_t      count = 0;

	FOREACH_SET(struct criterion_suite_set * suite, set->suites)
	FOREACH_SET(struct criterion_test * test, suite->tests)
	count += !test->data->disabled && !(suite->suite.data && suite->suite.data->disabled);
	text_format(&record, "%zu", count);
	record_write(&record);
}

/* Criterion has the asserts of a test with the last one first. What fails the same way again and again is told once. */
static void asserts_write(const struct criterion_test_stats *t, struct text *to)
{
	const struct criterion_assert_stats **failed, *last = NULL;
	size_t                                n = 0;

	for (const struct criterion_assert_stats *a = t->asserts; a; a = a->next)
		n += !a->passed;
	failed = mem_alloc((n + 1) * sizeof(*failed));
	for (const struct criterion_assert_stats *a = t->asserts; a; a = a->next)
		if (!a->passed)
			failed[--n] = a;
	for (; failed[n]; last = failed[n++]) {
		const char *words = failed[n]->message ? failed[n]->message : "";

		if (!last || last->line != failed[n]->line || strcmp(last->message ? last->message : "", words) != 0)
			text_format(to, "%s:%u: %.*s\n", failed[n]->file, failed[n]->line, REASON_BYTES, words);
	}
	free(failed);
}

static void reason_write(const struct criterion_test_stats *t, struct text *to)
{
	if (t->timed_out)
		text_add(to, "it timed out\n");
	if (t->crashed)
		text_format(to, "it crashed: signal %d\n", t->signal);
	asserts_write(t, to);
	if (t->test_status == CR_STATUS_SKIPPED)
		text_format(to, "%s", t->message ? t->message : "no reason given");
}

/* The text of a test may have any bytes. */
static void marks_remove(char *text)
{
	for (; *text; text++)
		if (*text == RECORD || *text == FIELD)
			*text = '?';
}

/* A test is told once, whichever of Criterion's ways it ends. */
static void tell_test(struct criterion_test_stats *t)
{
	bool        failed = t->test_status == CR_STATUS_FAILED || t->timed_out || t->crashed;
	struct text record = {0};
	size_t      at;

	if (t->test->data->disabled || t->test->data->data)
		return;
	t->test->data->data = t;
	text_format(&record, "%c%c%.3f%c%d%c%s/%s%c",
	            failed                                ? FAILED
	            : t->test_status == CR_STATUS_SKIPPED ? SKIPPED
	                                                  : PASSED,
	            FIELD, (double)t->elapsed_time, FIELD, t->passed_asserts + t->failed_asserts, FIELD,
	            t->test->category, t->test->name, FIELD);
	at = record.len;
	reason_write(t, &record);
	marks_remove(record.data + at);
	record_write(&record);
}

static void tell_rest(struct criterion_global_stats *all)
{
	for (struct criterion_suite_stats *s = all->suites; s; s = s->next)
		for (struct criterion_test_stats *t = s->tests; t; t = t->next)
			tell_test(t);
}

void report_tell(int fd)
{
	static struct criterion_logger logger = {
		.log_pre_all = tell_all,
		.log_post_fini = tell_test,
		.log_post_all = tell_rest,
	};

	pipe_fd = fd;
	criterion_options.logger = &logger;
}

/* ---- the process that started it: reading */

static void outcome_fini(struct outcome *o)
{
	free(o->name);
	free(o->why);
}

void report_fini(struct report *r)
{
	for (size_t i = 0; i < r->count; i++)
		outcome_fini(&r->list[i]);
	free(r->list);
	*r = (struct report){0};
}

/* Of a second run: what failed and passes now is a flake, and tells why it failed before. */
static void outcome_again(struct report *r, struct outcome *o)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->list[i].name, o->name) == 0) {
			if (o->verdict == FAILED) {
				free(r->list[i].why);
				r->list[i].why = o->why;
				o->why = NULL;
			}
			r->list[i].verdict = o->verdict == PASSED ? FLAKE : o->verdict;
		}
	outcome_fini(o);
}

static void record_read(struct report *r, char *record)
{
	char           separator[] = {FIELD, '\0'}, *field[FIELDS] = {0};
	struct outcome o;
	size_t         n = 0;

	while (n < FIELDS && (field[n] = strsep(&record, separator)))
		n++;
	if (n < FIELDS) {
		r->expected = r->again ? r->expected : strtoul(field[0], NULL, 10);
		return;
	}
	o = (struct outcome){.verdict = (enum verdict) * field[0],
	                     .seconds = strtod(field[1], NULL),
	                     .assertions = strtol(field[2], NULL, 10),
	                     .name = mem_copy(field[3]),
	                     .why = mem_copy(field[4])};
	if (r->again) {
		outcome_again(r, &o);
		return;
	}
	r->list = mem_reach(r->list, r->count, &r->max, sizeof(*r->list));
	r->list[r->count++] = o;
}

static size_t verdict_count(const struct report *r, enum verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->list[i].verdict == verdict;
	return n;
}

static void time_print(int64_t ms)
{
	if (ms >= 60000)
		printf("%d min ", (int)(ms / 60000));
	printf("%d s", (int)(ms % 60000 / 1000));
}

static void progress_show(struct report *r)
{
	bool   terminal = isatty(STDOUT_FILENO);
	size_t failed = verdict_count(r, FAILED);

	if (clock_ms() - r->shown_ms < (terminal ? TERMINAL_MS : LINE_MS))
		return;
	r->shown_ms = clock_ms();
	printf("%s[%4zu/%zu] ", terminal ? "\r" : "", r->count, r->expected);
	time_print(clock_ms() - r->begun_ms);
	if (failed > 0)
		printf(", %zu failed", failed);
	printf("%s", terminal ? "\033[K" : "\n");
	fflush(stdout);
}

void report_read(struct report *r, int fd)
{
	struct text   in = {0};
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t       n = 1;

	if (!r->begun_ms)
		r->begun_ms = r->shown_ms = clock_ms();
	while (n > 0) {
		char *end;

		progress_show(r);
		if (poll(&p, 1, TERMINAL_MS) <= 0)
			continue; /* nothing yet, or a signal */
		n = read(fd, text_room(&in, BUFSIZ), BUFSIZ);
		in.len += n > 0 ? (size_t)n : 0;
		in.data[in.len] = '\0';
		while ((end = memchr(in.data, RECORD, in.len))) {
			*end++ = '\0';
			record_read(r, in.data);
			in.len -= (size_t)(end - in.data);
			memmove(in.data, end, in.len + 1);
		}
	}
	text_fini(&in);
}

char *report_failed(const struct report *r)
{
	struct text pattern = {0};
	size_t      failed = verdict_count(r, FAILED);

	if (failed == 0 || failed > AGAIN_MAX)
		return NULL;
	for (size_t i = 0; i < r->count; i++)
		if (r->list[i].verdict == FAILED)
			text_format(&pattern, "%s%s", pattern.len ? "|" : "@(", r->list[i].name);
	text_char(&pattern, ')');
	return pattern.data;
}

/* ---- the end */

static int slower(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	return (y->seconds > x->seconds) - (y->seconds < x->seconds);
}

static void slowest_show(const struct report *r)
{
	struct outcome *sorted = mem_alloc((r->count + 1) * sizeof(*sorted));

	memcpy(sorted, r->list, r->count * sizeof(*sorted));
	qsort(sorted, r->count, sizeof(*sorted), slower);
	printf("The slowest:\n");
	for (size_t i = 0; i < r->count && i < SLOWEST; i++)
		printf("%8.1f s  %s\n", sorted[i].seconds, sorted[i].name);
	free(sorted);
}

static void verdict_show(const struct report *r, enum verdict verdict, const char *title)
{
	if (verdict_count(r, verdict) == 0)
		return;
	printf("%s:\n", title);
	for (size_t i = 0; i < r->count; i++) {
		char *rest = r->list[i].why, *line;

		if (r->list[i].verdict != verdict)
			continue;
		printf("    %s\n", r->list[i].name);
		while ((line = strsep(&rest, "\n")))
			if (*line)
				printf("        %s\n", line);
	}
}

bool report_show(const struct report *r, const char *log)
{
	size_t failed = verdict_count(r, FAILED), flakes = verdict_count(r, FLAKE), skipped = verdict_count(r, SKIPPED);
	long   assertions = 0;

	for (size_t i = 0; i < r->count; i++)
		assertions += r->list[i].assertions;
	printf("%s", isatty(STDOUT_FILENO) ? "\r\033[K" : "");
	if (r->count > SLOWEST)
		slowest_show(r);
	verdict_show(r, SKIPPED, "Skipped");
	verdict_show(r, FLAKE, "Flakes: failed, and passed when run once more, alone");
	verdict_show(r, FAILED, "Failed");
	if (r->count < r->expected)
		printf("Not run to their end: %zu of %zu tests\n", r->expected - r->count, r->expected);
	if (r->expected == 0)
		printf("No test has a name that matches the filter\n");
	printf("%ld assertions in ", assertions);
	time_print(clock_ms() - r->begun_ms);
	printf("; what the tests printed is in %s\n", log);
	printf("%zu passed, %zu failed", verdict_count(r, PASSED) + flakes, failed + r->expected - r->count);
	printf(skipped > 0 ? ", %zu skipped\n" : "\n", skipped);
	fflush(stdout);
	return failed == 0 && r->count == r->expected && r->expected > 0;
}
