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
/* True: the valid list names a job. */
bool jobs_list_works(const char *list);
/* Starts a worker for each job of a valid list; they share the options, which must outlive them. */
struct jobs *jobs_open(const char *list, struct source *source, const struct webhook_options *webhooks);
/* From now on those of another valid list run. Returns at once; a job that is no longer named finishes its batch. */
void jobs_set(struct jobs *j, const char *list);
void jobs_close(struct jobs *j); /* waits for the batches that run */

#endif
