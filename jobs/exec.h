/* exec.h - a program in any language that settles the orders of a claim (`work settle --exec CMD`). */
#ifndef EXEC_H
#define EXEC_H

#include "jobs/settings.h"

/* Runs work->exec for the orders of a claim: its input is a line of JSON for each order, its output the answers. Orders
 * without an answer are retried. Renews the lease while answers come; kills the program when it is silent for a lease.
 * Returns when the answers are written, however long the database is away, unless the worker is to stop. *refused:
 * orders that the database refused to complete. */
enum db_result exec_run(struct db *db, const struct work *work, const struct task *task, struct reservation **orders,
                        size_t count, int64_t *refused) MUST_CHECK;
/* Kills every running program with all of its children, for a process that ends at once. No program is started after
 * that, and the workers of killed programs stand still. Any thread. */
void exec_kill_all(void);

#endif
