/* migrate.h - brings a database to the schema that is built into the program, forward only. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "engine/db/db.h"

int schema_latest(void); /* the version that this program was built with */
/* The version that the database has; 0 when it has none. false: the database did not answer. */
bool schema_version(struct db *db, int *version) MUST_CHECK;
/* Runs the steps that are missing, each recorded when it is complete, so that one that was cut off is run again. Waits
 * for another process that migrates. false: `why` says what went wrong. */
bool schema_migrate(struct db *db, char *why, size_t why_size) MUST_CHECK;

#endif
