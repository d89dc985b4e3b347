/* arrival.h - hands out arrivals that were booked: orders in the queue get units in queue order, and the units that are
 * left over go on sale. Every service on the database does this in bounded batches, also after a crash. */
#ifndef JOBS_ARRIVAL_H
#define JOBS_ARRIVAL_H

#include "engine/rows.h"
#include "jobs/background.h"

/* Hands out one movement, for slice_ms at most. *more: there is something left to try. Conflicts are tried again. An
 * arrival that fails otherwise is left to the chore, which logs the failure. */
enum db_result arrivals_run(struct db *db, uint64_t movement_no, int64_t slice_ms, bool *more) MUST_CHECK;

/* The chore of every service: all movements that no other writer hands out just now. */
struct arrivals;
struct arrivals *arrivals_new(void);
void             arrivals_free(struct arrivals *all);
struct chore     arrival_chore(struct arrivals *all);

#endif
