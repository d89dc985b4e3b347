/* past.h - recognises a database that is another one, or an earlier past of the known one.
 *
 * The database's mark (table identity) and the newest names of the catalogue tell: a restore to an earlier moment lacks
 * these names or gave their numbers to others. A lane also reads its own row (fence.c). */
#ifndef PAST_H
#define PAST_H

#include "engine/catalogue.h"
#include "engine/db/db.h"

#include <stdatomic.h>

/* The database as the process knows it. Zero-initialised: nothing is known. Any thread. */
struct past {
	_Atomic uint64_t mark; /* 0: not known yet */
};

/* Reads the mark over `db`. If the mark or the catalogue's newest names differ, the whole catalogue is forgotten. Call
 * it before the first use of a new connection. */
enum db_result past_check(struct past *p, struct db *db, struct catalogue *c) MUST_CHECK;

#endif
