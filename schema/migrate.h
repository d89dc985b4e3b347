/* migrate.h - brings a database to the schema that is built into the program, forward only. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "engine/db/db.h"

int schema_latest(void); /* the schema's version in this program */
/* The schema's version of the database; 0 when it has none. false: the database did not answer. */
bool schema_version(struct db *db, int64_t *version) MUST_CHECK;
/* `told` is called with the number of steps of schema_migrate that are complete, whenever it grows. */
void schema_watch(void (*told)(int64_t done));
/* Runs the steps that are missing. Each step is recorded when it is complete, so a step that was cut off is run again.
 * Waits for another process that migrates. false: `why` says what went wrong. */
bool schema_migrate(struct db *db, char *why, size_t why_size) MUST_CHECK;

#endif
