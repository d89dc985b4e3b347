/* queue.c - the bounded queue between loops and a lane (or the reader). */
#include "engine/queue.h"
#include "engine/base/clock.h"

void queue_init(struct queue *q)
{
	clock_cond_init(&q->filled);
	pthread_mutex_init(&q->lock, NULL);
	q->head = q->count = q->parked = 0;
	q->closed = q->poked = false;
	atomic_init(&q->news, false);
}

void queue_fini(struct queue *q)
{
	assert(q->count == 0);
	pthread_cond_destroy(&q->filled);
	pthread_mutex_destroy(&q->lock);
}

bool queue_push(struct queue *q, struct op *first, size_t count)
{
	bool fits;

	pthread_mutex_lock(&q->lock);
	fits = !q->closed && q->count + q->parked + count <= QUEUE_OPS;
	for (size_t i = 0; fits && i < count; i++) {
		struct op *op = first;

		first = op->next;
		op->next = NULL;
		q->ring[(q->head + q->count++) % QUEUE_OPS] = op;
	}
	if (fits)
		atomic_store(&q->news, true);
	if (q->count >= WAKE_OPS)
		queue_wake(q);
	pthread_mutex_unlock(&q->lock);
	return fits;
}

void queue_wake(struct queue *q)
{
	if (atomic_exchange(&q->news, false))
		pthread_cond_signal(&q->filled);
}

static void queue_wait(struct queue *q, int wait_ms)
{
	struct timespec until = clock_until(wait_ms);

	while (q->count == 0 && !q->closed && !q->poked)
		if (wait_ms < 0)
			pthread_cond_wait(&q->filled, &q->lock);
		else if (pthread_cond_timedwait(&q->filled, &q->lock, &until))
			return;
}

size_t queue_take(struct queue *q, struct op **out, size_t max, int wait_ms)
{
	size_t taken = 0;

	pthread_mutex_lock(&q->lock);
	if (wait_ms != 0)
		queue_wait(q, wait_ms);
	q->poked = false;
	while (q->count > 0 && taken < max) {
		out[taken++] = q->ring[q->head];
		q->head = (q->head + 1) % QUEUE_OPS;
		q->count--;
	}
	pthread_mutex_unlock(&q->lock);
	return taken;
}

void queue_park(struct queue *q, size_t parked)
{
	pthread_mutex_lock(&q->lock);
	q->parked = parked;
	pthread_mutex_unlock(&q->lock);
}

void queue_poke(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->poked = true;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

bool queue_closed(struct queue *q)
{
	bool closed;

	pthread_mutex_lock(&q->lock);
	closed = q->closed;
	pthread_mutex_unlock(&q->lock);
	return closed;
}

size_t queue_depth(struct queue *q)
{
	size_t depth;

	pthread_mutex_lock(&q->lock);
	depth = q->count + q->parked;
	pthread_mutex_unlock(&q->lock);
	return depth;
}
