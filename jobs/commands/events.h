/* events.h - the command `events`: what happened, a line of JSON each, for pipes. */
#ifndef EVENTS_H
#define EVENTS_H

#include "engine/base/options.h"

int events_run(const struct command *self, int argc, char **argv); /* an exit status */

#endif
