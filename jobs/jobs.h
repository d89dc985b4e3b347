/* jobs.h - workers inside of `serve --jobs`. */
#ifndef JOBS_H
#define JOBS_H

#include "engine/catalogue.h"
#include "engine/db/url.h"

struct jobs;
/* A list such as "expire,settle,reap"; empty: all of them. */
bool jobs_list_valid(const char *list);
/* Starts a worker for each job of a valid list; they share the catalogue, which must outlive them. */
struct jobs *jobs_open(const char *list, const struct db_target *target, struct catalogue *c);
void         jobs_close(struct jobs *j); /* waits for the batches at hand; NULL is fine */

#endif
