/* jobs.h - work beside the calls: what `serve --jobs` runs inside. */
#ifndef JOBS_H
#define JOBS_H

#include "engine/engine.h"

struct jobs;
/* A thread with a connection of its own that gives back the units of expired holds, at most a second after their time.
 */
struct jobs *jobs_open(struct engine *e, const struct db_target *target);
void         jobs_close(struct jobs *j); /* waits for what is being done; NULL is fine */

#endif
