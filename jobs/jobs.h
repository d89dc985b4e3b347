/* jobs.h - workers inside of `serve --jobs`. */
#ifndef JOBS_H
#define JOBS_H

#include "jobs/webhooks/deliver.h"

#define JOBS_ALL "expire,settle,reap,deliver"

struct jobs;
/* A list such as "expire,settle,reap,deliver"; empty: all of them. */
bool jobs_list_valid(const char *list);
/* Starts a worker for each job of a valid list; they share the catalogue and the options, which must outlive them. */
struct jobs *jobs_open(const char *list, struct source *source, struct catalogue *c,
                       const struct webhook_options *webhooks);
void         jobs_close(struct jobs *j); /* waits for the batches at hand; NULL is fine */

#endif
