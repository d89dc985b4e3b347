/* health.h - the calls about the service itself: livez, readyz, metrics, and the contract. */
#ifndef HEALTH_H
#define HEALTH_H

#include "engine/base/base.h"

struct census;
struct counts;
struct request;
struct requests;

void get_livez(struct request *r);
void get_readyz(struct request *r);
void get_metrics(struct request *r);
void get_openapi(struct request *r);
void get_stats(struct request *r);
void get_key(struct request *r);

/* The last counts of the database that this process has. Any loop. */
struct counts *counts_new(void);
void           counts_free(struct counts *c);
/* Copies the last count, brief or whole, if it is newer than that of `to`. */
bool counts_renew(struct counts *c, struct census *to);
/* Asks for a brief count, unless one is under way. */
void health_count(struct requests *all);

#endif
