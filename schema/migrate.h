/* migrate.h - brings a database to the schema that is built into the program, forward only. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "engine/db/db.h"
#include "schema/files.h"

int schema_latest(void); /* the schema's version in this program */
/* Reads the schema's version of the database; 0: it has none, or its baseline is not complete. false: the database did
 * not answer. */
bool schema_version(struct db *db, int64_t *version) MUST_CHECK;
/* The number of parts in which schema_migrate brings a database of that version up to date. */
int64_t schema_parts(int64_t version);
/* `told` is called with the number of parts of schema_migrate that are complete, whenever it grows. */
void schema_watch(void (*told)(int64_t done));
/* Makes the tables in a database without any, takes over a database of SCHEMA_ADOPTED if its tables are those of the
 * baseline, and runs the missing steps. Each step is recorded when it is complete, so a step that was cut off is run
 * again. Waits for another process that migrates. false: `why` says what went wrong. */
bool schema_migrate(struct db *db, char *why, size_t why_size) MUST_CHECK;
/* Does the same with files of the caller's instead of the built-in ones, for tests. */
bool schema_migrate_files(const struct schema_files *files, struct db *db, char *why, size_t why_size) MUST_CHECK;
/* True: the last schema_migrate has changed nothing, because the database is not one that this program takes over. */
bool schema_refused(void);

#endif
