/* upkeep.h - the table `upkeep`: when a database was backed up and audited last. */
#ifndef UPKEEP_H
#define UPKEEP_H

#include "engine/db/db.h"

enum { UPKEEP_SCHEMA = 31 }; /* the first version of the schema that has the table */

/* Notes by a statement of upkeep.sql. `began_at`: of UPKEEP_BACKED_UP, ms since 1970. Where that fails it says so: what
 * was done is good without it, also for an account that may only read. */
void upkeep_note(struct db *db, enum statement what, int64_t began_at);

#endif
