/* test_options.c - what holds for every command: the file of options, who is let into the database, help, and the form
 * of the log. */
#include "tests/flow.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void file_write(char *path, size_t size, const char *end, const char *content)
{
	FILE *file;

	snprintf(path, size, "%s/%s.%s", scratch_dir(), flow_scratch()->name, end);
	file = fopen(path, "w");
	cr_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* ---- the file of --config */

static void with_config(const char *content, const char *command, const char *expectation)
{
	char path[300];

	file_write(path, sizeof(path), "conf", content);
	flow_step("run %s --config %s -> %s", command, path, expectation);
}

Test(options, config)
{
	flow_begin();
	flow_step("receipt A +1 -> 201");
	with_config("sku = A\n", "audit", "0");
	with_config("sku = GHOST\n", "audit", "1 '~there is no sku GHOST'");
	with_config("# all of it\n\n   # is well\nsku = A # the only one\njson   # so that it can be read\n", "audit",
	            "0 whole=true");
	with_config("sku = A\t# the only one\r\n", "audit", "0");
	with_config("sku = \"A\" # the only one\n", "audit", "0");
	with_config("sku = A#1\n", "audit", "1 '~there is no sku A#1'");
	with_config("sku = \"A #1\"\n", "audit", "1 '~there is no sku A #1'");
	with_config("sku = # none\n", "audit", "1");
	with_config("json = off # for now\n", "audit", "0 '~all hold'");
	with_config("batch = 7 # not many\n", "work settle --once", "0");
	with_config("batch = seven # not many\n", "work settle --once", "78 '~line 1: not a number: seven'");
	with_config("\n\nbunch = 7\n", "work settle --once", "78 '~line 3: there is no option bunch'");
	with_config("= 7\n", "work settle --once", "78");
	with_config("log-level = loud\n", "stats", "78");
	flow_steps("run stats --config /no/such/file -> 78");
	flow_end();
}

/* A # in a value that is in quotes, whole or in part, is no comment. */
Test(options, config_of_a_program)
{
	flow_begin();
	flow_orders("R", 1);
	with_config("exec = while read -r l; do echo \"R0 bury # 7\"; done # a comment\n", "work settle --once", "0");
	flow_steps("get R0 -> buried '~last_error:# 7'");
	flow_end();
}

/* ---- who is let in */

/* Told at once: waiting would not help. */
Test(options, access_denied)
{
	static const char *const commands[] = {"stats",  "work settle --once", "reap",   "audit",
	                                       "kick X", "purge --keep 1",     "migrate"};
	struct scratch          *s;
	char                     right[300], wrong[300], url[600], sql[300];
	int64_t                  since;

	flow_begin();
	s = flow_scratch();
	snprintf(sql, sizeof(sql), "CREATE USER x%s@localhost IDENTIFIED BY 'right'", s->name);
	cr_assert_eq(db_text(s->db, sql, NULL, NULL), DB_OK, "%s", db_error(s->db));
	snprintf(sql, sizeof(sql), "GRANT ALL ON %s.* TO x%s@localhost", s->name, s->name);
	cr_assert_eq(db_text(s->db, sql, NULL, NULL), DB_OK, "%s", db_error(s->db));
	file_write(right, sizeof(right), "right", "right\n");
	file_write(wrong, sizeof(wrong), "wrong", "wrong\n");
	snprintf(url, sizeof(url), "--db mariadb://x%s@localhost/%s?socket=%s --db-password-file", s->name, s->name,
	         s->link);
	since = clock_ms();
	for (size_t i = 0; i < COUNT(commands); i++)
		flow_step("alone %s %s %s -> 69 '~lets nobody in' '~Access denied'", commands[i], url, wrong);
	flow_step("alone serve %s %s -> 69 '~Access denied'", url, wrong);
	flow_step("alone stats --db mariadb://x%s@localhost/nosuch?socket=%s --db-password-file %s -> 69", s->name,
	          s->link, right);
	cr_expect_lt(clock_ms() - since, 10000);
	flow_step("alone stats %s %s -> 0 ~available", url, right);
	snprintf(sql, sizeof(sql), "DROP USER x%s@localhost", s->name);
	cr_assert_eq(db_text(s->db, sql, NULL, NULL), DB_OK, "%s", db_error(s->db));
	flow_end();
}

/* ---- the log */

/* What an event says on stderr. */
static void logged(void (*event)(void), char *line, size_t size)
{
	int     ends[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	cr_assert(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	event();
	dup2(saved, STDERR_FILENO);
	close(ends[1]);
	n = read(ends[0], line, size - 1);
	line[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	close(saved);
}

static void event_of_texts(void)
{
	log_event(LOG_WARN, "test", "a=%s b=%s c=%s d=%s e=\"%s\" f=%s", "plain", "two words", "", "say \"no\" \\",
	          "a \"b\"\nlevel=error", "x=1");
}

static void event_of_numbers(void)
{
	log_event(LOG_WARN, "test", "a=%d b=%u c=%lld d=%llu e=%zu f=%ld", -1, 4000000000U, LLONG_MIN,
	          (unsigned long long)UINT64_MAX, (size_t)7, -5L);
}

static void event_that_is_long(void)
{
	static char text[5000];

	memset(text, '"', sizeof(text) - 1);
	log_event(LOG_WARN, "test", "a=%s", text);
}

Test(options, log_values_stay_values)
{
	char line[4096];

	logged(event_of_texts, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "level="),
	                 "level=warn event=test a=plain b=\"two words\" c=\"\" d=\"say \\\"no\\\" \\\\\""
	                 " e=\"a \\\"b\\\"\\nlevel=error\" f=\"x=1\"\n");
	logged(event_of_numbers, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "level="), "level=warn event=test a=-1 b=4000000000 c=-9223372036854775808"
	                                         " d=18446744073709551615 e=7 f=-5\n");
	logged(event_that_is_long, line, sizeof(line));
	cr_expect_eq(strlen(line), 2048);
	cr_expect_eq(strchr(line, '\n'), line + 2047);
}
