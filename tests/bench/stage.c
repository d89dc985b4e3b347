/* stage.c - what the contenders stand on: a private MariaDB in build/bench/data, and the service on it. Both are gone
 * at the end, however it comes: the usual way, a signal or the alarm (a thread waits for them and leaves in order), a
 * failed assertion (both are killed by pid). Only kill -9 leaves the database behind: the next run ends and removes
 * it. The folder is always the same one, so two runs cannot disturb each other: the second is refused. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/embedded.h"

#define FOLDER "build/bench"
#define DATA   FOLDER "/data"
#define LOG    FOLDER "/service.log"

/* Seconds. Nothing new begins after DEADLINE; at ALARM everything is ended, in LEAVE at most, then killed. */
enum { DEADLINE_S = 480, ALARM_S = 530, LEAVE_S = 55, START_S = 60, DRAIN_S = 15 };

static struct {
	pthread_mutex_t  lock;    /* of everything below that is not the semaphore */
	sem_t            leave;   /* posted by signals */
	atomic_bool      ending;  /* by a signal; without the lock */
	bool             leaving; /* no process may be started any more */
	struct embedded *embedded;
	pid_t            child;  /* migrate or the service; 0: none */
	pid_t            server; /* mariadbd, for the last resort */
} stage = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int path_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void data_remove(void)
{
	nftw(DATA, path_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* With the lock held. */
static void stage_end(void)
{
	stage.leaving = true;
	if (stage.child) {
		kill(stage.child, SIGKILL);
		waitpid(stage.child, NULL, 0);
		stage.child = 0;
	}
	if (stage.embedded) {
		embedded_close(stage.embedded);
		stage.embedded = NULL;
		stage.server = 0;
		data_remove();
	}
}

void stage_close(void)
{
	pthread_mutex_lock(&stage.lock);
	if (stage.embedded && embedded_restarts(stage.embedded) > 0)
		bench_wrong("the database was started again %d times: the figures mean nothing",
		            (int)embedded_restarts(stage.embedded));
	stage_end();
	pthread_mutex_unlock(&stage.lock);
}

void stage_check(void)
{
	while (stage.ending)
		pause(); /* leave_main ends the process */
}

static void leave_signal(int signal)
{
	(void)signal;
	sem_post(&stage.leave);
}

/* Nothing but system calls: the process is in an unknown state. */
static void crash_signal(int signal)
{
	if (stage.child)
		kill(stage.child, SIGKILL);
	if (stage.server)
		kill(stage.server, SIGKILL);
	_exit(128 + signal);
}

static void signals_set(const int *signals, size_t count, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < count; i++)
		sigaction(signals[i], &action, NULL);
}

static void *leave_main(void *arg)
{
	static const int alarm_only[] = {SIGALRM};

	(void)arg;
	while (sem_wait(&stage.leave))
		;
	stage.ending = true;
	bench_hush();
	say("bench: ended by a signal, or after %d s", ALARM_S);
	signals_set(alarm_only, 1, crash_signal);
	alarm(LEAVE_S);
	pthread_mutex_lock(&stage.lock);
	stage_end();
	_exit(EXIT_TROUBLE);
}

static void settings_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 1) == 1 && (db_int(row, 2) == 0 || db_int(row, 3) == 1);
	printf("MariaDB %s, innodb_flush_log_at_trx_commit=%s, log_bin=%s, buffer pool %s MiB, %ld cores for all\n",
	       row->col[0], row->col[1], row->col[2], row->col[4], sysconf(_SC_NPROCESSORS_ONLN));
}

/* A commit that is not on disk is another game: no figure is printed for it. */
static bool durable_check(struct bench *b)
{
	struct db *db = db_new(&b->database);
	bool       durable = false;

	if (!db_connect(db) || db_text(db,
	                               "SELECT @@version, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog,"
	                               " @@innodb_buffer_pool_size DIV 1048576",
	                               settings_read, &durable) != DB_OK)
		say("bench: the private database does not answer: %s", db_error(db));
	else if (!durable)
		say("bench: the private database is not durable at every commit");
	db_free(db);
	return durable;
}

static bool data_open(struct bench *b)
{
	char  why[512];
	FILE *file;

	if (access(DATA, F_OK) == 0) { /* left behind by kill -9 */
		if (!embedded_open(&stage.embedded, DATA, true, why, sizeof(why))) {
			say("bench: what an earlier run left in " DATA " is in the way: %s", why);
			return false;
		}
		embedded_close(stage.embedded);
		stage.embedded = NULL;
		data_remove();
	}
	if (!embedded_open(&stage.embedded, DATA, true, why, sizeof(why))) {
		stage.embedded = NULL;
		say("bench: no private database: %s", why);
		return false;
	}
	b->database = *embedded_target(stage.embedded);
	file = fopen(DATA "/mariadbd.pid", "re");
	if (!file || fscanf(file, "%d", &stage.server) != 1)
		stage.server = 0;
	if (file)
		fclose(file);
	b->server = stage.server;
	return true;
}

bool stage_open(struct bench *b)
{
	static const int leave[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	static const int crash[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
	pthread_t        thread;
	bool             opened;

	b->deadline_us = clock_us() + (int64_t)DEADLINE_S * 1000000;
	if ((mkdir("build", 0777) && errno != EEXIST) || (mkdir(FOLDER, 0777) && errno != EEXIST)) {
		say("bench: " FOLDER ": %s", strerror(errno));
		return false;
	}
	unlink(LOG);
	sem_init(&stage.leave, 0, 0);
	if (pthread_create(&thread, NULL, leave_main, NULL))
		return false;
	pthread_detach(thread);
	signals_set(leave, COUNT(leave), leave_signal);
	signals_set(crash, COUNT(crash), crash_signal);
	alarm(ALARM_S);
	pthread_mutex_lock(&stage.lock);
	opened = data_open(b);
	pthread_mutex_unlock(&stage.lock);
	return opened && durable_check(b);
}

/* ---- the service */

/* Starts a program that writes into LOG and ends with us. Between fork and exec nothing but system calls: other
 * threads may hold any lock. Every file of ours is closed there, or the locks of the database would live on in it. */
static bool child_start(char *const *argv)
{
	int   log = open(LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	pid_t pid = -1, us = getpid();

	pthread_mutex_lock(&stage.lock);
	if (log >= 0 && !stage.leaving)
		pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != us || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
		    close_range(3, ~0u, 0))
			_exit(EXIT_TROUBLE);
		execv(argv[0], argv);
		_exit(EXIT_CONFIG);
	}
	if (pid > 0)
		stage.child = pid;
	pthread_mutex_unlock(&stage.lock);
	if (log >= 0)
		close(log);
	if (pid < 0)
		say("bench: %s: not started: %s", argv[0], strerror(errno));
	return pid > 0;
}

/* True when the child has ended, or is nobody's any more. */
static bool child_ended(int *status)
{
	bool ended = true;

	pthread_mutex_lock(&stage.lock);
	if (stage.child && waitpid(stage.child, status, WNOHANG) == 0)
		ended = false;
	if (ended)
		stage.child = 0;
	pthread_mutex_unlock(&stage.lock);
	return ended;
}

static bool child_wait(int seconds, int *status)
{
	int64_t until_ms = clock_ms() + (int64_t)seconds * 1000;

	*status = -1;
	while (!child_ended(status)) {
		if (clock_ms() > until_ms)
			return false;
		usleep(5000);
	}
	return true;
}

/* The port that the log names after `from`; 0: none yet. */
static unsigned port_read(long from)
{
	static const char where[] = "address=127.0.0.1:";
	char              line[2048];
	unsigned          port = 0;
	FILE             *log = fopen(LOG, "re");

	if (!log)
		return 0;
	fseek(log, from, SEEK_SET);
	while (!port && fgets(line, sizeof(line), log)) {
		char *at = strstr(line, where);

		if (strstr(line, "event=listening") && at && strchr(line, '\n'))
			port = (unsigned)strtoul(at + strlen(where), NULL, 10);
	}
	fclose(log);
	return port;
}

static void service_url(struct bench *b, struct text *url)
{
	text_format(url, "mariadb://%s@localhost/%s?socket=", b->database.user, b->database.database);
	for (const char *p = b->database.socket; *p; p++)
		if (*p == '%')
			text_add(url, "%25");
		else
			text_char(url, *p);
}

static bool service_migrate(struct bench *b, char *url)
{
	char *argv[] = {(char *)b->program, "migrate", "--db", url, NULL};
	int   status;

	if (!child_start(argv))
		return false;
	if (child_wait(START_S, &status) && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	say("bench: migrate failed (%d); see " LOG, status);
	return false;
}

static bool service_listening(struct bench *b, long from)
{
	int64_t until_ms = clock_ms() + START_S * 1000;
	int     status;

	do {
		b->port = port_read(from);
		if (b->port) {
			b->service = stage.child;
			return true;
		}
		usleep(5000);
	} while (!child_ended(&status) && clock_ms() < until_ms);
	say("bench: the service does not listen; see " LOG);
	return false;
}

bool service_start(struct bench *b)
{
	char        lanes[16];
	struct text url = {0};
	struct stat log = {0};
	bool        started;

	snprintf(lanes, sizeof(lanes), "%d", b->lanes);
	service_url(b, &url);
	started = service_migrate(b, url.data);
	if (started) {
		char *argv[] = {(char *)b->program,          "serve", "--db", url.data, "--listen", "127.0.0.1:0",
		                b->lanes ? "--lanes" : NULL, lanes,   NULL};

		stat(LOG, &log);
		started = child_start(argv) && service_listening(b, log.st_size);
	}
	text_fini(&url);
	return started;
}

void service_stop(struct bench *b)
{
	int status = -1;

	if (!b->service)
		return;
	pthread_mutex_lock(&stage.lock);
	if (stage.child)
		kill(stage.child, SIGTERM);
	pthread_mutex_unlock(&stage.lock);
	if (!child_wait(DRAIN_S, &status) || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		bench_wrong("the service did not drain and exit with 0 (%d); see " LOG, status);
		pthread_mutex_lock(&stage.lock);
		if (stage.child)
			kill(stage.child, SIGKILL);
		pthread_mutex_unlock(&stage.lock);
		child_wait(DRAIN_S, &status);
	}
	b->service = 0;
	b->port = 0;
}

bool database_run(struct bench *b, const char *sql)
{
	struct db *db = db_new(&b->database);
	bool       done = db_connect(db) && db_text(db, sql, NULL, NULL) == DB_OK;

	if (!done)
		say("bench: %s: %.60s", db_error(db), sql);
	db_free(db);
	return done;
}

/* ---- /proc */

double process_cpu(pid_t pid)
{
	char          path[64], line[1024];
	unsigned long user = 0, system = 0;
	FILE         *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = pid ? fopen(path, "re") : NULL;
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file) && strrchr(line, ')')) /* the name before it may hold anything */
		sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	fclose(file);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double machine_cpu(void)
{
	unsigned long long user = 0, nice = 0, system = 0, idle, wait, irq = 0, softirq = 0;
	FILE              *file = fopen("/proc/stat", "re");

	if (file && fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq,
	                   &softirq) != 7)
		user = nice = system = irq = softirq = 0;
	if (file)
		fclose(file);
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

int64_t process_kb(pid_t pid, const char *field)
{
	char   path[64], line[256];
	long   kb = 0;
	size_t len = strlen(field);
	FILE  *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, field, len) == 0 && line[len] == ':')
			kb = strtol(line + len + 1, NULL, 10);
	fclose(file);
	return kb;
}
