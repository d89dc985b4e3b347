/* report.h - what came of the tests. Criterion's process tells it through a pipe, the process that started it reads and
 * shows it: how far the run is, and at the end the slowest tests, what was skipped, each failure once, and the counts.
 */
#ifndef TESTS_REPORT_H
#define TESTS_REPORT_H

#include "engine/base/base.h"

/* For Criterion's process: from now on it prints nothing of its own, and writes into the pipe `fd`. */
void report_tell(int fd);

struct outcome;

/* Zero-initialised is an empty one. One thread. */
struct report {
	struct outcome *list; /* of the tests that have ended, in that order */
	size_t          count, max, expected;
	int64_t         begun_ms; /* clock_ms */
	int64_t         shown_ms; /* when the progress was shown last */
	bool            again;    /* the tests of `list` that failed are run once more */
};
void report_fini(struct report *r);
/* Reads the pipe to its end and shows the progress: in one line on a terminal, in a line every 30 s elsewhere. */
void report_read(struct report *r, int fd);
/* The failed tests as a pattern of Criterion's, to be freed; NULL: there is none, or more than is worth another run. */
char *report_failed(const struct report *r);
/* Shows the end; `log` is the file of what the tests printed. true: every test has ended, and none has failed twice. */
bool report_show(const struct report *r, const char *log);

#endif
