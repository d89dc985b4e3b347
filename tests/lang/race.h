/* race.h - many threads that send at the same instant, each on a connection of its own.
 *
 * Thread i talks to port i % ports; call k of the race is made from the step k % steps, with # standing for k. */
#ifndef TESTS_RACE_H
#define TESTS_RACE_H

#include "tests/kit/http.h"

struct race;

/* `shape` is THREADS or THREADS*CALLS; `steps` are divided by `||`; `bearer` (NULL: none) is sent with every call, and
 * lives as long as the race. NULL: `shape` or `steps` make no sense. */
struct race *race_start(const int *port, int ports, const char *bearer, const char *shape, const char *steps);
/* Waits for all threads. The answers come in the order of their numbers and live until race_free. Once. */
const struct answer *race_finish(struct race *r, int *count);
/* Compares the answers of a finished race with `COUNTx words | ..`. */
bool race_meets(const struct race *r, const char *expectation, struct text *why);
void race_free(struct race *r);

#endif
