/* audit.h - the command `audit`: does every invariant hold? */
#ifndef AUDIT_H
#define AUDIT_H

#include "engine/base/options.h"

/* EXIT_DONE: all of them. EXIT_TROUBLE: one does not, and the rows that break it are printed. */
int audit_run(const struct command *self, int argc, char **argv);

#endif
