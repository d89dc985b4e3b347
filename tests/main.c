/* main.c - runs the tests: one private MariaDB in a folder of its own for all of them, then Criterion.
 *
 *   build/test                      starts MariaDB, then runs itself again as a child, with the way to MariaDB in the
 *     └ build/test                  environment: Criterion, which runs each test in
 *         └ a process for each test
 *
 * The parent only waits and cleans up, so that neither a crash nor Ctrl-C leaves a server behind. With the environment
 * already set (HOLDFAST_TEST_SOCKET, _USER, _DIR) the tests use that server. TMPDIR is where the folder is made.
 * HOLDFAST_TEST_TIMEOUT_S is what a test may take at most: drills of many rounds need more than the usual. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/db/embedded.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED_MEMORY       "/dev/shm"
#define SHARED_MEMORY_BYTES (8ull << 30)

enum { TEST_TIMEOUT_S = 300, LARGE_TIMEOUT_S = 3600 };

static volatile sig_atomic_t child;

/* Ctrl-C reaches the child anyway; a SIGTERM for us alone is passed on. */
static void pass_on(int sig)
{
	if (sig == SIGTERM && child > 0)
		kill((pid_t)child, SIGTERM);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void run_child(char **argv)
{
	int   status = 0;
	pid_t pid;

	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	child = pid;
	while (waitpid(pid, &status, 0) != pid)
		; /* interrupted by a signal: the child decides when it ends */
	child = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_TROUBLE;
}

/* Databases of tests last for seconds, and no test pulls a machine's plug: where memory has room they lie there, which
 * spares a disk a thousand schemas. A program of a test must be able to start from there. */
static bool roomy(const char *dir, unsigned long long bytes)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 && access(dir, W_OK | X_OK) == 0 && !(fs.f_flag & ST_NOEXEC) &&
	       (unsigned long long)fs.f_bavail * fs.f_frsize >= bytes;
}

/* Starts the server, runs the tests against it in a child, stops it. Returns the exit status. */
static int supervise(char **argv)
{
	char             dir[200], data[240], why[300];
	struct embedded *server;

	setenv("TMPDIR", roomy(SHARED_MEMORY, SHARED_MEMORY_BYTES) ? SHARED_MEMORY : "/tmp", 0);
	snprintf(dir, sizeof(dir), "%s/holdfast-test.XXXXXX", getenv("TMPDIR"));
	if (!mkdtemp(dir)) {
		say("cannot make a folder %s", dir);
		return EXIT_UNAVAILABLE;
	}
	snprintf(data, sizeof(data), "%s/data", dir);
	if (chmod(dir, 0711) != 0) /* the server's own user, where we are root, has to get to its folder */
		say("cannot open the way into %s", dir);
	log_level = LOG_WARN; /* so that the last line of a run is Criterion's */
	if (embedded_open(&server, data, EMBEDDED_MAKE, why, sizeof(why)) != EXIT_DONE) {
		say("%s", why);
		return EXIT_UNAVAILABLE;
	}
	setenv(SCRATCH_DIR, dir, 1);
	setenv(SCRATCH_SOCKET, embedded_target(server)->socket, 1);
	setenv(SCRATCH_USER, embedded_target(server)->user, 1);
	run_child(argv);
	embedded_close(server);
	if (nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		say("%s is left", dir);
	return (int)child;
}

/* A test that timed out or crashed has no failed assert: its name alone is said. */
static void tell_failed(const struct criterion_test_stats *t, struct text *to)
{
	text_format(to, "    %s/%s%s\n", t->test->category, t->test->name, t->timed_out ? ": timed out" : "");
	for (const struct criterion_assert_stats *a = t->asserts; a; a = a->next)
		if (!a->passed)
			text_format(to, "        %s:%u: %.4000s\n", a->file, a->line, a->message ? a->message : "");
}

/* What was skipped and what failed, again, behind all else: in a long report both are lost. A skipped test has proved
 * nothing, and Criterion's last line does not tell it from one that has passed. Tests that a filter leaves out are
 * disabled, and no matter here. */
ReportHook(POST_ALL)(struct criterion_global_stats *all)
{
	size_t      skipped = 0, failed = 0;
	struct text why = {0}, which = {0};

	for (const struct criterion_suite_stats *s = all->suites; s; s = s->next)
		for (const struct criterion_test_stats *t = s->tests; t; t = t->next) {
			if (t->test_status == CR_STATUS_FAILED) {
				tell_failed(t, &which);
				failed++;
			}
			if (t->test_status == CR_STATUS_SKIPPED && !t->test->data->disabled) {
				text_format(&why, "    %s/%s: %s\n", t->test->category, t->test->name,
				            t->message ? t->message : "no reason given");
				skipped++;
			}
		}
	printf("%zu skipped\n%s", skipped, why.data ? why.data : "");
	if (failed > 0)
		printf("%zu failed\n%s", failed, which.data);
	fflush(stdout);
	text_fini(&why);
	text_fini(&which);
}

int main(int argc, char **argv)
{
	struct criterion_test_set *tests = criterion_initialize();
	const char                *timeout_s = getenv("HOLDFAST_TEST_TIMEOUT_S");
	int                        status = EXIT_DONE;

	/* Criterion takes the shorter one of this and a test's own. */
	criterion_options.timeout = timeout_s                                                       ? atoi(timeout_s)
	                            : getenv("HOLDFAST_DRILL_ROUNDS") || getenv("HOLDFAST_BACKLOG") ? LARGE_TIMEOUT_S
	                                                                                            : TEST_TIMEOUT_S;
	if (criterion_handle_args(argc, argv, true)) {
		if (!getenv(SCRATCH_SOCKET))
			status = supervise(argv);
		else if (!criterion_run_all_tests(tests))
			status = EXIT_TROUBLE;
	}
	criterion_finalize(tests);
	fflush(NULL);
	/* No look for leaks here, where no test runs: Criterion 2.4.1 keeps 48 bytes of a test that skips itself. */
	_exit(status);
}
