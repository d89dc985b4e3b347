/* fence.h - a lane's row in the database: its lock keeps the lane's transactions in line, its epoch keeps a connection
 * that was given up from committing, its batch_no tells what was committed. */
#ifndef FENCE_H
#define FENCE_H

#include "engine/lane/state.h"

/* A statement by itself, outside of a transaction. Sends the lane's outbox first: it may have to wait. */
enum db_result lane_ask(struct lane *l, enum statement name, const struct fill *fill,
                        void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* Connects and fences what an earlier connection may still do. */
bool lane_connect(struct lane *l) MUST_CHECK;
void lane_leave(struct lane *l); /* takes the lane's row away: it ends in order */
/* Ordered by time. After a clock was set back it may be one of before: a duplicate key, and a new id. */
uint64_t lane_new_id(struct lane *l);
/* Begin and end l->txn behind the lane's fence; its steps are txn_run and so on. A lane that has just failed looks at
 * its row before it sends a step that would wait like it. */
void lane_begin(struct lane *l, enum txn_isolation isolation);
/* Whatever happens to the connection. As txn_commit; done at *now by the database's clock. */
enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now) MUST_CHECK;

#endif
