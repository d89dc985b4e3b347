/* fence.h - a lane's writer (engine/db/writer.h) as the fence of its transactions. Its batch_no tells which batch was
 * committed. */
#ifndef FENCE_H
#define FENCE_H

#include "engine/write/state.h"

/* A statement by itself, outside of a transaction. Sends the lane's outbox first: it may have to wait. */
enum db_result lane_ask(struct lane *l, enum statement name, const struct fill *fill,
                        void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* Connects, and shuts out the remains of an earlier connection. */
bool lane_connect(struct lane *l) MUST_CHECK;
/* The lane was shut out: enters its writer again on the same connection, on which nothing can still land. False: the
 * connection is closed, as it is where the writer is another one, or says less than was committed. */
bool lane_enter_again(struct lane *l) MUST_CHECK;
/* Whether an idle lane's connection still stands; closes it if not. Shows that the lane's writer is not silent. */
bool lane_check(struct lane *l) MUST_CHECK;
void lane_leave(struct lane *l); /* the lane ends in order: its writer may be taken */
/* An id ordered by time. After a clock was set back the id may exist already: a duplicate key, and a new id. */
uint64_t lane_new_id(struct lane *l);
/* Begins l->txn behind the lane's fence; its steps are txn_run and so on. A lane that has just failed looks at its row
 * before it sends a step that would wait like it. `logs`: lane_log follows. */
void lane_begin(struct lane *l, enum txn_isolation isolation, bool logs);
/* The event row of the transaction, with l->changes: its last step. */
void lane_log(struct lane *l);
/* Ends l->txn as txn_commit does, whatever happens to the connection; *now is its time by the database's clock. */
enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now) MUST_CHECK;

#endif
