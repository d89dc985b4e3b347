/* health.h - the calls about the service itself: livez, readyz, metrics, and the contract. */
#ifndef HEALTH_H
#define HEALTH_H

struct census;
struct request;
struct requests;

void get_livez(struct request *r);
void get_readyz(struct request *r);
void get_metrics(struct request *r);
void get_openapi(struct request *r);
void get_stats(struct request *r);
void get_key(struct request *r);

/* The last count of the database, brief or whole, that this process has; counted_ms 0: there is none yet. The loop's
 * thread. */
const struct census *health_census(void);
/* Asks for a brief count, unless one is under way. */
void health_count(struct requests *all);

#endif
