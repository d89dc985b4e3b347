/* shared.c - see shared.h. */
#include "engine/shared.h"
#include "engine/base/clock.h"

void shared_init(struct shared *s, struct source *source)
{
	assert(source && !s->catalogue);
	s->source = source;
	s->catalogue = catalogue_new();
	clock_cond_init(&s->connects);
	pthread_mutex_init(&s->lock, NULL);
}

void shared_fini(struct shared *s)
{
	catalogue_free(s->catalogue);
	pthread_cond_destroy(&s->connects);
	pthread_mutex_destroy(&s->lock);
}

void shared_connected(struct shared *s, _Atomic bool *connected, bool is)
{
	if (atomic_exchange(connected, is) || !is)
		return;
	pthread_mutex_lock(&s->lock);
	pthread_cond_broadcast(&s->connects);
	pthread_mutex_unlock(&s->lock);
}
