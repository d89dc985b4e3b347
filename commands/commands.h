/* commands.h - the commands work, reap, kick and purge. */
#ifndef COMMANDS_H
#define COMMANDS_H

/* Each command reads its options, does all of its work, and returns the exit status. */
int work_run(void);
int reap_run(void);
int kick_run(void);
int purge_run(void);

#endif
