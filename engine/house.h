/* house.h - the database that a command works on: the private one of --data, or yours of --db. */
#ifndef HOUSE_H
#define HOUSE_H

#include "embedded.h"

struct house {
	struct embedded *embedded; /* NULL with --db */
	struct db_target target;
	struct text      findings; /* what is not as it should be, a line each */
};

struct house_options {
	const char       *data, *db, *password_file; /* db NULL: data counts */
	enum embedded_use use;                       /* of data */
	bool              migrates;                  /* `migrate` itself: any schema is fine */
};

/* Opens it, waits for it (30 s with --db), looks at version, durability and schema. A private one is made, if it is to
 * be, and migrated; yours must have the schema of this program. Returns EXIT_DONE or the exit status, after saying why.
 */
int  house_open(struct house *h, const struct house_options *options) MUST_CHECK;
void house_close(struct house *h);
/* The whole of a command that needs one connection: opens, runs `act`, says why if it returned EXIT_UNAVAILABLE,
 * closes. Returns the exit status. */
int house_run(const struct house_options *options, int (*act)(struct db *db, void *arg), void *arg) MUST_CHECK;
/* A connection for a command; NULL after saying why. */
struct db *house_connect(const struct house *h) MUST_CHECK;

#endif
