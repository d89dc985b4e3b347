/* stats.h - the command `stats`: stock, reservations by state, tasks, oldest waiting, slots. */
#ifndef STATS_H
#define STATS_H

#include "engine/base/options.h"

int stats_run(const struct command *self, int argc, char **argv); /* an exit status */

#endif
