/* bar.h - the progress of a command, as a bar on the terminal of stderr; in a pipe there is none. One bar at a time. */
#ifndef BAR_H
#define BAR_H

#include "engine/base/base.h"

struct db;

/* Begins a bar for `about` things, an estimate; 0: their number is unknown, and they are counted. `word` names the
 * work, and lives until bar_end. */
void bar_begin(const char *word, int64_t about);
/* As bar_begin, for all rows of a table; the database estimates their number. */
void bar_of_table(struct db *db, const char *word, const char *table);
void bar_set(int64_t done); /* `done` things are done; drawn ten times a second at most */
void bar_end(void);         /* wiped away; a second time does nothing */

#endif
