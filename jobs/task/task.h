/* task.h - a task: the orders that one worker has claimed, for as long as its lease lasts.
 *
 *              claim                complete, fail: no order is left
 *   (waiting) ──────▶ open ────────────────────────────────────▶ done
 *                      │ return ───▶ returned     orders go back at once, the attempt is not charged
 *                      └ lease runs out, reap ──▶ reaped          orders go back after a pause, or are buried
 *
 * A task's number is the fencing token: every write names it, and a task that was reaped changes nothing. The lease
 * stands in the task's row and runs by the database's clock. Every function runs on the caller's connection and thread.
 * A call that returned another db_result than DB_OK may be repeated: work that was done before is found done. */
#ifndef TASK_H
#define TASK_H

#include "engine/db/statement.h"
#include "engine/rows.h"

enum task_kind {
	TASK_NO_KIND,
#define X(name, number, word, from, statement) name = number,
#include "jobs/task/kinds.def"
#undef X
	TASK_KINDS
};
enum task_state {
	TASK_NO_STATE, /* also of a task of an unknown kind */
#define X(name, number, word) name = number,
#include "jobs/task/task_states.def"
#undef X
	TASK_STATES
};
const char            *task_kind_name(enum task_kind k);
enum task_kind         task_kind_find(const char *word); /* TASK_NO_KIND: the kind is unknown */
enum reservation_state task_kind_from(enum task_kind k); /* the state of reservations that a task of the kind claims */
enum statement         task_kind_complete(enum task_kind k); /* the statement that completes orders of the kind */
const char            *task_state_name(enum task_state s);
struct task;
struct txn;
/* True: the task was reaped, or this version does not know its kind or its state. Its worker changes nothing. */
bool task_is_lost(const struct task *t);

/* A reaper's words in an order's last_error, with the name of the worker. */
#define LEASE_RAN_OUT "the lease of worker %s ran out"
enum { LEASE_WORDS = sizeof(LEASE_RAN_OUT) + ID_MAX };
enum { LEASE_S = 30 }; /* the length of a lease if the caller gives none */

struct task {
	uint64_t        task_id;
	enum task_kind  kind;
	enum task_state state;
	char            worker[ID_MAX + 1];
	int64_t         lease_until, created_at;    /* ms */
	int64_t         claimed, completed, failed; /* number of orders */
	int64_t         mark;                       /* a claim's mark: see task_claim; 0: none yet */
	bool            paused;                     /* a claim got nothing because the job is paused */
	bool            met_lock;                   /* the claim skipped rows that other transactions had locked */
};

/* A worker's word on one order of its task. */
struct report {
	char        order_id[ID_MAX + 1];
	bool        retry; /* a failure: true: again after a pause; false: bury it */
	const char *error; /* NULL: none; at most 500 bytes */
};

/* The outcome of a complete, fail, return or heartbeat. All but `by` are 0 before the call. */
struct task_answer {
	uint32_t    by;         /* asked: the key that calls; 0: none */
	struct task task;       /* the task as first read; task_id 0: there is none */
	bool        lease_lost; /* the task is not open: nothing was changed */
	int64_t     completed, retried, buried, lost;
	int64_t     refused;             /* lost orders that failed because the database refused to complete them */
	int64_t     given_back;          /* lost orders that went back: not past their time (an expiry), or locked */
	char (*lost_orders)[ID_MAX + 1]; /* ids of `lost` orders, owned */
};
void task_answer_fini(struct task_answer *a); /* `by` stays */
void task_lost_add(struct task_answer *a, const char *order_id);

/* Reads a task. task->task_id 0: there is none. */
enum db_result task_read(struct db *db, uint64_t task_id, struct task *task) MUST_CHECK;
/* Up to `max` tasks, by a statement that selects what TASK_READ does. */
enum db_result task_page(struct db *db, enum statement name, const struct fill *fill, struct task *list, size_t max,
                         size_t *count) MUST_CHECK;
/* Up to `max` tasks below `low`, newest first. */
enum db_result task_list(struct db *db, uint64_t low, struct task *list, size_t max, size_t *count) MUST_CHECK;
/* The orders of the task in `state`, sorted by id: the order in which rows are locked. */
enum db_result task_rows(struct db *db, uint64_t task_id, enum reservation_state state,
                         struct reservation_reader *in) MUST_CHECK;
/* Reads the task and those of its orders that are named (all with count 0); counts the orders that were completed
 * before, and the lost ones. */
enum db_result task_prepare(struct db *db, uint64_t task_id, const struct report *orders, size_t count,
                            struct task_answer *a, struct reservation_reader *open) MUST_CHECK;

enum db_result task_return(struct db *db, uint64_t task_id, struct task_answer *answer) MUST_CHECK;
/* Renews the lease to lease_s from now on. answer->task has the new lease. */
enum db_result task_heartbeat(struct db *db, uint64_t task_id, int64_t lease_s, struct task_answer *answer) MUST_CHECK;

#endif
