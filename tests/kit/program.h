/* program.h - the real program, run as a user runs it: started, stopped, killed, and its messages read.
 *
 * Its messages go to a file in the folder of the run. It ends with the test's process, even if that is killed. Main
 * thread only. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include "engine/base/text.h"
#include "engine/base/base.h"

#include <stdlib.h>
#include <sys/types.h>

/* The program's path, from the environment; build/holdfast if it is not set. main.c takes it from HOLDFAST_BIN. */
#define PROGRAM_BIN "TEST_PROGRAM"
const char *program_path(void);

/* The program is built with the sanitizers: the environment says so (Makefile). The tests themselves never are. */
#define SANITIZED (getenv("TEST_SANITIZED") != NULL)

struct program {
	pid_t pid;    /* 0: not running */
	bool  ending; /* SIGTERM was sent */
	int   port;   /* its port */
};

/* `holdfast serve --db URL --listen 127.0.0.1:0 OPTIONS`, up to its line event=listening; its outputs are added to the
 * file `log`. `url` NULL: the options say where the database is. Ends the test if the line does not come. */
void program_start(struct program *p, const char *log, const char *url, const char *options);
/* SIGTERM, and it has to end with 0 in 30 s (patience.h); otherwise false, and `why` says what it did. */
bool program_stop(struct program *p, struct text *why) MUST_CHECK;
/* Sends a signal, and waits until it has come: STOP has stopped all threads, and none of another one is pending.
 * Returns after a second (patience.h) if the signal has not come. */
void program_signal(pid_t pid, int sig);
/* Sends SIGTERM only; program_stop follows. */
void program_terminate(struct program *p);
/* kill -9. */
void program_kill(struct program *p);
/* Runs `holdfast COMMAND --db URL` to its end (60 s at most, patience.h); returns its exit status, 128 + n after signal
 * n. */
int program_run(const char *log, const char *url, const char *command);
/* As program_run, without waiting. Returns the process; the caller waits for it or kills it. */
pid_t program_begin(const char *log, const char *url, const char *command);
/* Waits for the end of a process. false: it is still running after `wait_ms` (patience.h). */
bool program_wait(pid_t pid, int wait_ms, int *status);
/* Adds the last lines of a log, or all of it. */
void program_log_tail(const char *log, struct text *to);
void program_log_all(const char *log, struct text *to);

#endif
