/* past.h - is the database behind a new connection still the one that was known, and its past the same?
 *
 * Told by the database's mark (table identity) and by the newest names of the catalogue: a restore to an earlier moment
 * lacks them or gave their numbers to others. A lane asks its own row besides (fence.c). */
#ifndef PAST_H
#define PAST_H

#include "engine/catalogue.h"
#include "engine/db/db.h"

#include <stdatomic.h>

/* What a process knows of its database. Zero-initialised is nothing. Any thread. */
struct past {
	_Atomic uint64_t mark; /* 0: not known yet */
};

/* Reads the mark over `db`; where it is another one, or the catalogue's newest names are, all of the catalogue is
 * forgotten. Before the first use of a new connection. */
enum db_result past_check(struct past *p, struct db *db, struct catalogue *c) MUST_CHECK;

#endif
