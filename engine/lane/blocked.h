/* blocked.h - rows that somebody outside has locked, and how long a round waits for them. */
#ifndef BLOCKED_H
#define BLOCKED_H

#include "engine/lane/state.h"

void blocked_open(struct lane *l);
void blocked_close(struct lane *l);
/* After decide(): parks the operations whose rows somebody outside has locked and decides anew on the others. */
enum db_result lane_look_out(struct lane *l) MUST_CHECK;
void           lane_set_aside(struct lane *l); /* a lock was not given in time */
void           lane_hurry(struct lane *l);     /* at the beginning of a round, l->hasty false: how long it waits */
/* A round in a hurry waits for no lock, but where SKIP LOCKED is asked: MariaDB 10.11 answers that with error 1180
 * where autocommit and innodb_lock_wait_timeout are 0 and a row is locked. */
void lane_rush(struct lane *l, bool rushes);

#endif
