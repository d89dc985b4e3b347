/* serve.h - commands that open a database for a service: `serve`, and `migrate` before it. */
#ifndef SERVE_H
#define SERVE_H

#include "engine/base/options.h"

/* Each command returns an exit status, after one line to the person who called. */
int serve_run(const struct command *self, int argc, char **argv);
int migrate_run(const struct command *self, int argc, char **argv);

#endif
