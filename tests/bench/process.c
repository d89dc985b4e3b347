/* process.c - the programs that the benchmark starts, and what /proc says of them and of the machine. Every program
 * that is left when the benchmark ends, in whatever way, is ended before it: in order, by a signal handler, or by the
 * kernel. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN_MAX = 8 };

static struct {
	pthread_mutex_t lock;               /* of everything below */
	bool            leaving;            /* none is started any more */
	struct child   *list[CHILDREN_MAX]; /* the children that run */
} children = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct child **child_place(const struct child *c)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children.list[i] == c)
			return &children.list[i];
	abort();
}

/* Between fork and exec nothing but system calls: other threads may hold any lock. Every file of ours is closed there,
 * or the locks of the database would live on in it. */
bool child_start(struct child *c, char *const *argv)
{
	int   log = open(LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	pid_t pid = -1, us = getpid();

	pthread_mutex_lock(&children.lock);
	*c = (struct child){0};
	if (log >= 0 && !children.leaving)
		pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != us || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
		    close_range(3, ~0u, 0))
			_exit(EXIT_TROUBLE);
		execvp(argv[0], argv);
		_exit(EXIT_CONFIG);
	}
	if (pid > 0) {
		*child_place(NULL) = c;
		c->pid = pid;
	}
	pthread_mutex_unlock(&children.lock);
	if (log >= 0)
		close(log);
	if (pid < 0)
		say("bench: %s: not started: %s", argv[0], strerror(errno));
	return pid > 0;
}

static double rusage_seconds(const struct rusage *r)
{
	return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
	       (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
}

/* With the lock held. */
static bool child_reap(struct child *c, int *status, int options)
{
	struct rusage usage = {0};

	if (c->pid && wait4(c->pid, status, options, &usage) == 0)
		return false;
	if (c->pid) {
		*child_place(c) = NULL;
		c->pid = 0;
		c->cpu_ended = rusage_seconds(&usage);
	}
	return true;
}

bool child_ended(struct child *c, int *status)
{
	bool ended;

	pthread_mutex_lock(&children.lock);
	ended = child_reap(c, status, WNOHANG);
	pthread_mutex_unlock(&children.lock);
	return ended;
}

bool child_wait(struct child *c, double seconds, int *status)
{
	int64_t until_us = clock_us() + (int64_t)(seconds * 1e6);

	*status = -1;
	while (!child_ended(c, status)) {
		if (clock_us() > until_us)
			return false;
		usleep(2000);
	}
	return true;
}

static void child_signal(const struct child *c, int signal)
{
	pthread_mutex_lock(&children.lock);
	if (c->pid)
		kill(c->pid, signal);
	pthread_mutex_unlock(&children.lock);
}

bool child_stop(struct child *c, double seconds)
{
	int status;

	child_signal(c, SIGTERM);
	if (child_wait(c, seconds, &status))
		return WIFEXITED(status) && WEXITSTATUS(status) == 0;
	child_signal(c, SIGKILL);
	if (!child_wait(c, seconds, &status))
		say("bench: a program did not end when it was killed");
	return false;
}

void children_end(bool for_good)
{
	int status;

	pthread_mutex_lock(&children.lock);
	children.leaving = children.leaving || for_good;
	for (int i = 0; i < CHILDREN_MAX; i++) {
		struct child *c = children.list[i];

		if (!c)
			continue;
		kill(c->pid, SIGKILL);
		child_reap(c, &status, 0);
	}
	pthread_mutex_unlock(&children.lock);
}

void children_kill(void)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children.list[i] && children.list[i]->pid)
			kill(children.list[i]->pid, SIGKILL);
}

/* ---- /proc */

double process_cpu(pid_t pid)
{
	struct timespec t = {0};
	clockid_t       clock;

	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
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
