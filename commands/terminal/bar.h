/* bar.h - how far a command is, as a bar on the terminal of stderr; in a pipe there is none. One at a time. */
#ifndef BAR_H
#define BAR_H

#include "engine/base/base.h"

struct db;

/* A bar for `about` things, perhaps more or fewer; 0: nobody knows how many, and they are counted. `word` says what
 * is done, and lives until bar_end. */
void bar_begin(const char *word, int64_t about);
/* The same for all rows of a table, as the database guesses their number. */
void bar_of_table(struct db *db, const char *word, const char *table);
void bar_set(int64_t done); /* so many things are done; drawn ten times a second at most */
void bar_end(void);         /* wiped away; a second time does nothing */

#endif
