/* import.h - the command `import`: receives stock from a CSV file. */
#ifndef IMPORT_H
#define IMPORT_H

int import_run(void); /* an exit status */

#endif
