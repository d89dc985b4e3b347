/* complete.h - the end of orders that a task has: completed, failed, or freed by a reaper. Every function runs on the
 * caller's connection and thread, and retries after conflicts. While rows stay locked task_complete and task_fail may
 * take 40 s. */
#ifndef COMPLETE_H
#define COMPLETE_H

#include "jobs/task/task.h"

enum { ATTEMPTS_MAX = 8 }; /* attempts of an order, unless the caller names another number */

/* Completes the named orders, or with count 0 all that the task still has, and their effects, in one transaction.
 *
 * Orders that were completed before under the same task count as completed. Orders that the task does not have any more
 * count as lost. The call renews the lease.
 *
 * More than 4 MiB of SQL (some 80,000 slots) become several transactions. The same goes for a list with an order that
 * the database refuses: the order is found by halving, and fails with the reason. A refused settlement is buried, a
 * refused expiry is tried again after a pause; both count as lost. If other transactions keep rows locked, the result
 * is DB_LOCKED, after the other orders are completed. A hold that is not past its time, because a clock that was ahead
 * claimed it, is lost, too: it goes back in the same transaction, and its attempt is not charged. */
enum db_result task_complete(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                             struct task_answer *answer) MUST_CHECK;
/* Completes all orders of a worker that has the rows of its claim at hand, without reading them again. Locked orders go
 * back for some seconds: no program has worked on them, so nothing can be done twice. */
enum db_result task_complete_claimed(struct db *db, const struct task *task, struct reservation **orders, size_t count,
                                     struct task_answer *answer) MUST_CHECK;
/* Each order goes back after a pause that doubles with its attempts. It is buried when the report says so, or after
 * attempts_max attempts; a hold that fails to expire is never buried. An order that failed before with the same reason
 * counts as it did then. Other orders that the task does not have any more are lost. */
enum db_result task_fail(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                         unsigned attempts_max, struct task_answer *answer) MUST_CHECK;
/* Gives back the orders that a closed task still has, as after a failure. For the reaper. */
enum db_result task_release(struct db *db, const struct task *task, const char *error, unsigned attempts_max,
                            struct task_answer *answer) MUST_CHECK;

#endif
