/* work.h - a worker, a reaper or a deliverer: a thread with a connection of its own that works until it is stopped. */
#ifndef WORK_H
#define WORK_H

#include "jobs/settings.h"

struct worker;
/* `work` is copied. After a stop a worker ends when its batch is done. */
struct worker *worker_start(const struct work *work, unsigned number);
int            worker_join(struct worker *w); /* returns the exit status */

#endif
