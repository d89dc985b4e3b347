/* base.h - what every file may use: assertions, memory, growing text, the log, two clocks, a hash.
 *
 * Three kinds of wrong: a bug ends the process by assert (never compiled out); a refusal is a value; the world (no
 * memory, no database) is handled where it is met. mem_* below ends the process with one line when there is no memory,
 * so it is for start-up and for commands; what reads or answers a request uses mem_try and answers 503. */
#ifndef BASE_H
#define BASE_H

#undef NDEBUG
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK    __attribute__((warn_unused_result))
#define PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Exit statuses of the program (sysexits.h has the last three). */
enum { EXIT_DONE = 0, EXIT_TROUBLE = 1, EXIT_USAGE = 64, EXIT_UNAVAILABLE = 69, EXIT_CONFIG = 78 };

/* The most that a quantity, and any total of quantities, may be: every JSON client reads it exactly (RFC 7493 2.2). */
#define QTY_MAX INT64_C(9000000000000000)

/* ---- memory */
void *mem_alloc(size_t size);             /* zeroed; never NULL */
void *mem_try(size_t size) MUST_CHECK;    /* zeroed; NULL if there is none */
void *mem_resize(void *old, size_t size); /* like realloc; never NULL */
char *mem_copy(const char *text);         /* like strdup; never NULL */
/* Makes room for one more element of `size` in a list of `count` with room for *max. */
void *mem_reach(void *list, size_t count, size_t *max, size_t size);

/* ---- text that grows. Always ends in a NUL that len does not count. Zero-initialised is empty and valid. */
struct text {
	char  *data;
	size_t len;
	size_t cap;
	bool   tries;  /* set by the owner: without memory it fails, instead of ending the process */
	bool   failed; /* it is empty and stays so */
};
void  text_fini(struct text *t);
void  text_reset(struct text *t);             /* empty again, the memory stays */
char *text_room(struct text *t, size_t more); /* where `more` bytes may be written; the caller adds to len. NULL: it
                                               * has failed */
void text_bytes(struct text *t, const void *data, size_t len);
void text_add(struct text *t, const char *string);
void text_char(struct text *t, char c);
void text_int(struct text *t, int64_t n);
void text_hex(struct text *t, const void *data, size_t len);
void text_format(struct text *t, const char *format, ...) PRINTF(2, 3);

/* ---- the log: one logfmt line per event on stderr. `event` is a short fixed word; format gives `key=value` pairs,
 * with whole numbers (d, u, l, ll, z) and texts. A text stays one value whatever it holds: %s is put in quotes where it
 * needs them, and what would end the value or the line is escaped. Any thread. */
enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
extern enum log_level log_level;
bool                  log_level_set(const char *name) MUST_CHECK;
void                  log_event(enum log_level level, const char *event, const char *format, ...) PRINTF(3, 4);
/* One clear line to a person at a terminal, on stderr: "holdfast: ...". For commands. */
void say(const char *format, ...) PRINTF(1, 2);
/* Writes into `why` what went wrong. Always false, so that what fails can end in `return why_write(..)`. */
bool why_write(char *why, size_t why_size, const char *format, ...) PRINTF(3, 4);

/* ---- clocks. Facts carry the database's time, in milliseconds since 1970 UTC; ours is monotonic, for time-outs. */
int64_t clock_ms(void); /* monotonic */
int64_t clock_us(void);
int64_t clock_boot_ms(void); /* monotonic, and goes on while the machine is suspended: for ages that somebody is told */
#define TIME_NONE INT64_MIN  /* what a NULL in the database reads as */
int64_t time_parse(const char *datetime);       /* "2026-11-20 08:47:00.123" -> ms; NULL -> TIME_NONE */
void    time_write(struct text *t, int64_t ms); /* RFC 3339, UTC, milliseconds: 2026-11-20T08:47:00.123Z */

/* ---- names */
uint64_t hash_bytes(const void *data, size_t len); /* FNV-1a, seeded once per process */
/* 1 to max bytes of printable ASCII without space / ? # %, and not "." or "..": the alphabet of every code and id. */
bool code_valid(const char *code, size_t len, size_t max);

/* What is said of a code (its max, a size_t) or a number (least and most, long longs) that is none, wherever it came
 * from. */
#define CODE_RULE    "must be 1 to %zu bytes of printable ASCII without space / ? # %%, and not . or .."
#define INTEGER_RULE "must be an integer from %lld to %lld, in plain digits"
enum { SKU_MAX = 64, LOCATION_MAX = 32, ID_MAX = 64 };

/* Random bytes from the kernel. */
void random_bytes(void *data, size_t len);

#endif
