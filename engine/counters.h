/* counters.h - what is counted for good: by workers that end, reapers that run for a moment, and every service of a
 * database, so that an operator sees it in one place. Counted in memory, brought to the database within some seconds by
 * whoever has a connection; what a process counted in its last moments before a kill -9 is lost. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "base.h"

#include <stdatomic.h>

enum counter {
#define X(name, word, member) name,
#include "counters.def"
#undef X
	COUNTERS
};
const char *counter_member(enum counter c); /* of stats */

void    counter_add(enum counter c, int64_t n); /* any thread */
int64_t counter_here(enum counter c);           /* what this process has counted */

struct db;
/* Brings what is new to the database; what could not be brought stays for the next time. Does nothing where nothing is
 * new. Any thread, with a connection of its own that has no transaction open. */
void counters_write(struct db *db);
/* The totals of everybody else: the database's, less what this process has brought there. counter_here is to be added.
 */
bool counters_read(struct db *db, int64_t elsewhere[COUNTERS]) MUST_CHECK;

#endif
