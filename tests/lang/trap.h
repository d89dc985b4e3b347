/* trap.h - traps that a test sets for the service, inside of a flow: rows that another transaction locks as long as the
 * test likes, statements and figures of the database, races that go on meanwhile. Main thread only. */
#ifndef TESTS_TRAP_H
#define TESTS_TRAP_H

#include "tests/lang/flow.h"

/* SQL in the test's database, by itself. A number: the first column of the first row, 0 without one. */
void    trap_sql(const char *format, ...) PRINTF(1, 2);
int64_t trap_number(const char *format, ...) PRINTF(1, 2);
/* For trap_lock: the slots of a sku. */
#define SLOTS_OF(code) "SELECT slot FROM stock_slot JOIN sku USING (sku_id) WHERE code = '" code "' FOR UPDATE"
/* Runs the statement in a transaction of another connection, which keeps its locks until trap_unlock commits it. */
void trap_lock(const char *format, ...) PRINTF(1, 2);
void trap_unlock(void);
/* Waits 10 s at most until a statement of the service has been running for 0.1 s, so that it must be waiting for a
 * lock; gives the number of its connection. Otherwise the test fails. */
int64_t trap_waiter(void);
/* The number of the newest connection to the database. trap_rests waits, PATIENCE_MS at most, until `count` newer ones
 * have had nothing to do for 0.3 s: their programs have done their work, and pause. */
int64_t trap_newest(void);
void    trap_rests(int64_t newest, int count);
/* How often the programs have said these words so far. */
int trap_said_count(const char *words);
/* Makes the file that a program waits for (GATE, steps.h), and gives the program half a second to go on. */
void trap_gate(const char *path);
/* Waits 30 s at most until there is a file. */
void trap_file(const char *path);
/* Workers start this program (of the shell) from now on; trap_begun waits until it runs. A task that is open may still
 * be on its way to its worker. */
void trap_exec(const char *format, ...) PRINTF(1, 2);
void trap_begun(void);
/* Waits for the end of a race, judges it and frees it. */
void trap_raced(struct race *race, const char *expectation);
/* Starts a race in which all calls wait together, so that few calls come in one batch, and of many calls half: the
 * lane's own row is locked until they wait. For programs with one lane. */
struct race *trap_race_of_waiters(const char *shape, const char *steps);
/* One count of the program answers all calls of a second. Calls `path`, does `step`, and calls `path` again. Both
 * answers have counted_at. The second answer equals the first one, or its count is at least a second younger. Repeats
 * this until two answers are equal: on a slow machine the step may take longer than a second. */
void trap_counted_once(const char *path, const char *step);
/* The value of a sample of /metrics of a program (0 is the first); -1: it is not there. */
int64_t trap_metric(int program, const char *name);

#endif
