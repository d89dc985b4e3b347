/* drill.h - marks a test that takes more than ten seconds on a quiet machine, or more than four seconds of its
 * processors, the database's included. `make test` leaves drills out; `make check` (TEST_DRILLS=1) and a filter that
 * names them run them: Test(suite, name, DRILL). */
#ifndef TESTS_DRILL_H
#define TESTS_DRILL_H

#include <criterion/criterion.h>

#define DRILL .description = "a drill"

/* No other test has a description. A test's process may not read its text: the address is not valid there. */
static inline bool is_drill(const struct criterion_test *test)
{
	return test->data->description != NULL;
}

#endif
