/* drill.h - marks a test that takes more than ten seconds on a quiet machine, or more than four seconds of its
 * processors, the database's included. `make test` leaves drills out; `make check` (TEST_DRILLS=1) and a filter that
 * names them run them: Test(suite, name, DRILL). */
#ifndef TESTS_DRILL_H
#define TESTS_DRILL_H

#define DRILL       .description = DRILL_WORDS
#define DRILL_WORDS "a drill"

#endif
