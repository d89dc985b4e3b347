/* counters.h - what happens now and then, counted by every process for itself. A service tells its figures under
 * /metrics. A worker or a reaper that is a process of its own has no such place: it leaves in the database what it
 * counted, within some seconds, and one service takes it over. So every event is among the figures of one process, and
 * their sum over all services is right. What a process counted in its last moments before a kill -9 is lost. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "engine/base/base.h"

#include <stdatomic.h>

enum counter {
#define X(name, word) name,
#include "engine/counters.def"
#undef X
	COUNTERS
};

void    counter_add(enum counter c, int64_t n); /* any thread */
int64_t counter_here(enum counter c);           /* what this process counted or took over, and did not leave */

struct db;
/* Leaves in the database what this process counted; what could not be brought there stays for the next time. Does
 * nothing where there is nothing. Any thread, with a connection of its own that has no transaction open. */
void counters_leave(struct db *db);
/* Takes over what others left; where the database does not answer, that waits for the next time. Likewise. */
void counters_take(struct db *db);

#endif
