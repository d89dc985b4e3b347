/* arrival.h - arrivals that were booked are handed out: to orders that wait, in queue order, and the units
 * that are left over are for sale. In bounded batches, by every service on the database, also after a crash. */
#ifndef JOBS_ARRIVAL_H
#define JOBS_ARRIVAL_H

#include "engine/rows.h"
#include "jobs/background.h"

/* Hands out one movement for that long at most. *more: something is left to be tried. Conflicts are met by trying
 * again; what fails otherwise is left to the chore, which logs it. */
enum db_result arrivals_run(struct db *db, struct catalogue *c, uint64_t movement_no, int64_t slice_ms,
                            bool *more) MUST_CHECK;

/* The chore of every service: all movements that nobody else hands out just now. */
struct arrivals;
struct arrivals *arrivals_new(struct catalogue *c);
void             arrivals_free(struct arrivals *all);
struct chore     arrival_chore(struct arrivals *all);

#endif
