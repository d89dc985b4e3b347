/* pull.h - the chore that gives the queue the units that become available at locations with waits_at. It runs in every
 * service, whatever its jobs are. If no location has waits_at, the service looks for one once a second. */
#ifndef JOBS_PULL_H
#define JOBS_PULL_H

#include "engine/catalogue/catalogue.h"
#include "jobs/background.h"

struct pull;
struct pull *pull_new(void);
void         pull_free(struct pull *p);
struct chore pull_chore(struct pull *p);

#endif
