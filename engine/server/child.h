/* child.h - a program that is run to its end, and that does not outlive this process. */
#ifndef CHILD_H
#define CHILD_H

#include "engine/base/base.h"

struct child {
	char *const *argv;     /* ends with NULL; argv[0] is looked for in PATH */
	const char  *password; /* its MYSQL_PWD, which other users do not see; NULL or empty: none */
	int          out;      /* its stdout and stderr; -1: ours */
};

/* Runs the program and waits. Returns its exit status, 128 + n after signal n, 127 where it was not found. If this
 * process is killed, the kernel kills the child: it writes to no folder that the next command takes over. The thread
 * that calls must live that long. */
int child_run(const struct child *child) MUST_CHECK;

#endif
