/* log.h - one logfmt line per event on stderr, and lines to a person at a terminal.
 *
 * `event` is a short fixed word; format gives `key=value` pairs, with whole numbers (d, u, l, ll, z) and texts. A text
 * stays one value whatever it holds: %s is put in quotes where it needs them, and bytes that would end the value or the
 * line are escaped. Any thread. */
#ifndef LOG_H
#define LOG_H

#include "engine/base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
extern enum log_level log_level;
bool                  log_level_set(const char *name) MUST_CHECK;
void                  log_event(enum log_level level, const char *event, const char *format, ...) PRINTF(3, 4);
/* One clear line to a person at a terminal, on stderr: "holdfast: ...". For commands. */
void say(const char *format, ...) PRINTF(1, 2);
/* Says the line, and returns the exit status that comes with it, so that a command can end in `return say_status(..)`.
 */
int say_status(int status, const char *format, ...) PRINTF(2, 3);
/* Writes the reason of a failure into `why`. Always false, so that a function can end in `return why_write(..)`. */
bool why_write(char *why, size_t why_size, const char *format, ...) PRINTF(3, 4);

#endif
