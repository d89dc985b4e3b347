/* claim.h - claims: due reservations become a task, the oldest first. Every function runs on the caller's connection
 * and thread. */
#ifndef CLAIM_H
#define CLAIM_H

#include "jobs/task/task.h"

enum { CLAIM_MAX = 5000 }; /* orders of one claim */

/* A claimer's memory, one for each kind and thread; all 0 at first. It says where in the index the due orders begin.
 * Long snapshots of other connections keep old entries in the index, and a walk over them costs more than the claim. */
struct claimer {
	int64_t low_ms;          /* due_at of the last claim, less a margin; 0: from the beginning */
	int64_t full_at_ms;      /* clock_ms of the next walk from the beginning */
	int64_t locked_until_ms; /* clock_ms until which locked rows are skipped at once */
};

/* Claims up to `limit` due reservations, the oldest first; rows that other transactions have locked are skipped.
 * task->task_id 0: nothing is due, or task->paused; otherwise there is at least one order. The list is the caller's.
 *
 * The claim draws task->mark by chance. A caller that repeats a failed claim with the same mark gets the task of the
 * first claim if it was committed after all. So no task is left to its lease, and two claims of one mark never
 * exist. A mark that has got a task is used up: set it to 0 before the next claim. */
enum db_result task_claim(struct db *db, struct claimer *claimer, struct task *task, int64_t limit, int64_t lease_s,
                          struct reservation ***orders, size_t *count) MUST_CHECK;

/* task_return of a claim before its orders were begun: other workers may claim them at once. */
enum db_result task_give_back(struct db *db, const struct task *task) MUST_CHECK;
/* A reaper may free a worker's task while the database is away. This gives the worker a new task, with those of its
 * orders that no other worker has had since. `task` is changed, its mark as for task_claim; task_id 0: no order was
 * left for it. `now` has all of the orders as they are now: orders taken up have the new number. The list is the
 * caller's. */
enum db_result task_take_up(struct db *db, struct task *task, int64_t lease_s, struct reservation **mine, size_t count,
                            struct reservation_reader *now) MUST_CHECK;

#endif
