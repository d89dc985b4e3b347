/* jobs_command.h - the command `jobs`: lists the jobs, pauses and resumes them. */
#ifndef JOBS_COMMAND_H
#define JOBS_COMMAND_H

int jobs_run(void); /* an exit status */

#endif
