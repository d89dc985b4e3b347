/* health.h - the calls about the service itself: livez, readyz, metrics, and the contract. */
#ifndef HEALTH_H
#define HEALTH_H

struct request;

void get_livez(struct request *r);
void get_readyz(struct request *r);
void get_metrics(struct request *r);
void get_openapi(struct request *r);

#endif
