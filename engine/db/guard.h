/* guard.h - a guarded transaction in one round trip: writes that change exactly the rows they expect, or all of it is
 * undone and the verdict says why. A lane has a fence of its own instead (fence.c). */
#ifndef GUARD_H
#define GUARD_H

#include "engine/db/db.h"

enum { GUARD_DONE = 0 }; /* other verdicts are the caller's own numbers */

/* Begins the text; statements follow, each with guard_expect where it matters. @t is the time of the transaction. */
void guard_begin(struct text *sql);
/* The statement before must have changed `count` rows (an upsert counts 2 for each row updated), otherwise `verdict`.
 */
void guard_expect(struct text *sql, int64_t count, int verdict);
/* Ends the text and runs it. DB_OK: *verdict says whether it was committed. DB_UNKNOWN: it may have been. There is no
 * fence: one that lands late must be harmless by its own conditions. */
enum db_result guard_run(struct db *db, struct text *sql, int *verdict) MUST_CHECK;

#endif
