/* key_command.h - the command `key new`. */
#ifndef KEY_COMMAND_H
#define KEY_COMMAND_H

#include "engine/base/options.h"

/* Makes a key, adds its line to the file of keys, prints the key once. An exit status. */
int key_run(const struct command *self, int argc, char **argv);

#endif
