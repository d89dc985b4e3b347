/* checks.h - server settings on which Holdfast depends and which no session can mend. */
#ifndef CHECKS_H
#define CHECKS_H

#include "engine/db/db.h"

/* Checks the server's version, durability, sizes, clock, its changes to a session before us, and the encryption of the
 * way to it. Adds one line for each finding to `findings`; returns their number. */
int db_doctor(struct db *db, struct text *findings);

/* The lead of the database's clock over this machine's, negative where it is behind; the time of the question itself is
 * not counted. A lead of more than CLOCKS_APART_S is worth a word. */
enum { CLOCKS_APART_S = 300 };
enum db_result db_clock_apart(struct db *db, int64_t *ahead_s) MUST_CHECK;
/* The same in ms. */
enum db_result db_clock_ahead(struct db *db, int64_t *ahead_ms) MUST_CHECK;

#endif
