/* base.h - basics of every file: assert, the usual types, the C library's texts and memory, attributes, exit statuses,
 * the version. Wrong things are of three kinds. A bug ends the process by assert, which is never compiled out. A
 * refusal is a value. Trouble of the world (the database is away) is handled where it is met; a lack of memory ends the
 * process (memory.h). */
#ifndef BASE_H
#define BASE_H

#undef NDEBUG
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Semantic versioning, https://semver.org. tests/tidy.sh compares it with debian/changelog and api/openapi.yaml. */
#define HOLDFAST_VERSION "1.0.0-rc1"

#define MUST_CHECK    __attribute__((warn_unused_result))
#define PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* A large variable of a function that writes every part of it before it reads the part. -ftrivial-auto-var-init would
 * fill all of it with zeros at each call. */
#define UNZEROED __attribute__((uninitialized))

/* The order of two pairs of numbers (a, b) and (c, d), for qsort. */
static inline int pair_order(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return a != c ? (a > c) - (a < c) : (b > d) - (b < d);
}

/* Exit statuses of the program (sysexits.h has the last three). */
enum { EXIT_DONE = 0, EXIT_TROUBLE = 1, EXIT_USAGE = 64, EXIT_UNAVAILABLE = 69, EXIT_CONFIG = 78 };

#endif
