/* commands.h - the commands work, reap, kick and purge. */
#ifndef COMMANDS_H
#define COMMANDS_H

/* Each command reads its options, does all of its work, and returns the exit status. */
int work_run(char **operands);
int reap_run(char **operands);
int kick_run(char **operands);
int purge_run(char **operands);

#endif
