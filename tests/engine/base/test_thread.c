/* test_thread.c - a process to which the system gives no thread or no descriptor says so in one line and ends with a
 * status. A call that needs a thread of its own is refused alone. */
#include "jobs/webhooks/sender.h"
#include "tests/kit/inbox.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"
#include "tests/lang/race.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SERVE "serve --lanes 2 --listen 127.0.0.1:0 --jobs=expire,reap,deliver"

static void sanitized_skip(void)
{
	if (attack_rss(getpid()) == 0)
		cr_skip_test("AddressSanitizer takes all address space at once");
}

/* Runs `command` with one limit lowered. What it said, and its status. */
static int limited(const char *command, int resource, rlim_t most, struct text *said)
{
	struct rlimit before, few;
	char          log[300];
	int           status = -1;
	pid_t         pid;

	snprintf(log, sizeof(log), "%s/%s.limited", scratch_dir(), flow_scratch()->name);
	unlink(log);
	pid = fork();
	if (pid == 0) {
		close_range(STDERR_FILENO + 1, ~0U, 0);
		getrlimit(resource, &before);
		few = (struct rlimit){most, before.rlim_max};
		setrlimit(resource, &few);
		_exit(program_run(log, flow_scratch()->url, command));
	}
	cr_assert(pid > 0 && program_wait(pid, PATIENCE_MS, &status));
	text_reset(said);
	program_log_all(log, said);
	return status;
}

/* A stack is as large as the soft limit says. The address space of 128 TB has room for less and less of them. */
Test(thread, refused_at_the_start)
{
	static const rlim_t stack_tb[] = {40, 6, 3, 1};
	struct text         said = {0};

	sanitized_skip();
	flow_begin();
	for (size_t i = 0; i < LENGTH(stack_tb); i++) {
		int         status = limited(SERVE, RLIMIT_STACK, stack_tb[i] << 40, &said);
		const char *line = strstr(said.data, "level=error event=no_thread why=\"");

		cr_expect(status == EXIT_UNAVAILABLE && line &&
		                  !strstr(line + strlen("level=error event="), "event=no_"),
		          "%d TB: status %d\n%s", (int)stack_tb[i], status, said.data);
	}
	text_fini(&said);
	flow_end();
}

Test(thread, refused_to_a_command)
{
	static const char *const commands[] = {"work settle --workers 4", "events --follow", "work deliver"};
	struct text              said = {0};

	sanitized_skip();
	flow_begin();
	for (size_t i = 0; i < LENGTH(commands); i++)
		cr_expect(limited(commands[i], RLIMIT_STACK, (rlim_t)40 << 40, &said) == EXIT_UNAVAILABLE &&
		                  strstr(said.data, "event=no_thread"),
		          "%s: %s", commands[i], said.data);
	text_fini(&said);
	flow_end();
}

/* The limit of the process does not rise by waiting. */
Test(thread, no_descriptor_at_the_start)
{
	struct text said = {0};

	flow_begin();
	for (rlim_t files = 6; files <= 12; files += 2) {
		int         status = limited(SERVE, RLIMIT_NOFILE, files, &said);
		const char *line = strstr(said.data, "level=error event=no_descriptor why=\"");

		cr_expect(status == EXIT_CONFIG && line && strstr(line, "raise the limit of open files") &&
		                  !strstr(line + strlen("level=error event="), "event=no_"),
		          "%d files: status %d\n%s", (int)files, status, said.data);
	}
	text_fini(&said);
	flow_end();
}

/* A library that is loaded late is a file, too. */
Test(thread, no_descriptor_for_a_library)
{
	int   status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		close_range(STDERR_FILENO + 1, ~0U, 0);
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){STDERR_FILENO + 1, STDERR_FILENO + 1});
		sender_free(sender_new(&(struct sender_options){0}));
		_exit(EXIT_DONE);
	}
	cr_assert(pid > 0 && program_wait(pid, PATIENCE_MS, &status));
	cr_expect_eq(status, EXIT_CONFIG, "status %d", status);
}

/* The memory of a service that serves suffices for all but the stack of a thread. */
static void threads_end(int pid)
{
	char          path[40];
	size_t        pages = 0;
	FILE         *file;
	struct rlimit space = {0, RLIM_INFINITY};

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	file = fopen(path, "re");
	cr_assert(file && fscanf(file, "%zu", &pages) == 1);
	fclose(file);
	space.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + (6 << 20);
	cr_assert(prlimit(pid, RLIMIT_AS, &space, NULL) == 0);
}

Test(thread, refused_to_a_ping)
{
	const struct answer *answers;
	struct race         *race;
	int                  port, count, refused = 0;

	sanitized_skip();
	setenv("MALLOC_ARENA_MAX", "1", 1); /* no room is reserved that could still be given out */
	port = inbox_open();
	flow_begin();
	flow_steps("serve --lanes 1 --webhooks-allow 127.0.0.0/8",
	           "receipt A +10 -> 201");
	for (int i = 0; i < 8; i++) {
		char path[20];

		snprintf(path, sizeof(path), "/W%d", i);
		inbox_answers(path, (struct manner){.status = 200, .delay_ms = 500});
		flow_step("raw POST /v1/webhooks {'webhook_id':'W%d','url':'http://127.0.0.1:%d/W%d'} -> 201", i, port,
		          i);
	}
	flow_step("raw POST /v1/webhooks/W0/ping -> 200 status=200");
	threads_end(flow_pid(0));
	race = flow_race("8", "raw POST /v1/webhooks/W#/ping");
	answers = race_finish(race, &count);
	for (int i = 0; i < count; i++) {
		refused += answers[i].status == 503;
		cr_expect(answers[i].status == 200 || answers[i].status == 503, "%d", answers[i].status);
	}
	cr_expect(refused > 0);
	race_free(race);
	flow_steps("reserve R A=1 -> 201",
	           "raw POST /v1/webhooks/W0/ping -> 200 status=200");
	flow_step("raw GET /metrics -> 200 holdfast_busy_total{cause=no_thread}=%d", refused);
	flow_end();
}
