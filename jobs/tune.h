/* tune.h - the command `tune`: what 1, 2, 4 and 8 slots are worth here. */
#ifndef TUNE_H
#define TUNE_H

#include "engine/base/base.h"
#include "engine/base/options.h"
#include "engine/db/db.h"

int tune_run(const struct command *self, int argc, char **argv); /* an exit status */

struct db;
enum db_result tune_clean(struct db *db) MUST_CHECK;

#endif
