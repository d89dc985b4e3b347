/* commands.h - the commands work, reap, kick and purge. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "engine/base/options.h"

/* Each command reads its options, does all of its work, and returns the exit status. */
int work_run(const struct command *self, int argc, char **argv);
int reap_run(const struct command *self, int argc, char **argv);
int kick_run(const struct command *self, int argc, char **argv);
int purge_run(const struct command *self, int argc, char **argv);

#endif
