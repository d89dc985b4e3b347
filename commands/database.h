/* database.h - the database of a command: the private one of --data, or yours of --db. */
#ifndef DATABASE_H
#define DATABASE_H

#include "engine/db/db.h"
#include "engine/server/embedded.h"
#include "jobs/cluster.h"

struct database {
	struct embedded *embedded; /* NULL with --db */
	struct source   *source;
	struct cluster  *cluster;  /* NULL: the process stays at the host that it has */
	struct text      findings; /* warnings: wrong settings of the server, each ends in a NUL */
};

/* Opens the database of the options --data, --db and --db-password-file, waits for it (30 s with --db), looks at its
 * version, durability and schema. A private one is made where `use` says so, and migrated; yours must have the schema
 * of this program. `migrates`: any schema is fine (the command `migrate`). EXIT_DONE, or the exit status after saying
 * why. */
int database_open(struct database *database, enum embedded_use use, bool migrates) MUST_CHECK;
/* From now on the process moves to another host of --db if its own does not commit. For commands that run on and
 * write. */
void database_watch(struct database *database);
/* The finding after `before` (NULL: the first); NULL: none. */
const char *database_finding(const struct database *database, const char *before);
/* Returns the exit status of a command that ends with `status`. A command that failed with another status than
 * EXIT_CONFIG ends with EXIT_CONFIG, and says why, if the database was migrated meanwhile. */
int database_close(struct database *database, int status);
/* Runs a command that needs one connection: opens, runs `act`, says why if it returned EXIT_UNAVAILABLE, closes.
 * Returns the exit status. */
int database_run(enum embedded_use use, bool migrates, int (*act)(struct db *db, void *arg), void *arg) MUST_CHECK;
/* A connection for a command; NULL after saying why, but for another schema: database_close says that. */
struct db *database_connect(const struct database *database) MUST_CHECK;

#endif
