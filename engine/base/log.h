/* log.h - one line per event on stderr, logfmt or JSON, and lines to a person at a terminal.
 *
 * `event` is a short fixed word; format gives `key=value` pairs, with whole numbers (d, u, l, ll, z), numbers of three
 * decimals (f) and texts. A text stays one value whatever it holds: %s is put in quotes where it needs them, and bytes
 * that would end the value or the line are escaped. A NULL leaves its pair out. Any thread. */
#ifndef LOG_H
#define LOG_H

#include "engine/base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
extern enum log_level log_level;
bool                  log_level_set(const char *name) MUST_CHECK;
bool                  log_format_set(const char *name) MUST_CHECK; /* logfmt or json; before the first line */
void                  log_event(enum log_level level, const char *event, const char *format, ...) PRINTF(3, 4);
/* Writes a line of this format without level and event, for a log of its own. Returns its length; no NUL ends it. */
enum { LOG_LINE_MAX = 4200 };
size_t log_line(char line[LOG_LINE_MAX], const char *format, ...) PRINTF(2, 3);
/* For a process that serves, before its first thread: from now on no line waits for the reader of the log. Lines that
 * do not get through are lost, and the next one that does says lines_lost=N. Otherwise a line waits, as programs do. */
void log_never_wait(void);
/* Writes as many of these lines as are taken without waiting. Returns the number of bytes written; where it is less
 * than `len`, errno is EAGAIN or says what failed. */
size_t log_write(int fd, const char *bytes, size_t len);
/* What each line on stderr begins with: a bar is wiped away. For bar.c alone. */
extern const char *log_wipes;
/* One clear line to a person at a terminal, on stderr: "holdfast: ...". For commands. */
void say(const char *format, ...) PRINTF(1, 2);
/* Says the line, and returns the exit status that comes with it, so that a command can end in `return say_status(..)`.
 */
int say_status(int status, const char *format, ...) PRINTF(2, 3);
/* Writes the reason of a failure into `why`. Always false, so that a function can end in `return why_write(..)`. */
bool why_write(char *why, size_t why_size, const char *format, ...) PRINTF(3, 4);

#endif
