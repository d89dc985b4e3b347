/* The private mariadbd: made, adopted, healed, shared, stopped. Each test has a folder of its own. */
#include "engine/base/clock.h"
#include "engine/db/db.h"
#include "engine/server/embedded.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char home[256]; /* the test's own folder, mode 0755; removed at its end */
static char dir[1024]; /* DIR, in it */
static char why[1024];

/* A server that was killed is gone; another one answers. */
enum { GONE_MS = PATIENCE_MS / 10, HEALED_MS = PATIENCE_MS / 2 };

/* ---- looking at the server from outside */

static long server_pid(void)
{
	char  path[1100];
	FILE *file;
	long  pid = 0;

	snprintf(path, sizeof(path), "%s/mariadbd.pid", dir);
	file = fopen(path, "r");
	cr_assert(!file || fscanf(file, "%ld", &pid) == 1 || pid == 0);
	if (file)
		fclose(file);
	return pid;
}

/* A zombie is not alive: its parent may be any process that started it. */
static bool alive(long pid)
{
	char  path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	fclose(file);
	return state != 'Z';
}

static bool gone_within(long pid, int ms)
{
	for (int64_t from_ms = clock_ms(); !patience_is_over(from_ms, ms); usleep(10000))
		if (!alive(pid))
			return true;
	return false;
}

static void server_kill(void)
{
	long pid = server_pid();

	cr_assert(kill((pid_t)pid, SIGKILL) == 0 && gone_within(pid, GONE_MS));
}

static unsigned owner_of(long pid)
{
	char        path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%ld", pid);
	cr_assert(stat(path, &st) == 0);
	return st.st_uid;
}

static bool exists(const char *name)
{
	char        path[1100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) == 0;
}

/* ---- asking the server */

static void number_keep(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

static int64_t ask(struct embedded *e, const char *sql)
{
	struct db *db = db_new_alone(embedded_target(e));
	int64_t    number = -1;

	cr_assert(db_connect(db), "%s", db_error(db));
	cr_assert(db_text(db, sql, number_keep, &number) == DB_OK, "%s: %s", sql, db_error(db));
	db_free(db);
	return number;
}

static bool answers_within(struct embedded *e, int ms)
{
	struct db *db = db_new_alone(embedded_target(e));
	bool       ok = false;

	for (int64_t from_ms = clock_ms(); !ok && !patience_is_over(from_ms, ms); usleep(10000))
		ok = db_connect(db);
	db_free(db);
	return ok;
}

static bool restarts_within(const struct embedded *e, int64_t restarts, int ms)
{
	for (int64_t from_ms = clock_ms(); !patience_is_over(from_ms, ms); usleep(10000))
		if (embedded_restarts(e) == restarts)
			return true;
	return false;
}

static struct embedded *open_or_fail(bool serve)
{
	struct embedded *e;

	cr_assert_eq(embedded_open(&e, dir, serve ? EMBEDDED_SERVE : EMBEDDED_MAKE, why, sizeof(why)), EXIT_DONE, "%s",
	             why);
	return e;
}

/* On data that the first server of the run has made. */
static struct embedded *open_made(void)
{
	server_data(dir);
	return open_or_fail(true);
}

/* ---- a second process that uses the server */

struct helper {
	pid_t pid;
	int   to, from;
};

static struct helper helper_start(void)
{
	struct helper    h;
	struct embedded *e;
	int              to[2], from[2];
	char             go;

	cr_assert(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	h = (struct helper){fork(), to[1], from[0]};
	if (h.pid == 0) {
		close(to[1]);
		if (read(to[0], &go, 1) != 1 || embedded_open(&e, dir, EMBEDDED_MAKE, why, sizeof(why)))
			_exit(1);
		if (write(from[1], "o", 1) != 1 || read(to[0], &go, 1) != 1)
			_exit(1);
		if (embedded_restarts(e) > 1)
			_exit(1);
		embedded_close(e);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	return h;
}

static void helper_open(struct helper *h, bool wait)
{
	char opened;

	cr_assert(write(h->to, "o", 1) == 1);
	if (wait)
		cr_assert(read(h->from, &opened, 1) == 1, "the second process could not open the server");
}

static void helper_kill(struct helper *h)
{
	cr_assert(kill(h->pid, SIGKILL) == 0 && waitpid(h->pid, NULL, 0) == h->pid);
}

static void helper_close(struct helper *h)
{
	int status;

	cr_assert(write(h->to, "c", 1) == 1);
	cr_assert(waitpid(h->pid, &status, 0) == h->pid && status == 0, "the second process ended with %d", status);
}

/* ---- a folder per test */

static void home_make(void)
{
	scratch_folder(home, sizeof(home));
	snprintf(dir, sizeof(dir), "%s/var", home);
	embedded_pool(SERVER_POOL_MIB);
}

static void home_remove(void)
{
	long pid = server_pid();

	if (pid && alive(pid)) { /* the test failed */
		kill((pid_t)pid, SIGKILL);
		gone_within(pid, 2 * GONE_MS);
	}
	scratch_remove(home);
}

TestSuite(embedded, .init = home_make, .fini = home_remove);

/* ---- one user */

static unsigned descriptors_to(long pid, const char *target)
{
	char           path[128], to[1024];
	unsigned       found = 0;
	DIR           *fds;
	struct dirent *fd;

	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	cr_assert_not_null(fds = opendir(path));
	while ((fd = readdir(fds)) != NULL) {
		ssize_t len = readlinkat(dirfd(fds), fd->d_name, to, sizeof(to) - 1);

		to[len > 0 ? len : 0] = '\0';
		found += strcmp(to, target) == 0;
	}
	closedir(fds);
	return found;
}

Test(embedded, is_made_started_and_stopped)
{
	int              inherited[2];
	char             lock[1100], name[64];
	struct stat      st;
	struct embedded *e;
	struct passwd   *user = getpwnam("mysql") ? getpwnam("mysql") : getpwnam("holdfast");
	long             pid;

	cr_assert(pipe(inherited) == 0); /* not marked close-on-exec */
	e = open_or_fail(true);
	pid = server_pid();
	cr_expect(ask(e, "SELECT @@innodb_flush_log_at_trx_commit = 1 AND @@innodb_doublewrite = 1 AND @@log_bin = 0"
	                 " AND @@innodb_flush_method = 'O_DIRECT' AND @@innodb_use_native_aio = 0"
	                 " AND @@global.tx_isolation = 'READ-COMMITTED'"
	                 " AND @@max_allowed_packet = 64 << 20 AND @@character_set_server = 'utf8mb4'"
	                 " AND @@secure_file_priv LIKE '%/var/tmp/'"
	                 " AND @@innodb_buffer_pool_size = 128 << 20"
	                 " AND @@skip_networking = 1 AND @@max_connections = 300 AND DATABASE() = 'holdfast'") == 1);
	cr_expect(getsid((pid_t)pid) != getsid(0));
	cr_expect(stat(dir, &st) == 0 && (st.st_mode & 07777) == 0700 && st.st_uid == owner_of(pid));
	cr_expect(owner_of(pid) == (geteuid() != 0 ? geteuid() : user ? user->pw_uid : 0), "run by %u", owner_of(pid));
	snprintf(lock, sizeof(lock), "%s/users.lock", dir);
	cr_assert(fstat(inherited[0], &st) == 0);
	snprintf(name, sizeof(name), "pipe:[%lu]", (unsigned long)st.st_ino);
	cr_expect(descriptors_to(pid, lock) == 0 && descriptors_to(pid, name) == 0);
	cr_expect(embedded_restarts(e) == 0);
	embedded_close(e);
	cr_expect(!alive(pid) && !exists("mariadbd.pid") && !exists("mariadbd.sock"));
}

Test(embedded, keeps_data_over_a_restart)
{
	struct embedded *e = open_made();

	ask(e, "CREATE TABLE kept AS SELECT 42 AS n");
	embedded_close(e);
	e = open_or_fail(false);
	cr_expect(ask(e, "SELECT n FROM kept") == 42);
	embedded_close(e);
}

Test(embedded, heals_a_killed_server)
{
	struct embedded *e = open_made();
	long             before;

	ask(e, "CREATE TABLE kept (n INT) ENGINE=InnoDB");
	for (int n = 1; n <= 3; n++) {
		ask(e, "INSERT INTO kept VALUES (1)");
		before = server_pid();
		server_kill();
		cr_assert(answers_within(e, HEALED_MS));
		cr_expect(server_pid() != before);
		cr_expect(ask(e, "SELECT COUNT(*) FROM kept") == n);
		cr_expect(restarts_within(e, n, HEALED_MS));
	}
	embedded_close(e);
}

Test(embedded, closes_while_a_dead_server_is_healed)
{
	struct embedded *e = open_made();
	long             before = server_pid(), after;

	server_kill();
	while ((after = server_pid()) == before || after == 0)
		usleep(5000);
	embedded_close(e);
	cr_expect(!alive(after) && !exists("mariadbd.sock"));
}

Test(embedded, works_under_a_very_long_path)
{
	struct embedded *e;
	size_t           len;

	for (strcpy(dir, home); (len = strlen(dir)) < 440;) {
		snprintf(dir + len, 448 - len, "/a folder's \"name\" of $(odd) *%%_ \xc3\xbc signs");
		cr_assert(mkdir(dir, 0755) == 0, "%s", dir);
	}
	e = open_or_fail(true);
	cr_expect(ask(e, "SELECT 1") == 1);
	server_kill();
	cr_expect(answers_within(e, HEALED_MS));
	embedded_close(e);
	snprintf(dir + len, sizeof(dir) - len, "/more");
	cr_expect(embedded_open(&e, dir, EMBEDDED_MAKE, why, sizeof(why)) && strstr(why, "bytes"), "%s", why);
	dir[len] = '\0';
}

Test(embedded, runs_as_root_with_one_warning_where_its_user_is_shut_out)
{
	char             path[300], text[8192];
	struct embedded *e;
	const char      *at;
	FILE            *log;
	int              warnings = 0;

	if (geteuid() != 0) {
		home_remove(); /* a skipped test is not cleaned up after */
		cr_skip_test("needs root");
	}
	cr_assert(chmod(home, 0700) == 0);
	snprintf(path, sizeof(path), "%s/stderr", home);
	fflush(stderr);
	cr_assert_not_null(freopen(path, "a", stderr));
	e = open_or_fail(true);
	cr_expect(owner_of(server_pid()) == 0);
	server_kill();
	cr_expect(answers_within(e, HEALED_MS));
	embedded_close(e);
	embedded_close(open_or_fail(false)); /* a command's result comes without a warning */
	cr_assert_not_null(log = fopen(path, "r"));
	text[fread(text, 1, sizeof(text) - 1, log)] = '\0';
	fclose(log);
	for (at = text; (at = strstr(at, "event=server_as_root")) != NULL; at++)
		warnings++;
	cr_expect(warnings == 1, "%s", text);
}

/* The folder belongs to a user, and this user may put anything there before root starts the server again. */
Test(embedded, makes_nothing_in_a_users_folder_root)
{
	const uid_t      user = 65534;
	char             db[1100], old[1100], kept[1100], lock[1100];
	struct embedded *e;

	if (geteuid() != 0) {
		home_remove();
		cr_skip_test("needs root");
	}
	cr_assert(mkdir(dir, 0700) == 0 && chown(dir, user, user) == 0);
	snprintf(db, sizeof(db), "%s/db", dir);
	snprintf(old, sizeof(old), "%s/db.old", dir);
	snprintf(kept, sizeof(kept), "%s/db.new.1", dir);
	snprintf(lock, sizeof(lock), "%s/users.lock", dir);
	cr_assert(mknod(lock, S_IFREG | 0600, 0) == 0 && chown(lock, user, user) == 0);
	cr_assert(mkdir(kept, 0700) == 0 && mkdir(strcat(kept, "/roots"), 0700) == 0);
	cr_assert(mkdir(strcat(kept, "/kept"), 0700) == 0);
	e = open_or_fail(false);
	cr_expect(owner_of(server_pid()) == user, "run by %u", owner_of(server_pid()));
	cr_expect(access(kept, F_OK) == 0, "what the user may not remove was removed");
	embedded_close(e);

	cr_assert(rename(db, old) == 0 && symlink("../pub", db) == 0);
	cr_expect(embedded_open(&e, dir, EMBEDDED_MAKE, why, sizeof(why)) == EXIT_CONFIG, "a link");
	cr_expect_not_null(strstr(why, "/db is no folder of uid 65534"), "%s", why);
	cr_assert(unlink(db) == 0 && mkdir(db, 0777) == 0);
	cr_expect(embedded_open(&e, dir, EMBEDDED_MAKE, why, sizeof(why)) == EXIT_CONFIG, "a folder of root");
	cr_assert(rmdir(db) == 0 && rename(old, db) == 0 && chmod(home, 0700) == 0);
	cr_expect(embedded_open(&e, dir, EMBEDDED_MAKE, why, sizeof(why)) == EXIT_CONFIG, "its user is shut out");
	cr_expect_not_null(strstr(why, "a folder above is shut"), "%s", why);
	cr_assert(chmod(home, 0755) == 0 && chmod(dir, 0) == 0);
	e = open_or_fail(false);
	cr_expect(owner_of(server_pid()) == user, "run by %u", owner_of(server_pid()));
	embedded_close(e);
}

Test(embedded, refuses_a_folder_with_other_files)
{
	struct embedded *e;
	struct stat      st;

	cr_assert(mkdir(dir, 0755) == 0 && mkdir(strcat(dir, "/photos"), 0755) == 0);
	*strrchr(dir, '/') = '\0';
	cr_expect(embedded_open(&e, dir, EMBEDDED_SERVE, why, sizeof(why)) && strstr(why, "holds other files"), "%s",
	          why);
	cr_expect(stat(dir, &st) == 0 && (st.st_mode & 07777) == 0755);
	cr_expect_null(e);
}

/* A copy that left the empty files out is a database all the same. */
Test(embedded, is_known_without_its_locks)
{
	static const char *const locks[] = {"users.lock", "start.lock", "serve.lock"};
	struct embedded         *e = open_made();
	char                     path[1100];

	ask(e, "CREATE TABLE kept AS SELECT 42 AS n");
	embedded_close(e);
	for (size_t i = 0; i < LENGTH(locks); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, locks[i]);
		cr_assert(unlink(path) == 0, "%s", path);
	}
	cr_assert(embedded_open(&e, dir, EMBEDDED_FIND, why, sizeof(why)) == EXIT_DONE, "%s", why);
	cr_expect(ask(e, "SELECT n FROM kept") == 42);
	snprintf(path, sizeof(path), "%s/users.lock",
	         dir); /* of a server that runs: its users are not known any more */
	cr_assert(unlink(path) == 0);
	cr_expect(embedded_open(&(struct embedded *){NULL}, dir, EMBEDDED_FIND, why, sizeof(why)) == EXIT_CONFIG);
	cr_expect(strstr(why, "users.lock is gone"), "%s", why);
	cr_expect(ask(e, "SELECT n FROM kept") == 42);
	embedded_close(e);
	embedded_close(open_or_fail(true));
}

/* A fault that does not go away by itself is said at once, and nothing is made. */
Test(embedded, needs_open_files)
{
	struct rlimit    few = {64, 64};
	struct embedded *e;

	cr_assert(setrlimit(RLIMIT_NOFILE, &few) == 0);
	cr_expect(embedded_open(&e, dir, EMBEDDED_SERVE, why, sizeof(why)) == EXIT_CONFIG, "%s", why);
	cr_expect(strstr(why, "raise the limit of open files"), "%s", why);
	cr_expect(!exists("db"));
}

/* The status that this process gets: a user without rights, or root on a file system that is read-only. */
static int shut_folder_open(bool read_only)
{
	struct embedded *e;
	int              status;
	pid_t            pid = fork();

	if (pid == 0) {
		if (read_only &&
		    (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		     mount("none", dir, "tmpfs", MS_RDONLY, NULL) != 0))
			_exit(EXIT_CONFIG); /* no read-only file system can be made here */
		if (!read_only && geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(1);
		status = embedded_open(&e, dir, EMBEDDED_SERVE, why, sizeof(why));
		_exit(strstr(why, "--data needs a folder that can be written") ? status : EXIT_TROUBLE);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WEXITSTATUS(status);
}

Test(embedded, needs_a_folder_that_can_be_written)
{
	cr_assert(chmod(home, 0555) == 0);
	cr_expect_eq(shut_folder_open(false), EXIT_CONFIG, "it cannot be made");
	cr_assert(chmod(home, 0755) == 0 && mkdir(dir, 0555) == 0);
	cr_assert(geteuid() != 0 || chown(dir, 65534, 65534) == 0);
	cr_expect_eq(shut_folder_open(false), EXIT_CONFIG, "nothing can be made in it");
	cr_expect_eq(shut_folder_open(true), EXIT_CONFIG, "it is read only");
}

/* A command that waits for a silent server names it. */
Test(embedded, names_a_server_that_says_nothing)
{
	struct embedded *e = open_made();
	struct text      said = {0};
	char             log[300], command[1100];
	pid_t            pid, server = (pid_t)server_pid();
	int              status = -1;

	snprintf(log, sizeof(log), "%s/log", home);
	snprintf(command, sizeof(command), "migrate --data %s", dir);
	program_signal(server, SIGSTOP);
	pid = program_begin(log, NULL, command);
	for (int64_t from = clock_ms(); !patience_is_over(from, 2 * PATIENCE_MS); usleep(50000)) {
		text_reset(&said);
		program_log_all(log, &said);
		if (strstr(said.data, "event=database_silent pid="))
			break;
	}
	cr_expect(strstr(said.data, "event=database_silent pid=") && strstr(said.data, dir), "%s", said.data);
	program_signal(server, SIGCONT);
	cr_expect(program_wait(pid, 2 * PATIENCE_MS, &status) && status == 0, "status %d", status);
	text_fini(&said);
	embedded_close(e);
}

Test(embedded, says_why_a_server_does_not_start)
{
	struct embedded *e = open_or_fail(false);
	char             path[1100];

	embedded_close(e);
	snprintf(path, sizeof(path), "%s/db/ibdata1", dir);
	cr_assert(truncate(path, 100) == 0);
	cr_expect(embedded_open(&e, dir, EMBEDDED_MAKE, why, sizeof(why)) && strstr(why, "ibdata1"), "%s", why);
}

/* ---- several users */

Test(embedded, is_adopted_by_a_second_process_and_stopped_by_the_last)
{
	struct helper    h = helper_start();
	struct embedded *e = open_made();
	long             pid = server_pid();

	helper_open(&h, true);
	cr_expect(server_pid() == pid);
	embedded_close(e);
	cr_expect(alive(pid));
	helper_close(&h);
	cr_expect(gone_within(pid, GONE_MS / 10));
}

Test(embedded, outlives_a_killed_user_and_is_adopted)
{
	struct helper    h = helper_start();
	struct embedded *e;
	long             pid;

	server_data(dir);
	helper_open(&h, true);
	pid = server_pid();
	helper_kill(&h);
	cr_expect(alive(pid));
	e = open_or_fail(true);
	cr_expect(server_pid() == pid);
	cr_expect(ask(e, "SELECT 1") == 1);
	cr_assert(kill((pid_t)pid, SIGKILL) == 0 && gone_within(pid, GONE_MS)); /* an adopted one is watched too */
	cr_expect(answers_within(e, HEALED_MS));
	pid = server_pid();
	embedded_close(e);
	cr_expect(!alive(pid));
}

static void *last_write(void *arg)
{
	(void)arg;
	usleep(1500000);
	_exit(0);
}

/* A killed server with a thread that is in a write still: a zombie, and not yet ended. */
Test(embedded, starts_no_server_beside_one_that_is_ending)
{
	struct embedded *e = open_made();
	pthread_t        thread;
	char             path[1100];
	FILE            *file;
	pid_t            pid;

	embedded_close(e);
	pid = fork();
	if (pid == 0) {
		pthread_create(&thread, NULL, last_write, NULL);
		syscall(SYS_exit, 0); /* this thread alone */
	}
	snprintf(path, sizeof(path), "%s/mariadbd.pid", dir);
	file = fopen(path, "w");
	cr_assert(file && fprintf(file, "%d\n", (int)pid) > 0 && fclose(file) == 0);
	cr_assert(gone_within(pid, GONE_MS) && waitpid(pid, NULL, WNOHANG) == 0);
	e = open_or_fail(true);
	cr_expect(waitpid(pid, NULL, WNOHANG) != 0, "two servers at a time");
	embedded_close(e);
}

Test(embedded, is_healed_by_one_of_two_users)
{
	struct helper    h = helper_start();
	struct embedded *e = open_made();
	long             pid;

	helper_open(&h, true);
	server_kill();
	cr_assert(answers_within(e, HEALED_MS));
	cr_expect(restarts_within(e, 1, HEALED_MS));
	usleep(300000); /* the second process may start another now, which would be wrong */
	pid = server_pid();
	embedded_close(e);
	cr_expect(alive(pid));
	helper_close(&h);
	cr_expect(gone_within(pid, GONE_MS / 10));
}

Test(embedded, is_opened_by_many_at_once)
{
	struct helper h[6];

	for (size_t i = 0; i < LENGTH(h); i++)
		h[i] = helper_start();
	for (size_t i = 0; i < LENGTH(h); i++)
		helper_open(&h[i], false);
	for (size_t i = 0; i < LENGTH(h); i++)
		helper_close(&h[i]); /* each ends in order, whether it opened first or last */
	cr_expect(!exists("mariadbd.sock"));
}

static bool is_there(const char *pattern)
{
	glob_t found;
	bool   there = glob(pattern, 0, NULL, &found) == 0;

	globfree(&found);
	return there;
}

Test(embedded, survives_a_kill_while_it_is_made)
{
	struct helper    h = helper_start();
	struct embedded *e;
	char             pattern[1100];

	helper_open(&h, false);
	snprintf(pattern, sizeof(pattern), "%s/db.new*/*", dir);
	for (int64_t from_ms = clock_ms(); !is_there(pattern) && !patience_is_over(from_ms, PATIENCE_MS);)
		usleep(5000);
	helper_kill(&h);
	cr_expect(!exists("db"));
	for (int i = 0; i < 2; i++) { /* the second finds what the orphan of the killed one still wrote */
		e = open_or_fail(true);
		cr_expect(ask(e, "SELECT COUNT(*) FROM mysql.user WHERE User = 'root'") > 0);
		embedded_close(e);
	}
	snprintf(pattern, sizeof(pattern), "%s/db.new*", dir);
	cr_expect(!is_there(pattern));
}

/* The user that starts the server is killed so long after the server's number was written. */
static void start_is_killed(int after_ms)
{
	struct helper    h = helper_start();
	struct embedded *e;
	long             pid;

	helper_open(&h, false);
	while (!(pid = server_pid()))
		usleep(100);
	usleep((useconds_t)after_ms * 1000);
	helper_kill(&h);
	e = open_or_fail(true);
	cr_expect(server_pid() == pid, "a second server was started beside %ld", pid);
	embedded_close(e);
	cr_expect(!alive(pid));
}

/* At once: what has written its number is no server yet. */
Test(embedded, survives_a_kill_while_it_starts)
{
	embedded_close(open_made());
	start_is_killed(0);
	start_is_killed(5);
}

Test(embedded, refuses_a_second_serve)
{
	struct embedded *serve = open_made(), *audit = open_or_fail(false), *second;
	char             expected[1200];

	cr_expect(embedded_open(&second, dir, EMBEDDED_SERVE, why, sizeof(why)) == EXIT_UNAVAILABLE);
	snprintf(expected, sizeof(expected), "%s is in use by another serve (pid %ld)", dir, (long)getpid());
	cr_expect_str_eq(why, expected);
	cr_expect_null(second);
	embedded_close(serve);
	second = open_or_fail(true);
	embedded_close(second);
	cr_expect(ask(audit, "SELECT 1") == 1);
	embedded_close(audit);
}
