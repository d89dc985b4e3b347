/* blocked.h - rows that another program has locked, and the time that a round waits for them. */
#ifndef BLOCKED_H
#define BLOCKED_H

#include "engine/write/state.h"

void blocked_open(struct lane *l);
void blocked_close(struct lane *l);
/* Call after decide(). Parks operations with rows that another program has locked, and decides again on the others. */
enum db_result lane_look_out(struct lane *l) MUST_CHECK;
void           lane_set_aside(struct lane *l); /* handles a lock that was not given in time */
/* Sets how long the round that begins waits for a lock, and l->no_wait, which is false before. */
void lock_wait_choose(struct lane *l);
/* Ends (true) or allows the waits of a round with l->no_wait, for a while. They are allowed where SKIP LOCKED is asked:
 * MariaDB 10.11 answers that with error 1180 where autocommit and innodb_lock_wait_timeout are 0 and a row is locked.
 */
void lock_wait_drop(struct lane *l, bool drops);

#endif
