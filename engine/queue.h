/* queue.h - the bounded queue between loops and the thread that answers. The thread is woken when the pusher has no
 * more for now, or has pushed a good batch: a batch of the first alone costs as much as one of all. */
#ifndef QUEUE_H
#define QUEUE_H

#include "engine/op.h"

#include <pthread.h>

enum {
	QUEUE_OPS = 4096, /* one more is refused: BUSY */
	WAKE_OPS = 128,   /* so many queued operations wake the thread at once */
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t  filled;
	struct op      *ring[QUEUE_OPS];
	size_t          head, count;
	size_t          parked; /* number of parked operations, which count against the bound */
	bool            closed;
	bool            poked; /* the taker has something else to do */
	_Atomic bool    news;  /* pushed since the last wake */
};
void queue_init(struct queue *q);
void queue_fini(struct queue *q); /* empty */
/* All or none, linked by `next`; false: there is no room, or the queue is closed. Any thread, as queue_wake. */
bool queue_push(struct queue *q, struct op *first, size_t count) MUST_CHECK;
void queue_wake(struct queue *q);
/* Moves up to `max` operations to `out`. With none there waits up to wait_ms, for ever if negative; a closed queue does
 * not wait. For the thread that answers, as queue_park. */
size_t queue_take(struct queue *q, struct op **out, size_t max, int wait_ms);
/* Sets the number of parked operations (it is no increment). They count against QUEUE_OPS. */
void   queue_park(struct queue *q, size_t parked);
void   queue_poke(struct queue *q); /* ends the present or the next wait; any thread */
void   queue_close(struct queue *q);
bool   queue_closed(struct queue *q);
size_t queue_depth(struct queue *q); /* operations in the queue, parked ones included */

#endif
