/* changes.h - the events of a batch: what its operations change, in the order in which they are judged. */
#ifndef CHANGES_H
#define CHANGES_H

#include "engine/write/state.h"

/* Writes l->changes, the bytes of the event row (engine/log/event.h), for all operations that write. Times count from
 * that of the transaction. Before lane_log. */
void changes_write(struct lane *l);

#endif
