/* engine.h - opens lanes and readers, and brings each operation to the one that answers it.
 *
 *   loop thread                        lane thread, one per slot              MariaDB
 *   op_new, fill, engine_start ─▶ queue ─▶ take from it ─▶ decide ─▶ one transaction
 *   done(arg, op), op_free     ◀─ eventfd ◀── answer each  ◀─ verdict ◀─
 *
 * engine_start hands an operation over, to be begun when engine_wake is called; `done` hands it back, once, on the
 * thread of the op's loop, never before engine_start has returned. In between nothing else may touch it. */
#ifndef ENGINE_H
#define ENGINE_H

#include "engine/op.h"
#include "engine/shared.h"

struct engine_options {
	struct source *source;      /* its memory is the engine's catalogue while the engine is open */
	unsigned       lanes;       /* 1 to 64 */
	unsigned       slot;        /* the slot of the first lane */
	size_t         waiting_max; /* readers of events that may wait; 0: each is answered at once */
};
struct engine;
struct engine *engine_open(const struct engine_options *options);
/* Takes nothing more, answers what is under way into its loops, which must be there, and waits for the threads. */
void              engine_close(struct engine *e);
struct catalogue *engine_catalogue(struct engine *e);

/* Hands `op` over, to be begun at the next engine_wake or before. false: the queue is full, the op is still the
 * caller's. Any thread that has a loop. */
bool engine_start(struct engine *e, struct op *op, struct loop *loop, void (*done)(void *arg, struct op *op),
                  void *arg) MUST_CHECK;
/* Hands a list over at once, all or none, in its order: `count` ops, linked by `next`, all of one answerer. Lane ops go
 * to the lane of the first. */
bool engine_start_batch(struct engine *e, struct op *first, size_t count, struct loop *loop,
                        void (*done)(void *arg, struct op *op), void *arg) MUST_CHECK;
/* Hands each op of the list `first` to the lane of its own id: the ops of one lane at once, all or none, in their
 * order. Returns the ops of the lanes whose queues are full, linked by `next`: they are still the caller's. */
struct op *engine_start_each(struct engine *e, struct op *first, struct loop *loop,
                             void (*done)(void *arg, struct op *op), void *arg) MUST_CHECK;
/* Begins all operations handed over, as one batch where they fit. Call it before a loop waits. Any thread. */
void engine_wake(struct engine *e);

/* Answers the `count` readers of events that wait longest, with an empty list. ENGINE_ALL: all, and from now on none
 * waits. Any thread, as engine_waiting: the number of readers that wait. */
#define ENGINE_ALL SIZE_MAX
void   engine_give_way(struct engine *e, size_t count);
size_t engine_waiting(struct engine *e);

bool                       engine_ready(struct engine *e); /* true: every lane and the reader have a connection */
bool                       engine_wait(struct engine *e, int64_t ms); /* waits until that is so; false: not in time */
struct source             *engine_source(struct engine *e);
const struct lane_metrics *engine_metrics(struct engine *e);
unsigned                   engine_lanes(struct engine *e);
size_t                     engine_queue_depth(struct engine *e, unsigned lane);

#endif
