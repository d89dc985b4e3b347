/* route.h - the way from a request to its call (routes.def), and the caller's right to make it. */
#ifndef ROUTE_H
#define ROUTE_H

struct request;

/* Has the handler of the call run, or answers 401, 403, 404, 405 or 429. */
void route_dispatch(struct request *r);

#endif
