/* txn.h - a transaction: guarded steps that change exactly the rows they expect, or all is undone and a verdict says
 * why.
 *
 * txn_begin: the steps are collected and go as one compound in one trip.
 *
 * txn_begin_fenced: each step is sent as it comes, one behind the other, and COMMIT goes in a trip of its own when
 * every step changed the rows it expects. A transaction takes two trips, one more for each step but the first that may
 * wait for a row, and one for each read. The rows belong to the fence's owner, so no other transaction waits for the
 * time between.
 *
 * One thread. Once a failure is known, no further step is sent. */
#ifndef TXN_H
#define TXN_H

#include "engine/db/db.h"
#include "engine/db/statement.h"

/* Why a transaction was undone. */
enum txn_verdict {
	TXN_DONE,
	TXN_FENCED,    /* the fence: its owner is shut out, or the database is in another past */
	TXN_MOVED,     /* a row is not in the state that was read */
	TXN_SHORT,     /* a slot has too few units available, or an order in the queue waits for them */
	TXN_LIMIT,     /* a total would pass its limit */
	TXN_BEYOND,    /* a customer would have more units than the limit of a sku */
	TXN_CLOSED,    /* the task is not open any more */
	TXN_MISPLACED, /* units are not in the slots that a reservation names */
	TXN_TOO_LARGE, /* more than TXN_BYTES_MAX, and not whole: nothing was sent */
	TXN_VERDICTS,
};
/* TXN_BYTES_MAX: a larger compound is for its owner to divide; some 80,000 slots, well below the packet that the doctor
 * asks for (16 MiB). */
enum { TXN_BYTES_MAX = 4 << 20, TXN_AHEAD = 12 };

/* REPEATABLE_READ: ranges that are read under locks are locked too. */
enum txn_isolation { READ_COMMITTED, REPEATABLE_READ };

/* The fence: the first step of every transaction of its owner. The step changes one row, or the owner is shut out, and
 * gives its time and its stamp back as LAST_INSERT_ID: ms << STAMP_BITS, and the stamp's microseconds behind these ms.
 * The row tells later whether the transaction was committed. */
enum { STAMP_BITS = 20 };
struct txn_fence {
	enum statement enter;
	enum statement stamp;  /* asks for the stamp where the bits have no room for it */
	struct values  values; /* the values of its question marks */
	/* Called before an answer is waited for. */
	void (*waits)(void *arg);
	/* Called when the database said `now` at some time since sent_ms (clock_ms). */
	void (*entered)(void *arg, int64_t now, int64_t sent_ms);
	/* Finds out whether a transaction without an answer was committed: its connection broke. DB_OK: it was, at *now
	 * with *stamp. DB_AWAY: it was not, and never will be. DB_UNKNOWN: the database did not come back in time. */
	enum db_result (*outcome)(void *arg, int64_t *now, int64_t *stamp);
	void *arg;
};

struct txn {
	struct db              *db;
	const struct txn_fence *fence;  /* NULL: none */
	enum db_result          result; /* result of the first step that failed */
	enum txn_verdict        verdict;
	int64_t                 now;      /* time of a fenced transaction, by the database's clock; 0: not known yet */
	int64_t                 stamp;    /* @s of a fenced transaction, when it is committed */
	int64_t                 begun_ms; /* clock_ms */
	struct text             sql;      /* all steps; of a fenced transaction the last one */
	struct txn_step {
		int64_t          expected; /* rows that the step must change; -1: any number .. */
		enum txn_verdict verdict;  /* .. or else this verdict */
		void (*each)(void *arg, const struct db_row *row);
		void *arg;
	} sent[TXN_AHEAD]; /* steps not yet answered */
	size_t sent_count;
	bool   waits;  /* an unanswered step may wait for a row */
	bool   logs;   /* the transaction writes an event row */
	size_t events; /* the records of that row */
	bool   whole;  /* set by the owner after txn_begin: cannot be divided, is sent however long it is */
};

void txn_begin(struct txn *t, struct db *db);
void txn_begin_fenced(struct txn *t, struct db *db, const struct txn_fence *fence, enum txn_isolation isolation);
bool txn_goes_on(const struct txn *t); /* nothing is known to have gone wrong so far */
/* The first step of a transaction without a fence that changes reservations or movements: locks the connection's
 * writer, which is taken up where there is none, and makes the stamp @s, no less than stamp_min. `logs`: txn_log
 * follows. TXN_FENCED: another process has the writer. */
void txn_enter(struct txn *t, int64_t stamp_min, bool logs);
/* The event row of a transaction without a fence (engine/log/event.h), behind all other rows but the task's. The count
 * of `changes` is counted when the transaction is committed. */
void txn_log(struct txn *t, const struct text *changes);
/* Runs a step. @t is the transaction's time. `fill` may be NULL. The rows of a prepared statement (fenced transactions
 * only) go to its question marks. A step that wants rows and has none, because the rows that it rests on are damaged,
 * ends the transaction as an answer that no right database gives: DB_ERROR. */
void txn_run(struct txn *t, enum statement name, const struct fill *fill);
/* Runs a step with these rows; without rows there is no step. */
void txn_rows(struct txn *t, enum statement name, const struct values *rows);
/* Runs a step that must change each of the rows of `fill` (TXN_MOVED); without rows there is no step. */
void txn_move(struct txn *t, enum statement name, const struct fill *fill);
/* Reads in the trip of the steps around it; `each` is called when they are answered. Fenced transactions only. */
void txn_look(struct txn *t, enum statement name, const struct fill *fill,
              void (*each)(void *arg, const struct db_row *row), void *arg);
/* Reads, in a trip of its own. Fenced transactions only. */
void txn_read(struct txn *t, enum statement name, const struct fill *fill,
              void (*each)(void *arg, const struct db_row *row), void *arg);
/* Expects the step before to have changed `rows` rows (an upsert counts 2 for each row updated), or all is undone. */
void txn_expect(struct txn *t, size_t rows, enum txn_verdict verdict);
void txn_refuse(struct txn *t, enum txn_verdict verdict);
void txn_fail(struct txn *t, enum db_result result); /* something beside the steps went wrong: txn_commit undoes all */
void txn_wait(struct txn *t); /* waits for the answers to all sent steps; fenced transactions only */
/* Ends the transaction. DB_OK: *verdict says whether it was committed. DB_UNKNOWN: it is not known. A transaction
 * without a fence may then land late, and must be harmless by its own conditions. Any other result: nothing was done.
 */
enum db_result txn_commit(struct txn *t, enum txn_verdict *verdict) MUST_CHECK;
/* The same for a caller that tries again whatever the verdict was: DB_RETRY where all was undone. */
enum db_result txn_commit_or_retry(struct txn *t) MUST_CHECK;
void           txn_fini(struct txn *t); /* frees the memory that a fenced transaction keeps for the next one */

#endif
