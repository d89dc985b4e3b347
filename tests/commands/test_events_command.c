/* test_events_command.c - the command events: lines of JSON for pipes, the cursor at the end, following. Rows of the
 * log are written by SQL: each is of one change, stock.out or stock.back of the sku A. */
#include "engine/base/clock.h"
#include "engine/log/event.h"
#include "tests/lang/flow.h"
#include "tests/kit/program.h"
#include "tests/kit/patience.h"
#include "tests/lang/trap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAUSE_US = 50000 };

/* A transaction of `count` changes, seen by its first one's available units. */
static void change(enum event_type type, int64_t available, unsigned count)
{
	struct text changes = {0}, sql = {0};

	for (unsigned i = 0; i < count; i++)
		event_level(&changes, type, 1, 0, available + i, -1);
	text_add(&sql, "INSERT INTO event SELECT writer_id, event_no, stamp, TIMESTAMP'2026-11-22 08:00:00.123', x'");
	text_hex(&sql, changes.data, changes.len);
	text_add(&sql, "' FROM log_writer WHERE writer_id = 900");
	flow_step("sql UPDATE log_writer SET event_no = event_no + 1, stamp = stamp + 10 WHERE writer_id = 900");
	cr_assert_eq(db_text(flow_scratch()->db, sql.data, NULL, NULL), DB_OK, "%s", db_error(flow_scratch()->db));
	text_fini(&changes);
	text_fini(&sql);
}

static void begin(void)
{
	flow_begin();
	flow_steps("receipt A +1 -> 201",
	           "sql DELETE FROM event",
	           "sql UPDATE log_writer SET event_no = 0",
	           "sql INSERT INTO log_writer (writer_id, slot, epoch, batch_no, batch_at, started_at, stamp) VALUES"
	           " (900, 0, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 1795334400000000)",
	           "sql UPDATE event_log SET writer_last = 900, since = 9000000000000000"); /* no audit of these */
}

static char path[2][300]; /* of stdout and of stderr */

/* `holdfast events OPTIONS` in the folder of the run, by a shell. */
static pid_t events_begin(const char *options, const char *behind)
{
	struct text line = {0};
	pid_t       pid;

	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s.events%d", scratch_dir(), flow_scratch()->name, i);
		unlink(path[i]);
	}
	text_format(&line, "exec %s events --db '%s' %s 2>%s %s%s", program_path(), flow_scratch()->url, options,
	            path[1], behind ? behind : ">", behind ? "" : path[0]);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", line.data, NULL);
		_exit(127);
	}
	text_fini(&line);
	return pid;
}

static int events_end(pid_t pid)
{
	int status = -1;

	cr_assert(program_wait(pid, PATIENCE_MS, &status), "it does not end in %d ms", patience_ms(PATIENCE_MS));
	return status;
}

static int events(const char *options)
{
	return events_end(events_begin(options, NULL));
}

static char *file_read(int i)
{
	static struct text t[2];

	text_reset(&t[i]);
	program_log_all(path[i], &t[i]);
	return t[i].data ? t[i].data : "";
}

/* The last line of stderr. */
static const char *cursor(void)
{
	static char line[4000];
	char       *all = file_read(1), *at;
	size_t      len = strlen(all);

	cr_assert(len > 0 && all[len - 1] == '\n', "no cursor: %s", all);
	all[len - 1] = '\0';
	at = strrchr(all, '\n');
	snprintf(line, sizeof(line), "%s", at ? at + 1 : all);
	return line;
}

/* The units of each line: "1 2 3". */
static const char *units(void)
{
	static char list[4000];
	size_t      len = 0;

	list[0] = '\0';
	for (const char *at = file_read(0); (at = strstr(at, "\"available\":")) && len < sizeof(list) - 20; at++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d", len ? " " : "", atoi(at + 12));
	return list;
}

static void units_expected(const char *expected)
{
	int64_t from_ms = clock_ms();

	while (strcmp(units(), expected) != 0 && !patience_is_over(from_ms, 2 * PATIENCE_MS))
		usleep(PAUSE_US);
	if (strcmp(units(), expected) != 0)
		flow_fail("%s after %d ms, not %s: %s", units(), (int)(clock_ms() - from_ms), expected, file_read(1));
}

static void after_cursor(const char *options, char *to, size_t size)
{
	snprintf(to, size, "--after %s %s", cursor(), options);
}

Test(events_command, lines_and_the_cursor)
{
	char options[4200];

	begin();
	change(EVENT_OUT, 1, 1);
	change(EVENT_BACK, 2, 3);
	cr_expect_eq(events(""), 0);
	units_expected("1 2 3 4");
	cr_expect(strstr(file_read(0), "{\"id\":\"900-") == file_read(0) &&
	                  strstr(file_read(0), "\"type\":\"stock.out\"") &&
	                  strstr(file_read(0), "\"at\":\"2026-11-22T08:00:00.123Z\""),
	          "%s", file_read(0));
	after_cursor("", options, sizeof(options));
	cr_expect_eq(events(options), 0);
	units_expected("");
	change(EVENT_OUT, 7, 1);
	cr_expect_eq(events(options), 0);
	units_expected("7");
	cr_expect_eq(events("--types stock.back"), 0);
	units_expected("2 3 4");
	cr_expect_eq(events("--after now"), 0);
	units_expected("");
	change(EVENT_OUT, 8, 1);
	after_cursor("--types stock.out,stock.low", options, sizeof(options));
	cr_expect_eq(events(options), 0);
	units_expected("8");
	cr_expect_eq(events("--after 2030-01-01T00:00:00Z"), 0);
	units_expected("");
	flow_end();
}

Test(events_command, refusals)
{
	char options[4200];

	begin();
	change(EVENT_OUT, 1, 1);
	cr_expect_eq(events(""), 0);
	after_cursor("", options, sizeof(options));
	flow_steps("run events --after nonsense  -> 1 ~invalid_request",
	           "run events --types stock.odd -> 64 '~unknown type'",
	           "sql UPDATE identity SET mark = mark + 1");
	cr_expect_eq(events(options), 1);
	cr_expect(strstr(file_read(1), "cursor_expired: "), "%s", file_read(1));
	flow_steps("sql UPDATE identity SET mark = mark - 1",
	           "sql UPDATE event_log SET keep_days = 0, era = era + 1",
	           "run events -> 1 '~events_off: no events are kept here'",
	           "sql UPDATE event_log SET keep_days = 7, era = era - 1");
	cr_expect_eq(events(options), 0);
	flow_end();
}

/* Begins at the place that is the newest before the start, so that no event is missed meanwhile. */
static pid_t follow_from_now(void)
{
	char options[4200];

	cr_expect_eq(events("--after now"), 0);
	after_cursor("--follow", options, sizeof(options));
	return events_begin(options, NULL);
}

/* Older events are not told. The test sees by the first events that the command has begun. */
Test(events_command, follows_from_now)
{
	int64_t from_ms;
	pid_t   pid;

	begin();
	change(EVENT_OUT, 1, 1);
	from_ms = clock_ms();
	pid = events_begin("--after now --follow", NULL);
	for (int i = 10; !*units() && !patience_is_over(from_ms, 2 * PATIENCE_MS); i++) {
		change(EVENT_OUT, i, 1);
		usleep(200000);
	}
	cr_expect(atoi(units()) >= 10, "%s", units());
	kill(pid, SIGTERM);
	cr_expect_eq(events_end(pid), 0);
	flow_end();
}

Test(events_command, follows_and_ends_at_a_signal)
{
	static const int signals[] = {SIGTERM, SIGINT};
	char             options[4200];

	begin();
	for (size_t i = 0; i < LENGTH(signals); i++) {
		pid_t pid = follow_from_now();

		change(EVENT_OUT, 1, 1);
		units_expected("1");
		change(EVENT_OUT, 2, 2);
		units_expected("1 2 3");
		kill(pid, signals[i]);
		cr_expect_eq(events_end(pid), 0);
		change(EVENT_OUT, 9, 1);
		after_cursor("", options, sizeof(options));
		cr_expect_eq(events(options), 0);
		units_expected("9");
	}
	flow_end();
}

Test(events_command, goes_on_when_the_database_was_away)
{
	pid_t pid;

	begin();
	pid = follow_from_now();
	change(EVENT_OUT, 1, 1);
	units_expected("1");
	flow_step("away");
	usleep(500000);
	change(EVENT_OUT, 2, 1);
	flow_step("back");
	units_expected("1 2");
	flow_step("cut");
	change(EVENT_OUT, 3, 1);
	units_expected("1 2 3");
	kill(pid, SIGTERM);
	cr_expect_eq(events_end(pid), 0);
	flow_end();
}

/* The pipe is full because no program reads it. The cursor stands behind the bytes that the pipe has taken, the command
 * holds nothing of the database, and the rest comes whole. */
Test(events_command, a_pipe_that_is_not_read)
{
	enum { PIPE_FULL = 60000 }; /* of 65,536 bytes; a line is not written in part */
	static const char open_ones[] = TRANSACTIONS("COUNT(*)", "db = DATABASE()");
	char              fifo[300], options[4200];
	int               fd, ready;
	int64_t           open_here = -1;
	pid_t             pid;

	begin();
	for (int i = 0; i < 3; i++)
		change(EVENT_OUT, 1000 * i, 1000);
	snprintf(fifo, sizeof(fifo), "%s/%s.fifo", scratch_dir(), flow_scratch()->name);
	cr_assert(mkfifo(fifo, 0600) == 0);
	snprintf(options, sizeof(options), ">%s", fifo);
	pid = events_begin("--follow", options);
	fd = open(fifo, O_RDONLY);
	for (int64_t from_ms = clock_ms();
	     (ioctl(fd, FIONREAD, &ready) != 0 || ready < PIPE_FULL) && !patience_is_over(from_ms, PATIENCE_MS);)
		usleep(PAUSE_US);
	for (int64_t from_ms = clock_ms();
	     (open_here = trap_number("%s", open_ones)) > 0 && !patience_is_over(from_ms, PATIENCE_MS / 2);)
		usleep(PAUSE_US);
	cr_expect_eq(open_here, 0);
	kill(pid, SIGTERM);
	cr_expect_eq(events_end(pid), 0);
	{
		char   taken[1 << 17];
		size_t len = 0, lines = 0;
		char   next[40];

		for (ssize_t n; (n = read(fd, taken + len, sizeof(taken) - 1 - len)) > 0;)
			len += (size_t)n;
		taken[len] = '\0';
		for (const char *at = taken; (at = strchr(at, '\n')); at++)
			lines++;
		cr_assert(lines > 100 && lines < 1000, "%zu", lines);
		after_cursor("", options, sizeof(options));
		cr_expect_eq(events(options), 0);
		snprintf(next, sizeof(next), "%zu ", lines);
		cr_expect(strncmp(units(), next, strlen(next)) == 0, "%.20s, not %s", units(), next);
	}
	close(fd);
	unlink(fifo);
	flow_end();
}

/* For a command behind a shell that has ended already: waits until stderr has been written to. */
static void error_said(void)
{
	for (int64_t from_ms = clock_ms(); !*file_read(1) && !patience_is_over(from_ms, PATIENCE_MS / 2);)
		usleep(PAUSE_US);
}

Test(events_command, a_pipe_that_is_closed)
{
	char options[4200];

	begin();
	for (int i = 0; i < 3; i++)
		change(EVENT_OUT, 1000 * i, 1000);
	cr_expect_eq(events_end(events_begin("--follow", "| head -n 5 >/dev/null")), 0);
	error_said();
	after_cursor("--types stock.back", options, sizeof(options));
	cr_expect_eq(events(options), 0);
	flow_end();
}

/* Counts the lines, which must all be whole. */
static int lines_whole(void)
{
	const char *all = file_read(0);
	int         lines = 0;

	cr_expect(!*all || all[strlen(all) - 1] == '\n', "half a line: %s", all + strlen(all) - 20);
	for (const char *at = all; (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

/* A file on a full disk has whole lines only, and the cursor stands behind them. */
Test(events_command, a_file_that_is_full)
{
	const struct rlimit small = {8 << 10, RLIM_INFINITY}, large = {RLIM_INFINITY, RLIM_INFINITY};
	char                options[4200];
	int                 lines;
	pid_t               pid;

	begin();
	cr_expect_eq(events_end(events_begin("", ">/dev/full")), 0, "there is nothing to write");
	for (int i = 0; i < 20; i++)
		change(EVENT_OUT, i, 10);
	cr_expect_eq(events_end(events_begin("", ">/dev/full")), 1);
	cr_expect(strstr(file_read(1), "stdout takes no more: No space left on device\n"), "%s", file_read(1));
	after_cursor("", options, sizeof(options));
	signal(SIGXFSZ, SIG_IGN);
	cr_assert(setrlimit(RLIMIT_FSIZE, &small) == 0);
	pid = events_begin(options, NULL);
	setrlimit(RLIMIT_FSIZE, &large);
	cr_expect_eq(events_end(pid), 1);
	lines = lines_whole();
	cr_expect(lines > 10 && lines < 200 && strncmp(units(), "0 1 2 ", 6) == 0, "%d lines", lines);
	cr_expect(strstr(file_read(1), "stdout takes no more: File too large\n"), "%s", file_read(1));
	after_cursor("", options, sizeof(options));
	cr_expect_eq(events(options), 0);
	cr_expect_eq(lines_whole(), 200 - lines);
	flow_end();
}

/* No more event comes; the command notices the closed pipe all the same. */
Test(events_command, a_pipe_that_is_closed_in_the_quiet)
{
	begin();
	change(EVENT_OUT, 1, 1);
	cr_expect_eq(events_end(events_begin("--follow", "| head -n 1 >/dev/null")), 0);
	error_said();
	cr_expect_gt(strlen(cursor()), 10);
	flow_end();
}
