/* server.c - see server.h. */
#include "engine/base/clock.h"
#include "tests/kit/server.h"

#include "engine/server/embedded.h"
#include "tests/kit/scratch.h"
#include "tests/kit/patience.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 3 * PATIENCE_MS, PAUSE_US = 20000, WORDS_MAX = 80, CONNECTIONS = 1000 };

/* Makes a folder with data for all servers of the run to begin from, once; `made` is its path. */
static void first_make(const char *made)
{
	struct embedded *embedded;
	char             dir[SCRATCH_FOLDER_BYTES], data[80], lock[300], copy[1400], why[1024];
	int              fd;

	snprintf(lock, sizeof(lock), "%s.lock", made);
	fd = open(lock, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && flock(fd, LOCK_EX) == 0, "%s: %s", lock, strerror(errno));
	if (access(made, F_OK) != 0) {
		scratch_folder(dir, sizeof(dir));
		snprintf(data, sizeof(data), "%s/var", dir);
		embedded_pool(SERVER_POOL_MIB);
		cr_assert(embedded_open(&embedded, data, EMBEDDED_MAKE, why, sizeof(why)) == EXIT_DONE, "%s", why);
		embedded_close(embedded);
		/* what nothing was written to of the redo log, 500 MB, becomes a hole, here and in all copies; a hole
		 * in another file would need room when the disk is full */
		snprintf(copy, sizeof(copy),
		         "cd %s/db && cp -a --sparse=always ib_logfile0 holes && mv holes ib_logfile0 && mv %s %s",
		         data, data, made);
		cr_assert(system(copy) == 0, "%s", copy);
	}
	close(fd);
}

void server_data(const char *to)
{
	char made[280], copy[800];

	snprintf(made, sizeof(made), "%s/made", scratch_dir());
	first_make(made);
	snprintf(copy, sizeof(copy), "cp -a %s %s", made, to);
	cr_assert(system(copy) == 0, "%s", copy);
}

void server_make(struct server *s, const char *const *sql)
{
	char       data[80];
	struct db *db;

	*s = (struct server){0};
	scratch_folder(s->dir, sizeof(s->dir));
	snprintf(data, sizeof(data), "%s/var", s->dir);
	snprintf(s->socket, sizeof(s->socket), "%s/var/own.sock", s->dir);
	server_data(data);
	cr_assert(chmod(data, 0755) == 0); /* so that an account of a test can reach the socket */
	if (!sql || !*sql)
		return;
	server_start(s, (const char *const[]){NULL});
	db = server_connect(s, "holdfast");
	for (; *sql; sql++)
		cr_assert(db_text(db, *sql, NULL, NULL) == DB_OK, "%s", db_error(db));
	db_free(db);
	server_stop(s);
}

/* Starts the server with options that all servers here have; the test's own follow. */
static void server_run(const struct server *s, const char *const *options)
{
	char        data[100], socket[120];
	struct stat st;
	const char *argv[WORDS_MAX] = {"mariadbd",
	                               "--no-defaults",
	                               data,
	                               socket,
	                               "--skip-name-resolve",
	                               "--log-error=../mariadbd.log",
	                               "--innodb-log-file-size=512M",
	                               "--innodb-use-native-aio=OFF",
	                               "--key-buffer-size=64K",
	                               "--aria-pagecache-buffer-size=32M",
	                               "--skip-networking",
	                               "--tmpdir=../tmp"};
	size_t      n = 12;

	snprintf(data, sizeof(data), "--datadir=%s/var/db", s->dir);
	snprintf(socket, sizeof(socket), "--socket=%s", s->socket);
	for (; *options && n < WORDS_MAX - 2; options++)
		argv[n++] = *options;
	if (stat(strchr(data, '=') + 1, &st) != 0)
		_exit(126);
	if (st.st_uid == 0)
		argv[n] = "--user=root";
	if (geteuid() == 0 && (setgid(st.st_gid) != 0 || setuid(st.st_uid) != 0))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* set here, as a change of account clears it */
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	execvp(argv[0], (char *const *)argv);
	execv("/usr/sbin/mariadbd", (char *const *)argv);
	_exit(127);
}

void server_start(struct server *s, const char *const *options)
{
	struct db_target to = {.user = "root"};
	struct db       *db;

	s->pid = fork();
	if (s->pid == 0)
		server_run(s, options);
	snprintf(to.socket, sizeof(to.socket), "%s", s->socket);
	db = db_new_alone(&to);
	for (int64_t from_ms = clock_ms(); !db_connect(db); usleep(PAUSE_US))
		cr_assert(!patience_is_over(from_ms, START_MS) && waitpid(s->pid, NULL, WNOHANG) == 0, "the server: %s",
		          db_error(db));
	db_free(db);
}

/* The name space ends with the test. */
/* `mounts`: a command that mounts the disk, with its place as %s; false: it may not. */
static void disk_make(struct server *s, const char *folder, const char *mounts)
{
	char before[140], mount_it[400], copy[800];

	snprintf(s->disk, sizeof(s->disk), "%s/%s", s->dir, folder);
	snprintf(before, sizeof(before), "%s.before", s->disk);
	snprintf(mount_it, sizeof(mount_it), "mkdir -m 700 %s && %s %s", s->disk, mounts, s->disk);
	snprintf(copy, sizeof(copy), "chown --reference=%s %s && cp -a %s/. %s/ && rm -r %s", before, s->disk, before,
	         s->disk, before);
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		cr_skip_test("may not mount a small disk: %s", strerror(errno));
	cr_assert(rename(s->disk, before) == 0);
	if (system(mount_it) != 0)
		cr_skip_test("this kernel mounts no such disk here: %s", mounts);
	cr_assert(system(copy) == 0, "%s", copy);
}

void server_disk(struct server *s, const char *folder, int mib)
{
	char mounts[100];

	snprintf(mounts, sizeof(mounts), "mount -t tmpfs -o size=%dm holdfast-test", mib);
	disk_make(s, folder, mounts);
}

void server_journaled_disk(struct server *s, const char *folder, int mib)
{
	char image[80], make[200], mounts[200];

	snprintf(image, sizeof(image), "%s/image", s->dir);
	snprintf(make, sizeof(make), "truncate -s %dM %s && /sbin/mkfs.ext4 -q -F %s", mib, image, image);
	if (system(make) != 0)
		cr_skip_test("cannot make a file system with a journal");
	snprintf(mounts, sizeof(mounts), "mount -o loop %s", image);
	disk_make(s, folder, mounts);
}

void server_disk_breaks(const struct server *s)
{
	char command[200];

	snprintf(command, sizeof(command), "mount -o remount,abort %s", s->disk);
	cr_assert(system(command) == 0, "%s", command);
}

void server_disk_fill(const struct server *s, bool full)
{
	static const char nothing[4096];
	char              path[140];
	int               fd;

	snprintf(path, sizeof(path), "%s/filler", s->disk);
	if (!full) {
		cr_assert(unlink(path) == 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0, "%s", strerror(errno));
	while (write(fd, nothing, sizeof(nothing)) > 0)
		continue;
	close(fd);
}

static void log_path(const struct server *s, const char *before, char *to, size_t size)
{
	snprintf(to, size, "%s%s/var/all.log", before, s->dir); /* a folder that the server's account may write to */
}

void server_start_logged(struct server *s)
{
	char option[200];

	log_path(s, "--general-log-file=", option, sizeof(option));
	server_start(s, (const char *const[]){"--general-log=1", option, NULL});
}

/* The general log's next line: its connection, and what was sent; false at the end. */
static bool statement_next(FILE *log, char *line, size_t size, unsigned long *id, const char **sent)
{
	while (fgets(line, (int)size, log)) {
		const char *word = strstr(line, " Query\t"), *from;

		word = word ? word : strstr(line, " Execute\t");
		for (from = word; from && from > line && isdigit((unsigned char)from[-1]); from--)
			;
		if (!word || from == word)
			continue;
		*id = strtoul(from, NULL, 10);
		*sent = strchr(word, '\t') + 1;
		return true;
	}
	return false;
}

/* True: the statement marks its connection as one that counts. Chores have connections of their own, which touch no
 * rows of orders. A statement that is looked for by its words counts on every connection. */
static bool statement_counts(const char *sent, const char *words)
{
	return (*words && strstr(sent, words)) ||
	       ((strstr(sent, "reservation") || strstr(sent, "INTO movement ")) && !strstr(sent, "FROM arrival_open"));
}

int server_statements(const struct server *s, const char *words, struct text *said)
{
	static long   at;
	bool          own[CONNECTIONS] = {false}, looked[CONNECTIONS] = {false};
	char          path[200], line[4000];
	unsigned long id;
	const char   *sent;
	int           count = 0, limits = 0;
	FILE         *log;

	log_path(s, "", path, sizeof(path));
	log = fopen(path, "re");
	cr_assert(log && fseek(log, words ? at : 0, words ? SEEK_SET : SEEK_END) == 0, "%s", path);
	if (!words)
		at = ftell(log);
	while (words && statement_next(log, line, sizeof(line), &id, &sent)) {
		cr_assert_lt(id, CONNECTIONS);
		own[id] = own[id] || statement_counts(sent, words);
	}
	fseek(log, at, SEEK_SET);
	while (words && statement_next(log, line, sizeof(line), &id, &sent)) {
		/* an idle lane reads the schema's version, and ends that with a ROLLBACK; it reads the limits of skus
		 * when they have become old, which is once at most */
		bool ends = looked[id] && strncmp(sent, "ROLLBACK", 8) == 0;

		looked[id] = strstr(sent, "FROM schema_version") || (strstr(sent, "FROM sku_limit") && limits++ == 0);
		if (!own[id] || looked[id] || ends || !strstr(sent, words))
			continue;
		count++;
		if (said)
			text_add(said, sent);
	}
	fclose(log);
	return count;
}

void server_stop(struct server *s)
{
	if (s->pid) {
		kill(s->pid, SIGTERM);
		waitpid(s->pid, NULL, 0);
	}
	s->pid = 0;
}

void server_remove(struct server *s)
{
	server_stop(s);
	if (*s->dir)
		scratch_remove(s->dir);
}

void server_use(const struct server *s)
{
	setenv(SCRATCH_SOCKET, s->socket, 1);
	setenv(SCRATCH_USER, "root", 1);
}

struct db *server_connect(const struct server *s, const char *database)
{
	struct db_target to = {.user = "root"};
	struct db       *db;

	snprintf(to.socket, sizeof(to.socket), "%s", s->socket);
	snprintf(to.database, sizeof(to.database), "%s", database);
	db = db_new_alone(&to);
	cr_assert(db_connect(db), "%s", db_error(db));
	return db;
}

int server_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t          len = sizeof(at);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(bind(fd, (struct sockaddr *)&at, len) == 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	close(fd);
	return ntohs(at.sin_port);
}
