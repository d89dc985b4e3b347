/* jobs.h - workers inside of `serve --jobs`. */
#ifndef JOBS_H
#define JOBS_H

#include "jobs/webhooks/deliver.h"

/* The jobs that an empty list stands for: all except the one that settles paid orders. */
#define JOBS_STANDARD "expire,reap,deliver"
#define JOBS_NONE     "none"

struct jobs;
/* A list like "expire,settle,reap,deliver"; empty: JOBS_STANDARD; or JOBS_NONE alone. */
bool jobs_list_valid(const char *list);
/* True: the valid list names the job that settles confirmed orders. */
bool jobs_list_settles(const char *list);
/* Starts a worker for each job of a valid list; they share the options, which must outlive them.
 * NULL: the list names none. */
struct jobs *jobs_open(const char *list, struct source *source, const struct webhook_options *webhooks);
void         jobs_close(struct jobs *j); /* waits for the batches that run; NULL is fine */

#endif
