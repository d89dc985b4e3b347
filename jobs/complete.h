/* complete.h - the end of orders that a task has: completed, failed, or freed by a reaper. Every function runs on the
 * caller's connection and thread, and tries again what conflicts undid; where rows stay locked task_complete and
 * task_fail may take 40 s. */
#ifndef COMPLETE_H
#define COMPLETE_H

#include "jobs/task.h"

enum { ATTEMPTS_MAX = 8 }; /* attempts of an order, where nobody named another number */

/* Completes the orders named, or with count 0 all that the task still has: one transaction with their effect.
 *
 * Orders completed before under the same task count as completed; orders that are not the task's any more count as
 * lost. The call renews the lease.
 *
 * More than 4 MiB of SQL (some 80,000 slots) are several transactions. So is a list with an order that the database
 * refuses: the order is found by halves, and fails, with the reason: a settlement is buried, an expiry tried again
 * after a pause; it counts as lost. Orders whose rows stay locked by somebody else are DB_LOCKED in the end, after the
 * others are completed. A hold that is not past its time, because a clock that was ahead claimed it, is lost, too: it
 * goes back in the same transaction, its attempt not charged. */
enum db_result task_complete(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                             size_t count, struct task_answer *answer) MUST_CHECK;
/* Completes all orders of a worker that has the rows of its claim at hand, without reading them again. Locked orders go
 * back for some seconds: nothing was done outside that could be done twice. */
enum db_result task_complete_claimed(struct db *db, struct catalogue *c, const struct task *task,
                                     struct reservation **orders, size_t count, struct task_answer *answer) MUST_CHECK;
/* Each order goes back after a pause that doubles with its attempts, or is buried: when the report says so or it has
 * had attempts_max. A hold that fails to expire is never buried. An order that failed before with the same reason
 * counts as it did then; other orders that the task has no more are lost. */
enum db_result task_fail(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                         size_t count, unsigned attempts_max, struct task_answer *answer) MUST_CHECK;
/* Gives the orders that a closed task still has back, as after a failure. For the reaper. */
enum db_result task_release(struct db *db, struct catalogue *c, const struct task *task, const char *error,
                            unsigned attempts_max, struct task_answer *answer) MUST_CHECK;

#endif
