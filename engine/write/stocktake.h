/* stocktake.h - a movement by itself, decided under locks on every slot of its skus. */
#ifndef STOCKTAKE_H
#define STOCKTAKE_H

#include "engine/write/state.h"

/* The batch is the single operation `op`. Decides, writes, and ends as lane_commit does. */
enum db_result stocktake_run(struct lane *l, struct op *op, enum txn_verdict *verdict, int64_t *now) MUST_CHECK;

#endif
