/* txn.h - a transaction: guarded steps that change exactly the rows they expect, or all is undone and a verdict says
 * why.
 *
 *   txn_begin          the steps are collected and go as one compound in one trip
 *   txn_begin_fenced   each step is sent as it comes, one behind the other, and COMMIT in a trip of its own when all is
 *                      seen to be as expected: two trips, one more for each step but the first that may wait for a row,
 *                      and one for each read. The rows belong to the fence's owner, so nobody waits for the time
 * between.
 *
 * One thread. Once something is known to have gone wrong, further steps are not run. */
#ifndef TXN_H
#define TXN_H

#include "engine/db/db.h"
#include "engine/db/statement.h"

/* Why a transaction was undone. */
enum txn_verdict {
	TXN_DONE,
	TXN_FENCED,    /* the fence: its owner is shut out, or the database is in another past */
	TXN_MOVED,     /* a row is not in the state that was read */
	TXN_SHORT,     /* a slot has too few units available */
	TXN_LIMIT,     /* a total would pass its limit */
	TXN_CLOSED,    /* the task is not open any more */
	TXN_MISPLACED, /* units are not in the slots that a reservation names */
	TXN_TOO_LARGE, /* more than TXN_BYTES_MAX: nothing was sent */
};
/* The compound, well below the packet that the doctor asks for (16 MiB): the failures of CLAIM_MAX orders, each with
 * the longest reason, are 6.5 MB. */
enum { TXN_BYTES_MAX = 8 << 20, TXN_AHEAD = 12 };

/* REPEATABLE_READ: ranges that are read under locks are locked too. */
enum txn_isolation { READ_COMMITTED, REPEATABLE_READ };

/* The first step of every transaction of its owner. It changes one row, or the owner is shut out, and gives the time
 * back as LAST_INSERT_ID; what it leaves behind tells later whether the transaction was committed. */
struct txn_fence {
	enum statement enter;
	struct values  values; /* of its question marks */
	/* Before an answer is waited for. */
	void (*waits)(void *arg);
	/* The database said `now` at some time since sent_ms (clock_ms). */
	void (*entered)(void *arg, int64_t now, int64_t sent_ms);
	/* The connection is gone and nobody knows whether this was committed. DB_OK: it was, at *now. DB_AWAY: it was
	 * not, and never will be. DB_UNKNOWN: the database did not come back in time. */
	enum db_result (*outcome)(void *arg, int64_t *now);
	void *arg;
};

struct txn {
	struct db              *db;
	const struct txn_fence *fence;  /* NULL: none */
	enum db_result          result; /* of the first step that failed */
	enum txn_verdict        verdict;
	int64_t                 now;      /* with a fence: its time, by the database's clock; 0: not known yet */
	int64_t                 begun_ms; /* clock_ms */
	struct text             sql;      /* all steps; with a fence the last one */
	struct txn_step {
		int64_t          expected; /* rows that it must change; -1: any number .. */
		enum txn_verdict verdict;  /* .. or else this */
		void (*each)(void *arg, const struct db_row *row);
		void *arg;
	} sent[TXN_AHEAD]; /* not yet answered */
	size_t sent_count;
	bool   waits; /* one of them may wait for a row */
};

void txn_begin(struct txn *t, struct db *db);
void txn_begin_fenced(struct txn *t, struct db *db, const struct txn_fence *fence, enum txn_isolation isolation);
bool txn_goes_on(const struct txn *t); /* nothing is known to have gone wrong so far */
/* @t is the transaction's time. `fill` may be NULL. The rows of a prepared statement (with a fence alone) go to its
 * question marks. */
void txn_run(struct txn *t, enum statement name, const struct fill *fill);
/* With a fence alone: a trip. */
void txn_read(struct txn *t, enum statement name, const struct fill *fill,
              void (*each)(void *arg, const struct db_row *row), void *arg);
/* The step before must have changed `rows` rows (an upsert counts 2 for each row updated), otherwise all is undone. */
void txn_expect(struct txn *t, size_t rows, enum txn_verdict verdict);
void txn_refuse(struct txn *t, enum txn_verdict verdict);
void txn_fail(struct txn *t, enum db_result result); /* something beside its steps went wrong */
void txn_wait(struct txn *t);                        /* for the answers to all that was sent; with a fence alone */
/* Ends it. DB_OK: *verdict says whether it was committed. DB_UNKNOWN: nobody knows; without a fence it may also land
 * late, and must be harmless by its own conditions. Anything else: nothing was done. */
enum db_result txn_commit(struct txn *t, enum txn_verdict *verdict) MUST_CHECK;
void           txn_fini(struct txn *t); /* of one with a fence: memory that stays from one to the next */

/* A statement by itself, outside of a transaction. */
enum db_result txn_ask(struct db *db, enum statement name, const struct fill *fill,
                       void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;

#endif
