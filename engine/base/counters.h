/* counters.h - events that a process counts for itself, in memory. /metrics tells them. A process without /metrics
 * leaves its counters in the database for a service (engine/read/census.h). Any thread. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "engine/base/base.h"

enum counter {
#define X(name, word) name,
#include "engine/base/counters.def"
#undef X
	COUNTERS
};
const char *counter_name(enum counter c);

void    counter_add(enum counter c, int64_t n);
int64_t counter_here(enum counter c); /* events counted or taken over, and not taken away since */
int64_t counter_take(enum counter c); /* gives that number and sets it to 0 */

#endif
