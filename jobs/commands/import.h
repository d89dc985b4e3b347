/* import.h - the command `import`: receives stock from a CSV file. */
#ifndef IMPORT_H
#define IMPORT_H

#include "engine/base/options.h"

int import_run(const struct command *self, int argc, char **argv); /* an exit status */

#endif
