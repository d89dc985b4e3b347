/* main.c - runs the tests: one private MariaDB in a folder of its own for all of them, then Criterion.
 *
 *   build/test                      starts MariaDB, then runs itself again as a child, with the way to MariaDB in the
 *     └ build/test                  environment: Criterion, which runs each test in
 *         └ a process for each test
 *
 * The parent measures how slow the machine is (kit/patience.h), shows how far the tests are (report.h), runs those that
 * failed once more, one after the other, and cleans up, so that neither a crash nor Ctrl-C leaves a server behind. What
 * the tests print goes to the file build/test.log, beside the program. With the environment already set
 * (TEST_SOCKET, _USER, _DIR) the tests use that server. TMPDIR is where the folder is made.
 * TEST_TIMEOUT_S is what any test may take at most. It ends a test that hangs where no step of it has a limit
 * (kit/patience.h), and the longest drill on a slow machine must fit: so it is half an hour. Drills of many rounds need
 * more.
 * TEST_DRILLS=1 runs the drills (kit/drill.h), too. */
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/server/embedded.h"
#include "tests/kit/drill.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"
#include "tests/kit/shelf.h"
#include "tests/report.h"

#include <criterion/criterion.h>
#include <fcntl.h>
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
#define REPORT_FD           "TEST_REPORT" /* of the child: the number of the pipe */

enum { TEST_TIMEOUT_S = 1800, LARGE_TIMEOUT_S = 3600 };

static volatile sig_atomic_t child, interrupted;

/* Criterion opens libgit2 in the process of each test, which reads all certificates of the machine: 6 ms of CPU. It
 * takes libgit2 to show how two texts differ, in assertions of criterion/new alone. No test here has one of these, so
 * these two functions stand in front of libgit2's. */
int git_libgit2_init(void);
int git_libgit2_shutdown(void);

int git_libgit2_init(void)
{
	return 1;
}

int git_libgit2_shutdown(void)
{
	return 0;
}

/* Ctrl-C reaches the child anyway; a SIGTERM for us alone is passed on. */
static void pass_on(int sig)
{
	interrupted = 1;
	if (sig == SIGTERM && child > 0)
		kill((pid_t)child, SIGTERM);
}

/* Runs the tests in a child, whose report comes through a pipe; gives its exit status. */
static int run_child(char **argv, const char *log, struct report *report)
{
	int   status = 0, ends[2];
	char  number[20];
	pid_t pid;

	if (pipe(ends) != 0)
		return EXIT_TROUBLE;
	snprintf(number, sizeof(number), "%d", ends[1]);
	setenv(REPORT_FD, number, 1);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int to = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

		close(ends[0]);
		if (to >= 0 && dup2(to, STDOUT_FILENO) >= 0 && dup2(to, STDERR_FILENO) >= 0)
			execv("/proc/self/exe", argv);
		_exit(127);
	}
	child = pid;
	close(ends[1]);
	report_read(report, ends[0]);
	close(ends[0]);
	while (waitpid(pid, &status, 0) != pid)
		; /* interrupted by a signal: the child decides when it ends */
	child = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_TROUBLE;
}

/* Of tests that failed, `failed` is their pattern. A test that fails leaves its memory where it stood, and under
 * AddressSanitizer these leaks are in a report beside the program (make check), where the test is a function. They say
 * nothing about the program: the reports go. A report of any other error stays. */
static void leaks_forget(const char *program, const char *failed)
{
	struct text  command = {0};
	const char  *name = strrchr(program, '/');
	const size_t dir = name ? (size_t)(name - program) : 0;

	text_add(&command, "grep -lsE ' in ");
	for (const char *at = failed + 1; *at; at++) /* "@(suite/test|..)" */
		text_char(&command, *at == '/' ? '_' : *at);
	text_format(&command, "_impl ' %.*s/report.* | xargs -r grep -l 'ERROR: LeakSanitizer' | xargs -r rm", (int)dir,
	            program);
	if (dir > 0 && system(command.data) != 0)
		say("leaks of tests that failed are still reported");
	text_fini(&command);
}

/* All tests, and those that failed once more, alone. Returns the exit status. */
static int run_tests(char **argv)
{
	struct report report = {0};
	char          log[300], *failed;
	int           status;

	snprintf(log, sizeof(log), "%s.log", argv[0]);
	unlink(log);
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	status = run_child(argv, log, &report);
	failed = interrupted ? NULL : report_failed(&report);
	if (failed) {
		char *again[] = {argv[0], (char *)"--jobs", (char *)"1", (char *)"--filter", failed, NULL};

		leaks_forget(argv[0], failed);
		report.again = true;
		status = run_child(again, log, &report);
		free(failed);
	}
	if (report.expected == 0 && status != EXIT_DONE)
		say("the tests ended with %d before the first one: see %s", status, log);
	status = report_show(&report, log) ? EXIT_DONE : EXIT_TROUBLE;
	report_fini(&report);
	return status;
}

/* Databases of tests last for seconds, and no test pulls a machine's plug: where memory has room they lie there, which
 * spares a disk a thousand schemas. A program of a test must be able to start from there. */
static bool roomy(const char *dir, unsigned long long bytes)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 && access(dir, W_OK | X_OK) == 0 && !(fs.f_flag & ST_NOEXEC) &&
	       (unsigned long long)fs.f_bavail * fs.f_frsize >= bytes;
}

/* A dozen databases at a time have more tables than a server keeps open by itself. */
static void server_tune(struct embedded *server)
{
	struct db *db = db_new_alone(embedded_target(server));

	if (!db_connect(db) || db_text(db, "SET GLOBAL table_definition_cache = 4000", NULL, NULL) != DB_OK ||
	    !shelf_make(db))
		say("the tests' server is as it is: %s", db_error(db));
	db_free(db);
}

/* Starts the server, runs the tests against it in a child, stops it. Returns the exit status. */
static int supervise(char **argv)
{
	char             dir[200], path[240], pool[16], why[300];
	struct embedded *server;
	int              status;

	setenv("TMPDIR", roomy(SHARED_MEMORY, SHARED_MEMORY_BYTES) ? SHARED_MEMORY : "/tmp", 0);
	snprintf(dir, sizeof(dir), "%s/holdfast-test.XXXXXX", getenv("TMPDIR"));
	if (strlen(dir) + strlen("/XXXXXX") >= SCRATCH_FOLDER_BYTES) {
		say("TMPDIR is too long for the sockets of databases: %s", dir);
		return EXIT_UNAVAILABLE;
	}
	if (!mkdtemp(dir)) {
		say("cannot make a folder %s", dir);
		return EXIT_UNAVAILABLE;
	}
	snprintf(path, sizeof(path), "%s/" PATIENCE_FILE, dir);
	if (!patience_measure(path))
		say("cannot measure how slow the machine is: limits of time are those of a quiet one");
	snprintf(path, sizeof(path), "%s/data", dir);
	if (chmod(dir, 0711) != 0) /* the server's own user, where we are root, has to get to its folder */
		say("cannot open the way into %s", dir);
	log_level = LOG_WARN; /* so that the last line of a run is the report's */
	if (embedded_open(&server, path, EMBEDDED_MAKE, why, sizeof(why)) != EXIT_DONE) {
		say("%s", why);
		return EXIT_UNAVAILABLE;
	}
	server_tune(server);
	setenv(SCRATCH_DIR, dir, 1);
	setenv(SCRATCH_SOCKET, embedded_target(server)->socket, 1);
	setenv(SCRATCH_USER, embedded_target(server)->user, 1);
	snprintf(pool, sizeof(pool), "%d", SERVER_POOL_MIB);
	setenv("HOLDFAST_BUFFER_POOL", pool, 1);
	status = run_tests(argv);
	embedded_close(server);
	if (!scratch_remove(dir))
		say("%s is left", dir);
	return status;
}

/* Drills are left out, unless they are asked for or the caller names the tests to run. */
static void drills_leave_out(struct criterion_test_set *tests)
{
	if (getenv("TEST_DRILLS") || criterion_options.pattern)
		return;
	FOREACH_SET(struct criterion_suite_set * suite, tests->suites)
	FOREACH_SET(struct criterion_test * test, suite->tests)
	{
		if (is_drill(test))
			test->data->disabled = true;
	}
}

/* The program under test ends where its environment has a HOLDFAST_ name that is no option. */
static void program_take(void)
{
	const char *path = getenv("HOLDFAST_BIN");

	if (path)
		setenv(PROGRAM_BIN, path, 1);
	unsetenv("HOLDFAST_BIN");
}

/* In the child: Criterion, whose report goes to the parent where there is one. */
static int run_here(struct criterion_test_set *tests, const char *report_fd)
{
	program_take();
	drills_leave_out(tests);
	if (report_fd) {
		int fd = atoi(report_fd);

		unsetenv(REPORT_FD);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		report_tell(fd);
	}
	return criterion_run_all_tests(tests) ? EXIT_DONE : EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
	struct criterion_test_set *tests = criterion_initialize();
	const char                *timeout_s = getenv("TEST_TIMEOUT_S");
	int                        status = EXIT_DONE;

	/* Criterion takes the shorter one of this and a test's own, and no test has one. */
	criterion_options.timeout = timeout_s                                               ? atoi(timeout_s)
	                            : getenv("TEST_DRILL_ROUNDS") || getenv("TEST_BACKLOG") ? LARGE_TIMEOUT_S
	                                                                                    : TEST_TIMEOUT_S;
	if (criterion_handle_args(argc, argv, true)) {
		if (!getenv(SCRATCH_SOCKET))
			status = supervise(argv);
		else
			status = run_here(tests, getenv(REPORT_FD));
	}
	criterion_finalize(tests);
	fflush(NULL);
	/* No look for leaks here, where no test runs: Criterion 2.4.1 keeps 48 bytes of a test that skips itself. */
	_exit(status);
}
