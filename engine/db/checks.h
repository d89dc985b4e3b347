/* checks.h - what Holdfast depends on at the server and no session can mend. */
#ifndef CHECKS_H
#define CHECKS_H

#include "engine/db/db.h"

/* Looks at the server's version, durability, sizes, clock, what it does to a session before us, and whether the way to
 * it is encrypted. One line for each finding is added to `findings`; returns how many. */
int db_doctor(struct db *db, struct text *findings);

/* By how much the database's clock is ahead of this machine's, negative where it is behind; the time that the question
 * takes is not counted. More than CLOCKS_APART_S is worth a word. */
enum { CLOCKS_APART_S = 300 };
enum db_result db_clock_apart(struct db *db, int64_t *ahead_s) MUST_CHECK;

#endif
