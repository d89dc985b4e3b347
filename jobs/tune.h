/* tune.h - the command `tune`: measures what 1, 2, 4 and 8 slots are worth here, in a database NAME_tune of its own. */
#ifndef TUNE_H
#define TUNE_H

#include "engine/base/options.h"

/* The exit status. EXIT_CONFIG where the account may not make the database: the SQL that an administrator runs was
 * printed. */
int tune_run(const struct command *self, int argc, char **argv);

#endif
