/* route.h - which call a request means (routes.def), and whether who asks may make it. */
#ifndef ROUTE_H
#define ROUTE_H

struct request;

/* Has the call that the request means handle it, or answers 401, 403, 404, 405 or 429. */
void route_dispatch(struct request *r);

#endif
