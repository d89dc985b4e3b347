/* patience.h - how long tests wait. There is one number, PATIENCE_MS: the time that a step may take on a machine that
 * has nothing else to do. Every limit of a test is a multiple of it, or less, and goes through patience_ms, which
 * scales it by the slowness of the machine at that moment.
 *
 * tests/main.c measures the slowness as long as the tests run, and writes it into a file that all processes of the run
 * read. Any thread. */
#ifndef TESTS_PATIENCE_H
#define TESTS_PATIENCE_H

#include "engine/base/base.h"

enum { PATIENCE_MS = 10000 };

/* How many times slower than a quiet machine of today this one is now: 1 to 30. It is the largest value of the last
 * seconds. Without tests/main.c: 1. */
double patience_factor(void);
/* Scales `ms` of a quiet machine to this machine now. */
int patience_ms(int ms);
/* True: since `from_ms` (clock_ms) more than `ms`, scaled, have passed. For loops: the machine may become slower while
 * they wait. */
bool patience_is_over(int64_t from_ms, int ms);
/* Sleeps between two looks of a loop: an eighth of the time since from_ms, 10 to 200 ms. More looks would slow down the
 * tests beside this one. */
void patience_pause(int64_t from_ms);

/* Measures until the end of the process, in a thread of its own, and writes the factor into a file, in the folder of
 * the run by this name. false: the file cannot be made. */
#define PATIENCE_FILE "patience"
bool patience_measure(const char *path) MUST_CHECK;

#endif
