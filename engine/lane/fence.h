/* fence.h - a lane's row in the database: its lock keeps the lane's transactions in line, its epoch keeps a connection
 * that was given up from committing, its batch_no tells what was committed. */
#ifndef FENCE_H
#define FENCE_H

#include "engine/db/statement.h"
#include "engine/lane/state.h"

/* A statement by itself, outside of a transaction. */
enum db_result lane_ask(struct lane *l, enum statement name, const struct fill *fill,
                        void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* Connects and fences what an earlier connection may still do. */
bool lane_connect(struct lane *l) MUST_CHECK;
void lane_leave(struct lane *l); /* takes the lane's row away: it ends in order */
/* Ordered by time. After a clock was set back it may be one of before: a duplicate key, and a new id. */
uint64_t lane_new_id(struct lane *l);
/* A guarded transaction: begun, run, ended. It is two trips, one more for each step but the first that may wait for a
 * row and one to read repeatably: the lane's row and what is written, one step behind the other; COMMIT, when all of it
 * is seen to be as expected. The rows belong to this lane, so that nobody waits for the time between. */
enum isolation { READ_COMMITTED, REPEATABLE_READ }; /* the latter: ranges that it reads under locks are locked, too */
void lane_begin(struct lane *l, enum isolation isolation);
bool lane_goes_on(const struct lane *l); /* nothing is known to have gone wrong so far */
/* @t is the transaction's time. `fill` and `each` may be NULL. To read is a trip. */
void lane_run(struct lane *l, enum statement name, const struct fill *fill);
void lane_read(struct lane *l, enum statement name, const struct fill *fill,
               void (*each)(void *arg, const struct db_row *row), void *arg);
/* With l->values, a statement that lane_prepare knows. */
void lane_execute(struct lane *l, enum statement name);
/* The step before must have changed `count` rows (an upsert counts 2 for each row updated), otherwise all is undone. */
void lane_expect(struct lane *l, int64_t count, enum txn_verdict verdict);
void lane_refuse(struct lane *l, enum txn_verdict verdict);
/* Ends it and finds out what came of it, whatever happens to the connection. DB_OK: see *verdict; done at *now by the
 * database's clock. DB_UNKNOWN: the database did not come back in time. Anything else: nothing was done. */
enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now) MUST_CHECK;

#endif
