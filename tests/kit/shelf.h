/* shelf.h - databases that tests have used and emptied, because the server takes 60 ms of CPU to make the tables of one
 * and 17 ms to drop them, but 6 ms to empty them.
 *
 * A database comes back as the program's migration left it: its rows are those of the baseline's INSERTs, numbers begin
 * at 1, and its identity is a new one. The shelf takes a database only if nothing else is connected to it, if no
 * statement has changed its tables, and if they are small. It is a table of the tests' server, which all tests share. A
 * fault of the database ends the test. One thread. */
#ifndef TESTS_SHELF_H
#define TESTS_SHELF_H

#include "tests/kit/scratch.h"

/* For tests/main.c: makes the shelf of a server. On a server without one each test makes its database. */
bool shelf_make(struct db *db) MUST_CHECK;
/* Opens a database from the shelf, which has all tables, or an empty one. Returns whether it has the tables. */
bool shelf_open(struct scratch *s) MUST_CHECK;
/* Notes how the tables are that the caller has made in an empty database. */
void shelf_note(struct scratch *s);
/* As scratch_close; a database that can be used again goes to the shelf. */
void shelf_close(struct scratch *s);

#endif
