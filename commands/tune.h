/* tune.h - the command `tune`: measures the orders a second with 1, 2, 4 and 8 slots here, in the database NAME_tune.
 */
#ifndef TUNE_H
#define TUNE_H

/* Returns the exit status. EXIT_CONFIG: the account may not make the database; the SQL for an administrator was
 * printed. */
int tune_run(void);

#endif
