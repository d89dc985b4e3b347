/* stats.h - the command `stats`: stock, reservations by state, tasks, oldest waiting, slots. */
#ifndef STATS_H
#define STATS_H

int stats_run(void); /* an exit status */

#endif
