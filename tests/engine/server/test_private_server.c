/* test_private_server.c - kill -9 of the private server under load (serve --data): requests wait or get 503, and
 * afterwards no reservation that was acknowledged is missing and none is there twice. */
#include "engine/base/clock.h"
#include "tests/lang/flow.h"
#include "tests/kit/drill.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"
#include "tests/kit/patience.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOAD "16*200" /* 3,200 calls: a good tenth of a second */

enum { START_MS = 6 * PATIENCE_MS, PAUSE_US = 5000 };

/* The service on a folder of its own. */
static struct {
	char           home[300], dir[320], log[320];
	struct program program;
} own;

/* ---- files */

static void file_read(const char *path, struct text *to)
{
	FILE  *file = fopen(path, "r");
	size_t n;

	text_reset(to);
	text_add(to, "");
	while (file && (n = fread(text_room(to, 4096), 1, 4096, file)) > 0) {
		to->len += n;
		to->data[to->len] = '\0';
	}
	if (file)
		fclose(file);
}

/* The server that runs on our folder and on no other; 0: there is none. */
static pid_t server_pid(void)
{
	char        path[400];
	struct text text = {0};
	pid_t       pid;
	bool        ours;

	snprintf(path, sizeof(path), "%s/mariadbd.pid", own.dir);
	file_read(path, &text);
	pid = (pid_t)atoi(text.data);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	file_read(path, &text);
	ours = pid > 0 && memmem(text.data, text.len, own.dir, strlen(own.dir));
	text_fini(&text);
	return ours ? pid : 0;
}

/* ---- the service */

static void own_make(void)
{
	char options[400];

	scratch_folder(own.home, sizeof(own.home));
	snprintf(own.dir, sizeof(own.dir), "%s/var", own.home);
	snprintf(own.log, sizeof(own.log), "%s/log", own.home);
	server_data(own.dir);
	snprintf(options, sizeof(options), "--data %s --lanes 2", own.dir);
	program_start(&own.program, own.log, NULL, options);
}

/* Both end in order; a server that a failed test has left is killed. */
static void own_end(void)
{
	struct text why = {0};
	pid_t       server;

	if (own.program.pid && !program_stop(&own.program, &why))
		flow_fail("%s", why.data);
	server = server_pid();
	if (server > 0)
		kill(server, SIGKILL);
	cr_expect(server == 0, "the server runs on");
	text_fini(&why);
}

TestSuite(private_server, .init = own_make, .fini = own_end);

/* ---- requests */

static void own_race(const char *shape, const char *steps, const char *expectation)
{
	struct race *race = race_start(&own.program.port, 1, NULL, shape, steps);
	struct text  why = {0};

	race_finish(race, NULL);
	if (!race_meets(race, expectation, &why))
		flow_fail("%s\nexpects %s\nbut     %.2000s", steps, expectation, why.data);
	race_free(race);
	text_fini(&why);
}

/* Kills it and sees another one come. */
static void server_kill(void)
{
	pid_t   pid = server_pid(), next = 0;
	int64_t from_ms = clock_ms();

	cr_assert(pid > 0, "no server runs on this folder");
	cr_assert(kill(pid, SIGKILL) == 0);
	while ((next == 0 || next == pid) && !patience_is_over(from_ms, START_MS)) {
		usleep(PAUSE_US);
		next = server_pid();
	}
	cr_assert(next > 0 && next != pid, "the server was not started again in %d ms", (int)(clock_ms() - from_ms));
}

/* One race, in which the server dies `kills` times; then all of it again. */
static void killed_under_load(const char *name, int kills, useconds_t after_us)
{
	char                 steps[60];
	int                  count, acknowledged = 0;
	struct race         *race, *again;
	const struct answer *then, *now;

	snprintf(steps, sizeof(steps), "reserve %s# A=1 B=2", name);
	race = race_start(&own.program.port, 1, NULL, LOAD, steps);
	for (int i = 0; i < kills; i++) {
		usleep(after_us);
		server_kill();
	}
	then = race_finish(race, NULL);
	again = race_start(&own.program.port, 1, NULL, LOAD, steps);
	now = race_finish(again, &count);
	for (int i = 0; i < count; i++) {
		acknowledged += then[i].status == 201;
		if (then[i].status != 201 && then[i].status != 503)
			flow_fail("%s%d was answered %d %.300s", name, i, then[i].status, then[i].body.data);
		if (now[i].status != 200 && (now[i].status != 201 || then[i].status == 201))
			flow_fail("%s%d was answered %d, and again %d %.300s", name, i, then[i].status, now[i].status,
			          now[i].body.data);
	}
	cr_expect(acknowledged > 0, "nothing was acknowledged");
	race_free(race);
	race_free(again);
}

/* The server is killed at any time. The kill at a COMMIT is in answer_is_lost_after_the_commit and in tests/fault. */
Test(private_server, server_is_killed_under_load, DRILL)
{
	char audit[400];

	own_race("1", "receipt M1 A +10000 B +20000", "1x 201");
	killed_under_load("R", 1, 40000);
	own_race("1", "sku A", "1x 200 available=6800 reserved=3200");
	own_race("1", "sku B", "1x 200 available=13600 reserved=6400");
	killed_under_load("Q", 2, 60000);
	own_race("1", "sku A", "1x 200 available=3600 reserved=6400");
	own_race(LOAD, "release R# || confirm Q#", "1600x 200 released | 1600x 200 confirmed");
	own_race("1", "sku B", "1x 200 available=10400 reserved=9600");
	snprintf(audit, sizeof(audit), "audit --data %s", own.dir);
	cr_expect(program_run(own.log, NULL, audit) == 0, "the audit finds trouble");
}

/* Killed while no request is under way: the next request waits until it is back. */
Test(private_server, server_is_killed_in_peace)
{
	own_race("1", "receipt M1 A +10", "1x 201");
	server_kill();
	own_race("4", "reserve R# A=1 || receipt X# A +1 || get NONE || sku A", "*x 201 | 1x 404 | 1x 200");
	own_race("1", "reserve R0 A=1", "1x 200 held replayed");
	own_race("1", "count M2 A=11", "1x 201 A=0");
}

/* Starts the service on the folder `shut` in ours and ends it. Its one warning must give this reason. */
static void root_warns(int start, const char *reason)
{
	char        options[400];
	struct text said = {0};
	const char *warning;

	snprintf(own.log, sizeof(own.log), "%s/log%d", own.home, start);
	snprintf(options, sizeof(options), "--data %s/shut", own.home);
	program_start(&own.program, own.log, NULL, options);
	if (!program_stop(&own.program, &said))
		flow_fail("%s", said.data);
	program_log_all(own.log, &said);
	warning = strstr(said.data, "event=server_as_root");
	if (!warning || !strstr(warning, reason) || strstr(warning + 1, "event=server_as_root"))
		flow_fail("start %d has no warning, or more than one, or it does not say: %s\n%s", start, reason,
		          said.data);
	text_fini(&said);
}

/* The first server makes the data, and they belong to root from then on. Each start names the folder that is shut. */
Test(private_server, runs_as_root_with_a_warning_where_its_user_is_shut_out)
{
	char        reason[400];
	struct text why = {0};

	cr_assert(program_stop(&own.program, &why), "%s", why.data);
	if (geteuid() != 0 || (!getpwnam("mysql") && !getpwnam("holdfast")))
		cr_skip_test("needs root, and a user mysql or holdfast");
	cr_assert(chmod(own.home, 0700) == 0);
	snprintf(reason, sizeof(reason), "cannot enter %s: a folder above is shut", own.home);
	root_warns(1, reason);
	root_warns(2, reason);
	cr_assert(chmod(own.home, 0755) == 0);
	root_warns(3, "the data belong to root");
	text_fini(&why);
}
