/* restore.h - the command restore. */
#ifndef RESTORE_H
#define RESTORE_H

int restore_run(void);

#endif
