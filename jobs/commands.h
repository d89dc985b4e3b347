/* commands.h - the commands of workers and operators that need no file of their own. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "engine/base/options.h"

/* Each returns an exit status. */
int work_run(const struct command *self, int argc, char **argv);
int reap_run(const struct command *self, int argc, char **argv);
int kick_run(const struct command *self, int argc, char **argv);
int purge_run(const struct command *self, int argc, char **argv);

#endif
