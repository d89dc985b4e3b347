/* backup.h - the command backup. */
#ifndef BACKUP_H
#define BACKUP_H

int backup_run(void);

#endif
