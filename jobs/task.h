/* task.h - claims, and what becomes of them: completed, failed, returned, reaped. One machine for every kind
 * (kinds.def).
 *
 *              claim                complete, fail: nothing is left
 *   (waiting) ──────▶ open ────────────────────────────────────▶ done
 *                      │ return ───▶ returned     orders go back at once, the attempt is not charged
 *                      └ lease runs out, reap ──▶ reaped          orders go back after a pause, or are buried
 *
 * A task's number is the fencing token: every write names it, and a task that was reaped changes nothing. The lease
 * lives on the task. The database's clock rules. Every function runs on the caller's connection and thread; what
 * returns a db_result may be repeated after any of them, because what was done before is found done. */
#ifndef TASK_H
#define TASK_H

#include "engine/db/statement.h"
#include "engine/rows.h"

enum task_kind {
	TASK_NO_KIND,
#define X(name, number, word, from, statement) name = number,
#include "jobs/kinds.def"
#undef X
	TASK_KINDS
};
enum task_state {
#define X(name, number, word) name = number,
#include "jobs/task_states.def"
#undef X
	TASK_STATES
};
const char            *task_kind_name(enum task_kind k);
enum task_kind         task_kind_find(const char *word); /* TASK_NO_KIND when there is none */
const char            *task_state_name(enum task_state s);
enum reservation_state task_kind_from(enum task_kind k); /* the state of the reservations that it claims */

enum { CLAIM_MAX = 5000, ATTEMPTS_MAX = 8, LEASE_S = 30 };

struct task {
	uint64_t        task_id;
	enum task_kind  kind;
	enum task_state state;
	char            worker[ID_MAX + 1];
	int64_t         lease_until, created_at; /* ms */
	int64_t         claimed, completed, failed;
	bool            overdue;  /* open, and its lease has run out */
	int64_t         mark;     /* of a claim: see task_claim; 0: none yet */
	bool            met_lock; /* of a claim: it passed over rows that somebody else has locked */
};

/* A claimer's memory, one for each kind and thread: where in the index the due ones begin. Long snapshots elsewhere
 * keep old entries in the index, and walking over them costs more than the claim. */
struct claimer {
	int64_t low_ms;          /* due_at of the last claim, less a margin; 0: from the beginning */
	int64_t full_at_ms;      /* clock_ms of the next walk from the beginning */
	int64_t locked_until_ms; /* until then locked rows are passed over at once */
	/* With a long backlog every other claim takes what has become due just now: what is fresh does not wait for
	 * what is old. Set by the claimer's owner. */
	bool    both_ends;
	int64_t fresh_ms; /* where the fresh ones begin; 0: the next claim is of the oldest */
};

/* Claims up to `limit` due reservations, the oldest first unless the claimer takes both ends; those whose row somebody
 * else has locked are passed over. Nothing due: task->task_id 0. The list is the caller's.
 *
 * The claim makes task->mark by chance. Whoever repeats a claim that failed with the same mark gets the task of the
 * first one if that was committed after all: none is left to its lease, and never do two claims of a mark stand. A mark
 * that has got a task is used up: 0 before the next claim. */
enum db_result task_claim(struct db *db, struct catalogue *c, struct claimer *claimer, struct task *task, int64_t limit,
                          int64_t lease_s, struct reservation ***orders, size_t *count) MUST_CHECK;

/* For a worker whose task was reaped although it works, because it could not reach the database: a new task for those
 * of its orders that nobody else has had since. `task` is changed, its mark as for task_claim; task_id 0: there is none
 * of them. All of them come as a list, as they are now: those taken up have the new number. */
enum db_result task_take_up(struct db *db, struct catalogue *c, struct task *task, int64_t lease_s,
                            struct reservation **mine, size_t mine_count, struct reservation ***now,
                            size_t *count) MUST_CHECK;

/* What a worker says of one order of its task. */
struct report {
	char        order_id[ID_MAX + 1];
	bool        retry; /* of a failure: again after a pause; false: bury it */
	const char *error; /* NULL: none; at most 500 bytes */
};

/* What came of a complete or fail; all 0 before a return. */
struct task_answer {
	struct task task;       /* as it was read first; task_id 0: there is no such task */
	bool        lease_lost; /* it is not open: nothing was changed */
	int64_t     completed, retried, buried, lost;
	int64_t     refused;             /* of the lost: the database would not have them completed, so they failed */
	int64_t     given_back;          /* of the lost: not past its time (an expiry), or locked */
	char (*lost_orders)[ID_MAX + 1]; /* `lost` of them; the caller's to free */
};
void task_answer_fini(struct task_answer *a);

/* Completes the orders named, or with count 0 all that the task still has: one transaction with their effect. Orders
 * completed before under the same task count as completed; those that are not the task's any more as lost. Renews the
 * lease.
 *
 * More than 4 MiB of SQL (some 80,000 slots) are several transactions. So is what the database refuses: the order to
 * blame is found by halves, and fails, with the reason: a settlement is buried, an expiry tried again after a pause; it
 * counts as lost. What somebody else has locked for long is DB_LOCKED in the end, after the others are completed. A
 * hold that is not past its time, because a clock that was ahead claimed it, is lost, too: it goes
 * back in the same transaction, its attempt not charged. */
enum db_result task_complete(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                             size_t count, struct task_answer *answer) MUST_CHECK;
/* For a worker that has the rows of its claim at hand: the same for all of them without reading them again. What
 * somebody else has locked goes back, too, for some seconds; above it is done later, because its work may be done. */
enum db_result task_complete_claimed(struct db *db, struct catalogue *c, const struct task *task,
                                     struct reservation **orders, size_t count, struct task_answer *answer) MUST_CHECK;
/* Each order goes back after a pause that doubles with its attempts, or is buried: when the report says so or it has
 * had attempts_max. A hold that fails to expire is never buried. What was failed before with the same reason counts as
 * it did then; other orders that the task has no more are lost. */
enum db_result task_fail(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                         size_t count, unsigned attempts_max, struct task_answer *answer) MUST_CHECK;
enum db_result task_return(struct db *db, struct catalogue *c, uint64_t task_id, struct task_answer *answer) MUST_CHECK;
/* lease_s from now. answer->task has the new lease. */
enum db_result task_heartbeat(struct db *db, uint64_t task_id, int64_t lease_s, struct task_answer *answer) MUST_CHECK;

/* task->task_id 0: there is none. */
enum db_result task_read(struct db *db, uint64_t task_id, struct task *task) MUST_CHECK;
/* Up to `max` tasks below `low`, newest first. */
enum db_result task_list(struct db *db, uint64_t low, struct task *list, size_t max, size_t *count) MUST_CHECK;

/* A reaper's memory, one for each thread: when it last saw the database. All but the pause is 0 at first. */
struct reaper {
	int64_t pause_ms;  /* between two passes */
	int64_t looked_at; /* the database's clock at the last look .. */
	int64_t looked_ms; /* .. and ours */
	int64_t ended_ms;  /* clock_ms when the last pass ended, the database being there; 0: there was none */
};

/* One pass of the reaper: tasks whose lease ran out stale_s ago, and orders that a reaper who died left behind. `each`
 * is told of every task and how many of its orders go back (NULL: nobody); dry: nothing is changed.
 *
 * A worker renews its lease while the database answers. So a reaper that did not see the database for longer than its
 * pause, or whose clock jumped ahead since, gives the leases that ran out in between half a minute more, before anybody
 * is freed. What was given its time by a clock that was ahead is brought back first. */
enum db_result task_reap(struct db *db, struct catalogue *c, struct reaper *reaper, int64_t stale_s,
                         unsigned attempts_max, bool                                             dry,
                         void (*each)(void *arg, const struct task *task, int64_t orders), void *arg) MUST_CHECK;

/* Leases and orders whose time was given by a clock that was ahead, which no clock of now would have given: those that
 * a reaper brings back. Counted up to some thousand. */
enum db_result task_ahead(struct db *db, int64_t *orders, int64_t *leases) MUST_CHECK;

/* For the reaper: how the orders that a closed task still has go back. */
enum db_result task_release(struct db *db, struct catalogue *c, const struct task *task, const char *error,
                            unsigned attempts_max, struct task_answer *answer) MUST_CHECK;

/* ---- between task.c, complete.c and reap.c */
enum statement task_kind_statement(enum task_kind k);
/* What the task has in `state`, sorted by id: the order in which rows are locked. */
enum db_result task_rows(struct db *db, struct catalogue *c, uint64_t task_id, enum reservation_state state,
                         struct reservation_reader *in) MUST_CHECK;
/* Reads the task and those of its orders that are named (all with count 0); counts what was completed before and what
 * is lost. */
enum db_result task_prepare(struct db *db, struct catalogue *c, uint64_t task_id, const struct report *orders,
                            size_t count, struct task_answer *a, struct reservation_reader *open) MUST_CHECK;
void           task_id_rows(struct values *rows, struct reservation **list, size_t count);
void           task_lost_add(struct task_answer *a, const char *order_id);
/* NULL: it is not among them. */
const struct reservation *task_rows_find(const struct reservation_reader *in, const char *order_id);

#endif
