/* program.c - see program.h. */
#include "engine/base/clock.h"
#include "tests/kit/program.h"
#include "tests/lang/verb.h"
#include "tests/kit/patience.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WORDS_MAX = 40,
	START_MS = 2 * PATIENCE_MS,
	STOP_MS = 3 * PATIENCE_MS,
	RUN_MS = 6 * PATIENCE_MS,
	TAIL_BYTES = 3000,
	PAUSE_US = 2000,
	END_LOOK_MS = 100
};

const char *program_path(void)
{
	const char *path = getenv(PROGRAM_BIN);

	return path ? path : "build/holdfast";
}

static int log_open(const char *log)
{
	int fd = open(log, O_CREAT | O_APPEND | O_RDWR | O_CLOEXEC, 0600);

	cr_assert(fd >= 0, "cannot open %s: %s", log, strerror(errno));
	return fd;
}

/* Runs `command`, cut into words, with both outputs in the log. */
static pid_t program_fork(const char *log, const char *command)
{
	char  line[1024], *rest = line, *word[WORDS_MAX + 1] = {(char *)program_path()};
	int   n = 1, fd = log_open(log);
	pid_t self = getpid(), pid;

	snprintf(line, sizeof(line), "%s", command);
	while (n < WORDS_MAX && (word[n] = word_next(&rest)))
		n++;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		close_range(STDERR_FILENO + 1, ~0U, 0);
		execv(word[0], word);
		dprintf(STDERR_FILENO, "cannot run %s: %s\n", word[0], strerror(errno));
		_exit(127);
	}
	close(fd);
	cr_assert(pid > 0, "fork: %s", strerror(errno));
	return pid;
}

bool program_wait(pid_t pid, int wait_ms, int *status)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int64_t       from_ms = clock_ms();
	int           raw;

	cr_assert(end.fd >= 0, "pidfd_open: %s", strerror(errno));
	while (waitpid(pid, &raw, WNOHANG) != pid) {
		if (patience_is_over(from_ms, wait_ms)) {
			close(end.fd);
			return false;
		}
		poll(&end, 1, END_LOOK_MS);
	}
	close(end.fd);
	*status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
	return true;
}

static void program_reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void log_read(const char *log, off_t from, struct text *to)
{
	int     fd = log_open(log);
	ssize_t n;

	text_reset(to);
	text_add(to, ""); /* so that it ends in a NUL while the log is empty */
	while ((n = pread(fd, text_room(to, 4096), 4096, from)) > 0) {
		to->len += (size_t)n;
		to->data[to->len] = '\0';
		from += n;
	}
	close(fd);
}

static off_t log_size(const char *log)
{
	int   fd = log_open(log);
	off_t size = lseek(fd, 0, SEEK_END);

	close(fd);
	return size;
}

/* The port in a whole line `.. event=listening .. address=127.0.0.1:PORT ..`; 0 while there is none. */
static int log_port(const char *said)
{
	const char *line = said ? strstr(said, "event=listening") : NULL, *address;

	if (!line || !strchr(line, '\n'))
		return 0;
	address = strstr(line, "address=127.0.0.1:");
	return address ? atoi(address + strlen("address=127.0.0.1:")) : 0;
}

void program_start(struct program *p, const char *log, const char *url, const char *options)
{
	char        command[1024];
	struct text said = {0};
	off_t       from = log_size(log);
	int64_t     from_ms = clock_ms();
	int         status;

	assert(!p->pid);
	snprintf(command, sizeof(command), "serve %s %s --listen 127.0.0.1:0 %s", url ? "--db" : "", url ? url : "",
	         options);
	p->pid = program_fork(log, command);
	for (p->port = 0; !p->port; usleep(PAUSE_US)) {
		log_read(log, from, &said);
		p->port = log_port(said.data);
		if (!p->port && program_wait(p->pid, 0, &status))
			cr_assert_fail("holdfast %s\nended with %d:\n%s", command, status, said.data);
		if (!p->port && patience_is_over(from_ms, START_MS))
			cr_assert_fail("holdfast %s\nsays no port:\n%s", command, said.data ? said.data : "");
	}
	text_fini(&said);
}

/* A thread, or with it the whole process, as /proc shows it. */
struct thread_state {
	char               state;
	unsigned long long pending; /* signals, of the thread and of the process */
};

static struct thread_state thread_read(const char *path)
{
	struct thread_state t = {0};
	char                line[200];
	unsigned long long  set;
	FILE               *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &t.state);
		if (sscanf(line, "SigPnd: %llx", &set) == 1 || sscanf(line, "ShdPnd: %llx", &set) == 1)
			t.pending |= set;
	}
	if (file)
		fclose(file);
	return t;
}

static bool is_over(const struct thread_state *t)
{
	return !t->state || strchr("ZX", t->state);
}

/* True: the signal has come. A stopped process takes only signals that continue or end it. */
static bool signal_came(pid_t pid, int sig)
{
	char   pattern[60];
	glob_t threads;
	bool   came = true;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/status", pid);
	if (glob(pattern, GLOB_NOSORT, NULL, &threads) != 0)
		return true;
	for (size_t i = 0; i < threads.gl_pathc; i++) {
		struct thread_state t = thread_read(threads.gl_pathv[i]);

		if (sig == SIGSTOP)
			came &= t.state == 'T' || is_over(&t);
		else
			came &= t.state == 'T' ? sig != SIGCONT : is_over(&t) || !(t.pending >> (sig - 1) & 1);
	}
	globfree(&threads);
	return came;
}

void program_signal(pid_t pid, int sig)
{
	int64_t from_ms = clock_ms();

	kill(pid, sig);
	while (!signal_came(pid, sig) && !patience_is_over(from_ms, PATIENCE_MS / 10))
		usleep(PAUSE_US / 10);
}

void program_terminate(struct program *p)
{
	p->ending = true;
	kill(p->pid, SIGTERM);
}

bool program_stop(struct program *p, struct text *why)
{
	pid_t pid = p->pid;
	int   status = -1;
	bool  ended;

	if (!p->ending)
		program_terminate(p);
	*p = (struct program){0};
	ended = program_wait(pid, STOP_MS, &status);
	if (!ended) {
		program_reap(pid);
		text_add(why, "the service did not end after SIGTERM\n");
	} else if (status != 0) {
		text_format(why, "the service ended with %d after SIGTERM\n", status);
	}
	return ended && status == 0;
}

void program_kill(struct program *p)
{
	program_reap(p->pid);
	*p = (struct program){0};
}

pid_t program_begin(const char *log, const char *url, const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s %s %s", command, url ? "--db" : "", url ? url : "");
	return program_fork(log, line);
}

int program_run(const char *log, const char *url, const char *command)
{
	int   status = 0;
	pid_t pid = program_begin(log, url, command);

	if (!program_wait(pid, RUN_MS, &status)) {
		program_reap(pid);
		return 128 + SIGKILL;
	}
	return status;
}

void program_log_tail(const char *log, struct text *to)
{
	off_t       size = log_size(log);
	struct text tail = {0};

	log_read(log, size > TAIL_BYTES ? size - TAIL_BYTES : 0, &tail);
	text_add(to, tail.data ? tail.data : "");
	text_fini(&tail);
}

void program_log_all(const char *log, struct text *to)
{
	struct text all = {0};

	log_read(log, 0, &all);
	text_add(to, all.data ? all.data : "");
	text_fini(&all);
}
