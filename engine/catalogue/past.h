/* past.h - keeps what the catalogue knows true: recognises a database that is another one, or an earlier past of the
 * known one, and reads the locations when their version has changed.
 *
 * The database's mark (table identity) and the newest names of the catalogue tell: a restore to an earlier moment lacks
 * these names or gave their numbers to others. A lane also reads its own row (fence.c). */
#ifndef PAST_H
#define PAST_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

/* From now on each new connection of the source asks for the mark and the newest names; if they are others than those
 * known, the whole catalogue is forgotten. `c` NULL: no longer. Call it while no other thread has a connection. */
void past_watch(struct source *s, struct catalogue *c);
/* The catalogue that past_watch was given for the connection's source. */
struct catalogue *past_catalogue(const struct db *db);

/* Reads all locations, if their version is another than the catalogue's: for a caller that has met one which the
 * catalogue lacks. What it lacks then is not there. */
enum db_result past_locations(struct db *db) MUST_CHECK;

#endif
