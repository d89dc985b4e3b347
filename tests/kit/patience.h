/* patience.h - how long tests wait. There is one number, PATIENCE_MS: what a step may take on a machine that has
 * nothing else to do. Every limit of a test is a multiple of it, or less, and goes through patience_ms, which scales it
 * by how slow the machine is at that moment.
 *
 * tests/main.c measures that, as long as the tests run, and writes it into a file that all processes of the run read.
 * Any thread. */
#ifndef TESTS_PATIENCE_H
#define TESTS_PATIENCE_H

#include "engine/base/base.h"

enum { PATIENCE_MS = 10000 };

/* How many times slower than a quiet machine of today this one is now: 1 to 10. It is the longest of the last
 * seconds. Without tests/main.c: 1. */
double patience_factor(void);
/* What `ms` on a quiet machine are now. */
int patience_ms(int ms);
/* True: since `from_ms` (clock_ms) more than `ms`, scaled, have passed. For loops: the machine may become slower while
 * they wait. */
bool patience_is_over(int64_t from_ms, int ms);
/* Sleeps between two looks of such a loop: an eighth of what it has waited, 10 to 200 ms. Looks cost the machine that
 * the tests beside it wait for. */
void patience_pause(int64_t from_ms);

/* Measures until the end of the process, in a thread of its own, and writes the factor into a file, in the folder of
 * the run by this name. false: the file cannot be made. */
#define PATIENCE_FILE "patience"
bool patience_measure(const char *path) MUST_CHECK;

#endif
