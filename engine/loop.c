/* loop.c - see loop.h. */
#include "engine/loop.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct loop {
	pthread_mutex_t lock;
	struct op      *first, **last;
	int             fd;
};

struct loop *loop_new(void)
{
	struct loop *l = mem_alloc(sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	l->last = &l->first;
	l->fd = wake_open(EFD_NONBLOCK);
	return l;
}

int loop_fd(const struct loop *l)
{
	return l->fd;
}

/* Gives the first operation, and those right behind it of the same loop, to that loop. Returns the rest. */
static struct op *loop_give_some(struct op *first)
{
	struct loop *l = first->loop;
	struct op   *last = first, *rest;
	bool         wake;

	while (last->next && last->next->loop == l)
		last = last->next;
	rest = last->next;
	last->next = NULL;
	pthread_mutex_lock(&l->lock);
	wake = !l->first;
	*l->last = first;
	l->last = &last->next;
	pthread_mutex_unlock(&l->lock);
	if (wake)
		eventfd_write(l->fd, 1);
	return rest;
}

void outbox_init(struct outbox *o)
{
	o->first = NULL;
	o->last = &o->first;
}

void outbox_put(struct outbox *o, struct op *op)
{
	op->next = NULL;
	*o->last = op;
	o->last = &op->next;
}

/* One lock and one write wake a loop for any number of operations. */
void outbox_send(struct outbox *o)
{
	struct op *first = o->first;

	outbox_init(o);
	while (first)
		first = loop_give_some(first);
}

void loop_run(struct loop *l)
{
	eventfd_t  ignored;
	struct op *op, *next;

	eventfd_read(l->fd, &ignored);
	pthread_mutex_lock(&l->lock);
	op = l->first;
	l->first = NULL;
	l->last = &l->first;
	pthread_mutex_unlock(&l->lock);
	for (; op; op = next) {
		next = op->next;
		op->next = NULL;
		op->done(op->arg, op);
	}
}

void loop_free(struct loop *l)
{
	assert(!l->first);
	close(l->fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
