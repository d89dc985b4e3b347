/* mariadbd.c - see mariadbd.h. */
#include "engine/server/mariadbd.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAKE_MS = 120000, BEGIN_MS = 2000, LOG_MAX = 16 << 20 };

/* The size of the redo log, given to mariadb-install-db too, so that the first start need not write a new log.
 * Killed under full load, the server is back after 4 s with 512 MiB and after 11 s with 1 GiB; both carry the same
 * load. */
#define REDO "--innodb-log-file-size=512M"

/* MyISAM has no table here; Aria has the server's own and large temporary ones. Caches of 128 MiB each would take a
 * start a tenth of its time, and 28 MB. */
#define SMALL_CACHES "--key-buffer-size=64K", "--aria-pagecache-buffer-size=32M"

/* A process ends without its writes by io_uring: they reach the file later, over those of the next server. A write of
 * its own threads holds its end up. A recovery of 200 MB takes 0.9 s by 64 threads, as by io_uring, and 1.6 s by 4. */
#define NO_LATE_WRITES "--innodb-use-native-aio=OFF", "--innodb-read-io-threads=64", "--innodb-write-io-threads=16"

/* ---- the folder and its user */

/* The files that make a folder ours; the first one marks a folder that is being made. A copy may lack the locks, which
 * are empty files. */
static const char *const signs[] = {"users.lock", "db/ibdata1"};

static bool has_sign(int dir_fd, const char *sign)
{
	return faccessat(dir_fd, sign, F_OK, 0) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static bool folder_ours(int dir_fd)
{
	return has_sign(dir_fd, signs[0]) || has_sign(dir_fd, signs[1]);
}

/* True: DIR is ours already, or empty but for lost+found. A folder that we take over is shut to all others. */
static bool folder_free(const struct mariadbd *m)
{
	DIR           *dir = opendir(m->dir);
	struct dirent *entry;
	bool           strange = false;

	while (dir && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    strcmp(entry->d_name, "lost+found") != 0)
			strange = true;
	}
	if (dir)
		closedir(dir);
	return dir && (folder_ours(m->dir_fd) || !strange);
}

/* Makes a child of ours, after fork, this user. Async-signal-safe. */
static bool become(uid_t uid, gid_t gid)
{
	if (geteuid() != 0 || uid == 0)
		return true;
	return setgroups(1, &gid) == 0 && setgid(gid) == 0 && setuid(uid) == 0;
}

/* True: the user gets through all folders above PATH and has these rights there. Only a try tells. */
static bool user_may(uid_t uid, gid_t gid, const char *path, int rights)
{
	pid_t pid = fork();
	int   status = 1;

	if (pid == 0)
		_exit(become(uid, gid) && access(path, rights) == 0 ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

/* Writes the first folder above DIR that the user cannot enter. False: none is shut. */
static bool folder_shut(const struct mariadbd *m, const struct passwd *user, char *folder, size_t size)
{
	for (const char *end = m->dir; (end = strchr(end + 1, '/')) != NULL;) {
		snprintf(folder, size, "%.*s", (int)(end - m->dir), m->dir);
		if (!user_may(user->pw_uid, user->pw_gid, folder, X_OK))
			return true;
	}
	return false;
}

/* A folder above is named first, for data that belong to root, too: while it is shut, another owner cannot use them. */
static void root_because(struct mariadbd *m, const struct passwd *user)
{
	char shut[sizeof(m->dir)];

	if (!user)
		snprintf(m->why_root, sizeof(m->why_root),
		         "there is no user mysql or holdfast: stop it, adduser"
		         " --system --group holdfast, then chown -R holdfast: the folder");
	else if (folder_shut(m, user, shut, sizeof(shut)))
		snprintf(m->why_root, sizeof(m->why_root),
		         "the user %s cannot enter %s: a folder above is shut."
		         " Stop it, open that folder, then chown -R %s: %s",
		         user->pw_name, shut, user->pw_name, m->dir);
	else
		snprintf(m->why_root, sizeof(m->why_root), "the data belong to root: stop it, then chown -R %s: %s",
		         user->pw_name, m->dir);
}

/* The user of a root's server: the owner of the folder, or of the data in a folder of root's. New data in a folder of
 * root's belong to mysql or, where only the server's program is installed, to holdfast; to root where neither can be.
 * The folder's owner may have put anything into it, so nothing in a stranger's folder makes the server root's. */
static int user_choose(struct mariadbd *m, const struct stat *home, char *why, size_t why_size)
{
	const struct passwd *mysql = getpwnam("mysql"), *user = mysql ? mysql : getpwnam("holdfast");
	struct stat          data;
	bool                 made = fstatat(m->dir_fd, "db", &data, AT_SYMLINK_NOFOLLOW) == 0;
	const struct stat   *owner = home->st_uid != 0 ? home : made ? &data : NULL;

	if (made && (!S_ISDIR(data.st_mode) || data.st_uid != owner->st_uid)) {
		why_write(why, why_size, "%s/db is no folder of uid %u, which owns %s: look how it came there",
		          m->dir, (unsigned)owner->st_uid, m->dir);
		return EXIT_CONFIG;
	}
	m->uid = owner ? owner->st_uid : user ? user->pw_uid : 0;
	m->gid = owner ? owner->st_gid : user ? user->pw_gid : 0;
	if (m->uid != 0 && (fchown(m->dir_fd, m->uid, m->gid) != 0 || fchmod(m->dir_fd, 0700) != 0 ||
	                    !user_may(m->uid, m->gid, m->dir, W_OK | X_OK))) {
		if (owner) {
			why_write(why, why_size, "uid %u, which owns %s, cannot enter it: a folder above is shut",
			          (unsigned)m->uid, m->dir);
			return EXIT_CONFIG;
		}
		m->uid = m->gid = 0;
	}
	if (m->uid == 0)
		root_because(m, user);
	return EXIT_DONE;
}

bool mariadbd_is_home(const char *dir)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < LENGTH(signs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, signs[i]);
		if (has_sign(AT_FDCWD, path))
			return true;
	}
	return false;
}

/* A folder that is shut to us stays shut: another try would change nothing. */
static int unwritable(int error, const char *what, const char *dir, char *why, size_t why_size)
{
	bool shut = error == EROFS || error == EACCES || error == EPERM;

	why_write(why, why_size, "cannot %s the folder %s: %s%s", what, dir, strerror(error),
	          shut ? ": --data needs a folder that can be written" : "");
	return shut ? EXIT_CONFIG : EXIT_UNAVAILABLE;
}

/* Opens DIR and reads its owner. */
static bool folder_open(struct mariadbd *m, const char *dir, struct stat *st, char *why, size_t why_size)
{
	char path[PATH_MAX];

	if (!realpath(dir, path))
		return why_write(why, why_size, "cannot open the folder %s: %s", dir, strerror(errno));
	if (strlen(path) >= sizeof(m->dir))
		return why_write(why, why_size, "the path %.60s.. has %zu bytes; MariaDB can work with %zu", path,
		                 strlen(path), sizeof(m->dir) - 1);
	memcpy(m->dir, path, strlen(path) + 1);
	m->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dir_fd < 0 || fstat(m->dir_fd, st) != 0)
		return why_write(why, why_size, "cannot open the folder %s: %s", path, strerror(errno));
	if (m->uid != 0 && st->st_uid != m->uid)
		return why_write(why, why_size, "%s belongs to another user (uid %u): run this as that user or as root",
		                 path, (unsigned)st->st_uid);
	return folder_free(m) ||
	       why_write(why, why_size, "%s holds other files: give the database a folder of its own", path);
}

int mariadbd_init(struct mariadbd *m, const char *dir, char *why, size_t why_size)
{
	struct stat home;
	int         lock, status = EXIT_DONE;

	*m = MARIADBD_NONE;
	m->uid = geteuid();
	m->gid = getegid();
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return unwritable(errno, "make", dir, why, why_size);
	if (!folder_open(m, dir, &home, why, why_size))
		return EXIT_UNAVAILABLE;
	if (faccessat(m->dir_fd, ".", W_OK, AT_EACCESS) != 0 && errno == EROFS)
		return unwritable(errno, "take over", m->dir, why, why_size);
	if (m->uid == 0)
		status = user_choose(m, &home, why, why_size);
	if (status != EXIT_DONE)
		return status;
	if (!has_sign(m->dir_fd, signs[0]) && mariadbd_find(m)) { /* the users of this server would not be seen */
		why_write(why, why_size, "%s/users.lock is gone, and a server runs there (pid %ld): stop its users",
		          m->dir, (long)m->pid);
		mariadbd_leave(m);
		return EXIT_CONFIG;
	}
	lock = mariadbd_file(m, signs[0]); /* the first file */
	if (lock >= 0 && close(lock) == 0 && fchmod(m->dir_fd, 0700) == 0 &&
	    (geteuid() != 0 || fchown(m->dir_fd, m->uid, m->gid) == 0))
		return EXIT_DONE;
	return unwritable(errno, "take over", m->dir, why, why_size);
}

void mariadbd_fini(struct mariadbd *m)
{
	mariadbd_leave(m);
	if (m->dir_fd >= 0)
		close(m->dir_fd);
	m->dir_fd = -1;
}

/* No link is touched, symbolic or hard: the server's user may write in DIR and could have put a link to a file of root
 * there. */
int mariadbd_file(const struct mariadbd *m, const char *name)
{
	int         fd = openat(m->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
		close(fd);
		errno = EMLINK;
		return -1;
	}
	if (st.st_uid != m->uid && fchown(fd, m->uid, m->gid) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- a program, run as the server's user */

static bool program_find(const char *name, char *path, size_t size, char *why, size_t why_size)
{
	static const char more[] = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/libexec";
	const char       *list = getenv("PATH"), *next;
	char              places[8192];

	snprintf(places, sizeof(places), "%s:%s", list ? list : "", more);
	for (list = places; *list; list = next) {
		int len = (int)strcspn(list, ":");

		next = list + len + (list[len] == ':');
		snprintf(path, size, "%.*s/%s", len, list, name);
		if (*list == '/' && access(path, X_OK) == 0)
			return true;
	}
	return why_write(why, why_size,
	                 "%s was not found: install MariaDB 10.11 or later "
	                 "(Debian, Ubuntu: apt-get install mariadb-server-core mariadb-client-core)",
	                 name);
}

/* Runs in the child of a process of several threads: async-signal-safe calls only. */
static bool pid_write(const struct mariadbd *m)
{
	char digits[24], *end = digits + sizeof(digits), *at = end;
	int  fd;

	*--at = '\n';
	for (pid_t pid = getpid(); pid; pid /= 10)
		*--at = (char)('0' + pid % 10);
	unlinkat(m->dir_fd, "mariadbd.pid", 0);
	fd = openat(m->dir_fd, "mariadbd.pid", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd >= 0 && write(fd, at, (size_t)(end - at)) == end - at;
}

/* Makes async-signal-safe calls only, as pid_write does. A session of its own keeps our Ctrl-C from the server. */
static _Noreturn void child_run(const struct mariadbd *m, int home, char *const argv[], bool server)
{
	sigset_t none;
	int      null, log;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	umask(077);
	if (fchdir(home) != 0 || !become(m->uid, m->gid))
		_exit(126);
	mkdirat(m->dir_fd, "tmp", 0700);
	null = open("/dev/null", O_RDONLY);
	log = openat(m->dir_fd, "mariadbd.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		_exit(126);
	if (server && !pid_write(m))
		_exit(126);
	/* A listening socket that a library forgot to mark would stay bound as long as the server lives. */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		for (int fd = 3; fd < 4096; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	execv(argv[0], argv);
	_exit(127);
}

/* Runs argv in the folder `home` of DIR and makes it the process that m knows. */
static bool process_run(struct mariadbd *m, const char *home, char *const argv[], bool server, char *why,
                        size_t why_size)
{
	int      home_fd = openat(m->dir_fd, home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	sigset_t all, before;

	if (home_fd < 0)
		return why_write(why, why_size, "cannot enter %s/%s: %s", m->dir, home, strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of ours may run in the child */
	m->pid = fork();
	if (m->pid == 0)
		child_run(m, home_fd, argv, server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(home_fd);
	m->pidfd = m->pid > 0 ? pidfd_open(m->pid, 0) : -1;
	return m->pidfd >= 0 || why_write(why, why_size, "cannot run %s: %s", argv[0], strerror(errno));
}

bool mariadbd_reap(struct mariadbd *m, char *how, size_t how_size)
{
	siginfo_t end = {0};
	bool      ours = m->pidfd >= 0 && waitid(P_PIDFD, (id_t)m->pidfd, &end, WEXITED | WNOHANG) == 0 && end.si_pid;

	if (!ours)
		snprintf(how, how_size, "unknown");
	else if (end.si_code == CLD_EXITED)
		snprintf(how, how_size, "status %d", end.si_status);
	else
		snprintf(how, how_size, "signal %d", end.si_status);
	mariadbd_leave(m);
	return ours && end.si_code == CLD_EXITED && end.si_status == 0;
}

/* ---- the data directory */

/* Removes the leftovers of a mariadbd_make that was killed. If its mariadb-install-db still runs, that fails now, and
 * may leave something to the next time. A process of the server's user removes them: whatever stands there, it can harm
 * nothing of root's. */
static void leftovers_remove(struct mariadbd *m)
{
	char           program[PATH_MAX], why[256], how[64];
	DIR           *dir = opendir(m->dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char *argv[] = {program, "-rf", "--", entry->d_name, NULL};

		if (strncmp(entry->d_name, "db.new.", 7) == 0 &&
		    program_find("rm", program, sizeof(program), why, sizeof(why)) &&
		    process_run(m, ".", argv, false, why, sizeof(why)) && mariadbd_ended(m, -1, MAKE_MS))
			mariadbd_reap(m, how, sizeof(how));
	}
	if (dir)
		closedir(dir);
}

/* mariadb-install-db does not quote its arguments: every path is relative, so that DIR may have any name. --rpm
 * keeps it from looking up our host's name and from changing the owner of the system's PAM helper. */
static bool install_run(struct mariadbd *m, const char *home, char *why, size_t why_size)
{
	char  program[PATH_MAX], how[64], complaint[400];
	char *argv[] = {program,
	                "--no-defaults",
	                "--datadir=.",
	                "--tmpdir=../tmp",
	                "--skip-test-db",
	                "--rpm",
	                "--auth-root-authentication-method=normal",
	                REDO,
	                SMALL_CACHES,
	                m->uid == 0 ? "--user=root" : NULL,
	                NULL};

	if (!program_find("mariadb-install-db", program, sizeof(program), why, why_size) ||
	    !process_run(m, home, argv, false, why, why_size))
		return false;
	if (!mariadbd_ended(m, -1, MAKE_MS)) {
		kill(-m->pid, SIGTERM); /* the session of mariadb-install-db: the script and the server it runs */
		mariadbd_leave(m);
		return why_write(why, why_size, "mariadb-install-db took more than %d s in %s", MAKE_MS / 1000, m->dir);
	}
	if (mariadbd_reap(m, how, sizeof(how)))
		return true;
	mariadbd_complaint(m, complaint, sizeof(complaint));
	return why_write(why, why_size, "mariadb-install-db failed (%s): %s (see %s/mariadbd.log)", how, complaint,
	                 m->dir);
}

bool mariadbd_is_made(const struct mariadbd *m)
{
	return faccessat(m->dir_fd, "db/mysql", F_OK, 0) == 0;
}

/* Complaints are those of the run that begins now. */
static void log_begin(struct mariadbd *m)
{
	struct stat st;

	m->log_start = 0;
	if (fstatat(m->dir_fd, "mariadbd.log", &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (st.st_size > LOG_MAX)
		renameat(m->dir_fd, "mariadbd.log", m->dir_fd, "mariadbd.log.old");
	else
		m->log_start = st.st_size;
}

/* Made under another name, written out, and renamed. */
bool mariadbd_make(struct mariadbd *m, char *why, size_t why_size)
{
	char        path[sizeof(m->dir) + 32];
	const char *name;
	int         made;

	leftovers_remove(m);
	if (mariadbd_is_made(m))
		return true;
	snprintf(path, sizeof(path), "%s/db.new.XXXXXX", m->dir);
	if (!mkdtemp(path))
		return why_write(why, why_size, "cannot make %s: %s", path, strerror(errno));
	name = strrchr(path, '/') + 1;
	made = openat(m->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made < 0 || (geteuid() == 0 && fchown(made, m->uid, m->gid) != 0) || close(made) != 0)
		return why_write(why, why_size, "cannot give %s to its user: %s", path, strerror(errno));
	log_begin(m);
	if (!install_run(m, name, why, why_size)) {
		leftovers_remove(m);
		return false;
	}
	if (syncfs(m->dir_fd) != 0 || renameat(m->dir_fd, name, m->dir_fd, "db") != 0 || fsync(m->dir_fd) != 0)
		return why_write(why, why_size, "cannot make %s/db: %s", m->dir, strerror(errno));
	return true;
}

/* ---- the server */

static _Atomic int64_t pool_wanted;

void mariadbd_pool(int64_t mib)
{
	pool_wanted = mib;
}

/* In MiB: what was wanted, or a quarter of the memory that we may use. It is not touched before it is needed, but a
 * start with 4 GiB takes half a second longer than with 128 MiB. */
static int64_t pool_mib(void)
{
	int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
	FILE   *group = fopen("/sys/fs/cgroup/memory.max", "re");

	if (group) {
		if (fscanf(group, "%" SCNd64, &limit) == 1 && limit < bytes)
			bytes = limit;
		fclose(group);
	}
	bytes >>= 22;
	return pool_wanted > 0 ? pool_wanted : bytes < 256 ? 256 : bytes > 4096 ? 4096 : bytes;
}

bool mariadbd_start(struct mariadbd *m, char *why, size_t why_size)
{
	char  program[PATH_MAX], datadir[sizeof(m->dir) + 32], pool[64];
	char *argv[] = {program, "--no-defaults", datadir, pool, REDO, SMALL_CACHES, NO_LATE_WRITES,
	                /* relative to where the server runs, the data directory: a socket address holds 107 bytes */
	                "--socket=../mariadbd.sock", "--pid-file=../mariadbd.pid", "--log-error=../mariadbd.log",
	                "--tmpdir=../tmp", "--secure-file-priv=../tmp", "--skip-networking", "--skip-name-resolve",
	                "--skip-log-bin", "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=ON",
	                "--loose-innodb-flush-method=O_DIRECT", "--transaction-isolation=READ-COMMITTED",
	                "--character-set-server=utf8mb4", "--max-allowed-packet=64M", "--max-connections=300",
	                "--performance-schema=OFF", "--local-infile=OFF", m->uid == 0 ? "--user=root" : NULL, NULL};

	snprintf(datadir, sizeof(datadir), "--datadir=%s/db", m->dir);
	snprintf(pool, sizeof(pool), "--innodb-buffer-pool-size=%" PRId64 "M", pool_mib());
	log_begin(m);
	return program_find("mariadbd", program, sizeof(program), why, why_size) &&
	       process_run(m, "db", argv, true, why, why_size);
}

/* Reads a file of `folder` from `from` on; an empty text where there is none. */
static size_t file_read(int folder, const char *path, off_t from, char *text, size_t size)
{
	int     fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t len = fd < 0 ? 0 : pread(fd, text, size - 1, from);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0 ? (size_t)len : 0;
}

/* Whether the threads of a killed process live on, each until its write is done. The first thread has ended, and the
 * command line went with it. */
static bool pid_ends(pid_t pid)
{
	char        path[64], stat[512];
	const char *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file_read(AT_FDCWD, path, 0, stat, sizeof(stat));
	name_end = strrchr(stat, ')');
	return name_end && strncmp(name_end, ") Z", 3) == 0;
}

/* Whether this process is a mariadbd of our data directory. */
static bool pid_serves(const struct mariadbd *m, pid_t pid)
{
	char        path[64], line[16384], datadir[sizeof(m->dir) + 32];
	const char *name;
	size_t      len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	len = file_read(AT_FDCWD, path, 0, line, sizeof(line));
	snprintf(datadir, sizeof(datadir), "--datadir=%s/db", m->dir);
	name = strrchr(line, '/');
	if (strcmp(name ? name + 1 : line, "mariadbd") != 0)
		return false;
	for (const char *word = line; word < line + len; word += strlen(word) + 1)
		if (strcmp(word, datadir) == 0)
			return true;
	return false;
}

/* Whether this process is the child of one of our programs still, which has written its number and runs mariadbd in a
 * moment. Its parent may be gone by then. */
static bool pid_begins(pid_t pid)
{
	char    path[64], ours[4096], its[4096];
	ssize_t ours_len = readlink("/proc/self/exe", ours, sizeof(ours)), its_len;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	its_len = readlink(path, its, sizeof(its));
	return ours_len > 0 && its_len == ours_len && memcmp(its, ours, (size_t)ours_len) == 0;
}

bool mariadbd_find(struct mariadbd *m)
{
	char    digits[24];
	int64_t until;

	file_read(m->dir_fd, "mariadbd.pid", 0, digits, sizeof(digits));
	/* First hold on to the process, then look at it: the number may be given to another at any time. */
	m->pid = (pid_t)strtol(digits, NULL, 10);
	m->pidfd = m->pid > 0 ? pidfd_open(m->pid, 0) : -1;
	for (until = clock_ms() + BEGIN_MS; m->pidfd >= 0 && pid_begins(m->pid) && clock_ms() < until;)
		usleep(1000);
	if (m->pidfd >= 0 && (pid_serves(m, m->pid) || pid_ends(m->pid)) && !mariadbd_ended(m, -1, 0))
		return true;
	mariadbd_leave(m);
	return false;
}

bool mariadbd_ended(const struct mariadbd *m, int wake, int wait_ms)
{
	struct pollfd fds[] = {{.fd = m->pidfd, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
	int64_t       until = clock_ms() + wait_ms, left = wait_ms;
	int           ready;

	if (m->pidfd < 0)
		return true;
	while ((ready = poll(fds, LENGTH(fds), (int)left)) < 0 && errno == EINTR)
		if (wait_ms >= 0 && (left = until - clock_ms()) < 0)
			left = 0;
	return ready > 0 && fds[0].revents;
}

bool mariadbd_stop(struct mariadbd *m, int wait_ms)
{
	char how[64];

	if (pidfd_send_signal(m->pidfd, SIGTERM, NULL, 0) != 0 && errno != ESRCH)
		return false;
	if (!mariadbd_ended(m, -1, wait_ms))
		return false;
	mariadbd_reap(m, how, sizeof(how));
	return true;
}

void mariadbd_leave(struct mariadbd *m)
{
	assert(m->pidfd < 0 || m->pid > 0);
	if (m->pidfd >= 0)
		close(m->pidfd);
	m->pidfd = -1;
	m->pid = 0;
}

void mariadbd_complaint(const struct mariadbd *m, char *line, size_t line_size)
{
	char text[16384], *error, *fatal;

	file_read(m->dir_fd, "mariadbd.log", m->log_start, text, sizeof(text));
	error = strstr(text, "[ERROR] ");
	fatal = strstr(text, "FATAL ERROR: "); /* an error of mariadb-install-db, a shell script */
	error = error ? error + strlen("[ERROR] ") : fatal ? fatal + strlen("FATAL ERROR: ") : text + strlen(text);
	error[strcspn(error, "\n")] = '\0';
	snprintf(line, line_size, "%s", *error ? error : "it gave no reason");
}
