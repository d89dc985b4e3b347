/* follow.h - the thread that reads events for readers that follow the log, on a connection of its own. A reader at the
 * end of the log may wait there, in memory. One look at the database serves all that wait. */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "engine/queue.h"
#include "engine/shared.h"

struct follower;
/* waiting_max: readers that may wait at once. When another one comes, the one that waits longest is answered. */
struct follower *follow_open(struct shared *shared, size_t waiting_max);
void             follow_close(struct follower *f); /* takes no more, answers all, waits for the thread */
struct queue    *follow_queue(struct follower *f);
/* Answers so many that wait, the longest first; SIZE_MAX: all, and from now on none waits. Any thread, both. */
void   follow_give_way(struct follower *f, size_t count);
size_t follow_waiting(struct follower *f);

#endif
