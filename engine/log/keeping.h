/* keeping.h - how long events are kept: the setting, which stands in the database, and the removal of older ones. Every
 * function runs on the caller's connection, without a transaction open, and on its thread. */
#ifndef KEEPING_H
#define KEEPING_H

#include "engine/db/db.h"

enum { KEEP_DAYS_MAX = 3650 };

/* Events are kept for so many days from now on, in every process; 0: none are written. Switching them on waits until
 * what was kept before is removed. Tried again after a conflict. */
enum db_result keeping_set(struct db *db, int64_t days) MUST_CHECK;
/* Removes events that are older, for budget_ms (less than a piece more), and adds their rows to *removed. Rows that
 * another transaction has locked are left to the next pass. */
enum db_result keeping_pass(struct db *db, int64_t budget_ms, int64_t *removed) MUST_CHECK;
/* Ends writers that were silent for an hour, or for minutes where there are many: no process takes them up again. */
enum db_result keeping_writers(struct db *db) MUST_CHECK;

#endif
