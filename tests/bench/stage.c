/* stage.c - what the contenders stand on: a private MariaDB in build/bench/data, and Holdfast on it; and programs that
 * bring a MariaDB of their own. All are gone at the end, however it comes: the usual way, a signal or the alarm (a
 * thread waits for them and leaves in order), a failed assertion (all are killed by pid). Only kill -9 leaves a
 * database behind: the next run ends and removes it. The folders are always the same ones, so two runs cannot disturb
 * each other: the second is refused. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "bench.h"
#include "meter.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/server/embedded.h"

#define DATA FOLDER "/data"

enum { SEATS = 3 }; /* one for all, one for the old program, one for the new */

/* Seconds. LEAVE is what the way out may take after the alarm: then everything is killed. */
enum { START_S = 60, DRAIN_S = 15, AUDIT_S = 600 };

static struct {
	pthread_mutex_t lock;   /* of everything below that is not the semaphore */
	sem_t           leave;  /* posted by signals */
	atomic_bool     ending; /* by a signal; without the lock */
	struct seat {
		const char      *data; /* its folder; NULL: free */
		struct embedded *embedded;
		pid_t            server; /* mariadbd, for the last resort */
	} seats[SEATS];
} stage = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int path_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

void folder_remove(const char *path)
{
	nftw(path, path_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* With the lock held: a server without users here, left behind by a kill -9, is ended and removed. */
static bool seat_clear(const char *data)
{
	struct embedded *left;
	char             why[512];

	if (access(data, F_OK) != 0)
		return true;
	if (embedded_open(&left, data, EMBEDDED_SERVE, why, sizeof(why)) != EXIT_DONE) {
		say("bench: what an earlier run left in %s is in the way: %s", data, why);
		return false;
	}
	embedded_close(left);
	folder_remove(data);
	return true;
}

/* With the lock held. */
static void seat_end(struct seat *seat)
{
	if (seat->embedded) {
		embedded_close(seat->embedded);
		folder_remove(seat->data);
	} else if (seat->data) {
		seat_clear(seat->data); /* a program may have begun to start it */
	}
	*seat = (struct seat){0};
}

/* With the lock held. */
static void stage_end(void)
{
	children_end(true);
	for (int i = 0; i < SEATS; i++)
		seat_end(&stage.seats[i]);
	folder_remove(FOLDER "/redis");
}

static void seat_check(const struct seat *seat)
{
	if (seat->embedded && embedded_restarts(seat->embedded) > 0)
		bench_wrong("the database was started again %d times: the figures mean nothing",
		            (int)embedded_restarts(seat->embedded));
}

void stage_close(struct bench *b)
{
	service_stop(b);
	pthread_mutex_lock(&stage.lock);
	for (int i = 0; i < SEATS; i++)
		seat_check(&stage.seats[i]);
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
	children_kill();
	for (int i = 0; i < SEATS; i++)
		if (stage.seats[i].server)
			kill(stage.seats[i].server, SIGKILL);
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
	say("bench: ended by a signal, or because the time for the run is over");
	signals_set(alarm_only, 1, crash_signal);
	alarm(LEAVE_S);
	pthread_mutex_lock(&stage.lock);
	stage_end();
	_exit(EXIT_TROUBLE);
}

/* ---- the database */

static void settings_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 1) == 1 && (db_int(row, 2) == 0 || db_int(row, 3) == 1);
	printf("MariaDB %s, innodb_flush_log_at_trx_commit=%s, log_bin=%s, buffer pool %s MiB, %ld cores for all\n",
	       row->col[0], row->col[1], row->col[2], row->col[4], sysconf(_SC_NPROCESSORS_ONLN));
}

/* A commit that is not on disk is another game: no figure is printed for it. */
static bool durable_check(struct bench *b)
{
	struct db *db = db_new_alone(&b->database);
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

bool database_run(struct bench *b, const char *sql)
{
	struct db *db = db_new_alone(&b->database);
	bool       done;

	db_silence_set(db, 0);
	done = db_connect(db) && db_text(db, sql, NULL, NULL) == DB_OK;
	if (!done)
		say("bench: %s: %.60s", db_error(db), sql);
	db_free(db);
	return done;
}

struct ints {
	int64_t *to;
	unsigned count, rows;
};

static void ints_read(void *arg, const struct db_row *row)
{
	struct ints *ints = arg;

	ints->rows++;
	for (unsigned i = 0; i < ints->count; i++)
		ints->to[i] = db_int(row, i);
}

bool database_ints(struct bench *b, const char *sql, int64_t *to, unsigned count)
{
	struct ints ints = {to, count, 0};
	struct db  *db = db_new_alone(&b->database);
	bool        done;

	memset(to, 0, count * sizeof(*to));
	db_silence_set(db, 0);
	done = db_connect(db) && db_text(db, sql, ints_read, &ints) == DB_OK && ints.rows == 1;
	if (!done)
		say("bench: %s: %.60s", db_error(db), sql);
	db_free(db);
	return done;
}

static pid_t server_pid(const char *data)
{
	char  path[512];
	pid_t pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/mariadbd.pid", data);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

/* NULL, and said: what is there cannot be removed. */
static struct seat *seat_new(const char *data)
{
	struct seat *seat = stage.seats;

	pthread_mutex_lock(&stage.lock);
	while (seat->data)
		seat++; /* there are as many as are ever taken */
	if (seat_clear(data))
		seat->data = data;
	pthread_mutex_unlock(&stage.lock);
	return seat->data ? seat : NULL;
}

/* Starts the server, or shares the one that a program has started. */
static bool seat_open(struct bench *b, struct seat *seat, enum embedded_use use)
{
	char why[512];
	bool opened;

	pthread_mutex_lock(&stage.lock);
	opened = embedded_open(&seat->embedded, seat->data, use, why, sizeof(why)) == EXIT_DONE;
	if (opened) {
		b->database = *embedded_target(seat->embedded);
		b->server = seat->server = server_pid(seat->data);
	} else {
		seat->embedded = NULL;
		say("bench: no private database: %s", why);
	}
	pthread_mutex_unlock(&stage.lock);
	return opened && durable_check(b);
}

static bool data_open(struct bench *b)
{
	struct seat *seat = seat_new(DATA);

	/* Room for a thousand connections, as a team that has so many would make it. */
	return seat && seat_open(b, seat, EMBEDDED_SERVE) && database_run(b, "SET GLOBAL max_connections = 1200") &&
	       database_run(b, "SET GLOBAL table_open_cache = 8000") &&
	       database_run(b, "SET GLOBAL thread_cache_size = 1200");
}

bool stage_open(struct bench *b)
{
	static const int leave[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	static const int crash[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
	pthread_t        thread;

	b->begun_us = clock_us();
	if ((mkdir("build", 0777) && errno != EEXIST) || (mkdir(FOLDER, 0777) && errno != EEXIST)) {
		say("bench: " FOLDER ": %s", strerror(errno));
		return false;
	}
	unlink(LOG);
	sem_init(&stage.leave, 0, 0);
	if (pthread_create(&thread, NULL, leave_main, NULL))
		return false;
	pthread_detach(thread);
	signals_set(leave, LENGTH(leave), leave_signal);
	signals_set(crash, LENGTH(crash), crash_signal);
	alarm((unsigned)b->minutes * 60 - LEAVE_S);
	return data_open(b);
}

bool stage_own(struct bench *b)
{
	struct seat *seat = seat_new(b->data);

	return seat && service_start(b) && seat_open(b, seat, EMBEDDED_FIND);
}

bool stage_fresh(struct bench *b)
{
	static const char *const databases[] = {"orm", "guarded", "classic", "woo", "single", "backlog"};
	struct text              sql = {0};
	bool                     done = true;

	service_stop(b);
	children_end(false);
	for (size_t i = 0; done && i < LENGTH(databases); i++) {
		text_reset(&sql);
		text_format(&sql, "DROP DATABASE IF EXISTS %s", databases[i]);
		done = database_run(b, sql.data);
	}
	text_reset(&sql);
	text_format(&sql, "CREATE OR REPLACE DATABASE %s", b->database.database);
	done = done && database_run(b, sql.data);
	text_fini(&sql);
	return done;
}

/* ---- Holdfast */

static void service_url(struct bench *b, struct text *url)
{
	text_format(url, "mariadb://%s@localhost/%s?socket=", b->database.user, b->database.database);
	for (const char *p = b->database.socket; *p; p++)
		if (*p == '%')
			text_add(url, "%25");
		else
			text_char(url, *p);
}

static bool holdfast_start(struct bench *b, struct child *c, char *const *words)
{
	enum { WORDS_MAX = 16 };
	char       *argv[WORDS_MAX + 4] = {b->program};
	size_t      count = 1;
	struct text where = {0};
	bool        started;

	for (; *words; words++) {
		assert(count <= WORDS_MAX);
		argv[count++] = *words;
	}
	if (b->data)
		text_add(&where, b->data);
	else
		service_url(b, &where);
	argv[count++] = b->data ? "--data" : "--db";
	argv[count] = where.data;
	trips_preload(b->trips);
	started = child_start(c, argv);
	trips_preload(NULL);
	text_fini(&where);
	return started;
}

bool command_start(struct bench *b, char *const *words)
{
	return holdfast_start(b, &b->worker, words);
}

bool command_run(struct bench *b, char *const *words, double seconds, double *cpu)
{
	int  status;
	bool done = holdfast_start(b, &b->worker, words);

	if (done && child_wait(&b->worker, seconds, &status))
		done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	else if (done) {
		say("bench: holdfast %s had no end after %.0f s", words[0], seconds);
		done = child_stop(&b->worker, DRAIN_S);
	}
	if (cpu)
		*cpu = b->worker.cpu_ended;
	if (!done)
		say("bench: holdfast %s did not exit with 0; see " LOG, words[0]);
	return done;
}

bool service_audit(struct bench *b)
{
	char *words[] = {"audit", NULL};

	if (command_run(b, words, AUDIT_S, NULL))
		return true;
	bench_wrong("the audit did not find everything in order; see " LOG);
	return false;
}

long log_size(void)
{
	struct stat log = {0};

	return stat(LOG, &log) ? 0 : (long)log.st_size;
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

unsigned program_port(struct child *c, long from)
{
	int64_t  until_ms = clock_ms() + START_S * 1000;
	unsigned port;
	int      status;

	do {
		port = port_read(from);
		if (port)
			return port;
		usleep(5000);
	} while (!child_ended(c, &status) && clock_ms() < until_ms);
	say("bench: a program does not listen; see " LOG);
	return 0;
}

/* Starts a service and returns its port; 0: it did not start. */
static unsigned serve_start(struct bench *b, struct child *c, int first_slot)
{
	char  slot[16], lanes[16], places[16];
	char *serve[] = {"serve", "--listen", "127.0.0.1:0", "--slot", slot, "--max-connections",
	                 places,  NULL,       NULL,          NULL,     NULL, NULL};
	int   words = 7;
	long  from = log_size();

	snprintf(slot, sizeof(slot), "%d", first_slot);
	snprintf(places, sizeof(places), "%d", READERS + 100);
	snprintf(lanes, sizeof(lanes), "%d", b->lanes);
	if (b->lanes) {
		serve[words++] = "--lanes";
		serve[words++] = lanes;
	}
	if (!b->data) { /* an older program does not know it */
		serve[words++] = "--webhooks-allow";
		serve[words++] = "127.0.0.0/8";
	}
	return holdfast_start(b, c, serve) ? program_port(c, from) : 0;
}

bool database_migrate(struct bench *b)
{
	char *migrate[] = {"migrate", NULL};

	return command_run(b, migrate, START_S, NULL);
}

bool service_start(struct bench *b)
{
	if (b->service.pid)
		return true;
	/* a database of its own is migrated by the service itself */
	b->port = b->data || database_migrate(b) ? serve_start(b, &b->service, 0) : 0;
	b->broken = !b->port;
	return b->port > 0;
}

bool service_second(struct bench *b)
{
	b->second_port = serve_start(b, &b->second, b->lanes);
	b->broken = !b->second_port;
	return b->second_port > 0;
}

static void serve_stop(struct child *c)
{
	if (c->pid && !child_stop(c, DRAIN_S))
		bench_wrong("the service did not drain and exit with 0; see " LOG);
}

void service_stop(struct bench *b)
{
	serve_stop(&b->service);
	serve_stop(&b->second);
	b->port = b->second_port = 0;
}
