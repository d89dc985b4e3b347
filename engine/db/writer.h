/* writer.h - the writer of a connection: its row in table writer, which every transaction that changes reservations or
 * movements locks first. The row gives stamps that grow, and numbers without a hole to the events of its transactions.
 *
 * A writer belongs to one connection at a time. By its epoch a connection that was given up commits nothing any more: a
 * new one raises it first, which waits for the old one's transaction. A connection without a writer takes one that was
 * silent for a minute, before it makes a new one; so there are as many as ever wrote at one time. The mark, drawn by
 * chance, tells whether the writer is still the same one's. */
#ifndef WRITER_H
#define WRITER_H

#include "engine/db/db.h"

enum { WRITER_TOUCH_MS = 20000 }; /* a writer that is to stay writes its row at least this often */

/* Makes sure that the connection has its writer (db_writer). A new connection raises the epoch of the one before. Where
 * another process has this writer, or the database never had it, another one is taken or made, with batch_no 0. `slot`:
 * the slot of a lane; of others 0. */
enum db_result writer_enter(struct db *db, unsigned slot) MUST_CHECK;
/* An idle writer shows that it is there. */
enum db_result writer_touch(struct db *db) MUST_CHECK;
/* Gives the writer back, if there is one, for the next connection that needs one: the last thing on a connection. Where
 * this fails, the writer stays until it was silent for a minute, and a line of the log says so. */
void writer_leave(struct db *db);

#endif
